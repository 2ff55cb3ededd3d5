"""What the graph found, put next to what recall found: one scale, one list, and how the two lists differ. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from clew.graph.settings import clamp_unit
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from clew.graph.adjacency import Floats

# Engram's defaults: how much the activation counts against the score of the seeds, and the range of the result.
ACTIVATION_WEIGHT = 0.65
LOW, HIGH = 0.05, 0.95


class Scored(NamedTuple):
    key: str
    score: float
    snippet: str = ""


@overload
def blend(
    activation: float, seed_score: float, weight: float = ..., low: float = ..., high: float = ...
) -> float: ...
@overload
def blend(
    activation: Floats, seed_score: ArrayLike, weight: float = ..., low: float = ..., high: float = ...
) -> Floats: ...
def blend(
    activation: float | Floats,
    seed_score: ArrayLike,
    weight: float = ACTIVATION_WEIGHT,
    low: float = LOW,
    high: float = HIGH,
) -> float | Floats:
    """Engram's score of an expanded node: w * a / (1 + a) + (1 - w) * s, within the bounds, swapped or not."""
    raw = np.asarray(activation, np.float64)
    mass = np.where(np.isfinite(raw), np.maximum(raw, 0), 0)
    share, (least, most) = clamp_unit(weight), sorted((clamp_unit(low), clamp_unit(high)))
    seed = np.nan_to_num(np.asarray(seed_score, np.float64), posinf=0, neginf=0).clip(0, 1)
    blended = (share * mass / (1 + mass) + (1 - share) * seed).clip(least, most)
    return np.asarray(blended) if blended.ndim else float(blended)


def merge(baseline: Iterable[Scored], graph: Iterable[Scored]) -> list[Scored]:
    """One entry per key, in the order met: the higher score, and the first snippet that is not empty."""
    merged: dict[str, Scored] = {}
    for entries in (baseline, graph):
        for entry in entries:
            known = merged.get(entry.key, entry)
            merged[entry.key] = Scored(entry.key, max(known.score, entry.score), known.snippet or entry.snippet)
    return list(merged.values())


@dataclass(frozen=True, slots=True)
class ShadowComparison:
    """What the graph would have changed. Both lists are already cut to what would be shown."""

    baseline_count: int
    graph_count: int
    overlap_count: int
    overlap_ratio: float  # of the baseline
    average_overlap_delta: float  # graph score minus baseline score

    @property
    def line(self) -> str:
        """Engram's timing line."""
        counts = f"on b={self.baseline_count} g={self.graph_count} ov={self.overlap_count}"
        return f"{counts} ({self.overlap_ratio:.2f}) avgDelta={self.average_overlap_delta:.3f}"


def compare_shadow(baseline: Sequence[Scored], graph: Sequence[Scored]) -> ShadowComparison:
    before = {entry.key: entry.score for entry in baseline}
    deltas = [entry.score - before[entry.key] for entry in graph if entry.key in before]
    overlap = len(deltas)
    ratio = overlap / len(baseline) if baseline else 0.0
    return ShadowComparison(len(baseline), len(graph), overlap, ratio, sum(deltas) / overlap if overlap else 0.0)

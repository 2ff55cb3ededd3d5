"""Retrieval metrics over one ranking, and their mean per category. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CUTOFFS = (2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Score:
    """One question: what share of its gold units stands among the first k, and how high."""

    category: str
    recall: Mapping[int, float]
    ndcg: float


def score_ranking(ranked: Sequence[str], gold: Iterable[str], category: str) -> Score:
    wanted = set(gold)
    recall = {k: len(wanted.intersection(ranked[:k])) / len(wanted) for k in CUTOFFS}
    gains = sum(1 / math.log2(rank + 1) for rank, unit in enumerate(ranked[:10], 1) if unit in wanted)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), 10) + 1))
    return Score(category, recall, gains / ideal)


def summarise(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Means in all and per category."""
    groups = {"all": list(scores)}
    for score in scores:
        groups.setdefault(score.category, []).append(score)
    return {name: _means(group) for name, group in groups.items() if group}


def _means(group: Sequence[Score]) -> dict[str, float]:
    means: dict[str, float] = {"questions": len(group)}
    for k in CUTOFFS:
        means[f"recall@{k}"] = round(sum(score.recall[k] for score in group) / len(group), 4)
    means["ndcg@10"] = round(sum(score.ndcg for score in group) / len(group), 4)
    return means


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; 0 for nothing."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]

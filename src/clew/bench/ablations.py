"""What each means of recall gives: the same questions to the same store, with one means more each time.

An ablation is options of recall and settings that differ from those of everybody, so one ingest serves all of
them: the store is opened anew with other settings. A refinement is one line of REFINEMENTS; the last step has
nothing switched off and is what everybody gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from clew.bench.intervals import estimates, gains
from clew.bench.metrics import Score
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Refinement:
    """A means of recall that a setting switches, by its path; `off` is its value without it."""

    name: str
    setting: str
    off: Any


@dataclass(frozen=True, slots=True)
class Ablation:
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)  # of recall
    settings: Mapping[str, Any] = field(default_factory=dict)  # by path

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "options": dict(self.options), "settings": dict(self.settings)}


FULL = Ablation("full")
BARE = (  # words after vectors, so that hybrid stands beside the stronger of its parts
    Ablation("semantic", {"retrieval": "semantic", "graph": False}),
    Ablation("lexical", {"retrieval": "lexical", "graph": False}),
    Ablation("hybrid", {"retrieval": "hybrid", "graph": False}),
    Ablation("+ graph"),
)
# The first of the last look are those of the memory itself; then what each of the others adds.
REFINEMENTS = (
    Refinement("personalised", "graph.refinement", off="compat"),
    Refinement("inhibition", "graph.inhibition", off=False),
    Refinement("last look", "rank.refine", off=False),
    Refinement("authors", "rank.authors", off=False),
    Refinement("neighbours", "rank.neighbours", off=False),
    Refinement("threads", "rank.threads", off=False),
    Refinement("times", "rank.times", off=False),
    Refinement("titles", "rank.titles", off=False),
    Refinement("hops", "rank.hops", off=False),
)


def ladder(
    bare: Sequence[Ablation] = BARE, refinements: Sequence[Refinement] = REFINEMENTS
) -> tuple[Ablation, ...]:
    """From words alone to everything: each refinement joins those before it."""
    off = {refinement.setting: refinement.off for refinement in refinements}
    steps = [Ablation(step.name, step.options, {**step.settings, **off}) for step in bare]
    for refinement in refinements:
        del off[refinement.setting]
        steps.append(Ablation(f"+ {refinement.name}", settings=dict(off)))
    return tuple(steps)


def compared(steps: Sequence[tuple[Ablation, Sequence[Score]]], chosen: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Each step with its figures, what it gained over the step before, and what everything gains over it."""
    chosen, full = tuple(chosen), steps[-1][1]
    told: list[dict[str, Any]] = []
    before: Sequence[Score] | None = None
    for ablation, scores in steps:
        entry = ablation.as_json() | {"scores": estimates(scores, chosen)}
        if before is not None:
            entry["over_the_one_before"] = gains(scores, before, chosen)
        if scores is not full:
            entry["full_over_this"] = gains(full, scores, chosen)
        told.append(entry)
        before = scores
    return told

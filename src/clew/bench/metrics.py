"""Retrieval metrics over one ranking, and their means in all, per category and over categories. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from clew.values import dataclass

CUTOFFS = (2, 5, 10, 20)
FIGURES = (*(f"recall@{k}" for k in CUTOFFS), "ndcg@10")
ALL, BY_CATEGORY, CHOSEN = "all", "by category", "chosen categories"


@dataclass(frozen=True, slots=True)
class Score:
    """One question: what share of its gold units stands among the first k, and how high."""

    category: str
    recall: Mapping[int, float]
    ndcg: float

    @property
    def figures(self) -> tuple[float, ...]:
        """In the order of FIGURES."""
        return (*(self.recall[k] for k in CUTOFFS), self.ndcg)


# A group of questions in parts: its figure is the plain mean over its parts of the mean over each part's questions.
Group = Sequence[Sequence[int]]


def score_ranking(ranked: Sequence[str], gold: Iterable[str], category: str) -> Score:
    wanted = set(gold)
    recall = {k: len(wanted.intersection(ranked[:k])) / len(wanted) for k in CUTOFFS}
    gains = sum(1 / math.log2(rank + 1) for rank, unit in enumerate(ranked[:10], 1) if unit in wanted)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), 10) + 1))
    return Score(category, recall, gains / ideal)


def groups_of(categories: Sequence[str], chosen: Iterable[str] = ()) -> dict[str, Group]:
    """All questions, those of each category, and the plain means over categories: over all of them, where there are
    several, and over the chosen ones, where all of these occur."""
    parts: dict[str, list[int]] = {}
    for at, category in enumerate(categories):
        parts.setdefault(category, []).append(at)
    groups: dict[str, Group] = {ALL: [range(len(categories))]} if categories else {}
    groups |= {_told(category): [part] for category, part in parts.items()}
    if len(parts) > 1:
        groups[BY_CATEGORY] = list(parts.values())
    wanted = list(dict.fromkeys(chosen))
    if wanted and all(category in parts for category in wanted):
        groups[CHOSEN] = [parts[category] for category in wanted]
    return groups


def _told(category: str) -> str:
    """One may be called as a mean is."""
    return f"category '{category}'" if category in (ALL, BY_CATEGORY, CHOSEN) else category


def summarise(scores: Sequence[Score], chosen: Iterable[str] = ()) -> dict[str, dict[str, float]]:
    """The means of every group."""
    groups = groups_of([score.category for score in scores], chosen)
    return {name: _means(scores, group) for name, group in groups.items()}


def _means(scores: Sequence[Score], group: Group) -> dict[str, float]:
    means: dict[str, float] = {"questions": sum(map(len, group))}
    for at, figure in enumerate(FIGURES):
        of_parts = [sum(scores[question].figures[at] for question in part) / len(part) for part in group]
        means[figure] = round(sum(of_parts) / len(of_parts), 4)
    return means


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; 0 for nothing."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]

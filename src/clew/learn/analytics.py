"""Feedback impact: how much of what is known gets injected, and what weights change in it. rensei.md 2.7.

A trap: over all candidates of a retrieval both ranks are permutations of the same numbers. Their mean difference is
0 whatever the weights do, and the share of candidates within the first k is k / n before and after. Every mean here
is therefore over injected rows. A row that a draw put there is none: chance moved it, no weight.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import NamedTuple

from clew.model.reports import FeedbackImpact, RankImpact, TopMemory
from clew.ports import Tx


class Placed(NamedTuple):
    """One candidate of one retrieval, as retrieval_ab_logs has it."""

    retrieval: str
    memory: str
    unweighted_rank: int
    weighted_rank: int
    injected: bool
    explored: bool = False
    weighting_enabled: bool = True

    @property
    def delta(self) -> int:
        """Positive: its weight moved it up."""
        return self.unweighted_rank - self.weighted_rank


def feedback_impact(
    tx: Tx, org: str, since: datetime, until: datetime, project: str | None = None
) -> FeedbackImpact:
    """Over the logs of an org, or of one project."""
    table = tx.learning
    placed = [
        Placed(*row[:4], *map(bool, row[4:]))
        for row in table.ab_rows(org, since=since, until=until, project=project)
    ]
    memories, matched, injected = table.injection_counts(org, since=since, until=until, project=project)
    decided = [row for row in placed if row.weighting_enabled]
    top = (TopMemory(*row) for row in table.top(org, since=since, until=until, project=project))
    return FeedbackImpact(
        since, until, project, memories, matched, injected, len({row.retrieval for row in placed}),
        ranks=rank_impact(decided), unweighted=rank_impact(row for row in placed if not row.weighting_enabled),
        by_memory=impact_by_memory(decided), top=tuple(top),
    )  # fmt: skip


def rank_impact(rows: Iterable[Placed]) -> RankImpact:
    """Of all injected rows."""
    placed = list(rows)
    return _impact([row for row in placed if _counts(row)], _injected_of(placed))


def impact_by_memory(rows: Iterable[Placed]) -> dict[str, RankImpact]:
    """Of each memory that was injected, the most moved first."""
    placed = list(rows)
    of_memory: dict[str, list[Placed]] = defaultdict(list)
    for row in placed:
        if _counts(row):
            of_memory[row.memory].append(row)
    cuts = _injected_of(placed)
    found = {id: _impact(own, cuts) for id, own in of_memory.items()}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1].mean_shift, -pair[1].rows, pair[0])))


def _impact(rows: Sequence[Placed], cuts: Mapping[str, int]) -> RankImpact:
    if not rows:
        return RankImpact()
    deltas = [row.delta for row in rows]
    return RankImpact(
        rows=len(rows),
        rank_delta=fmean(deltas),
        mean_shift=fmean(map(abs, deltas)),
        promoted=sum(delta > 0 for delta in deltas),
        demoted=sum(delta < 0 for delta in deltas),
        unchanged=deltas.count(0),
        likelihood_before=fmean(row.unweighted_rank < cuts[row.retrieval] for row in rows),
        likelihood_after=fmean(row.weighted_rank < cuts[row.retrieval] for row in rows),
    )


def _counts(row: Placed) -> bool:
    return row.injected and not row.explored


def _injected_of(rows: Iterable[Placed]) -> Mapping[str, int]:
    """k of each retrieval."""
    return Counter(row.retrieval for row in rows if row.injected)

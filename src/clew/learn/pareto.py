"""Context budget Pareto: what context costs in tokens and what it brings, one point per work type. rensei.md 2.7.

Zones as C-20 settles them: a point on the frontier has no other that costs no more and succeeds no less. Those
behind it are efficient (cheap and good), wasteful (dear and good) or underperforming, by the medians of all points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import sqrt
from statistics import fmean, median
from typing import NamedTuple

from clew.model.reports import Pareto, Point
from clew.ports import Tx

Z = 1.959963984540054  # of 95 %
BUCKET_TOKENS, BUCKET_SESSIONS, NEARLY = 100, 10, 0.02  # for advice: width, least sessions, how near to the best


class Outcome(NamedTuple):
    """One session whose outcome is known."""

    work_type: str
    outcome: str
    tokens: int  # that reached its agent; 0 when nothing did


def context_budget_pareto(tx: Tx, org: str, since: datetime, until: datetime, project: str | None = None) -> Pareto:
    """Over sessions of an org, or of one project, that began in the window and whose outcome is known."""
    rows = tx.learning.outcomes(org, since=since, until=until, project=project)
    return Pareto(since, until, project, points_of(Outcome(*row) for row in rows))


def points_of(outcomes: Iterable[Outcome]) -> tuple[Point, ...]:
    """The cheapest first."""
    by_type: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_type[outcome.work_type].append(outcome)
    points = [_point(work_type, sessions) for work_type, sessions in by_type.items()]
    ordered = sorted(points, key=lambda point: (point.tokens, -point.success, point.work_type))
    return tuple(zoned(ordered))


def zoned(points: Sequence[Point]) -> list[Point]:
    """With the zone of each that is valid; the others take no part."""
    valid = [point for point in points if point.is_valid]
    if not valid:
        return list(points)
    middle = median(point.tokens for point in valid), median(point.success for point in valid)
    return [replace(point, zone=_zone(point, valid, middle)) if point.is_valid else point for point in points]


def dominates(one: Point, other: Point) -> bool:
    """It costs no more and succeeds no less, and one of them strictly."""
    no_worse = one.tokens <= other.tokens and one.success >= other.success
    return no_worse and (one.tokens < other.tokens or one.success > other.success)


def wilson(successes: int, sessions: int) -> tuple[float, float]:
    """Where the true share lies, 19 times of 20; honest for few sessions and for shares of 0 and 1."""
    if not sessions:
        return 0.0, 1.0
    share, z2 = successes / sessions, Z * Z
    centre = share + z2 / (2 * sessions)
    spread = Z * sqrt(share * (1 - share) / sessions + z2 / (4 * sessions * sessions))
    scale = 1 + z2 / sessions
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def advised_tokens(sessions: Sequence[Outcome]) -> int | None:
    """The upper end of the cheapest bucket of tokens that does nearly as well as the best; None for too few."""
    buckets: dict[int, list[bool]] = defaultdict(list)
    for session in sessions:
        buckets[session.tokens // BUCKET_TOKENS].append(session.outcome == "accepted")
    shares = {at: fmean(accepted) for at, accepted in buckets.items() if len(accepted) >= BUCKET_SESSIONS}
    if not shares:
        return None
    best = max(shares.values())
    return (min(at for at, share in shares.items() if share >= best - NEARLY) + 1) * BUCKET_TOKENS


def _point(work_type: str, sessions: Sequence[Outcome]) -> Point:
    accepted = sum(session.outcome == "accepted" for session in sessions)
    low, high = wilson(accepted, len(sessions))
    return Point(
        work_type=work_type,
        sessions=len(sessions),
        tokens=fmean(session.tokens for session in sessions),
        success=accepted / len(sessions),
        low=low,
        high=high,
        advised_tokens=advised_tokens(sessions),
    )


def _zone(point: Point, points: Sequence[Point], middle: tuple[float, float]) -> str:
    if not any(dominates(other, point) for other in points):
        return "frontier"
    if point.success < middle[1]:
        return "underperforming"
    return "efficient" if point.tokens <= middle[0] else "wasteful"

"""The quality gate: two windows in, a verdict with its reasons out. The arithmetic of memories_sh.md 7.2.

Every reason blocks the canary, also while there are too few requests for a verdict: coverage needs fewer than
rates do.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.model.times import to_rfc3339
from clew.rollout.windows import Window, clamped, read_windows, rounded

if TYPE_CHECKING:
    from clew.ports import RolloutTable

CRITICAL, WARNING = "critical", "warning"


class Thresholds(NamedTuple):
    """memories_sh.md 7.2, as documented there."""

    min_hybrid_samples: int = 20
    min_canary_samples: int = 12  # for coverage and lift
    max_fallback_rate: float = 0.15
    max_graph_error_rate: float = 0.05
    max_fallback_rate_increase: float = 0.07
    max_graph_error_rate_increase: float = 0.03
    min_expansion_coverage: float = 0.10
    max_expansion_coverage_drop: float = 0.25
    max_candidate_lift_drop: float = 0.35  # as a share of what it was


THRESHOLDS = Thresholds()


class Reason(NamedTuple):
    """Why the canary is blocked."""

    code: str
    severity: str
    metric: str
    current_value: float
    previous_value: float
    threshold: float
    message: str
    blocking: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "blocking": self.blocking,
            "metric": self.metric,
            "currentValue": self.current_value,
            "previousValue": self.previous_value,
            "threshold": self.threshold,
            "message": self.message,
        }


class Gate(NamedTuple):
    """pass | warn | fail | insufficient_data, and why."""

    evaluated_at: datetime
    window_hours: float
    status: str
    reasons: tuple[Reason, ...]
    current: Window
    previous: Window
    thresholds: Thresholds = THRESHOLDS

    @property
    def canary_blocked(self) -> bool:
        return any(reason.blocking for reason in self.reasons)

    @property
    def reason_codes(self) -> list[str]:
        return [reason.code for reason in self.reasons]

    def as_json(self) -> dict[str, Any]:
        return {
            "evaluatedAt": to_rfc3339(self.evaluated_at),
            "windowHours": self.window_hours,
            "minHybridSamples": self.thresholds.min_hybrid_samples,
            "minCanarySamplesForRelevance": self.thresholds.min_canary_samples,
            "status": self.status,
            "canaryBlocked": self.canary_blocked,
            "reasons": [reason.as_json() for reason in self.reasons],
            "current": self.current.as_json(),
            "previous": self.previous.as_json(),
        }


def evaluate_gate(table: RolloutTable, org: str, *, now: datetime, window_hours: float) -> Gate:
    """What the gate says of an org's requests up to now."""
    window_hours = clamped(window_hours)
    current, previous = read_windows(table, org, now=now, window_hours=window_hours)
    return quality_gate(current, previous, now=now, window_hours=window_hours)


def quality_gate(
    current: Window, previous: Window, *, now: datetime, window_hours: float, limits: Thresholds = THRESHOLDS
) -> Gate:
    reasons = (
        *_too_high(current, previous, limits),
        *_rising(current, previous, limits),
        *_uncovered(current, previous, limits),
        *_shrinking(current, previous, limits),
    )
    return Gate(
        evaluated_at=now,
        window_hours=window_hours,
        status=_status(current, reasons, limits),
        reasons=reasons,
        current=current,
        previous=previous,
        thresholds=limits,
    )


def _status(current: Window, reasons: tuple[Reason, ...], limits: Thresholds) -> str:
    if current.hybrid_requested < limits.min_hybrid_samples:
        return "insufficient_data"
    if any(reason.blocking for reason in reasons):
        return "fail"
    return "warn" if reasons else "pass"


def _rates(current: Window, previous: Window) -> tuple[tuple[str, str, float, float], ...]:
    """The start of the code, the metric, and its value now and before."""
    return (
        ("FALLBACK_RATE", "fallback_rate", current.fallback_rate, previous.fallback_rate),
        ("GRAPH_ERROR_RATE", "graph_error_rate", current.graph_error_fallback_rate,
         previous.graph_error_fallback_rate),
    )  # fmt: skip


def _too_high(current: Window, previous: Window, limits: Thresholds) -> Iterator[Reason]:
    if current.hybrid_requested < limits.min_hybrid_samples:
        return
    highest = (limits.max_fallback_rate, limits.max_graph_error_rate)
    for (code, metric, now, before), limit in zip(_rates(current, previous), highest, strict=True):
        if now >= limit:
            message = f"{_named(metric)} is {now:.1%}; it must stay below {limit:.1%}."
            yield Reason(f"{code}_ABOVE_LIMIT", CRITICAL, metric, now, before, limit, message)


def _rising(current: Window, previous: Window, limits: Thresholds) -> Iterator[Reason]:
    if min(current.hybrid_requested, previous.hybrid_requested) < limits.min_hybrid_samples:
        return
    steepest = (limits.max_fallback_rate_increase, limits.max_graph_error_rate_increase)
    for (code, metric, now, before), limit in zip(_rates(current, previous), steepest, strict=True):
        if _difference(now, before) >= limit:
            message = f"{_named(metric)} rose from {before:.1%} to {now:.1%} between the two windows."
            yield Reason(f"{code}_REGRESSION", CRITICAL, metric, now, before, limit, message)


def _uncovered(current: Window, previous: Window, limits: Thresholds) -> Iterator[Reason]:
    metric, now, before = "expansion_coverage", current.expansion_coverage_rate, previous.expansion_coverage_rate
    if current.coverage_samples < limits.min_canary_samples:
        return
    if now < (least := limits.min_expansion_coverage):
        message = f"The graph added to {now:.1%} of the answers that could have grown; it must be {least:.1%}."
        yield Reason("EXPANSION_COVERAGE_TOO_LOW", WARNING, metric, now, before, least, message)
    drop = limits.max_expansion_coverage_drop
    if previous.coverage_samples >= limits.min_canary_samples and _difference(before, now) >= drop:
        message = f"The share of answers that the graph added to fell from {before:.1%} to {now:.1%}."
        yield Reason("EXPANSION_COVERAGE_REGRESSION", WARNING, metric, now, before, drop, message)


def _shrinking(current: Window, previous: Window, limits: Thresholds) -> Iterator[Reason]:
    if min(current.coverage_samples, previous.coverage_samples) < limits.min_canary_samples:
        return
    now, before = current.avg_candidate_lift, previous.avg_candidate_lift
    least = rounded(before * (1 - limits.max_candidate_lift_drop))
    if now < least:
        message = f"The graph added {before:.2f} memories to an answer on average, now {now:.2f}."
        yield Reason("CANDIDATE_LIFT_REGRESSION", WARNING, "candidate_lift", now, before, least, message)


def _difference(one: float, other: float) -> float:
    """To the decimals that rates have: 0.15 - 0.08 is not to fall short of 0.07."""
    return rounded(one - other)


def _named(metric: str) -> str:
    return {"fallback_rate": "The fallback rate", "graph_error_rate": "The rate of graph errors"}[metric]

"""What was measured, as people read it: the summary of the requests (memories_sh.md 7.3) and the alarms (8.1)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from clew.model.rollout import moment
from clew.model.times import to_rfc3339
from clew.rollout.windows import MAX_SUMMARY_HOURS, clamped, rounded
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.model.rollout import RequestCounts
    from clew.ports import RolloutTable
    from clew.rollout.gate import Gate

# memories_sh.md 8.1: at least so many requests and such a share of fallbacks.
HIGH_FALLBACK = (20, 0.15)
ELEVATED_FALLBACK = (10, 0.05)
GRAPH_ERRORS = 3
NAMED_REASONS = 3  # in an alarm; the gate has them all


@dataclass(frozen=True, slots=True)
class Summary:
    """How the requests of the last hours were answered."""

    window_hours: float
    counts: RequestCounts

    @property
    def fallback_rate(self) -> float:
        return _share(self.counts.fallback_count, self.counts.total_requests)

    @property
    def unplanned_fallback_rate(self) -> float:
        """Without those that somebody chose, by the mode or a switch: in shadow every request falls back."""
        return _share(self.counts.unplanned_fallbacks, self.counts.total_requests)

    @property
    def shadow_graph_error_rate(self) -> float:
        """Of the runs whose result was not used."""
        return _share(self.counts.shadow_graph_errors, self.counts.shadow_executions)

    @property
    def avg_graph_candidates(self) -> float:
        return rounded(_share(self.counts.graph_candidates, self.counts.total_requests), 2)

    @property
    def avg_graph_expanded_count(self) -> float:
        return rounded(_share(self.counts.graph_expanded, self.counts.total_requests), 2)

    def as_json(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "windowHours": self.window_hours,
            "totalRequests": counts.total_requests,
            "hybridRequested": counts.hybrid_requested,
            "canaryApplied": counts.canary_applied,
            "shadowExecutions": counts.shadow_executions,
            "fallbackCount": counts.fallback_count,
            "fallbackRate": self.fallback_rate,
            "unplannedFallbacks": counts.unplanned_fallbacks,
            "graphErrorFallbacks": counts.graph_error_fallbacks,
            "graphErrors": counts.graph_errors,
            "shadowGraphErrors": counts.shadow_graph_errors,
            "avgGraphCandidates": self.avg_graph_candidates,
            "avgGraphExpandedCount": self.avg_graph_expanded_count,
            "lastFallbackAt": moment(counts.last_fallback_at),
            "lastFallbackReason": counts.last_fallback_reason or None,
        }


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that somebody should look at."""

    code: str
    severity: str
    message: str
    triggered_at: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "triggeredAt": to_rfc3339(self.triggered_at),
        }


def read_summary(table: RolloutTable, org: str, *, now: datetime, window_hours: float) -> Summary:
    window_hours = clamped(window_hours, MAX_SUMMARY_HOURS)
    return Summary(window_hours, table.summary(org, now - timedelta(hours=window_hours), until=now))


def alarms(summary: Summary, gate: Gate | None, *, now: datetime) -> list[Alarm]:
    """None for the gate: it could not be evaluated, which is told elsewhere."""
    found = (*_of_fallbacks(summary), *_of_errors(summary), *(_of_gate(gate) if gate else ()))
    return [Alarm(code, severity, message, now) for code, severity, message in found]


def _of_fallbacks(summary: Summary) -> Iterator[tuple[str, str, str]]:
    total, share = summary.counts.total_requests, summary.unplanned_fallback_rate
    message = f"{share:.1%} of {total} requests fell back to the baseline, by the gate or an error."
    if total >= HIGH_FALLBACK[0] and share >= HIGH_FALLBACK[1]:
        yield "HIGH_FALLBACK_RATE", "critical", message
    elif total >= ELEVATED_FALLBACK[0] and share >= ELEVATED_FALLBACK[1]:
        yield "ELEVATED_FALLBACK_RATE", "warning", message


def _of_errors(summary: Summary) -> Iterator[tuple[str, str, str]]:
    if (errors := summary.counts.graph_errors) >= GRAPH_ERRORS:
        message = f"The graph failed {errors} times, {summary.counts.shadow_graph_errors} of them in the shadow."
        yield "GRAPH_EXPANSION_ERRORS", "critical", message


def _of_gate(gate: Gate) -> Iterator[tuple[str, str, str]]:
    if gate.canary_blocked:
        codes = ", ".join(gate.reason_codes[:NAMED_REASONS])
        yield "CANARY_QUALITY_GATE_BLOCKED", "critical", f"The quality gate blocks the canary: {codes}."
    elif gate.status == "warn":
        yield "CANARY_QUALITY_GATE_WARNING", "warning", "The quality gate warns; it does not block the canary."


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0

"""The two windows that the gate compares: what the requests of a span add up to, as rates.

What counts is decided by the query behind `RolloutTable.window`: only requests to which the graph was applied, or
would have been but for the gate; those that it blocked by what their shadow run showed. So a block heals when the
runs do. Coverage asks only for answers that could have grown: who has nothing more to find is not to blame.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.model.times import to_rfc3339

if TYPE_CHECKING:
    from clew.model.rollout import WindowCounts
    from clew.ports import RolloutTable

MAX_HOURS = 168.0  # of a window; a summary may look further back
MAX_SUMMARY_HOURS = 720.0


class Window(NamedTuple):
    """memories_sh.md 7.2, and `coverage_samples`: the applied ones that coverage and lift are measured on."""

    start_at: datetime
    end_at: datetime
    total_requests: int = 0
    hybrid_requested: int = 0
    canary_applied: int = 0
    hybrid_fallbacks: int = 0
    graph_error_fallbacks: int = 0
    coverage_samples: int = 0
    canary_with_expansion: int = 0
    avg_expanded_count: float = 0.0
    avg_candidate_lift: float = 0.0

    @property
    def fallback_rate(self) -> float:
        return rate(self.hybrid_fallbacks, self.hybrid_requested)

    @property
    def graph_error_fallback_rate(self) -> float:
        return rate(self.graph_error_fallbacks, self.hybrid_requested)

    @property
    def expansion_coverage_rate(self) -> float:
        return rate(self.canary_with_expansion, self.coverage_samples)

    def as_json(self) -> dict[str, Any]:
        return {
            "startAt": to_rfc3339(self.start_at),
            "endAt": to_rfc3339(self.end_at),
            "totalRequests": self.total_requests,
            "hybridRequested": self.hybrid_requested,
            "canaryApplied": self.canary_applied,
            "hybridFallbacks": self.hybrid_fallbacks,
            "graphErrorFallbacks": self.graph_error_fallbacks,
            "fallbackRate": self.fallback_rate,
            "graphErrorFallbackRate": self.graph_error_fallback_rate,
            "coverageSamples": self.coverage_samples,
            "canaryWithExpansion": self.canary_with_expansion,
            "expansionCoverageRate": self.expansion_coverage_rate,
            "avgExpandedCount": self.avg_expanded_count,
            "avgCandidateLift": self.avg_candidate_lift,
        }


def window_of(counts: WindowCounts, start_at: datetime, end_at: datetime) -> Window:
    return Window(
        start_at=start_at,
        end_at=end_at,
        total_requests=counts.total_requests,
        hybrid_requested=counts.hybrid_requested,
        canary_applied=counts.canary_applied,
        hybrid_fallbacks=counts.hybrid_fallbacks,
        graph_error_fallbacks=counts.graph_error_fallbacks,
        coverage_samples=counts.coverage_samples,
        canary_with_expansion=counts.canary_with_expansion,
        avg_expanded_count=rate(counts.expanded, counts.coverage_samples),
        avg_candidate_lift=rate(counts.lift, counts.coverage_samples),
    )


def read_windows(table: RolloutTable, org: str, *, now: datetime, window_hours: float) -> tuple[Window, Window]:
    """The one that ends now, and the one before it."""
    start = now - timedelta(hours=window_hours)
    before = start - timedelta(hours=window_hours)
    current = window_of(table.window(org, start, now), start, now)
    return current, window_of(table.window(org, before, start), before, start)


def clamped(hours: float, most: float = MAX_HOURS) -> float:
    return min(max(hours, 1.0), most)


def rate(part: float, whole: float) -> float:
    """To four decimals, halves up; 0 of nothing."""
    return rounded(part / whole) if whole > 0 else 0.0


def rounded(value: float, decimals: int = 4) -> float:
    scale = 10.0**decimals
    return floor(value * scale + 0.5) / scale

"""The rollout of graph recall: modes, one counted request, what many of them add up to.

Named tuples: every recall in a new process loads this, and a dataclass takes several times as long to be made.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from clew.model.times import to_rfc3339

MODES = ("off", "shadow", "canary")
DEFAULT_MODE = "canary"
FEW = 12  # requests: with fewer, none of the gate's rules applies
BASELINE, HYBRID_GRAPH = "baseline", "hybrid_graph"
STRATEGIES = (BASELINE, HYBRID_GRAPH)
EXPAND, ACTIVATE = "expand", "activate"
PATHS = (EXPAND, ACTIVATE)
QUALITY_GATE_BLOCKED, GRAPH_EXPANSION_ERROR = "quality_gate_blocked", "graph_expansion_error"
# In the order of their precedence.
FALLBACK_REASONS = (
    "feature_flag_disabled",
    "rollout_off",
    QUALITY_GATE_BLOCKED,
    "shadow_mode",
    GRAPH_EXPANSION_ERROR,
    "rollout_guardrail",
)


class StandingRow(NamedTuple):
    """What is stored of an org's rollout, None where nobody set it. `is_enough`: counted for the gate to judge."""

    mode: str | None
    default_strategy: str | None
    memory_on: bool
    is_enough: bool


class Metric(NamedTuple):
    """One request as the gate counts it: numbers and codes, no text.

    `eligible`: the graph ran, and its result was used or would have been, had not the gate blocked it or a default
    that fell back to the baseline left it out. `shadow_executed`: it ran and was not used, also when it failed.
    `could_expand`: the scope held more than the baseline answered.
    """

    org: str
    created_at: datetime
    id: str
    path: str
    mode: str
    requested_strategy: str
    applied_strategy: str
    eligible: bool
    shadow_executed: bool
    baseline_candidates: int
    graph_candidates: int
    graph_expanded_count: int
    would_expand_count: int
    total_candidates: int
    could_expand: bool
    fallback_reason: str = ""
    graph_error: str = ""
    project: str | None = None
    user: str | None = None
    semantic_model: str = ""
    duration_ms: float = 0.0

    @property
    def fallback_triggered(self) -> bool:
        return bool(self.fallback_reason)


class Rollout(NamedTuple):
    """The mode of an org, and who set it when; by nobody: the default."""

    mode: str
    updated_at: datetime | None = None
    updated_by: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"mode": self.mode, "updatedAt": moment(self.updated_at), "updatedBy": self.updated_by or None}


class Policy(NamedTuple):
    """What a request without a strategy gets in an org, and how the last windows stood."""

    default_strategy: str = HYBRID_GRAPH
    ready_window_streak: int = 0
    last_decision: str = ""
    last_evaluated_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "defaultStrategy": self.default_strategy,
            "readyWindowStreak": self.ready_window_streak,
            "lastDecision": self.last_decision or None,
            "lastEvaluatedAt": moment(self.last_evaluated_at),
            "updatedAt": moment(self.updated_at),
            "updatedBy": self.updated_by or None,
        }


class WindowCounts(NamedTuple):
    """What the requests of a span add up to, as the gate looks at them."""

    total_requests: int = 0
    hybrid_requested: int = 0  # eligible ones
    canary_applied: int = 0  # of these, whose run did not fail: used, or shown by the shadow what would have been
    hybrid_fallbacks: int = 0
    graph_error_fallbacks: int = 0
    coverage_samples: int = 0  # of those applied, on the path that appends, where there was something to append
    canary_with_expansion: int = 0  # of these, where something was
    expanded: int = 0
    lift: int = 0


class RequestCounts(NamedTuple):
    """What the requests of a span add up to, as they were answered."""

    total_requests: int = 0
    hybrid_requested: int = 0
    canary_applied: int = 0
    shadow_executions: int = 0
    fallback_count: int = 0
    unplanned_fallbacks: int = 0  # by the gate or an error; not because of the mode, a switch or an empty answer
    graph_error_fallbacks: int = 0
    graph_errors: int = 0  # of all runs
    shadow_graph_errors: int = 0  # of those whose result was not used
    graph_candidates: int = 0
    graph_expanded: int = 0
    last_fallback_at: datetime | None = None
    last_fallback_reason: str = ""


def moment(at: datetime | None) -> str | None:
    return to_rfc3339(at) if at else None


class Verdict(NamedTuple):
    """What the gate said, and when: over windows of so many hours."""

    judged_at: datetime
    window_hours: float
    status: str
    is_blocked: bool
    reason_codes: tuple[str, ...]

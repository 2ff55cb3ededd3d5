"""How far the graph may be rolled out: stages, what stands in the way of each, and how far the goals are.

Pure: what was measured goes in, the plan of memories_sh.md 7.4 comes out. Three things differ from there. The error
rate of the shadow is that of its own runs; a canary that the gate blocks is no stage to recommend; coverage is no
obstacle where hardly any answer could have grown.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.model.times import to_rfc3339
from clew.rollout.windows import rounded
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.rollout.gate import Gate
    from clew.rollout.summary import Summary

ENABLE, HOLD = "enable_hybrid_default", "hold_lexical_default"
GATE_BLOCKED = "CANARY_QUALITY_GATE_BLOCKED"


@dataclass(frozen=True, slots=True)
class Slo:
    """memories_sh.md 7.4, as documented there."""

    min_shadow_executions: int = 40
    min_shadow_candidates: float = 1.0
    max_shadow_error_rate: float = 0.05
    min_hybrid_samples: int = 20
    min_canary_samples: int = 12
    max_fallback_rate: float = 0.15
    max_graph_error_rate: float = 0.05
    min_expansion_coverage: float = 0.10

    def as_json(self) -> dict[str, Any]:
        return {
            "minShadowExecutionsForCanary": self.min_shadow_executions,
            "minShadowAverageGraphCandidates": self.min_shadow_candidates,
            "maxShadowGraphErrorRateForCanary": self.max_shadow_error_rate,
            "minHybridSamplesForDefaultOn": self.min_hybrid_samples,
            "minCanarySamplesForDefaultOn": self.min_canary_samples,
            "maxFallbackRateForDefaultOn": self.max_fallback_rate,
            "maxGraphErrorRateForDefaultOn": self.max_graph_error_rate,
            "minExpansionCoverageForDefaultOn": self.min_expansion_coverage,
        }


SLO = Slo()


@dataclass(frozen=True, slots=True)
class Goal:
    """One number, what it should be, and the code that says it is not."""

    metric: str
    comparator: str
    target: float
    current: float
    code: str
    is_judged: bool = True

    @property
    def gap_to_goal(self) -> float:
        if not self.is_judged:
            return 0.0
        gap = self.target - self.current if self.comparator == ">=" else self.current - self.target
        return rounded(max(0.0, gap))

    @property
    def ready(self) -> bool:
        return self.gap_to_goal == 0

    def as_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "comparator": self.comparator,
            "target": self.target,
            "current": self.current,
            "gapToGoal": self.gap_to_goal,
            "ready": self.ready,
        }


@dataclass(frozen=True, slots=True)
class Stage:
    """shadow | canary | default_on, and what stands in its way."""

    stage: str
    required_samples: int
    current_samples: int
    blocker_codes: tuple[str, ...]

    @property
    def ready(self) -> bool:
        return not self.blocker_codes

    def as_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "ready": self.ready,
            "requiredSamples": self.required_samples,
            "currentSamples": self.current_samples,
            "blockerCodes": list(self.blocker_codes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`autopilot_applied`: the mode is what it is because the plan recommended it just now."""

    evaluated_at: datetime
    current_mode: str
    recommended_mode: str
    stages: tuple[Stage, ...]
    baseline: tuple[Goal, ...]
    slo: Slo = SLO
    autopilot_enabled: bool = False
    autopilot_applied: bool = False

    @property
    def blocker_codes(self) -> tuple[str, ...]:
        """Of making the graph the default."""
        return self.stages[-1].blocker_codes

    @property
    def ready_for_default_on(self) -> bool:
        return not self.blocker_codes

    @property
    def default_behavior_decision(self) -> str:
        return ENABLE if self.ready_for_default_on else HOLD

    @property
    def rationale(self) -> str:
        if self.ready_for_default_on:
            return "Every goal is met: the graph can be the default."
        return f"What is the default stays so until these are solved: {', '.join(self.blocker_codes)}."

    def as_json(self) -> dict[str, Any]:
        return {
            "evaluatedAt": to_rfc3339(self.evaluated_at),
            "currentMode": self.current_mode,
            "recommendedMode": self.recommended_mode,
            "defaultBehaviorDecision": self.default_behavior_decision,
            "rationale": self.rationale,
            "readyForDefaultOn": self.ready_for_default_on,
            "blockerCodes": list(self.blocker_codes),
            "stages": [stage.as_json() for stage in self.stages],
            "baseline": [goal.as_json() for goal in self.baseline],
            "slo": self.slo.as_json(),
            "autopilot": {"enabled": self.autopilot_enabled, "applied": self.autopilot_applied},
        }


def build_plan(
    mode: str, summary: Summary, gate: Gate, *, now: datetime, autopilot: bool = False, applied: bool = False
) -> Plan:
    before_canary, before_default = _canary_goals(summary), _default_goals(gate)
    canary = _missed(before_canary) + ((GATE_BLOCKED,) if gate.canary_blocked else ())
    stages = (
        Stage("shadow", 0, summary.counts.shadow_executions, ("ROLLOUT_MODE_OFF",) if mode == "off" else ()),
        Stage("canary", SLO.min_shadow_executions, summary.counts.shadow_executions, canary),
        Stage("default_on", SLO.min_hybrid_samples, gate.current.hybrid_requested,
              _missed(before_default) + _verdict(gate)),
    )  # fmt: skip
    return Plan(
        evaluated_at=now,
        current_mode=mode,
        recommended_mode=_recommended(mode, is_canary_ready=not canary),
        stages=stages,
        baseline=before_canary + before_default,
        autopilot_enabled=autopilot,
        autopilot_applied=applied,
    )


def next_mode(plan: Plan) -> str | None:
    """Where an autopilot moves, one step at a time and never back; None: it stays."""
    return plan.recommended_mode if plan.recommended_mode != plan.current_mode else None


def _recommended(mode: str, *, is_canary_ready: bool) -> str:
    if mode == "off":
        return "shadow"
    return "canary" if mode == "shadow" and is_canary_ready else mode


def _canary_goals(summary: Summary) -> tuple[Goal, ...]:
    counts, share = summary.counts, rounded(summary.shadow_graph_error_rate)
    return (
        Goal("shadow_executions", ">=", SLO.min_shadow_executions, counts.shadow_executions,
             "MIN_SHADOW_EXECUTIONS_NOT_MET"),
        Goal("shadow_avg_graph_candidates", ">=", SLO.min_shadow_candidates, summary.avg_graph_candidates,
             "SHADOW_GRAPH_CANDIDATES_TOO_LOW"),
        Goal("shadow_graph_error_rate", "<=", SLO.max_shadow_error_rate, share,
             "SHADOW_GRAPH_ERROR_RATE_ABOVE_LIMIT"),
    )  # fmt: skip


def _default_goals(gate: Gate) -> tuple[Goal, ...]:
    """Coverage is judged by answers that could have grown: where there are too few, it is no obstacle."""
    current = gate.current
    return (
        Goal("hybrid_samples", ">=", SLO.min_hybrid_samples, current.hybrid_requested,
             "MIN_HYBRID_SAMPLES_NOT_MET"),
        Goal("canary_samples", ">=", SLO.min_canary_samples, current.canary_applied, "MIN_CANARY_SAMPLES_NOT_MET"),
        Goal("fallback_rate", "<=", SLO.max_fallback_rate, current.fallback_rate, "FALLBACK_RATE_ABOVE_LIMIT"),
        Goal("graph_error_rate", "<=", SLO.max_graph_error_rate, current.graph_error_fallback_rate,
             "GRAPH_ERROR_RATE_ABOVE_LIMIT"),
        Goal("expansion_coverage", ">=", SLO.min_expansion_coverage, current.expansion_coverage_rate,
             "EXPANSION_COVERAGE_TOO_LOW", current.coverage_samples >= SLO.min_canary_samples),
    )  # fmt: skip


def _missed(goals: tuple[Goal, ...]) -> tuple[str, ...]:
    return tuple(goal.code for goal in goals if not goal.ready)


def _verdict(gate: Gate) -> tuple[str, ...]:
    blocked = (GATE_BLOCKED,) if gate.canary_blocked else ()
    return blocked if gate.status == "pass" else (*blocked, f"QUALITY_STATUS_{gate.status.upper()}")

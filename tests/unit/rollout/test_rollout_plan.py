"""The plan: what stands in the way of each stage, at the limit and just beyond, and where the autopilot goes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from measured import add, planned

from clew.model.rollout import MODES, RequestCounts
from clew.ports import Store
from clew.rollout.gate import Gate, quality_gate
from clew.rollout.plan import Goal, Plan, build_plan, next_mode
from clew.rollout.summary import Summary
from clew.rollout.windows import Window
from counted import ERROR, NOON, applied, blocked, failed, shadowed

EARLIER = NOON - timedelta(hours=1)
READY = {"total_requests": 40, "shadow_executions": 40, "graph_candidates": 40}


def a_gate(**fields: Any) -> Gate:
    """Of a good day, unless it says otherwise."""
    good = {"total_requests": 20, "hybrid_requested": 20, "canary_applied": 20, "coverage_samples": 20,
            "canary_with_expansion": 20}  # fmt: skip
    span = {"start_at": NOON - timedelta(days=1), "end_at": NOON}
    return quality_gate(Window(**span, **good | fields), Window(**span), now=NOON, window_hours=24)  # type: ignore[arg-type]


def a_plan(mode: str = "canary", counts: dict[str, int] | None = None, **window: Any) -> Plan:
    return build_plan(mode, Summary(24, RequestCounts(**counts or {})), a_gate(**window), now=NOON)


def stage(plan: Plan, name: str) -> tuple[str, ...]:
    return next(each.blocker_codes for each in plan.stages if each.stage == name)


def goal(plan: Plan, metric: str) -> Goal:
    return next(each for each in plan.baseline if each.metric == metric)


# -- canary ------------------------------------------------------------------------------------------------------


def test_t39_ten_shadow_runs_hold_the_default_and_the_canary(store: Store) -> None:
    add(store, [shadowed(EARLIER, graph_candidates=0) for _ in range(10)])
    plan = planned(store, NOON, "shadow")
    assert (plan.default_behavior_decision, plan.ready_for_default_on) == ("hold_lexical_default", False)
    assert stage(plan, "canary") == ("MIN_SHADOW_EXECUTIONS_NOT_MET", "SHADOW_GRAPH_CANDIDATES_TOO_LOW")
    assert "MIN_HYBRID_SAMPLES_NOT_MET" in plan.blocker_codes


def test_forty_shadow_runs_with_a_candidate_each_open_the_canary() -> None:
    plan = a_plan("shadow", READY)
    assert (stage(plan, "canary"), plan.recommended_mode) == ((), "canary")


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"shadow_executions": 39}, "MIN_SHADOW_EXECUTIONS_NOT_MET"),
        ({"graph_candidates": 39}, "SHADOW_GRAPH_CANDIDATES_TOO_LOW"),
        ({"shadow_graph_errors": 3}, "SHADOW_GRAPH_ERROR_RATE_ABOVE_LIMIT"),
    ],
)
def test_each_shortfall_of_the_shadow_holds_the_canary(counts: dict[str, int], code: str) -> None:
    plan = a_plan("shadow", READY | counts)
    assert (stage(plan, "canary"), plan.recommended_mode) == ((code,), "shadow")


def test_a_shadow_error_rate_at_its_limit_is_allowed() -> None:
    assert stage(a_plan("shadow", READY | {"shadow_graph_errors": 2}), "canary") == ()


def test_w2_errors_that_only_the_shadow_saw_hold_the_canary(store: Store) -> None:
    add(store, [shadowed(EARLIER, error=ERROR if n < 3 else "") for n in range(40)])
    assert stage(planned(store, NOON, "shadow"), "canary") == ("SHADOW_GRAPH_ERROR_RATE_ABOVE_LIMIT",)


def test_w2_errors_of_requests_that_were_to_get_the_graph_are_not_the_shadows(store: Store) -> None:
    add(store, [*(shadowed(EARLIER) for _ in range(40)), *(failed(EARLIER) for _ in range(10))])
    assert goal(planned(store, NOON, "shadow"), "shadow_graph_error_rate").current == 0


def test_i7_a_canary_that_the_gate_blocks_is_not_recommended() -> None:
    plan = a_plan("shadow", READY, hybrid_fallbacks=20, graph_error_fallbacks=20)
    assert (stage(plan, "canary"), plan.recommended_mode) == (("CANARY_QUALITY_GATE_BLOCKED",), "shadow")


# -- default on --------------------------------------------------------------------------------------------------


def test_a_good_day_makes_the_graph_the_default() -> None:
    plan = a_plan()
    assert (plan.default_behavior_decision, plan.blocker_codes) == ("enable_hybrid_default", ())
    assert plan.rationale == "Every goal is met: the graph can be the default."


def test_d7_a_rate_at_its_limit_meets_the_goal_but_not_the_gate() -> None:
    plan = a_plan(hybrid_fallbacks=3)
    assert plan.blocker_codes == ("CANARY_QUALITY_GATE_BLOCKED", "QUALITY_STATUS_FAIL")
    assert goal(plan, "fallback_rate").ready


@pytest.mark.parametrize(
    ("window", "code"),
    [
        ({"hybrid_requested": 19}, "MIN_HYBRID_SAMPLES_NOT_MET"),
        ({"canary_applied": 11}, "MIN_CANARY_SAMPLES_NOT_MET"),
        ({"hybrid_fallbacks": 4}, "FALLBACK_RATE_ABOVE_LIMIT"),
        ({"graph_error_fallbacks": 2}, "GRAPH_ERROR_RATE_ABOVE_LIMIT"),
        ({"canary_with_expansion": 1}, "EXPANSION_COVERAGE_TOO_LOW"),
    ],
)
def test_each_shortfall_of_the_canary_holds_the_default(window: dict[str, int], code: str) -> None:
    plan = a_plan(**window)
    assert plan.blocker_codes[0] == code
    assert code in plan.rationale
    assert a_plan().blocker_codes == ()


@pytest.mark.parametrize(
    ("window", "code"),
    [
        ({"hybrid_requested": 3}, "QUALITY_STATUS_INSUFFICIENT_DATA"),
        ({"hybrid_fallbacks": 9}, "QUALITY_STATUS_FAIL"),
    ],
)
def test_a_verdict_other_than_pass_is_a_blocker_of_its_own(window: dict[str, int], code: str) -> None:
    assert a_plan(**window).blocker_codes[-1] == code


def test_d8_coverage_is_no_obstacle_where_hardly_any_answer_could_grow() -> None:
    plan = a_plan(coverage_samples=11, canary_with_expansion=0)
    coverage = goal(plan, "expansion_coverage")
    assert (plan.blocker_codes, coverage.gap_to_goal, coverage.ready) == ((), 0, True)


def test_what_the_shadow_showed_of_blocked_requests_counts_as_samples(store: Store) -> None:
    add(store, [blocked(EARLIER) for _ in range(24)])
    assert planned(store, NOON).blocker_codes == ()


# -- the autopilot of the mode -----------------------------------------------------------------------------------


def test_t40_the_autopilot_moves_from_off_to_shadow_without_asking_for_more() -> None:
    plan = a_plan("off")
    assert (next_mode(plan), stage(plan, "shadow")) == ("shadow", ("ROLLOUT_MODE_OFF",))


def test_t40_the_autopilot_moves_on_to_the_canary_when_the_shadow_did_well() -> None:
    assert next_mode(a_plan("shadow", READY)) == "canary"
    assert next_mode(a_plan("shadow")) is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("errors", [0, 20])
def test_t40_the_autopilot_never_moves_back(mode: str, errors: int) -> None:
    plan = a_plan(mode, READY, hybrid_fallbacks=errors, graph_error_fallbacks=errors)
    assert MODES.index(plan.recommended_mode) >= MODES.index(mode)
    assert MODES.index(plan.recommended_mode) - MODES.index(mode) <= 1


# -- as a value --------------------------------------------------------------------------------------------------


def test_the_goals_come_in_their_order_with_their_targets() -> None:
    rows = [(each.metric, each.comparator, each.target) for each in a_plan().baseline]
    assert rows == [
        ("shadow_executions", ">=", 40), ("shadow_avg_graph_candidates", ">=", 1),
        ("shadow_graph_error_rate", "<=", 0.05), ("hybrid_samples", ">=", 20), ("canary_samples", ">=", 12),
        ("fallback_rate", "<=", 0.15), ("graph_error_rate", "<=", 0.05), ("expansion_coverage", ">=", 0.1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("comparator", "current", "gap"), [(">=", 7, 5), (">=", 12, 0), ("<=", 20, 8), ("<=", 3, 0), ("<=", 12.1, 0.1)]
)
def test_a_gap_is_what_is_missing_in_the_direction_of_the_goal(comparator: str, current: float, gap: float) -> None:
    found = Goal("a_metric", comparator, 12, current, "A_CODE")
    assert found.as_json() == {
        "metric": "a_metric", "comparator": comparator, "target": 12, "current": current, "gapToGoal": gap,
        "ready": gap == 0,
    }  # fmt: skip


def test_the_payload_has_the_documented_fields() -> None:
    payload = a_plan("shadow", {"shadow_executions": 7}).as_json()
    assert set(payload) == {
        "evaluatedAt", "currentMode", "recommendedMode", "defaultBehaviorDecision", "rationale",
        "readyForDefaultOn", "blockerCodes", "stages", "baseline", "slo", "autopilot",
    }  # fmt: skip
    assert payload["stages"][1] == {
        "stage": "canary", "ready": False, "requiredSamples": 40, "currentSamples": 7,
        "blockerCodes": ["MIN_SHADOW_EXECUTIONS_NOT_MET", "SHADOW_GRAPH_CANDIDATES_TOO_LOW"],
    }  # fmt: skip
    assert payload["autopilot"] == {"enabled": False, "applied": False}


def test_the_slo_table_is_the_documented_one() -> None:
    assert a_plan().slo.as_json() == {
        "minShadowExecutionsForCanary": 40, "minShadowAverageGraphCandidates": 1,
        "maxShadowGraphErrorRateForCanary": 0.05, "minHybridSamplesForDefaultOn": 20,
        "minCanarySamplesForDefaultOn": 12, "maxFallbackRateForDefaultOn": 0.15,
        "maxGraphErrorRateForDefaultOn": 0.05, "minExpansionCoverageForDefaultOn": 0.1,
    }  # fmt: skip


def test_requests_that_were_answered_long_ago_are_not_in_the_plan(store: Store) -> None:
    add(store, [applied(NOON - timedelta(hours=25)) for _ in range(24)])
    assert stage(planned(store, NOON), "default_on")[0] == "MIN_HYBRID_SAMPLES_NOT_MET"

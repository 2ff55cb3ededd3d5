"""The default strategy moves by windows: two good ones forward, one with evidence back, too few requests not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import HOURS, add, planned

from clew.model.rollout import Metric, Policy, RequestCounts
from clew.ports import Store
from clew.rollout.gate import quality_gate
from clew.rollout.plan import Plan, build_plan
from clew.rollout.policy import is_due, judged, speaks_against
from clew.rollout.summary import Summary
from clew.rollout.windows import Window
from counted import NOON, applied, failed

DAY = timedelta(hours=HOURS)
LONG_AGO = NOON - timedelta(days=30)


def a_plan(**fields: int) -> Plan:
    span: dict[str, Any] = {"start_at": NOON - DAY, "end_at": NOON}
    gate = quality_gate(Window(**span, **fields), Window(**span), now=NOON, window_hours=HOURS)
    return build_plan("canary", Summary(HOURS, RequestCounts()), gate, now=NOON)


GOOD = a_plan(hybrid_requested=24, canary_applied=24, coverage_samples=24, canary_with_expansion=24)
BAD = a_plan(hybrid_requested=24, canary_applied=4, hybrid_fallbacks=20, graph_error_fallbacks=20)
NOTHING = a_plan()


def after(policy: Policy, plans: Sequence[Plan], *, autopilot: bool = True) -> Policy:
    """One plan per window."""
    for days, plan in enumerate(plans):
        policy = judged(policy, plan, now=NOON + DAY * days, window_hours=HOURS, autopilot=autopilot)
    return policy


def test_t41_two_good_windows_make_the_graph_the_default_and_a_bad_one_takes_it_back(store: Store) -> None:
    def day(number: int, metrics: list[Metric], policy: Policy) -> Policy:
        add(store, metrics)
        now = NOON + DAY * (number + 1)
        return judged(policy, planned(store, now), now=now, window_hours=HOURS)

    first = day(0, [applied(NOON) for _ in range(24)], Policy("baseline"))
    assert (first.default_strategy, first.ready_window_streak) == ("baseline", 1)
    second = day(1, [applied(NOON + DAY) for _ in range(24)], first)
    assert (second.default_strategy, second.ready_window_streak) == ("hybrid_graph", 2)
    third = day(2, [failed(NOON + 2 * DAY) for _ in range(20)], second)
    assert (third.default_strategy, third.ready_window_streak) == ("baseline", 0)


def test_w3_a_window_is_judged_once_however_often_one_asks() -> None:
    policy = judged(Policy("baseline"), GOOD, now=NOON, window_hours=HOURS)
    for minutes in range(0, 24 * 60, 7):
        again = judged(policy, GOOD, now=NOON + timedelta(minutes=minutes), window_hours=HOURS)
        assert again is policy
    assert judged(policy, GOOD, now=NOON + DAY, window_hours=HOURS).ready_window_streak == 2


def test_w3_one_window_without_requests_between_two_good_ones_starts_the_count_again() -> None:
    assert after(Policy("baseline"), [GOOD, NOTHING, GOOD]).default_strategy == "baseline"
    assert after(Policy("baseline"), [GOOD, NOTHING, GOOD, GOOD]).default_strategy == "hybrid_graph"


def test_d8_a_fresh_workspace_keeps_the_graph() -> None:
    policy = after(Policy(), [NOTHING] * 10)
    assert (policy.default_strategy, policy.last_decision) == ("hybrid_graph", "hold_lexical_default")


FEW = st.fixed_dictionaries({"hybrid_requested": st.integers(0, 19), "hybrid_fallbacks": st.integers(0, 19)})


@given(FEW)
def test_too_few_requests_are_no_evidence(counts: dict[str, int]) -> None:
    fallbacks = min(counts.values())
    plan = a_plan(**counts | {"hybrid_fallbacks": fallbacks, "graph_error_fallbacks": fallbacks})
    assert not speaks_against(plan)


@pytest.mark.parametrize(
    ("fields", "speaks"),
    [
        ({"hybrid_requested": 20, "hybrid_fallbacks": 4}, True),
        ({"hybrid_requested": 20, "graph_error_fallbacks": 2}, True),
        ({"coverage_samples": 12}, True),
        ({"hybrid_requested": 20, "canary_applied": 3}, False),
        ({"hybrid_requested": 19, "canary_applied": 19}, False),
    ],
)
def test_failing_runs_and_answers_that_do_not_grow_speak_against_the_graph(
    fields: dict[str, int], speaks: bool
) -> None:
    assert speaks_against(a_plan(**fields)) is speaks


def test_without_the_autopilot_only_the_count_moves() -> None:
    ready = after(Policy("baseline"), [GOOD] * 3, autopilot=False)
    assert (ready.default_strategy, ready.ready_window_streak) == ("baseline", 3)
    assert after(Policy(), [BAD], autopilot=False).default_strategy == "hybrid_graph"


def test_who_changed_the_default_is_told_only_when_it_changed() -> None:
    chosen = Policy("baseline", updated_at=LONG_AGO, updated_by="ada")
    held = after(chosen, [GOOD])
    assert (held.updated_at, held.updated_by, held.last_evaluated_at) == (LONG_AGO, "ada", NOON)
    moved = after(chosen, [GOOD, GOOD])
    assert (moved.updated_at, moved.updated_by) == (NOON + DAY, "autopilot")


def test_a_policy_that_was_never_judged_is_due() -> None:
    assert is_due(Policy(), now=NOON, window_hours=HOURS)


@given(st.lists(st.sampled_from([GOOD, BAD, NOTHING]), max_size=12), st.sampled_from(["baseline", "hybrid_graph"]))
def test_the_default_is_always_explained_by_the_windows_before(plans: list[Plan], start: str) -> None:
    policy = after(Policy(start), plans)
    expected = start
    for number, plan in enumerate(plans):
        if plan is BAD:
            expected = "baseline"
        elif plans[max(0, number - 1) : number + 1] == [GOOD, GOOD]:
            expected = "hybrid_graph"
    assert policy.default_strategy == expected


def test_the_payload_has_the_documented_fields() -> None:
    at: datetime = NOON
    assert Policy("baseline", 1, "hold_lexical_default", at, at, "ada").as_json() == {
        "defaultStrategy": "baseline", "readyWindowStreak": 1, "lastDecision": "hold_lexical_default",
        "lastEvaluatedAt": "2026-03-01T12:00:00.000Z", "updatedAt": "2026-03-01T12:00:00.000Z", "updatedBy": "ada",
    }  # fmt: skip
    assert set(Policy().as_json().values()) == {"hybrid_graph", 0, None}

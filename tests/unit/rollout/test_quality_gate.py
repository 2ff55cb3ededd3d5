"""The quality gate: every reason at its limit and just short of it, the worked numbers, and what never blocks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import add, measured

from clew.model.rollout import WindowCounts
from clew.ports import Store
from clew.rollout.gate import THRESHOLDS, Gate, Reason, evaluate_gate, quality_gate
from clew.rollout.windows import Window, rate, window_of
from counted import NOON, applied

DAY = timedelta(days=1)


def a_window(hybrid: int = 0, *, fallbacks: int = 0, errors: int = 0, **fields: Any) -> Window:
    """Of requests that could all have grown, and did unless it says otherwise."""
    went = hybrid - max(fallbacks, errors)
    plain: dict[str, Any] = {
        "start_at": NOON - DAY, "end_at": NOON, "total_requests": hybrid, "hybrid_requested": hybrid,
        "canary_applied": went, "hybrid_fallbacks": max(fallbacks, errors), "graph_error_fallbacks": errors,
        "coverage_samples": went, "canary_with_expansion": went, "avg_expanded_count": 1.0,
        "avg_candidate_lift": 1.0,
    }  # fmt: skip
    return Window(**plain | fields)


def judged(current: Window, previous: Window | None = None) -> Gate:
    return quality_gate(current, previous or a_window(), now=NOON, window_hours=24)


def reason(gate: Gate, code: str) -> Reason:
    return next(each for each in gate.reasons if each.code == code)


# -- rates -------------------------------------------------------------------------------------------------------


def test_t36_four_errors_in_twenty_requests_fail_and_block() -> None:
    gate = judged(a_window(20, errors=4))
    assert (gate.status, gate.canary_blocked) == ("fail", True)
    assert gate.reason_codes == ["FALLBACK_RATE_ABOVE_LIMIT", "GRAPH_ERROR_RATE_ABOVE_LIMIT"]
    assert {each.severity for each in gate.reasons} == {"critical"}


def test_three_fallbacks_in_twenty_reach_the_limit_and_block() -> None:
    gate = judged(a_window(20, fallbacks=3))
    assert reason(gate, "FALLBACK_RATE_ABOVE_LIMIT").as_json() == {
        "code": "FALLBACK_RATE_ABOVE_LIMIT",
        "severity": "critical",
        "blocking": True,
        "metric": "fallback_rate",
        "currentValue": 0.15,
        "previousValue": 0.0,
        "threshold": 0.15,
        "message": "The fallback rate is 15.0%; it must stay below 15.0%.",
    }


def test_one_error_in_twenty_reaches_the_limit_of_errors() -> None:
    found = reason(judged(a_window(20, errors=1)), "GRAPH_ERROR_RATE_ABOVE_LIMIT")
    assert (found.metric, found.current_value, found.threshold) == ("graph_error_rate", 0.05, 0.05)
    assert judged(a_window(21, errors=1)).status == "pass"


def test_nineteen_requests_are_too_few_for_a_rate() -> None:
    gate = judged(a_window(19, errors=19, coverage_samples=0))
    assert (gate.status, gate.canary_blocked) == ("insufficient_data", False)


@pytest.mark.parametrize(("before", "now", "rises"), [(8, 15, True), (8, 14, False), (0, 7, True), (0, 6, False)])
def test_w23_fallbacks_that_rise_by_seven_points_block(before: int, now: int, rises: bool) -> None:
    """Eight to fifteen too, which a sum of floats would put just below."""
    gate = judged(a_window(100, fallbacks=now), a_window(100, fallbacks=before))
    assert ("FALLBACK_RATE_REGRESSION" in gate.reason_codes) is rises


def test_w23_a_regression_names_both_values_and_the_step_that_is_allowed() -> None:
    gate = judged(a_window(100, errors=4), a_window(100, errors=1))
    assert gate.reason_codes == ["GRAPH_ERROR_RATE_REGRESSION"]
    found = reason(gate, "GRAPH_ERROR_RATE_REGRESSION")
    assert (found.severity, found.metric) == ("critical", "graph_error_rate")
    assert (found.current_value, found.previous_value, found.threshold) == (0.04, 0.01, 0.03)
    assert found.message == "The rate of graph errors rose from 1.0% to 4.0% between the two windows."


@pytest.mark.parametrize(("before", "now"), [(19, 100), (100, 19)])
def test_w23_rates_are_compared_only_when_both_windows_have_enough_requests(before: int, now: int) -> None:
    codes = judged(a_window(now, fallbacks=9), a_window(before)).reason_codes
    assert not [code for code in codes if code.startswith("FALLBACK_RATE_REG")]


def test_a_rate_that_falls_is_no_regression() -> None:
    assert judged(a_window(100), a_window(100, errors=50)).status == "pass"


# -- coverage and lift -------------------------------------------------------------------------------------------


def test_one_of_eighteen_that_grew_is_too_little_coverage() -> None:
    gate = judged(a_window(20, fallbacks=2, canary_with_expansion=1))
    assert (gate.status, gate.reason_codes) == ("fail", ["EXPANSION_COVERAGE_TOO_LOW"])
    found = gate.reasons[0]
    assert (found.severity, found.metric, found.threshold) == ("warning", "expansion_coverage", 0.1)
    assert found.current_value == 0.0556


def test_twelve_answers_without_growth_block_though_there_is_no_verdict_yet() -> None:
    gate = judged(a_window(12, canary_with_expansion=0))
    assert (gate.status, gate.canary_blocked) == ("insufficient_data", True)
    assert not judged(a_window(11, canary_with_expansion=0)).canary_blocked


def test_a_tenth_is_coverage_enough() -> None:
    assert judged(a_window(20, canary_with_expansion=2)).status == "pass"


def test_d8_answers_that_could_not_grow_never_block() -> None:
    fresh = a_window(500, coverage_samples=0, canary_with_expansion=0, avg_candidate_lift=0.0)
    assert judged(fresh).status == "pass"
    assert judged(fresh, a_window(500)).status == "pass"


@pytest.mark.parametrize(("grown", "drops"), [(65, True), (66, False)])
def test_w23_coverage_that_drops_by_a_quarter_blocks(grown: int, drops: bool) -> None:
    gate = judged(a_window(100, canary_with_expansion=grown), a_window(100, canary_with_expansion=90))
    assert gate.reason_codes == (["EXPANSION_COVERAGE_REGRESSION"] if drops else [])
    assert all((each.previous_value, each.threshold) == (0.9, 0.25) for each in gate.reasons)


@pytest.mark.parametrize(("lift", "shrinks"), [(1.25, True), (1.3, False)])
def test_w23_a_lift_that_lost_more_than_thirty_five_percent_blocks(lift: float, shrinks: bool) -> None:
    gate = judged(a_window(12, avg_candidate_lift=lift), a_window(12, avg_candidate_lift=2.0))
    assert gate.reason_codes == (["CANDIDATE_LIFT_REGRESSION"] if shrinks else [])
    assert [(each.metric, each.threshold) for each in gate.reasons] == [("candidate_lift", 1.3)] * shrinks


@pytest.mark.parametrize(("before", "now"), [(11, 12), (12, 11)])
def test_w23_coverage_and_lift_are_compared_only_with_twelve_on_both_sides(before: int, now: int) -> None:
    shrunk = a_window(now, canary_with_expansion=now // 2, avg_candidate_lift=0.5)
    assert not judged(shrunk, a_window(before, avg_candidate_lift=2.0)).reasons


def test_no_lift_before_is_nothing_to_lose() -> None:
    nothing = a_window(50, avg_candidate_lift=0.0)
    assert judged(nothing, nothing).status == "pass"


# -- as a value --------------------------------------------------------------------------------------------------


def test_the_payload_has_the_documented_fields() -> None:
    payload = judged(a_window(20, errors=4)).as_json()
    assert {key: payload[key] for key in ("evaluatedAt", "windowHours", "status", "canaryBlocked")} == {
        "evaluatedAt": "2026-03-01T12:00:00.000Z", "windowHours": 24, "status": "fail", "canaryBlocked": True,
    }  # fmt: skip
    assert (payload["minHybridSamples"], payload["minCanarySamplesForRelevance"]) == (20, 12)
    assert set(payload) - {"evaluatedAt", "windowHours", "status", "canaryBlocked"} == {
        "minHybridSamples", "minCanarySamplesForRelevance", "reasons", "current", "previous",
    }  # fmt: skip


def test_a_window_tells_its_rates_to_four_decimals() -> None:
    counts = WindowCounts(4, 3, 2, 1, 1, 2, 1, 3, 5)
    assert window_of(counts, NOON - DAY, NOON).as_json() == {
        "startAt": "2026-02-28T12:00:00.000Z", "endAt": "2026-03-01T12:00:00.000Z", "totalRequests": 4,
        "hybridRequested": 3, "canaryApplied": 2, "hybridFallbacks": 1, "graphErrorFallbacks": 1,
        "fallbackRate": 0.3333, "graphErrorFallbackRate": 0.3333, "coverageSamples": 2, "canaryWithExpansion": 1,
        "expansionCoverageRate": 0.5, "avgExpandedCount": 1.5, "avgCandidateLift": 2.5,
    }  # fmt: skip


@given(part=st.integers(0, 10_000), whole=st.integers(0, 10_000))
def test_a_rate_is_never_further_off_than_its_last_decimal(part: int, whole: int) -> None:
    assert abs(rate(part, whole) - (part / whole if whole else 0.0)) <= 0.00005 + 1e-9


def test_the_window_before_is_as_long_and_ends_where_this_one_starts(store: Store) -> None:
    hours_ago = (1, 23, 24, 25, 47, 48, 49)
    add(store, [applied(NOON - timedelta(hours=hours)) for hours in hours_ago])
    gate = measured(store, NOON)[1]
    assert (gate.current.total_requests, gate.previous.total_requests) == (3, 3)
    assert (gate.current.start_at, gate.previous.end_at) == (NOON - DAY, NOON - DAY)


@pytest.mark.parametrize(("asked", "used"), [(0.1, 1), (24, 24), (1000, 168)])
def test_a_window_is_an_hour_long_at_least_and_a_week_at_most(store: Store, asked: float, used: float) -> None:
    with store.read() as tx:
        gate = evaluate_gate(tx.rollout, "local", now=NOON, window_hours=asked)
    assert (gate.window_hours, gate.current.end_at - gate.current.start_at) == (used, timedelta(hours=used))


# -- what holds for all windows ----------------------------------------------------------------------------------


@st.composite
def windows(draw: st.DrawFn, most: int = 60) -> Window:
    hybrid = draw(st.integers(0, most))
    fallbacks = draw(st.integers(0, hybrid))
    could = draw(st.integers(0, hybrid - fallbacks))
    grown = draw(st.integers(0, could))
    return a_window(
        hybrid, fallbacks=fallbacks, graph_error_fallbacks=draw(st.integers(0, fallbacks)), coverage_samples=could,
        canary_with_expansion=grown, avg_candidate_lift=draw(st.floats(0, 8)) if grown else 0.0,
    )  # fmt: skip


@given(current=windows(most=THRESHOLDS.min_canary_samples - 1), previous=windows())
def test_fewer_requests_than_documented_never_block(current: Window, previous: Window) -> None:
    gate = judged(current, previous)
    assert (gate.status, gate.canary_blocked) == ("insufficient_data", False)


@given(current=windows(), previous=windows())
def test_rates_block_only_from_twenty_requests_and_coverage_from_twelve_answers(
    current: Window, previous: Window
) -> None:
    for each in judged(current, previous).reasons:
        is_rate = each.metric in ("fallback_rate", "graph_error_rate")
        enough = current.hybrid_requested >= 20 if is_rate else current.coverage_samples >= 12
        assert enough
        assert each.blocking


@given(current=windows(), previous=windows())
def test_without_errors_and_with_no_less_coverage_than_before_nothing_blocks(
    current: Window, previous: Window
) -> None:
    healthy = current._replace(
        hybrid_fallbacks=0, graph_error_fallbacks=0, canary_with_expansion=current.coverage_samples,
        avg_candidate_lift=max(current.avg_candidate_lift, previous.avg_candidate_lift),
    )  # fmt: skip
    gate = judged(healthy, previous)
    assert not gate.reasons
    assert gate.status == ("pass" if current.hybrid_requested >= 20 else "insufficient_data")


@given(current=windows(), previous=windows(), more=st.integers(1, 60))
def test_more_errors_never_unblock(current: Window, previous: Window, more: int) -> None:
    """The rest being equal."""
    most = current.hybrid_requested
    worse = current._replace(
        hybrid_fallbacks=min(most, current.hybrid_fallbacks + more),
        graph_error_fallbacks=min(most, current.graph_error_fallbacks + more),
    )
    assert set(judged(current, previous).reason_codes) <= set(judged(worse, previous).reason_codes)


@given(current=windows(), previous=windows())
def test_a_verdict_needs_enough_requests_and_fails_exactly_when_something_blocks(
    current: Window, previous: Window
) -> None:
    gate = judged(current, previous)
    expected = "fail" if gate.canary_blocked else "pass"
    assert gate.status == (expected if current.hybrid_requested >= 20 else "insufficient_data")

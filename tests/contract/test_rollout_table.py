"""Modes, policies and counted requests: rows to values and back, org by org; what a window counts and what not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.model.rollout import FALLBACK_REASONS, MODES, PATHS, STRATEGIES, Metric, Policy, Rollout, WindowCounts
from clew.ports import Store
from counted import ERROR, NOON, applied, blocked, failed, shadowed, unused

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def add(store: Store, metrics: Sequence[Metric]) -> None:
    store.write(lambda tx: tx.rollout.add(metrics))


def window(store: Store, org: str = "local") -> WindowCounts:
    with store.read() as tx:
        return tx.rollout.window(org, NOON, NOON + DAY)


# -- mode and policy ---------------------------------------------------------------------------------------------


def test_an_org_has_no_mode_until_one_is_set_and_then_the_last_one(store: Store) -> None:
    store.write(lambda tx: tx.rollout.set_mode("local", "shadow", by="ada", at=NOON))
    store.write(lambda tx: tx.rollout.set_mode("local", "canary", by="eve", at=NOON + HOUR))
    with store.read() as tx:
        assert tx.rollout.mode("local") == Rollout("canary", NOON + HOUR, "eve")
        assert tx.rollout.mode("other") is None


def test_w14_two_that_find_no_row_can_both_write_one(store: Store) -> None:
    with store.read() as tx:
        assert (tx.rollout.mode("local"), tx.rollout.policy("local")) == (None, None)
    for by in ("ada", "eve"):  # neither looks again
        policy = Policy(updated_at=NOON, updated_by=by)
        store.write(lambda tx, by=by: tx.rollout.set_mode("local", "canary", by=by, at=NOON))  # type: ignore[misc]
        store.write(lambda tx, policy=policy: tx.rollout.put_policy("local", policy))  # type: ignore[misc]
    with store.read() as tx:
        rows = tx.rollout.mode("local"), tx.rollout.policy("local")
    assert [row and row.updated_by for row in rows] == ["eve", "eve"]


def test_a_policy_comes_back_as_it_was_put_and_is_replaced(store: Store) -> None:
    first = Policy("baseline", 1, "hold_lexical_default", NOON, NOON, "autopilot")
    second = first._replace(default_strategy="hybrid_graph", last_evaluated_at=None)
    for policy in (first, second):
        store.write(lambda tx, policy=policy: tx.rollout.put_policy("local", policy))  # type: ignore[misc]
        with store.read() as tx:
            assert tx.rollout.policy("local") == policy
            assert tx.rollout.policy("other") is None


def test_orgs_are_those_with_a_mode_or_with_counted_requests(store: Store) -> None:
    add(store, [applied(NOON, org=org) for org in ("b", "d", "b")])
    store.write(lambda tx: tx.rollout.set_mode("a", "off", by="ada", at=NOON))
    store.write(lambda tx: tx.rollout.set_mode("d", "off", by="ada", at=NOON))
    with store.read() as tx:
        assert tx.rollout.orgs() == ["a", "b", "d"]


# -- what is kept ------------------------------------------------------------------------------------------------


def test_a_request_that_is_handed_over_twice_is_counted_once(store: Store) -> None:
    metric = applied(NOON)
    add(store, [metric])
    add(store, [metric, applied(NOON)])
    assert window(store).total_requests == 2


def test_only_the_oldest_of_this_org_are_forgotten_and_no_more_than_asked(store: Store) -> None:
    add(store, [applied(NOON + HOUR * n, org=org) for n in range(6) for org in ("local", "other")])
    prune = lambda tx: tx.rollout.prune("local", before=NOON + HOUR * 5, limit=3)  # noqa: E731
    assert [store.write(prune) for _ in range(3)] == [3, 2, 0]
    assert (window(store).total_requests, window(store, "other").total_requests) == (1, 6)


# -- what a window counts ----------------------------------------------------------------------------------------


def test_a_window_starts_with_its_first_moment_and_ends_before_its_last(store: Store) -> None:
    tick = timedelta(microseconds=1)
    add(store, [applied(at) for at in (NOON - tick, NOON, NOON + DAY - tick, NOON + DAY)])
    add(store, [applied(NOON, org="other")])
    assert window(store).total_requests == 2


def test_an_empty_window_is_all_zero(store: Store) -> None:
    assert window(store) == WindowCounts()


def test_w1_requests_that_the_gate_was_not_about_are_no_fallbacks(store: Store) -> None:
    reasons = ("feature_flag_disabled", "rollout_off", "shadow_mode", "rollout_guardrail")
    add(store, [unused(NOON, reason, eligible=False) for reason in reasons])
    assert window(store) == WindowCounts(total_requests=4)


def test_w1_a_blocked_request_counts_by_what_its_shadow_run_showed(store: Store) -> None:
    add(store, [blocked(would=2), blocked(would=0), blocked(error=ERROR)])
    assert window(store) == WindowCounts(
        total_requests=3, hybrid_requested=3, canary_applied=2, hybrid_fallbacks=1, graph_error_fallbacks=1,
        coverage_samples=2, canary_with_expansion=1, expanded=2, lift=2,
    )  # fmt: skip


def test_a_run_that_failed_while_it_was_to_be_used_is_a_fallback(store: Store) -> None:
    add(store, [applied(), failed()])
    counts = window(store)
    assert (counts.hybrid_requested, counts.canary_applied, counts.graph_error_fallbacks) == (2, 1, 1)


@pytest.mark.parametrize("fields", [{"could_expand": False}, {"path": "activate"}])
def test_d8_an_answer_that_could_not_grow_says_nothing_about_coverage(store: Store, fields: dict[str, Any]) -> None:
    add(store, [applied(expanded=0, **fields) for _ in range(12)])
    counts = window(store)
    assert (counts.canary_applied, counts.coverage_samples) == (12, 0)


def test_the_lift_is_what_came_on_top_of_the_baseline(store: Store) -> None:
    add(store, [applied(expanded=3, total_candidates=4), applied(expanded=1, total_candidates=1)])
    counts = window(store)
    assert (counts.expanded, counts.lift) == (4, 2)


COUNTED = st.builds(
    applied,
    st.integers(-2, 26).map(lambda hour: NOON + HOUR * hour),
    org=st.sampled_from(["local", "other"]), path=st.sampled_from(PATHS), mode=st.sampled_from(MODES),
    requested_strategy=st.sampled_from(STRATEGIES), applied_strategy=st.sampled_from(STRATEGIES),
    eligible=st.booleans(), shadow_executed=st.booleans(), could_expand=st.booleans(),
    baseline_candidates=st.integers(0, 3), total_candidates=st.integers(0, 6),
    would_expand_count=st.integers(0, 3), graph_candidates=st.integers(0, 9), expanded=st.integers(0, 3),
    graph_error=st.sampled_from(["", ERROR]), fallback_reason=st.sampled_from(["", *FALLBACK_REASONS]),
)  # fmt: skip


def counted_by_hand(metrics: Sequence[Metric]) -> WindowCounts:
    asked = [one for one in metrics if one.eligible]
    errors = [one for one in asked if one.graph_error]
    unseen = [one for one in asked if not one.shadow_executed and one.applied_strategy == "baseline"]
    fell = [one for one in asked if one in errors or one in unseen]
    went = [one for one in asked if one not in fell]
    could = [one for one in went if one.path == "expand" and one.could_expand]
    lifts = [
        max(0, one.total_candidates - one.baseline_candidates)
        if one.applied_strategy == "hybrid_graph"
        else one.would_expand_count
        for one in could
    ]
    return WindowCounts(
        len(metrics), len(asked), len(went), len(fell), len(errors), len(could),
        sum(one.would_expand_count > 0 for one in could), sum(one.would_expand_count for one in could), sum(lifts),
    )  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(metrics=st.lists(COUNTED, max_size=25))
def test_a_window_counts_as_one_would_by_hand(store: Store, metrics: list[Metric]) -> None:
    store.write(lambda tx: [tx.rollout.prune(org, before=NOON + 9 * DAY) for org in ("local", "other")])
    add(store, metrics)
    inside = [one for one in metrics if one.org == "local" and NOON <= one.created_at < NOON + DAY]
    assert window(store) == counted_by_hand(inside)


# -- the summary -------------------------------------------------------------------------------------------------


def test_the_summary_counts_requests_as_they_were_answered(store: Store) -> None:
    plain = applied(NOON, requested_strategy="baseline", applied_strategy="baseline", eligible=False, expanded=0)
    add(store, [plain, applied(NOON, expanded=2), failed(NOON), blocked(NOON + HOUR), shadowed(NOON, error=ERROR)])
    with store.read() as tx:
        counts = tx.rollout.summary("local", NOON, until=NOON + 2 * HOUR)
    assert (counts.total_requests, counts.hybrid_requested, counts.canary_applied) == (5, 4, 1)
    assert (counts.shadow_executions, counts.fallback_count, counts.unplanned_fallbacks) == (2, 3, 2)
    assert (counts.graph_error_fallbacks, counts.graph_errors, counts.shadow_graph_errors) == (1, 2, 1)
    assert (counts.graph_candidates, counts.graph_expanded) == (12, 2)
    assert (counts.last_fallback_at, counts.last_fallback_reason) == (NOON + HOUR, "quality_gate_blocked")


def test_the_summary_leaves_out_what_was_before_and_other_orgs(store: Store) -> None:
    add(store, [failed(NOON - HOUR), failed(NOON, org="other"), applied(NOON)])
    with store.read() as tx:
        counts = tx.rollout.summary("local", NOON, until=NOON + 2 * HOUR)
    assert (counts.total_requests, counts.fallback_count, counts.last_fallback_at) == (1, 0, None)


def test_the_summary_leaves_out_what_a_wrong_clock_counted_in_the_future(store: Store) -> None:
    add(store, [applied(NOON), applied(NOON + 1_000 * HOUR)])
    with store.read() as tx:
        assert tx.rollout.summary("local", NOON - HOUR, until=NOON).total_requests == 1

"""Five days of requests, six hours of them with a graph that fails: the gate blocks, and heals without being told.

Each request is answered by what the gate says at its moment, and counted as such: a block that fed on itself would
never end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from measured import HOURS, add, measured, planned

from clew.model.rollout import Metric, Policy
from clew.ports import Store
from clew.rollout.policy import judged
from counted import ERROR, NOON, applied, blocked, failed, shadowed

EVERY = timedelta(minutes=20)
DAYS = 5
FAULT = NOON + timedelta(days=1), NOON + timedelta(days=1, hours=6)
Healthy = Callable[[datetime], bool]


@dataclass(frozen=True)
class Moment:
    at: datetime
    is_blocked: bool
    is_applied: bool


def is_well(at: datetime) -> bool:
    return not FAULT[0] <= at < FAULT[1]


def answered(at: datetime, *, is_blocked: bool, works: bool) -> Metric:
    if is_blocked:
        return blocked(at, error="" if works else ERROR)
    return applied(at) if works else failed(at)


def lived(store: Store, works: Healthy = is_well) -> list[Moment]:
    """What happened, request by request."""
    story = []
    for number in range(int(timedelta(days=DAYS) / EVERY)):
        at = NOON + EVERY * number
        metric = answered(at, is_blocked=measured(store, at)[1].canary_blocked, works=works(at))
        add(store, [metric])
        story.append(Moment(at, bool(metric.shadow_executed), metric.applied_strategy == "hybrid_graph"))
    return story


def test_w1_a_fault_blocks_and_the_block_ends_without_a_single_request_having_been_let_through(
    store: Store,
) -> None:
    story = lived(store)
    shut = [moment for moment in story if moment.is_blocked]
    start, end = shut[0].at, shut[-1].at
    assert FAULT[0] < start < FAULT[0] + timedelta(hours=2)
    assert FAULT[1] < end < FAULT[1] + timedelta(hours=HOURS)
    assert not any(moment.is_applied for moment in story if start <= moment.at <= end)
    assert all(moment.is_applied for moment in story if moment.at > end)


def test_w1_the_block_is_one_stretch_and_lasts_for_all_of_the_fault(store: Store) -> None:
    story = lived(store)
    shut = [number for number, moment in enumerate(story) if moment.is_blocked]
    assert shut == list(range(shut[0], shut[-1] + 1))
    assert all(moment.is_blocked for moment in story if story[shut[0]].at <= moment.at < FAULT[1])


def test_w2_while_the_shadow_still_fails_the_block_stays(store: Store) -> None:
    story = lived(store, lambda at: at < FAULT[0])
    start = next(number for number, moment in enumerate(story) if moment.is_blocked)
    assert all(moment.is_blocked for moment in story[start:])


def test_w1_days_in_shadow_do_not_close_the_canary(store: Store) -> None:
    add(store, [shadowed(NOON - EVERY * number) for number in range(1, 200)])
    assert not measured(store, NOON)[1].canary_blocked


def test_a_default_that_fell_back_returns_by_what_the_shadow_shows(store: Store) -> None:
    """While it is the baseline, requests that leave the choice open get it, and the graph runs unused."""

    def unasked(at: datetime) -> Metric:
        plain = {"requested_strategy": "baseline", "fallback_reason": ""}
        return blocked(at, error="" if is_well(at) else ERROR, **plain)

    policy, seen = Policy(), []
    for day in range(DAYS):
        start, end = NOON + timedelta(days=day), NOON + timedelta(days=day + 1)
        make = applied if policy.default_strategy == "hybrid_graph" and day != 1 else unasked
        add(store, [make(start + EVERY * number) for number in range(72)])
        policy = judged(policy, planned(store, end), now=end, window_hours=HOURS)
        seen.append(policy.default_strategy)
    assert seen == ["hybrid_graph", "baseline", "baseline", "hybrid_graph", "hybrid_graph"]

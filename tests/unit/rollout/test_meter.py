"""Counting: bounded, in batches, behind the answer; and what is kept of the mode between two looks."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from unittest.mock import patch

import apsw
import pytest

from clew.ports import Store, Tx
from clew.rollout.gate import THRESHOLDS
from clew.rollout.meter import AGE, Meter
from clew.rollout.standing import CANARY
from clew.rollout.state import FEW, RolloutState
from counted import NOON, applied, blocked, failed

MINUTE = timedelta(minutes=1)


def nothing(_tx: Tx, _org: str, _now: datetime) -> None:
    return None


def stored(store: Store) -> int:
    with store.read() as tx:
        return tx.rollout.summary("local", NOON - timedelta(days=30), until=NOON + timedelta(days=1)).total_requests


def test_requests_wait_until_there_is_a_batch_of_them(store: Store) -> None:
    meter = Meter(store, nothing, batch=3)
    for _ in range(2):
        meter.count(applied())
    assert (stored(store), meter.waiting("local")) == (0, 2)
    meter.count(applied())
    meter.flush()
    assert (stored(store), meter.waiting("local"), meter.dropped("local")) == (3, 0, 0)


def test_the_next_request_brings_an_old_one_along(store: Store) -> None:
    meter = Meter(store, nothing, batch=100)
    meter.count(applied(NOON))
    meter.count(applied(NOON + AGE))
    meter.close()
    assert (stored(store), meter.dropped("local")) == (2, 0)


def test_a_batch_stands_back_for_those_who_ask_and_not_for_those_who_wait_for_it(store: Store) -> None:
    meter = Meter(store, nothing, batch=1, rest_s=lambda: 30.0)
    with patch("clew.rollout.meter.MOST_REST_S", 60.0):
        meter.count(applied())
        thread = meter._thread
        assert thread is not None and thread.is_alive() and stored(store) == 0
        meter.flush()
    assert stored(store) == 1 and not thread.is_alive()


def test_beside_questions_without_end_a_batch_is_written_all_the_same(store: Store) -> None:
    meter = Meter(store, nothing, batch=1, rest_s=lambda: 30.0)
    with patch("clew.rollout.meter.MOST_REST_S", 0.0):
        meter.count(applied())
        assert meter._thread is not None
        meter._thread.join()
    assert stored(store) == 1


def test_what_waits_is_written_at_the_end(store: Store) -> None:
    meter = Meter(store, nothing)
    meter.count(applied())
    meter.close()
    assert (stored(store), meter.dropped("local")) == (1, 0)


@pytest.mark.parametrize("batch", [1, 100], ids=["handed over", "still waiting"])
def test_nobody_waits_at_the_end_for_another_process_that_writes(store: Store, batch: int) -> None:
    meter = Meter(store, nothing, batch=batch)
    other = apsw.Connection(str(store.path))  # type: ignore[attr-defined]
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    meter.count(applied())
    meter.close()
    store.close()
    assert time.monotonic() - began < 10  # a write proper waits for 30 s
    assert meter.dropped("local") == 1
    other.execute("ROLLBACK")


def test_while_the_store_is_busy_no_more_waits_than_there_is_room_for(store: Store) -> None:
    meter = Meter(store, nothing, batch=2, room=4)
    other = apsw.Connection(str(store.path))  # type: ignore[attr-defined]
    other.execute("BEGIN IMMEDIATE")
    for _ in range(2 + 4 + 5):
        meter.count(applied())
    meter.flush()
    assert (meter.waiting("local"), meter.dropped("local")) == (4, 7)
    other.execute("ROLLBACK")
    meter.flush()
    assert (stored(store), meter.waiting("local")) == (4, 0)


def test_an_org_is_told_of_its_own_requests_only(store: Store) -> None:
    meter = Meter(store, nothing, room=3)
    for org in ("a", "a", "b", "b", "b"):
        meter.count(applied(org=org))
    assert (meter.waiting("a"), meter.dropped("a")) == (2, 0)
    assert (meter.waiting("b"), meter.dropped("b")) == (1, 2)


def test_counting_on_a_closed_store_raises_nothing_and_is_told(store: Store) -> None:
    meter = Meter(store, nothing, batch=1)
    store.close()
    meter.count(applied())
    meter.close()
    assert meter.dropped("local") == 1


def test_requests_stay_counted_when_what_follows_from_them_fails(store: Store) -> None:
    def failing(tx: Tx, org: str, now: datetime) -> None:
        tx.rollout.set_mode(org, "off", by="nobody", at=now)
        raise RuntimeError

    meter = Meter(store, failing)
    meter.count(applied())
    meter.flush()
    with store.read() as tx:
        assert (stored_in(tx), tx.rollout.mode("local")) == (1, None)


def stored_in(tx: Tx) -> int:
    return tx.rollout.summary("local", NOON - timedelta(days=1), until=NOON).total_requests


def test_each_org_of_a_batch_is_looked_after_once_at_its_newest_request(store: Store) -> None:
    seen = []
    meter = Meter(store, lambda _tx, org, now: seen.append((org, now)))
    for org, at in (("a", NOON), ("b", NOON), ("a", NOON + MINUTE)):
        meter.count(applied(at, org=org))
    meter.flush()
    assert seen == [("a", NOON + MINUTE), ("b", NOON)]


def test_threads_that_count_at_once_lose_nothing(store: Store) -> None:
    meter = Meter(store, nothing, batch=7)
    threads = [threading.Thread(target=lambda: [meter.count(applied()) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.flush()
    assert stored(store) + meter.dropped("local") == 200 and meter.dropped("local") == 0


# -- the mode between two looks ----------------------------------------------------------------------


def test_a_mode_is_seen_as_soon_as_it_is_committed(store: Store) -> None:
    state = RolloutState(store, window_hours=24)
    assert state.of("local", now=NOON).mode == "canary"
    store.write(lambda tx: tx.rollout.set_mode("local", "shadow", by="ada", at=NOON))
    assert state.of("local", now=NOON).mode == "shadow"
    assert state.of("other", now=NOON).mode == "canary"


def test_the_gate_is_evaluated_at_most_once_a_minute(store: Store) -> None:
    state = RolloutState(store, window_hours=24)
    assert state.of("local", now=NOON).gate.status == "insufficient_data"
    rows = [failed(NOON - MINUTE) for _ in range(20)]
    store.write(lambda tx: tx.rollout.add(rows))
    assert not state.of("local", now=NOON + MINUTE / 2).gate.is_blocked
    gate = state.of("local", now=NOON + MINUTE).gate
    assert (gate.status, gate.is_blocked) == ("fail", True)


@pytest.mark.parametrize("step", [timedelta(hours=25), -timedelta(hours=25)])
def test_a_block_is_not_kept_when_the_clock_jumps(store: Store, step: timedelta) -> None:
    rows = [failed(NOON - MINUTE) for _ in range(20)]
    store.write(lambda tx: tx.rollout.add(rows))
    state = RolloutState(store, window_hours=24)
    assert state.of("local", now=NOON).gate.is_blocked
    assert not state.of("local", now=NOON + step).gate.is_blocked


def test_with_so_few_requests_no_rule_of_the_gate_can_apply() -> None:
    assert min(THRESHOLDS.min_hybrid_samples, THRESHOLDS.min_canary_samples) >= FEW


def test_a_store_that_cannot_be_read_is_taken_for_an_open_canary(store: Store) -> None:
    state = RolloutState(store, window_hours=24)
    rows = [blocked(NOON - MINUTE, error="X") for _ in range(20)]
    store.write(lambda tx: tx.rollout.add(rows))
    store.close()
    assert state.of("local", now=NOON) == CANARY

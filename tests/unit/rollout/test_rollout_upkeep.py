"""What follows from newly counted requests: old ones go, and the gate's verdict is kept for readers."""

from __future__ import annotations

from datetime import datetime, timedelta

from clew.model.rollout import Verdict
from clew.ports import Store
from clew.rollout.state import RolloutState
from clew.rollout.upkeep import VERDICT_AGE, RolloutPolicy, look_after
from counted import NOON, applied, failed

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def looked_after(store: Store, now: datetime, **policy: float) -> None:
    store.write(lambda tx: look_after(tx, "local", RolloutPolicy(**policy), now=now))  # type: ignore[arg-type]


def stored(store: Store) -> int:
    with store.read() as tx:
        return tx.rollout.summary("local", NOON - 365 * DAY, until=NOON + DAY).total_requests


def verdict(store: Store) -> Verdict | None:
    with store.read() as tx:
        return tx.rollout.verdict("local")


def test_old_requests_go_with_every_batch_not_once_a_day(store: Store) -> None:
    looked_after(store, NOON)
    store.write(lambda tx: tx.rollout.add([applied(NOON - 8 * DAY) for _ in range(20)]))
    looked_after(store, NOON + HOUR)
    assert stored(store) == 0


def test_both_windows_of_the_gate_are_kept_whatever_the_setting(store: Store) -> None:
    store.write(lambda tx: tx.rollout.add([applied(NOON - 10 * DAY)]))
    looked_after(store, NOON, window_hours=168, keep_days=7)
    assert stored(store) == 1


def test_the_verdict_is_kept_for_half_a_minute(store: Store) -> None:
    store.write(lambda tx: tx.rollout.add([failed(NOON - HOUR) for _ in range(20)]))
    looked_after(store, NOON)
    looked_after(store, NOON + VERDICT_AGE / 2)
    first = verdict(store)
    looked_after(store, NOON + VERDICT_AGE)
    second = verdict(store)
    assert first and first.is_blocked and first.judged_at == NOON
    assert second and second.judged_at == NOON + VERDICT_AGE


def test_a_reader_takes_a_fresh_verdict_and_no_stale_one(store: Store) -> None:
    store.write(lambda tx: tx.rollout.add([applied(NOON - HOUR) for _ in range(20)]))
    told = Verdict(NOON, 24.0, "fail", True, ("TOLD",))
    store.write(lambda tx: tx.rollout.put_verdict("local", told))
    state = RolloutState(store, window_hours=24)
    assert state.of("local", now=NOON + HOUR / 120).gate.reason_codes == ("TOLD",)
    assert not state.of("local", now=NOON + HOUR).gate.is_blocked


def test_a_verdict_over_other_windows_is_not_taken(store: Store) -> None:
    store.write(lambda tx: tx.rollout.add([applied(NOON - HOUR) for _ in range(20)]))
    store.write(lambda tx: tx.rollout.put_verdict("local", Verdict(NOON, 12.0, "fail", True, ("TOLD",))))
    assert not RolloutState(store, window_hours=24).of("local", now=NOON).gate.is_blocked


def test_a_verdict_from_a_clock_that_was_ahead_does_not_hold_the_default_for_years(store: Store) -> None:
    looked_after(store, NOON + 1_000 * DAY)
    store.write(lambda tx: tx.rollout.add([failed(NOON - HOUR) for _ in range(20)]))
    looked_after(store, NOON)
    with store.read() as tx:
        policy = tx.rollout.policy("local")
    assert policy and (policy.default_strategy, policy.last_evaluated_at) == ("baseline", NOON)


def test_while_the_graph_is_switched_off_the_autopilot_moves_nothing(store: Store) -> None:
    off = RolloutPolicy(autopilot=True, is_on=False)
    store.write(lambda tx: look_after(tx, "local", off, now=NOON))
    with store.read() as tx:
        assert tx.rollout.mode("local") is None


def test_a_reader_trusts_no_verdict_for_longer_than_a_minute(store: Store) -> None:
    store.write(lambda tx: tx.rollout.add([applied(NOON - HOUR) for _ in range(20)]))
    store.write(lambda tx: tx.rollout.put_verdict("local", Verdict(NOON, 24.0, "fail", True, ("TOLD",))))
    state = RolloutState(store, window_hours=24)
    assert state.of("local", now=NOON + timedelta(seconds=59)).gate.is_blocked
    assert not state.of("local", now=NOON + timedelta(seconds=61)).gate.is_blocked

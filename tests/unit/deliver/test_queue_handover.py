"""Two workers and a lock that changes hands between claim and acknowledgement: 1,000 random interleavings."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from desks import Desk

from clew.errors import Conflict
from clew.store.ledger import Leases


def test_r126_in_a_thousand_interleavings_the_old_ack_is_refused_and_the_new_owner_gets_the_same_delivery(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(max_attempts=10_000, max_pending=10_000)
    rng = random.Random(126)
    order = desk.put(*(f"text {number}" for number in range(700)))
    worker, token = "a", desk.claim_session("a")
    acked: list[str] = []
    handovers = 0
    for _ in range(1_000):
        delivery = desk.claim(token, worker)
        assert delivery and delivery.delivery_id == order[len(acked)]
        if rng.random() < 0.6:  # the lock changes hands before the acknowledgement
            stale, token = (worker, token), _handed_over(desk, "b" if worker == "a" else "a")
            worker = "b" if worker == "a" else "a"
            handovers += 1
            _old_and_new_race(desk, delivery.delivery_id, stale, (worker, token), new_first=rng.random() < 0.5)
        if rng.random() < 0.6:
            assert desk.ack(delivery.delivery_id, token, worker)
            acked.append(delivery.delivery_id)
        assert len(desk.clew.queue.list(desk.id, state="delivered")) <= 1
    assert acked == order[: len(acked)]
    assert handovers > 500


def _handed_over(desk: Desk, worker: str) -> int:
    desk.leases.pass_by(91)
    return desk.claim_session(worker)


def _old_and_new_race(
    desk: Desk, delivery: str, old: tuple[str, int], new: tuple[str, int], *, new_first: bool
) -> None:
    """Whoever comes first: the old acknowledgement is refused, the new owner is handed the same delivery."""
    for is_new in (new_first, not new_first):
        if is_new:
            again = desk.claim(new[1], new[0])
            assert again and again.delivery_id == delivery
        else:
            assert not desk.ack(delivery, old[1], old[0])
            assert not desk.clew.sessions.refresh(desk.id, *old, acked=[delivery]).refreshed


def test_c12_two_workers_that_claim_at_once_do_not_both_get_it(desk: Desk) -> None:
    granted = []
    for worker in ("a", "b"):
        try:
            granted.append(desk.claim_session(worker))
        except Conflict:
            continue
    assert len(granted) == 1


def test_c09_a_new_agent_process_gets_the_start_block_again_when_that_is_asked_for(
    make_desk: Callable[..., Desk],
) -> None:
    for on, expected in ((True, ["pending", "acked"]), (False, ["acked", "acked"])):
        desk = make_desk(redeliver_on_new_epoch=on)
        token = desk.claim_session("a", provider_session="run-1")
        desk.put("start block", phase="start")
        desk.put("hint")
        while delivery := desk.claim(token, "a"):
            desk.ack(delivery.delivery_id, token, "a")
        desk.leases.pass_by(91)
        desk.claim_session("b", provider_session="run-1")
        assert desk.states() == ["acked", "acked"]
        desk.leases.pass_by(91)
        desk.claim_session("c", provider_session="run-2")
        assert desk.states() == expected


def test_a_beat_that_refreshed_has_taken_in_everything_whatever_the_clock_did_meanwhile(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its worker believes that a delivery is acknowledged, and another gets it."""
    desk.put("one", "two")
    token = desk.claim_session()
    first = desk.claim(token)
    assert first
    renew = Leases.renew

    def renew_at_the_last_moment(self: Leases, org: str, key: str, token: int, *, ttl_s: float) -> None:
        renew(self, org, key, token, ttl_s=-ttl_s)  # over as soon as it is renewed

    monkeypatch.setattr(Leases, "renew", renew_at_the_last_moment)
    assert desk.clew.sessions.refresh(desk.id, "w1", token, acked=first.delivery_id).refreshed
    assert desk.states() == ["acked", "pending"]
    assert not desk.clew.sessions.refresh(desk.id, "w1", token).refreshed


def test_a_lock_that_runs_out_between_two_looks_at_it_is_lost_as_any_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("one")
    token = desk.claim_session()
    first = desk.claim(token)
    assert first
    renew = Leases.renew

    def renew_too_late(self: Leases, org: str, key: str, token: int, *, ttl_s: float) -> None:
        renew(self, org, key, token, ttl_s=-ttl_s)
        renew(self, org, key, token, ttl_s=ttl_s)

    monkeypatch.setattr(Leases, "renew", renew_too_late)
    assert not desk.clew.sessions.refresh(desk.id, "w1", token, acked=first.delivery_id).refreshed
    assert desk.states() == ["delivered"]

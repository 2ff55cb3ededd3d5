"""Each setting of section `deliver` is live: one test each, named test_deliver_<setting>_is_live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.deliver import run_beats
from clew.errors import Conflict
from clew.model.session import InjectDraft
from lease_clock import LeaseClock
from toys import ToldClock, open_toy


@contextmanager
def running(
    folder: Path, clock: ToldClock | None = None, **deliver: Any
) -> Iterator[tuple[Clew, LeaseClock, str, int]]:
    """A store with one session that worker `w` holds."""
    name = f"{len(list(folder.iterdir()))}.db"
    with open_toy(folder / name, clock=clock, deliver=deliver) as clew:
        leases = LeaseClock(clew.store)  # type: ignore[arg-type]
        session = clew.sessions.start(project="p").id
        yield clew, leases, session, clew.sessions.claim(session, "w", provider_session="run-1")


def test_deliver_beat_s_is_live(tmp_path: Path) -> None:
    class Agent:
        waited: float = 0

        def inject(self, text: str) -> None: ...

        def wait(self, seconds: float) -> bool:
            self.waited = seconds
            return True

    for beat_s in (5.0, 30.0):
        agent = Agent()
        with running(tmp_path, beat_s=beat_s) as (clew, _leases, session, _token):
            run_beats(agent, clew=clew, session_id=session, worker_id="w", clock=lambda: 0.0)
        assert agent.waited == beat_s


def test_deliver_lease_s_is_live(tmp_path: Path) -> None:
    with running(tmp_path, lease_s=5) as (clew, leases, session, token):
        leases.pass_by(6)
        assert clew.sessions.claim(session, "other") > token
    with running(tmp_path) as (clew, leases, session, token):
        leases.pass_by(6)
        with pytest.raises(Conflict):
            clew.sessions.claim(session, "other")


def test_deliver_max_attempts_is_live(tmp_path: Path) -> None:
    for most in (1, 4):
        with running(tmp_path, max_attempts=most) as (clew, _leases, session, token):
            clew.queue.enqueue(session, "one")
            handed = [clew.queue.claim(session, "w", token) for _ in range(6)]
            assert sum(delivery is not None for delivery in handed) == most


def test_deliver_max_pending_is_live(tmp_path: Path) -> None:
    for most in (1, 3):
        with running(tmp_path, max_pending=most) as (clew, _leases, session, _token):
            put = [clew.queue.enqueue(session, str(number)) for number in range(5)]
            assert sum(inject is not None for inject in put) == most


def test_deliver_max_text_bytes_is_live(tmp_path: Path) -> None:
    for most, reason in ((5, "text_too_long"), (6, None)):
        with running(tmp_path, max_text_bytes=most) as (clew, _leases, session, _token):
            assert clew.queue.offer(InjectDraft(session, "äöü")).reason == reason


def test_deliver_late_ack_s_is_live(tmp_path: Path) -> None:
    for late_ack_s, counted in ((10, False), (100, True)):
        clock = ToldClock()
        with running(tmp_path, clock, late_ack_s=late_ack_s) as (clew, _leases, session, token):
            clew.queue.enqueue(session, "one")
            delivery = clew.queue.claim(session, "w", token)
            assert delivery
            clew.sessions.end(session)
            clock.pass_by(seconds=50)
            assert clew.queue.ack(session, delivery.delivery_id, "w", token) is counted


def test_deliver_redeliver_on_new_epoch_is_live(tmp_path: Path) -> None:
    for on, state in ((True, "pending"), (False, "acked")):
        with running(tmp_path, redeliver_on_new_epoch=on) as (clew, _leases, session, token):
            clew.queue.enqueue(session, "block", phase="start")
            delivery = clew.queue.claim(session, "w", token)
            assert delivery and clew.queue.ack(session, delivery.delivery_id, "w", token)
            clew.sessions.claim(session, "w", provider_session="run-2")
            assert clew.queue.list(session)[0].state == state

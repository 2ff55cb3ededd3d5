"""The queue under kill -9, stolen locks, paused holders, jumping clocks and floods of duplicates.

Whatever happens: nothing acknowledged is lost, no text is there twice, never two in flight, no stale worker
acknowledges anything, order is kept, what is left can be worked off, and the file is whole. Locks go by a clock in
the database that the test moves, so nothing waits for a lease to run out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from queue_actors import LEASE_S, cycles, open_at
from queue_checks import Actor, Promise, check_rows, drain

from clew.clew import Clew
from lease_clock import LeaseClock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


@contextmanager
def a_store(path: Path, sessions: int) -> Iterator[tuple[Clew, LeaseClock]]:
    with open_at(path) as clew:
        leases = LeaseClock(clew.store)  # type: ignore[arg-type]
        for _ in range(sessions):
            clew.sessions.start(project="p")
        yield clew, leases


def check(path: Path, promises: list[Promise]) -> None:
    """What must be true at any moment."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(30_000)
    assert connection.pragma("integrity_check") == "ok"
    rows = {
        id: (session, text, state, token, seq)
        for id, session, text, state, token, seq in connection.execute(
            "SELECT id, session_id, text, state, fencing_token, seq FROM session_memory_injects"
        )
    }
    connection.close()
    check_rows(rows, promises)


# -- kill -9 -------------------------------------------------------------------------------------------------


def survive_kills(folder: Path, *, kills: int, sessions: int, seed: int) -> None:
    rng, path = random.Random(seed), folder / "clew.db"
    promises: list[Promise] = []
    with a_store(path, sessions) as (clew, leases):
        for round in range(-(-kills // 4)):
            actors = [
                Actor(role, path, seed * 10_000 + round * 4 + number)
                for number, role in enumerate(("produce", "work", "produce", "work"))
            ]
            actors[0].read(rng.randrange(2, 20))  # until it has done something; the others are anywhere
            rng.shuffle(actors)
            for actor in actors:
                promises += actor.finish(kill=True)
            leases.pass_by(rng.choice([LEASE_S + 1, LEASE_S + 1, 3_600.0, -30.0, 0.0]))
            check(path, promises)
        promises += drain(clew, leases)
        check(path, promises)
    assert sum(kind == "put" for kind, *_ in promises) > kills


def test_r120_nothing_acknowledged_is_lost_when_producers_and_workers_are_killed(tmp_path: Path) -> None:
    survive_kills(tmp_path, kills=16, sessions=5, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(10))
def test_nothing_acknowledged_is_lost_in_a_thousand_kills(tmp_path: Path, seed: int) -> None:
    survive_kills(tmp_path, kills=100, sessions=20, seed=seed + 1)


# -- many workers, floods of duplicates, stolen locks, jumping clocks ---------------------------------------------


def survive_crowd(folder: Path, *, workers: int, sessions: int, texts: int, times: int, seed: int) -> None:
    rng, path = random.Random(seed), folder / "clew.db"
    with a_store(path, sessions) as (clew, leases):
        producers = [Actor("repeat", path, seed + number, texts, times) for number in range(2)]
        crowd = [Actor("work", path, seed + 100 + number) for number in range(workers)]
        for _ in range(sessions * texts // 20):
            producers[0].read(5)  # as the work goes on, locks are stolen from workers that still live
            leases.pass_by(rng.choice([LEASE_S + 1, LEASE_S + 1, 7_200.0, -3_600.0]))
        promises = [promise for actor in producers for promise in actor.finish(kill=False)]
        promises += [promise for actor in crowd for promise in actor.finish(kill=True)]
        check(path, promises)
        promises += drain(clew, leases)
        check(path, promises)
        rows = sum(len(clew.queue.list(session.id)) for session in clew.sessions.list(limit=10_000))
    assert rows == sessions * texts
    assert sum(kind == "put" for kind, *_ in promises) == rows
    assert sum(kind == "ack" for kind, *_ in promises) > 0


def test_r132_a_crowd_and_a_flood_of_duplicates_leave_each_text_once_and_in_order(tmp_path: Path) -> None:
    survive_crowd(tmp_path, workers=3, sessions=6, texts=8, times=4, seed=1)


@pytest.mark.torture
def test_sixteen_workers_on_two_hundred_sessions_with_fifty_duplicates_of_everything(tmp_path: Path) -> None:
    survive_crowd(tmp_path, workers=16, sessions=200, texts=5, times=25, seed=1)  # by two producers


# -- paused holders ------------------------------------------------------------------------------------------


def survive_pauses(folder: Path, *, pauses: int, seed: int) -> None:
    """So many, and more until a holder was late: it may be quick enough to acknowledge before each of them."""
    rng, path = random.Random(seed), folder / "clew.db"
    promises: list[Promise] = []
    with a_store(path, 3) as (clew, leases):
        sessions = [session.id for session in clew.sessions.list()]
        texts = iter(range(1_000_000))
        holder = Actor("linger", path, seed)
        for done in range(10 * pauses):
            if done >= pauses and any(kind == "late" for kind, *_ in holder.promises):
                break
            for _ in range(12):
                clew.queue.enqueue(rng.choice(sessions), f"text {next(texts)}")
            _got, held, _delivery, _token = holder.read_until_got()
            pause_outside_a_transaction(holder, path)
            leases.pass_by(LEASE_S + 1)
            for session in {held, rng.choice(sessions)}:  # stolen while its holder sleeps
                token = clew.sessions.claim(session, "thief")
                for step in cycles(clew, session, "thief", token, beats=rng.random() < 0.5):
                    promises.append(tuple(str(word) for word in step))
                    if rng.random() < 0.3:
                        break
            holder.resume()
            leases.pass_by(LEASE_S + 1)
        told = holder.finish(kill=True)
        promises += told
        check(path, promises)
        promises += drain(clew, leases)
        check(path, promises)
    assert any(kind == "late" for kind, *_ in told), "no holder was ever late: nothing was tested"


def pause_outside_a_transaction(holder: Actor, path: Path) -> None:
    """A process that is stopped while it writes stops every other: that is not the lock this is about."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    while True:
        holder.pause()
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            break
        except apsw.BusyError:
            holder.resume()
    connection.close()


def test_r126_a_holder_that_was_paused_beyond_its_lease_acknowledges_nothing(tmp_path: Path) -> None:
    survive_pauses(tmp_path, pauses=12, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_paused_holders_acknowledge_nothing(tmp_path: Path, seed: int) -> None:
    survive_pauses(tmp_path, pauses=200, seed=seed + 1)

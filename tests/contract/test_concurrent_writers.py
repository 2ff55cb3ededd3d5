"""PostgreSQL: several writers of one org at once. What they must not overtake, and where they need not wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from engines import opened
from sessions import put, started

from clew.model.job import RELATE, Done, Job
from clew.ports import Store, Tx
from clew.relate.queue import JobPolicy, claim_batch
from clew.relate.worker import BackgroundJobs, JobRunner
from toys import ToldClock

psycopg = pytest.importorskip("psycopg")

PATIENCE_S = 20.0


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with closing(opened(postgres_url)) as store:
        yield store


def until(url: str, statement: str) -> None:
    """Until there is such a row about this database."""
    asked = f"{statement} AND datname = current_database()"
    with psycopg.connect(url, autocommit=True) as connection:
        wait_for(lambda: bool(connection.execute(asked).fetchone()))


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline


@dataclass
class Writers:
    """Transactions on threads of their own; one may be held open."""

    store: Store
    url: str
    threads: ThreadPoolExecutor

    def begin(self, action: Callable[[Tx], Any], *, lock: str = "") -> Future[Any]:
        return self.threads.submit(self.store.write, action, lock=lock)

    @contextmanager
    def held(self, action: Callable[[Tx], Any], *, lock: str = "") -> Iterator[Any]:
        """What the action gave, while its transaction has not ended; committed afterwards."""
        done, go, found = threading.Event(), threading.Event(), []

        def run(tx: Tx) -> None:
            found.append(action(tx))
            done.set()
            go.wait(PATIENCE_S)

        writing = self.begin(run, lock=lock)
        assert done.wait(PATIENCE_S), writing.exception(0)
        try:
            yield found[0]
        finally:
            go.set()
            writing.result(PATIENCE_S)

    def until_waiting(self) -> None:
        """Until somebody waits for somebody else."""
        until(self.url, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


@pytest.fixture
def writers(store: Store, postgres_url: str) -> Iterator[Writers]:
    with ThreadPoolExecutor(4) as threads:
        yield Writers(store, postgres_url, threads)


def noted(id: str) -> Callable[[Tx], None]:
    def note(tx: Tx) -> None:
        tx.changes.note("local", None, "memory", id, "put")
        tx.changes.flush()

    return note


def changes(store: Store) -> list[tuple[int, str]]:
    with store.read() as tx:
        return [(change.seq, change.id) for change in tx.changes.since("local", 0, 100) or []]


def claimed(id: str) -> Callable[[Tx], int | None]:
    return lambda tx: tx.leases.claim("local", f"session:{id}", holder="w", ttl_s=60)


# -- order ---------------------------------------------------------------------------------------------


def test_what_got_the_smaller_number_of_the_change_log_is_seen_first(store: Store, writers: Writers) -> None:
    with writers.held(noted("mem_a"), lock="a"):
        later = writers.begin(noted("mem_b"), lock="b")
        writers.until_waiting()
        assert changes(store) == []  # never the second without the first
    later.result(PATIENCE_S)
    assert changes(store) == [(1, "mem_a"), (2, "mem_b")]


def test_a_change_that_was_undone_leaves_no_gap_for_those_who_waited(store: Store, writers: Writers) -> None:
    def fails(tx: Tx) -> None:
        noted("mem_a")(tx)
        begun.set()
        writers.until_waiting()
        raise ZeroDivisionError

    begun = threading.Event()
    failing = writers.begin(fails, lock="a")
    assert begun.wait(PATIENCE_S)
    writers.begin(noted("mem_b"), lock="b").result(PATIENCE_S)
    assert isinstance(failing.exception(PATIENCE_S), ZeroDivisionError)
    assert changes(store) == [(1, "mem_b")]


# -- locks ---------------------------------------------------------------------------------------------


def test_a_claim_does_not_wait_for_that_of_another_session(writers: Writers) -> None:
    with writers.held(claimed("a"), lock="session:a") as first:
        second = writers.begin(claimed("b"), lock="session:b").result(PATIENCE_S)
    assert second > first


@pytest.mark.parametrize("locks", [("session:a", "session:a"), ("session:a", ""), ("", "session:a"), ("", "")])
def test_two_who_claim_the_same_come_one_after_the_other(writers: Writers, locks: tuple[str, str]) -> None:
    def other(tx: Tx) -> int | None:
        return tx.leases.claim("local", "session:a", holder="another", ttl_s=60)

    with writers.held(claimed("a"), lock=locks[0]) as token:
        second = writers.begin(other, lock=locks[1])
        writers.until_waiting()
    assert token is not None and second.result(PATIENCE_S) is None


def test_orgs_do_not_wait_for_each_other(writers: Writers) -> None:
    with writers.held(noted("mem_a")):
        writers.begin(lambda tx: tx.changes.note("other", None, "memory", "m", "put")).result(PATIENCE_S)


def test_an_inject_goes_onto_the_queue_of_one_session_while_another_is_held(store: Store, writers: Writers) -> None:
    first, second = started(store), started(store)
    with writers.held(lambda tx: tx.injects.head(first), lock=f"session:{first.session}"):
        insert = writers.threads.submit(store.write, lambda tx: tx.injects.room("local", second.session), lock="x")
        assert insert.result(PATIENCE_S) is not None
    assert put(store, second, "said") is not None


def test_workers_that_claim_jobs_at_once_get_different_ones(store: Store, writers: Writers) -> None:
    store.write(lambda tx: tx.jobs.put("local", RELATE, [f"mem_{n}" for n in range(6)], operation="add"))

    def claim(holder: str) -> Callable[[Tx], list[Job]]:
        return lambda tx: claim_batch(tx, "local", JobPolicy(), holder=holder, limit=3)[0]

    with writers.held(claim("w1"), lock="jobs:w1") as mine:
        theirs = writers.begin(claim("w2"), lock="jobs:w2").result(PATIENCE_S)
    subjects = [{job.subject for job in jobs} for jobs in (mine, theirs)]
    assert [len(one) for one in subjects] == [3, 3] and not subjects[0] & subjects[1]


# -- being told ----------------------------------------------------------------------------------------


@pytest.fixture
def told(store: Store) -> threading.Event:
    """Set when jobs are asked for."""
    event = threading.Event()
    assert store.listen("jobs", event.set)
    assert event.wait(PATIENCE_S)  # once it listens
    event.clear()
    return event


def ask(store: Store) -> None:
    store.write(lambda tx: tx.jobs.put("local", RELATE, ["mem_a"], operation="add"))


def test_whoever_listens_hears_that_jobs_were_asked_for(store: Store, told: threading.Event) -> None:
    ask(store)
    assert told.wait(PATIENCE_S)


def test_a_listener_that_lost_its_connection_listens_again(
    store: Store, told: threading.Event, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'clew listening' AND datname = current_database()"
        )
    assert told.wait(PATIENCE_S)  # something may have come meanwhile
    told.clear()
    ask(store)
    assert told.wait(PATIENCE_S)


class Looking(JobRunner):
    """Counts how often it found nothing to do."""

    looks = 0

    def next_due_s(self) -> float | None:
        self.looks += 1
        return super().next_due_s()


def test_an_idle_worker_is_woken_by_another_process(store: Store, postgres_url: str) -> None:
    done = threading.Event()

    def handle(jobs: Sequence[Job]) -> list[Done]:
        done.set()
        return [Done() for _ in jobs]

    runner = Looking(store, {RELATE: handle}, JobPolicy(), clock=ToldClock())
    jobs = BackgroundJobs(lambda: runner)
    with ExitStack() as stack:
        stack.callback(jobs.stop)
        jobs.nudge()
        until(postgres_url, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'")
        looks = runner.looks
        jobs.nudge()
        wait_for(lambda: runner.looks > looks)  # and rests for a minute from now on
        ask(stack.enter_context(closing(opened(postgres_url))))
        assert done.wait(PATIENCE_S)

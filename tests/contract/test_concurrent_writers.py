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
from memories import NOW
from sessions import put, started

from clew.model.job import RELATE, Done, Job
from clew.ports import Store, Tx
from clew.relate.queue import JobPolicy, claim_batch
from clew.relate.worker import BackgroundJobs, JobRunner
from clew.store.store import Store as EngineStore
from toys import ToldClock

psycopg = pytest.importorskip("psycopg")

from clew.store.postgres import PostgresEngine  # noqa: E402
from clew.store.postgres_listen import Listener  # noqa: E402
from clew.store.postgres_pool import DEFAULTS  # noqa: E402

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


def test_what_was_handed_over_is_written_before_what_the_same_process_writes_later(store: Store) -> None:
    for number in range(40):
        store.submit(noted(f"mem_{number}a"), durable=False, org="local")
        store.write(noted(f"mem_{number}b"), durable=False)
    assert [id for _seq, id in changes(store)] == [f"mem_{number}{part}" for number in range(40) for part in "ab"]


def test_a_writer_does_not_keep_what_is_written_first_waiting_for_its_connection(postgres_url: str) -> None:
    with (
        closing(EngineStore(PostgresEngine(postgres_url, connections=1))) as store,
        ThreadPoolExecutor(4) as threads,
    ):
        for number in range(10):
            store.submit(noted(f"mem_a{number}"), org="local")
        later = [threads.submit(store.write, noted(f"mem_b{number}")) for number in range(4)]
        for writing in later:
            writing.result(PATIENCE_S)
        assert [id[:5] for _seq, id in changes(store)] == ["mem_a"] * 10 + ["mem_b"] * 4


def test_what_was_handed_over_of_an_org_comes_in_order_and_none_is_forgotten(store: Store) -> None:
    handed_over = [store.submit(noted(f"mem_{number}"), durable=False, org="local") for number in range(30)]
    handed_over[20].cancel()
    store.write(noted("last"))
    kept = [number for number in range(30) if not handed_over[number].cancelled()]
    assert [id for _seq, id in changes(store)] == [*(f"mem_{number}" for number in kept), "last"]


def test_what_was_handed_over_waits_for_nobody_of_another_org(store: Store, writers: Writers) -> None:
    def note(tx: Tx) -> None:
        tx.changes.note("other", None, "memory", "m", "put")

    with writers.held(noted("mem_a")):
        behind = [store.submit(noted(f"mem_{number}"), org="local") for number in range(8)]
        store.submit(note, org="other").result(PATIENCE_S)
        writers.begin(note).result(PATIENCE_S)
        assert not any(future.done() for future in behind)
    assert [future.result(PATIENCE_S) for future in behind] == [None] * 8


def test_a_failure_of_what_was_handed_over_is_told_and_holds_up_nobody(store: Store) -> None:
    failing = store.submit(lambda tx: tx.changes.note("local", None, "memory", None, "put"), org="local")  # type: ignore[arg-type]
    again = threading.Event()
    failing.add_done_callback(lambda _failed: (store.write(noted("mem_b")), again.set()))  # of the same org
    store.write(noted("mem_c"))
    assert failing.exception(PATIENCE_S) and again.wait(PATIENCE_S)
    assert sorted(id for _seq, id in changes(store)) == ["mem_b", "mem_c"]


def test_two_that_are_written_first_and_want_what_the_other_holds_both_end(store: Store, writers: Writers) -> None:
    """A writer lets go of everything while it waits for what was handed over before."""

    def both(first: str, second: str) -> Callable[[Tx], None]:
        def note(tx: Tx) -> None:
            for org in (first, second):
                tx.session.bind(org)  # type: ignore[attr-defined]

        return note

    with writers.held(lambda tx: tx.session.bind("b")):  # type: ignore[attr-defined]
        handed_over = store.submit(both("a", "b"), org="a")
        later = writers.begin(both("c", "a"))
        writers.until_waiting()
    later.result(PATIENCE_S)
    assert handed_over.done()


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
        asked = lambda tx: tx.injects.room("local", second.session, since=NOW)  # noqa: E731
        insert = writers.threads.submit(store.write, asked, lock="x")
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


def test_a_listener_notices_a_peer_that_vanished_as_soon_as_the_others(postgres_url: str) -> None:
    listener = Listener(postgres_url, "clew_jobs", lambda: None)
    listener.stop()
    with listener._connected() as connection:
        shown = connection.info.get_parameters()
    assert DEFAULTS.items() - shown.items() == {("application_name", "clew")}
    assert shown["application_name"] == "clew listening"


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

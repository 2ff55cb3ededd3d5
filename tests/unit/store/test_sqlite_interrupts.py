"""An interrupt, or a thread that cannot be had, at the worst moment: nobody waits for good afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from clew.store.sqlite import SqliteEngine, open_engine
from clew.store.sqlite_session import Session


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = open_engine(tmp_path / "clew.db")
    yield engine
    engine.close()


class Interrupted:
    """Does what another object does, and is interrupted right after one of its calls."""

    def __init__(self, real: Any, name: str) -> None:
        self._real, self._name = real, name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name != self._name:
            return found

        def call(*args: Any, **named: Any) -> None:
            found(*args, **named)
            raise KeyboardInterrupt

        return call


def writes_by_another_thread(engine: SqliteEngine) -> bool:
    done = threading.Event()
    thread = threading.Thread(target=lambda: engine.write(lambda _tx: done.set()), daemon=True)
    thread.start()
    thread.join(timeout=10)
    return done.is_set()


def test_a_write_that_is_interrupted_when_it_has_the_turn_gives_it_back(engine: SqliteEngine) -> None:
    turn = engine._turn
    engine._turn = Interrupted(turn, "acquire")  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        engine.write(lambda _tx: None)
    engine._turn = turn
    assert writes_by_another_thread(engine)


def test_a_look_at_a_counter_that_is_interrupted_gives_the_turn_back(engine: SqliteEngine) -> None:
    engine.write(lambda _tx: None)
    turn = engine._turn
    engine._turn = Interrupted(turn, "acquire")  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        engine.has_counted("default", "changes")
    engine._turn = turn
    assert writes_by_another_thread(engine)


def test_a_read_that_is_interrupted_when_it_has_begun_leaves_no_snapshot_behind(engine: SqliteEngine) -> None:
    session = engine._reader()
    connection = session.connection
    session.connection = Interrupted(connection, "execute")  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt), engine.read():
        pytest.fail("it never begins")
    session.connection = connection
    assert not connection.in_transaction
    with engine.read() as tx:
        assert tx.schema() > 0


def test_a_snapshot_that_an_interrupt_left_open_is_let_go_by_the_next_read(engine: SqliteEngine) -> None:
    with engine.read() as tx:
        assert tx.schema() > 0
    engine._reader().connection.execute("BEGIN")  # as if the end of that read had been interrupted
    engine.write(lambda tx: tx.run("meta_put", key="k", value="v"))
    with engine.read() as tx:
        assert tx.value("meta_get", key="k") == "v"


def test_a_read_within_a_read_is_refused_and_the_outer_one_goes_on(engine: SqliteEngine) -> None:
    with engine.read() as tx:
        with pytest.raises(Exception, match="within a transaction"), engine.read():
            pytest.fail("it never begins")
        assert tx.schema() > 0 and engine._reader().connection.in_transaction


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Names of threads that the system refuses to start."""
    refused: set[str] = set()
    start = threading.Thread.start

    def starting(thread: threading.Thread) -> None:
        if thread.name in refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    yield refused


def test_a_writer_that_could_not_start_is_started_by_the_next_write(
    engine: SqliteEngine, no_threads: set[str]
) -> None:
    no_threads.add("clew-writer")
    with pytest.raises(RuntimeError, match="can't start"):
        engine.submit(lambda _tx: None)
    no_threads.clear()
    assert engine.submit(lambda _tx: 7).result(timeout=10) == 7


def test_a_commit_succeeds_also_when_nobody_can_be_started_to_empty_the_log(
    engine: SqliteEngine, no_threads: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.store.sqlite_log.DUE", 1)
    no_threads.add("clew-log")
    engine._log._due = 1
    engine.write(lambda tx: tx.run("meta_put", key="k", value="v"))
    with engine.read() as tx:
        assert tx.value("meta_get", key="k") == "v"


def test_a_future_that_is_given_up_while_its_write_fails_does_not_hurt_the_writer(engine: SqliteEngine) -> None:
    held, go_on = threading.Event(), threading.Event()

    def hold(_tx: object) -> None:
        held.set()
        go_on.wait(10)

    first = engine.submit(hold)
    held.wait(10)
    futures = [engine.submit(lambda tx: tx.connection.execute("ROLLBACK")) for _ in range(3)]
    cancelled = futures[-1].cancel()
    go_on.set()
    first.result(timeout=10)
    assert cancelled and engine.submit(lambda _tx: 1).result(timeout=10) == 1


def write_within(engine: SqliteEngine) -> Callable[[Session], bool]:
    """Whether the write goes on after one within it is refused."""

    def write(tx: Session) -> bool:
        tx.run("meta_put", key="k", value="v")
        with pytest.raises(Exception, match="within a transaction"):
            engine.write(lambda _tx: pytest.fail("it never begins"))
        return tx.connection.in_transaction

    return write


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_a_write_within_a_write_is_refused_and_the_outer_one_goes_on(
    engine: SqliteEngine, is_handed_over: bool
) -> None:
    write = write_within(engine)
    assert engine.submit(write).result(10) if is_handed_over else engine.write(write)
    with engine.read() as tx:
        assert tx.value("meta_get", key="k") == "v"


def test_a_write_within_a_write_does_not_wait_behind_one_that_was_handed_over(engine: SqliteEngine) -> None:
    handed_over = list[Future[int]]()

    def write(tx: Session) -> bool:
        handed_over.append(engine.submit(lambda _tx: 7))
        return write_within(engine)(tx)

    assert engine.write(write) and handed_over[0].result(10) == 7

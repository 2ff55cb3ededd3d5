"""The log goes into the file beside the writer; whoever commits does not do it, unless nobody else can."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import apsw
import pytest

from clew.errors import Unavailable
from clew.store import sqlite_log
from clew.store.sqlite import SqliteEngine, open_engine
from clew.store.sqlite_session import Session

PAGES = 40


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteEngine]:
    monkeypatch.setattr(sqlite_log, "DUE", PAGES)
    with closing(open_engine(tmp_path / "clew.db")) as engine:
        yield engine


def put(key: str) -> Callable[[Session], int]:
    return lambda session: session.run("meta_put", key=key, value="x" * 4_000)


def in_the_file_alone(engine: SqliteEngine, aside: Path) -> int:
    """How many of them whoever had no log would see."""
    shutil.copy(engine.path, aside)
    with closing(apsw.Connection(str(aside))) as connection:
        return int(connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'key%'").fetchall()[0][0])


def until(claim: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not claim() and time.monotonic() < end:
        time.sleep(0.01)
    return claim()


def log_pages(engine: SqliteEngine) -> int:
    """Of the log's file, which does not shrink: how long the log has been at most."""
    return engine.sizes()[1] // 4_096


def test_what_is_in_the_log_gets_into_the_file(engine: SqliteEngine, tmp_path: Path) -> None:
    for number in range(PAGES):
        engine.write(put(f"key{number}"))
    assert until(lambda: in_the_file_alone(engine, tmp_path / "aside.db") > 0)


def test_the_log_begins_anew_when_all_of_it_is_in_the_file(engine: SqliteEngine) -> None:
    for number in range(10 * PAGES):
        engine.write(put(f"key{number}"))
        engine._log.close()  # as if there were a pause between two writes
    assert log_pages(engine) < 3 * PAGES


def test_a_log_that_nobody_empties_is_emptied_by_the_writer(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def nothing_beside() -> Iterator[apsw.Connection]:
        raise Unavailable("no connection is left")
        yield

    beside: Callable[[], AbstractContextManager[apsw.Connection]] = nothing_beside
    monkeypatch.setattr(engine._log, "_beside", beside)
    monkeypatch.setattr(sqlite_log, "MOST", 3 * PAGES)
    for number in range(10 * PAGES):
        engine.write(put(f"key{number}"))
    assert 3 * PAGES <= log_pages(engine) < 5 * PAGES


def test_no_writer_empties_a_log_of_usual_length(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    by: list[str] = []
    empty = sqlite_log.Log._empty

    def noted(log: sqlite_log.Log) -> None:
        by.append(threading.current_thread().name)
        empty(log)

    monkeypatch.setattr(sqlite_log.Log, "_empty", noted)
    for number in range(3 * PAGES):
        engine.write(put(f"key{number}"))
    engine._log.close()
    assert by and set(by) == {"clew-log"}


def test_what_is_written_beside_the_writer_uses_one_connection(engine: SqliteEngine) -> None:
    seen: list[apsw.Connection] = []
    for _ in range(3):
        engine.write_unless_busy(lambda session: seen.append(session.connection), wait_ms=100)
    assert len(set(map(id, seen))) == 1


def test_one_that_failed_is_not_used_again(engine: SqliteEngine) -> None:
    seen: list[apsw.Connection] = []

    def fail(session: Session) -> None:
        seen.append(session.connection)
        raise ValueError("my own mistake")

    with pytest.raises(ValueError, match="my own"):
        engine.write_unless_busy(fail, wait_ms=100)
    engine.write_unless_busy(lambda session: seen.append(session.connection), wait_ms=100)
    assert seen[0] is not seen[1]


def test_other_threads_run_while_the_disk_takes_what_is_written_beside_the_writer(engine: SqliteEngine) -> None:
    """apsw's own `with connection` keeps the interpreter to itself until the commit is done: a tool call once
    waited 117 ms for a slow disk, although it needed nothing of it."""
    assert any(ran_during_a_commit(engine, number) for number in range(50))


def ran_during_a_commit(engine: SqliteEngine, number: int) -> bool:
    begin, ran = threading.Event(), threading.Event()

    def write(session: Session) -> None:
        for part in range(500):
            put(f"key{number}-{part}")(session)
        begin.set()

    other = threading.Thread(target=lambda: begin.wait() and ran.set())
    other.start()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody gets a turn unless somebody else waits
    try:
        engine.write_unless_busy(write, wait_ms=10_000)
        return ran.is_set()
    finally:
        sys.setswitchinterval(usual)
        other.join()

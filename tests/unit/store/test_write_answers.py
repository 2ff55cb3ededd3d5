"""Who waits at once for a write, and what an action without a savepoint leaves behind when it fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clew.store.sqlite import SqliteEngine, connect, open_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    with closing(open_engine(tmp_path / "clew.db")) as engine:
        yield engine


def put(session, key: str) -> str:  # type: ignore[no-untyped-def]
    session.run("meta_put", key=key, value="x")
    return key


def keys(engine: SqliteEngine) -> set[str]:
    with engine.read() as session:
        return {key for (key,) in session.connection.execute("SELECT key FROM meta")}


def fail_after_putting(session) -> None:  # type: ignore[no-untyped-def]
    put(session, "half")
    raise ValueError("on purpose")


def test_a_failed_action_leaves_nothing_unless_its_changes_may_stand_alone(engine: SqliteEngine) -> None:
    with pytest.raises(ValueError, match="on purpose"):
        engine.write(fail_after_putting)
    assert "half" not in keys(engine)
    with pytest.raises(ValueError, match="on purpose"):
        engine.write(fail_after_putting, savepoint=False)
    engine.write(lambda session: None)  # an error is told before the commit it was part of
    assert "half" in keys(engine)


@pytest.mark.parametrize("savepoint", [True, False])
def test_one_that_fails_does_not_concern_those_who_share_its_commit(engine: SqliteEngine, savepoint: bool) -> None:
    begun, gate = threading.Event(), threading.Event()
    first = engine.submit(lambda session: begun.set() or gate.wait(30))  # the others gather behind it
    assert begun.wait(30)

    def write(number: int) -> str:
        def action(session) -> str:  # type: ignore[no-untyped-def]
            if number % 3 == 0:
                raise ValueError(str(number))
            return put(session, f"k{number}")

        try:
            return engine.write(action, savepoint=savepoint)
        except ValueError as error:
            return f"failed {error}"

    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(write, number) for number in range(9)]
        while engine._queue.qsize() < 9:
            time.sleep(0.001)
        gate.set()
        told = [answer.result() for answer in answers]
    assert first.result()
    assert told == [f"failed {number}" if number % 3 == 0 else f"k{number}" for number in range(9)]
    assert keys(engine) >= {f"k{number}" for number in range(9) if number % 3}


def test_statements_are_not_prepared_anew_for_every_value(engine: SqliteEngine) -> None:
    with closing(connect(engine.path)) as connection:
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1

"""Loading the graph in the background while the store is closed, and perhaps taken away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import sleep

import pytest

import clew
from clew.errors import Unavailable
from clew.model.scope import Reach, Scope
from clew.recall.graphs import Graphs

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def load_failing(memory: clew.Clew, code: str, before: Callable[[], None]) -> None:
    """A load that fails after `before`."""
    graphs = Graphs(memory.store, max_bytes=1 << 20, in_background=True)

    def load(_reach: Reach, _now: datetime) -> None:
        before()
        raise Unavailable("it is gone", code=code, next="wait")

    graphs.load = load  # type: ignore[method-assign, assignment]
    graphs._load_quietly(Reach.of(Scope()), NOW)


@pytest.mark.parametrize("code", ["STORE_CLOSED", "STORE_MOVED", "STORE_IO", "STORE_READ_ONLY"])
def test_whatever_a_load_lacks_once_the_store_is_closed_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    with clew.open(tmp_path / "a.db") as memory:
        load_failing(memory, code, memory.close)
    assert not caplog.records


def test_a_graph_that_is_being_loaded_is_waited_for_when_the_store_is_closed(tmp_path: Path) -> None:
    began, closed = Event(), Event()

    def load(_reach: Reach, _now: datetime) -> None:
        began.set()
        with suppress(Unavailable):
            while True:
                memory.store.data_version()
        sleep(0.2)
        closed.set()

    with clew.open(tmp_path / "a.db") as memory:
        graphs = memory._reader.graphs
        graphs.load = load  # type: ignore[method-assign, assignment]
        for _ in range(2):
            graphs._load_later(Reach.of(Scope()), NOW)
        assert began.wait(5)
    assert closed.is_set() and not graphs._loaders


def test_nothing_is_loaded_for_a_store_that_is_closed(tmp_path: Path) -> None:
    with clew.open(tmp_path / "a.db") as memory:
        graphs, reach = memory._reader.graphs, Reach.of(Scope())
    for _ in range(2):
        graphs._load_later(reach, NOW)
    assert not graphs._loaders


def test_a_load_that_fails_while_the_store_is_open_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with clew.open(tmp_path / "a.db") as memory:
        load_failing(memory, "STORE_IO", lambda: None)
    assert [record.getMessage() for record in caplog.records] == ["the graph was not loaded: Unavailable"]

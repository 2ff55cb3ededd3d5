"""What the statements of a write take by themselves, measured over a handful of memories."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import apsw
import pytest

from clew.store import sqlite, sqlite_log

TOOL = Path(__file__).parents[3] / "tools" / "statements_alone.py"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("statements_alone", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, size in {"FIRST": 20, "SINGLE": 3, "BATCH": 5, "BATCHES": 2}.items():
        monkeypatch.setattr(module, name, size)
    return module


def test_every_row_of_the_table_is_printed(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    tool.main()
    heading, *rows = capsys.readouterr().out.splitlines()
    assert "by Clew" in heading
    assert [row[:18].strip() for row in rows] == [
        "single write", "import", "single write, with", "import, with the g", "single write, indi",
        *["of an import, term", "of an import, vect", "of an import, mask", "of an import, a me"],
    ]  # fmt: skip


def test_what_empties_the_log_beside_a_write_is_not_noted(tool: ModuleType, tmp_path: Path) -> None:
    with tool.opened(tmp_path, graph=False):
        pass
    with tool.noted() as seen:
        connection = sqlite.connect(tmp_path / "clew.db")
        watched = sqlite_log.Log(lambda: made_ready(connection))
        watched._committed(connection, "main", sqlite_log.DUE)
        watched.close()
        connection.execute("SELECT 'a write'")
        connection.close()
    assert [sql for sql, _values in seen] == ["SELECT 'a write'"]


@contextmanager
def made_ready(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    connection.pragma("synchronous", 1)
    yield connection

"""What Clew is measured beside: SQLite with FULL commits, and a full-text table of the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw


def full_table(path: Path) -> apsw.Connection:
    """A file with one table, each commit of which is synced."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x TEXT)")
    return connection


def commit_one(connection: apsw.Connection, text: str) -> None:
    connection.execute("INSERT INTO t (x) VALUES (?)", (text,))


def full_text_table(path: Path) -> apsw.Connection:
    connection = full_table(path)
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
    return connection


def index_batch(connection: apsw.Connection, contents: Sequence[str]) -> None:
    """In one transaction, as an import writes a batch."""
    with connection:
        connection.executemany("INSERT INTO f VALUES (?)", [(text,) for text in contents])

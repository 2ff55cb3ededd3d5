"""A SQLite file as one side of a copy. Names of tables and columns come from its own schema, never from input."""
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from clew.errors import NotFound
from clew.model.facts import COPY_STATE as STATE
from clew.store import queries, sqlite
from clew.store.copy_sides import (
    LEFT_OUT,
    PAGE,
    STORE_WIDE,
    Given,
    Page,
    Position,
    Table,
    check_schema,
    moved_on,
    not_empty,
)
from clew.store.session import Row
from clew.store.sqlite_errors import sqlite_translated, translated


def open_source(path: Path) -> SqliteSide:
    """As it is: neither made nor brought to another schema."""
    if not path.exists():
        raise NotFound(f"there is no store at {path}", code="STORE_NOT_FOUND", next="name the store to copy")
    with translated(path):
        sqlite.check_header(path)
        side = SqliteSide(path)
        side.connection.pragma("query_only", True)
        check_schema(side.location, int(side.connection.pragma("user_version")))
    return side


def open_target(path: Path) -> SqliteSide:
    sqlite.open_engine(path).close()
    return SqliteSide(path)


class SqliteSide:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        self.connection = sqlite.connect(path)
        self.connection.pragma("cache_size", -sqlite.CACHE_KB)
        self._tables: dict[str, Table] = {}

    def identity(self) -> str:
        return str(self.path.resolve())

    def close(self) -> None:
        self.connection.close()

    def tables(self) -> Mapping[str, Table]:
        if not self._tables:
            self._tables = {name: self._table(name) for (name,) in self._all("copy_tables")}
        return self._tables

    def _table(self, name: str) -> Table:
        columns = self._all("copy_columns", table=name)
        key = sorted((pk, column) for column, pk in columns if pk)
        return Table(name, tuple(column for column, _pk in columns), tuple(column for _pk, column in key))

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
        finally:
            with suppress(apsw.Error):  # what went wrong is told by whoever met it
                if self.connection.in_transaction:
                    self.connection.execute("COMMIT")

    def count(self, tables: Sequence[Table]) -> int:
        return sum(self._run(f"SELECT count(*) FROM {_quoted(table.name)}")[0][0] for table in tables)

    def pages(self, table: Table, after: Position | None = None) -> Iterator[list[Row]]:
        """By the primary key, over all orgs: rows of one are not next to each other in every table."""
        columns, key = ", ".join(map(_quoted, table.columns)), self._key(table)
        order = ", ".join(map(_quoted, key))
        skipped = f"key <> '{STATE}'" if table.name == "meta" else "true"
        beyond = f"({order}) > ({', '.join('?' * len(key))})"
        text = f"SELECT {columns} FROM {_quoted(table.name)} WHERE {skipped} AND {{}} ORDER BY {order} LIMIT {PAGE}"
        while rows := self._run(text.format(beyond if after else "true"), after or ()):
            yield rows
            after = self.position(table, rows[-1])

    def position(self, table: Table, row: Row) -> list[Any]:
        return [row[table.columns.index(column)] for column in self._key(table)]

    def _key(self, table: Table) -> tuple[str, ...]:
        return self.tables()[table.name].key

    def sequences(self) -> Mapping[str, int]:
        return dict(self._all("copy_sequences"))

    def tokens(self) -> int:
        """None beyond the counters, which are moved."""
        return 0

    def state(self) -> str | None:
        rows = self._all("meta_get", key=STATE)
        return rows[0][0] if rows else None

    def _holds(self) -> str:
        """The first thing that is neither shipped nor noted by opening a store; '' when there is none."""
        for name, table in self.tables().items():
            if name in LEFT_OUT or name == "meta":
                continue
            own = "true" if name in STORE_WIDE else "org_id <> ''"
            if table.columns and self._run(f"SELECT 1 FROM {_quoted(name)} WHERE {own} LIMIT 1"):
                return f"rows in {name}"
        return ""

    def _all(self, query: str, **values: Any) -> list[Row]:
        return self._run(queries.load("sqlite")[query], values)

    def _run(self, text: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        with sqlite_translated(self.path):
            return self.connection.execute(text, values).fetchall()

    # -- writing -----------------------------------------------------------------------------------

    def begin(self, tables: Sequence[Table], now: str) -> None:
        def empty() -> None:
            if not self._all("copy_state_begin", key=STATE, now=now):
                raise moved_on(self.location)
            if held := self._holds():
                raise not_empty(self.location, held)
            for table in reversed(tables):
                self._delete(table)

        self._write(empty)

    def put(self, page: Page, *, was: str, now: str) -> None:
        def insert() -> None:
            self._swap(was, now)
            self.connection.executemany(_insert(page.table), page.rows).fetchall()
            entries = [(row, text) for row, _org, text in page.documents]
            self.connection.executemany(queries.load("sqlite")["copy_document"], entries).fetchall()

        self._write(insert)

    def clear(self, tables: Sequence[Table], *, was: str, now: str) -> None:
        def empty() -> None:
            self._swap(was, now)
            for table in tables:
                self._delete(table)

        self._write(empty)

    def finish(self, given: Given, *, was: str) -> None:
        def end() -> None:
            self._swap(was, was)
            for name, last in given.rows.items():
                self._set_sequence(name, last)
            for org in given.orgs if given.tokens else ():
                self._all("copy_tokens_add", org_id=org, tokens=given.tokens)
            self._all("copy_state_end", key=STATE)

        self._write(end)

    def _set_sequence(self, name: str, last: int) -> None:
        """Rows that were given out and are gone are not given out again."""
        if not self._all("copy_sequence_set", table=name, last=last):
            self._all("copy_sequence_add", table=name, last=last)

    def _delete(self, table: Table) -> None:
        kept = f" WHERE key <> '{STATE}'" if table.name == "meta" else ""
        self._run(f"DELETE FROM {_quoted(table.name)}{kept}")
        if table.name == "memory_terms":
            self._all("copy_documents_clear")

    def _swap(self, was: str, now: str) -> None:
        """First in its transaction: two copies that go on from the same state exclude each other."""
        if not self._all("copy_state_move", key=STATE, was=was, now=now):
            raise moved_on(self.location)

    def _write(self, action: Callable[[], None]) -> None:
        with sqlite_translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                action()
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _insert(table: Table) -> str:
    columns, marks = ", ".join(map(_quoted, table.columns)), ", ".join("?" * len(table.columns))
    replacing = "OR REPLACE " if table.name == "meta" else ""  # what opening a store notes may be there again
    return f"INSERT {replacing}INTO {_quoted(table.name)} ({columns}) VALUES ({marks})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

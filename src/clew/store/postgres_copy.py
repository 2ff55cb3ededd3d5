"""A PostgreSQL database as one side of a copy. Names of tables and columns come from its catalog, never from input.

The application's role is enough: row-level security shows one org at a time, so rows are read and written org by
org, and what belongs to users goes through the named functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import sql

from clew.errors import NotFound, StoreRefused
from clew.model.facts import COPY_STATE as STATE
from clew.model.times import Micros
from clew.store import postgres, postgres_schema, postgres_types
from clew.store.copy_sides import (
    LEFT_OUT,
    PAGE,
    Given,
    Page,
    Position,
    Table,
    check_schema,
    in_parts,
    moved_on,
    not_empty,
)
from clew.store.index import shortened
from clew.store.postgres_queries import compiled
from clew.store.postgres_session import PLATFORM, PostgresSession
from clew.store.session import HalfVector, Row

_TIME, _VECTOR = "timestamp with time zone", "halfvec"
# Not by the table itself, on which the application has no rights: how all of it is read, and how a row is put in.
_READ_BY = {"org_owner_mappings": "clew_all_mappings()", "org_routing": "clew_all_routing()"}
_PUT_BY = {"org_owner_mappings": "copy_mapping_put", "org_routing": "copy_routing_put", "meta": "meta_put"}


def open_source(url: str) -> PostgresSide:
    """As it is: not brought to another schema."""
    found = postgres.schema_found(url)
    if found is None:
        raise NotFound(
            f"{postgres.shown(url)} holds no store", code="STORE_NOT_FOUND", next="name the store to copy"
        )
    check_schema(postgres.shown(url), found)
    return PostgresSide(url)


def open_target(url: str) -> PostgresSide:
    postgres.open_engine(url, connections=1).close()
    with postgres.connecting(url):
        return PostgresSide(url, is_owner=postgres_schema.may_migrate(url))


class PostgresSide:
    def __init__(self, url: str, *, is_owner: bool = False) -> None:
        self.location = postgres.shown(url)
        self._owners_url = url if is_owner else ""
        with postgres.connecting(url):
            self.connection = psycopg.connect(
                url, client_encoding="UTF8", autocommit=True, connect_timeout=postgres.CONNECT_TIMEOUT_S
            )
        self.connection.execute(postgres_schema.search_path(self.connection))
        postgres_types.register(self.connection)
        postgres_schema.take_role(self.connection)
        self._cursor = self.connection.cursor(binary=True)
        self._tables: dict[str, Table] = {}
        self._types: dict[str, dict[str, str]] = {}  # of columns by table
        self._orgs: dict[str, dict[str, int]] = {}  # of each table, with how many rows: of the present snapshot

    def identity(self) -> str:
        """The same for every way to reach the same database."""
        ((started, name),) = self._all("copy_identity")
        return f"{started}/{name}"

    def close(self) -> None:
        self.connection.close()

    def tables(self) -> Mapping[str, Table]:
        if not self._tables:
            for name, column, type, place in self._all("copy_columns"):
                table = self._tables.get(name, Table(name, (), ()))
                self._types.setdefault(name, {})[column] = type
                key = (*table.key, column) if place is not None and column != "org_id" else table.key
                self._tables[name] = Table(name, (*table.columns, column), key)
        return self._tables

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            self._run("SET LOCAL idle_in_transaction_session_timeout = 0")  # the other side may be slow
            self._orgs = self._contents()
            yield
        finally:
            with suppress(psycopg.Error):  # what went wrong is told by whoever met it
                self.connection.execute("ROLLBACK")

    def _contents(self) -> dict[str, dict[str, int]]:
        if hidden := self._all("copy_hidden"):
            raise StoreRefused(
                f"{self.location} was made by several roles: what is in {hidden[0][0]} cannot be counted",
                code="STORE_ROWS_HIDDEN",
                next="as the owner of its schema run: clew migrate",
            )
        found: dict[str, dict[str, int]] = {}
        for name, org, number in sorted(self._all("copy_contents")):
            found.setdefault(name, {})[org] = number
        return found

    def count(self, tables: Sequence[Table]) -> int:
        return sum(sum(self._orgs.get(table.name, {}).values()) for table in tables)

    def pages(self, table: Table, after: Position | None = None) -> Iterator[list[Row]]:
        """Org by org, each by the rest of its key."""
        for org in self._orgs.get(table.name, {}):
            if after is None or org > after[0]:
                yield from self._pages_of(table, org, None)
            elif org == after[0] and len(after) > 1:
                yield from self._pages_of(table, org, after[1:])

    def _pages_of(self, table: Table, org: str, after: Position | None) -> Iterator[list[Row]]:
        self._bind(org)
        key = self.tables()[table.name].key
        first, further = self._select(table, key, org), self._select(table, key, org, is_further=True)
        while rows := self._run(first if after is None else further, self._values(table, org, after or ())):
            yield rows
            after = self.position(table, rows[-1])[1:]
            if not key:
                return

    def _select(self, table: Table, key: Sequence[str], org: str, *, is_further: bool = False) -> sql.Composed:
        conditions: list[sql.Composable] = [_whose(table, org)]
        if is_further and key:
            marks = sql.SQL(", ").join([sql.Placeholder()] * len(key))
            conditions.append(sql.SQL("({}) > ({})").format(self._ordered(table, key), marks))
        known = _READ_BY.get(table.name)
        return sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {}").format(
            _listed(table.columns),
            sql.SQL(known) if known else sql.Identifier(table.name),
            sql.SQL(" AND ").join(conditions),
            self._ordered(table, key or ("org_id",)),
            sql.Literal(PAGE),
        )

    def _ordered(self, table: Table, key: Sequence[str]) -> sql.Composed:
        """As Python orders texts: what a function returns has no order of its own."""
        form = sql.SQL('{} COLLATE "C"' if table.name in _READ_BY else "{}")
        return sql.SQL(", ").join(form.format(sql.Identifier(column)) for column in key)

    def _values(self, table: Table, org: str, after: Position) -> list[Any]:
        types, key = self._types[table.name], self.tables()[table.name].key
        beyond = [Micros(v) if types[column] == _TIME else v for column, v in zip(key, after, strict=False)]
        return beyond if table.org_at is None else [org, *beyond]

    def position(self, table: Table, row: Row) -> list[Any]:
        key = self.tables()[table.name].key
        return [_org_of(table, row), *(row[table.columns.index(column)] for column in key)]

    def sequences(self) -> Mapping[str, int]:
        found = {}
        for name, sequence in self._all("copy_sequences"):
            asked = sql.SQL("SELECT last_value, is_called FROM {}").format(sql.SQL(sequence))
            ((last, is_called),) = self._run(asked)
            found[name] = int(last) if is_called else 0
        return found

    def tokens(self) -> int:
        return int(self._all("copy_tokens")[0][0])

    def state(self) -> str | None:
        rows = self._all("meta_get", key=STATE)
        return rows[0][0] if rows else None

    def _held(self, contents: Mapping[str, Mapping[str, int]]) -> str:
        """The first thing that is neither shipped nor noted by opening a store; '' when there is none."""
        for name, orgs in contents.items():
            if name in LEFT_OUT or name == "meta":
                continue
            if orgs.keys() - {""} or self.tables()[name].columns.count("org_id") == 0:
                return f"rows in {name}"
        return ""

    def _all(self, query: str, **values: Any) -> list[Row]:
        return self._run(compiled()[query].sql, values)

    def _run(self, text: str | sql.Composed, values: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        with postgres.translated(self.location):
            cursor = self._cursor.execute(text, values)
            return cursor.fetchall() if cursor.description else []

    def _bind(self, org: str) -> None:
        self._run("SELECT set_config('clew.org', %s, true)", [org or PLATFORM])

    # -- writing -----------------------------------------------------------------------------------

    def begin(self, tables: Sequence[Table], now: str) -> None:
        with self._transaction():
            if not self._all("copy_state_begin", key=STATE, now=now):
                raise moved_on(self.location)
            contents = self._contents()  # what comes after this is not deleted
            if held := self._held(contents):
                raise not_empty(self.location, held)
            for table in reversed(tables):
                self._delete(table, contents.get(table.name, {}))
        if self._owners_url:
            postgres_schema.drop_vector_indices(self._owners_url)

    def put(self, page: Page, *, was: str, now: str) -> None:
        with self._transaction():
            self._swap(was, now)
            for org, rows in in_parts(page.rows, lambda row: _org_of(page.table, row)).items():
                self._bind(org)
                self._insert(page.table, rows)
            for org, entries in in_parts(page.documents, lambda entry: str(entry[1])).items():
                self._bind(org)
                numbers = [entry[0] for entry in entries]
                texts = [shortened(entry[2], PostgresSession.longest_document) for entry in entries]
                self._all("copy_documents", org_id=org, rows=numbers, texts=texts)

    def clear(self, tables: Sequence[Table], *, was: str, now: str) -> None:
        with self._transaction():
            self._swap(was, now)
            contents = self._contents()
            for table in tables:
                self._delete(table, contents.get(table.name, {}))

    def finish(self, given: Given, *, was: str) -> None:
        if self._owners_url:
            postgres_schema.build_indices(self._owners_url)
        own: dict[str, str] = dict(self._all("copy_sequences"))
        with self._transaction():
            self._swap(was, was)
            for name, last in given.rows.items():
                self._all("copy_sequence_set", sequence=own[name], last=last)
            if given.tokens:  # each org's counter, which is moved, is added to them
                self._all("copy_sequence_set", sequence="lease_tokens", last=given.tokens)
            self._all("copy_state_end", key=STATE)
        for name in self.tables():  # the server takes what it has not looked at for empty, and plans so
            self._run("SELECT clew_look_at(%s)", [name])

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if put := _PUT_BY.get(table.name):
            values = [dict(zip(table.columns, row, strict=True)) for row in rows]
            self._cursor.executemany(compiled()[put].sql, values)
            return
        types = [self._types[table.name][column] for column in table.columns]
        arrays = [_typed(type, values) for type, values in zip(types, zip(*rows, strict=True), strict=True)]
        self._run(_insert(table, types), arrays)

    def _delete(self, table: Table, orgs: Mapping[str, int]) -> None:
        if table.name in _READ_BY:
            self._all("copy_of_users_clear", table=table.name)
            return
        for org in orgs:
            self._bind(org)
            for name in ("memory_fts", table.name) if table.name == "memory_terms" else (table.name,):
                text = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(name), _whose(table, org))
                self._run(text, [org] if table.org_at is not None else [])

    def _swap(self, was: str, now: str) -> None:
        """First in its transaction: two copies that go on from the same state exclude each other."""
        if not self._all("copy_state_move", key=STATE, was=was, now=now):
            raise moved_on(self.location)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with postgres.translated(self.location), self.connection.transaction():
            yield


def _insert(table: Table, types: Sequence[str]) -> sql.Composed:
    """By arrays, one for each column: the server refuses COPY where row-level security binds."""
    arrays = [sql.SQL("%b::{}[]").format(sql.SQL(type)) for type in types]
    return sql.SQL("INSERT INTO {} ({}) SELECT * FROM unnest({})").format(
        sql.Identifier(table.name), _listed(table.columns), sql.SQL(", ").join(arrays)
    )


def _typed(type: str, values: Sequence[Any]) -> list[Any]:
    kind = {_TIME: Micros, _VECTOR: HalfVector}.get(type)
    return list(values) if kind is None else [None if value is None else kind(value) for value in values]


def _org_of(table: Table, row: Row) -> str:
    """Facts about the store that are about an org are seen with it alone: `fact/org`."""
    if table.name == "meta":
        return str(row[table.columns.index("key")]).partition("/")[2]
    return table.org_of(row)


def _whose(table: Table, org: str) -> sql.SQL:
    if table.name == "meta":
        return sql.SQL("strpos(key, '/') > 0" if org else f"strpos(key, '/') = 0 AND key <> '{STATE}'")
    return sql.SQL("true" if table.org_at is None else "org_id = %s")


def _listed(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))

"""Named queries on one PostgreSQL connection, inside one transaction that is bound to an org.

The first query that names an org binds the transaction to it: row-level security shows only that org's rows, and a
writer holds the org's lock until it ends, so that writers of an org come one after another as they do in SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from clew.store import queries
from clew.store.postgres_insert import MOST, BulkInsert
from clew.store.postgres_pool import Link
from clew.store.queries import PARAMETER
from clew.store.session import Row

if TYPE_CHECKING:
    from concurrent.futures import Future

# A part of an org, such as a session, has writers of its own, beside those of other parts but not of the whole org.
# A write also leaves its number behind: after a crash the server may give the number of a transaction that it lost
# to another one, so that alone does not tell whose commit it was. A writer that stops in the middle of a
# transaction, as a machine that sleeps does, holds up the others for half a minute at most.
_NUMBERED = """WITH numbered AS (
  INSERT INTO clew_writes (writer, number) SELECT %(writer)s, %(number)s WHERE %(is_durable)s
  ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at = excluded.at)
SELECT pg_current_xact_id()::text"""
# What a write asks is found by its key, whatever the values: planning it anew would take longer than doing it.
_BOUND = (
    "set_config('clew.org', %(org)s, true), set_config('idle_in_transaction_session_timeout', '30s', true),"
    " set_config('plan_cache_mode', 'force_generic_plan', true)"
)
_ORG_LOCK = f"{_NUMBERED}, pg_advisory_xact_lock(%(whole)s), {_BOUND}"
_PART_LOCK = f"{_NUMBERED}, pg_advisory_xact_lock_shared(%(whole)s), pg_advisory_xact_lock(%(part)s), {_BOUND}"
PLATFORM = "\x1f"  # what binds a transaction to rows of no org; an empty setting is that of one that is not bound


@dataclass(frozen=True, slots=True)
class Query:
    sql: str
    names: tuple[str, ...]  # in the order in which the text names them first
    is_scoped: bool
    bulk: BulkInsert | None = None


@cache
def compiled() -> Mapping[str, Query]:
    return {name: _compile(text) for name, text in queries.load("postgres").items()}


def _compile(text: str) -> Query:
    names = tuple(dict.fromkeys(PARAMETER.findall(text)))
    sql = PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
    return Query(sql, names, "org_id" in names, BulkInsert.of(text))


class Behind(BaseException):
    """Something of this org was handed over before: it is written first. No error, so that no action takes it for
    one."""

    def __init__(self, org: str, future: Future[Any]) -> None:
        super().__init__(org)
        self.org, self.future = org, future


class PostgresSession:
    """One transaction. A write names what it locks: '' is the whole org."""

    __slots__ = (
        "_before",
        "_cursor",
        "_lock",
        "_number",
        "_org",
        "_queries",
        "connection",
        "failure",
        "is_durable",
        "is_writing",
        "xid",
    )

    finds_nearest = True
    longest_document = 1_170_000  # a tsvector holds 1 MB of eight characters each, and here they are nine

    def __init__(
        self,
        connection: Link,
        queries: Mapping[str, Query],
        *,
        is_writing: bool,
        lock: str = "",
        is_durable: bool = True,
        before: Callable[[str], Future[Any] | None] = lambda _org: None,
    ) -> None:
        self.connection = connection
        self.is_writing = is_writing
        self.is_durable = is_durable
        self.failure: psycopg.Error | None = None  # the last that the server reported, whatever became of it
        self.xid: str | None = None  # of a write, once it is bound: tells later whether it is still under way
        self._number = 0  # of the write among those of its connection: tells later whether it was committed
        self._lock = lock
        self._before = before  # of an org: what is to be written first
        self._org: str | None = None
        self._queries = queries
        self._cursor = connection.cursor(binary=True)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        asked = self._queries[query]
        if asked.is_scoped:
            self.bind(values["org_id"])
        cursor = self._execute(asked.sql, values)
        return cursor.fetchall() if cursor.description else []

    def _execute(self, sql: str, values: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        try:
            return self._cursor.execute(sql, values)
        except psycopg.Error as error:
            self._note_failure(error)
            raise

    def _note_failure(self, error: psycopg.Error) -> None:
        if not isinstance(error, psycopg.errors.InFailedSqlTransaction):  # a consequence, and says nothing
            self.failure = error

    def one(self, query: str, /, **values: Any) -> Row | None:
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def value(self, query: str, /, **values: Any) -> Any:
        row = self.one(query, **values)
        return row[0] if row else None

    def run(self, query: str, /, **values: Any) -> int:
        self.all(query, **values)
        return self._cursor.rowcount

    def many(self, query: str, /, rows: Iterable[Row]) -> None:
        values = list(rows)
        asked = self._queries[query]
        for org, of_org in _by_org(asked, values):
            if org is not None:
                self.bind(org)
            try:
                self._insert(asked, of_org)
            except psycopg.Error as error:
                self._note_failure(error)
                raise

    def _insert(self, asked: Query, rows: Sequence[Row]) -> None:
        bulk = asked.bulk
        if bulk is None or not bulk.fits(rows):
            self._cursor.executemany(asked.sql, [dict(zip(asked.names, row, strict=True)) for row in rows])
            return
        if not bulk.sql:
            bulk.prepare(self._types_of)
        for start in range(0, len(rows), MOST):
            self._cursor.execute(bulk.sql, bulk.arrays(rows[start : start + MOST]))

    def _types_of(self, table: str) -> dict[str, str]:
        found = self._cursor.execute(
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0",
            (table,),
        )
        return dict(found.fetchall())

    def next_rows(self, table: str, count: int) -> list[int]:
        return [row for (row,) in self.all("rows_next", table=table, count=count)] if count else []

    def schema(self) -> int:
        return int(self.value("schema_number") or 0)

    @property
    def is_open(self) -> bool:
        return self.connection.info.transaction_status == TransactionStatus.INTRANS

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._cursor.execute("SAVEPOINT part")
        org = self._org
        try:
            yield
        except BaseException:
            self._org = org  # a binding goes with the savepoint that it was made in, and so does the number
            self.xid = self.xid if org is not None else None
            if self.connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                self._cursor.execute("ROLLBACK TO part")
                self._cursor.execute("RELEASE part")
                self.failure = None  # undone; what the action makes of it is the action's own decision
            raise
        self._cursor.execute("RELEASE part")

    def bind(self, org: str) -> None:
        """Only this org's rows are there from now on. A writer also waits for its lock."""
        if org == self._org:
            return
        if self.is_writing and (earlier := self._before(org)):
            raise Behind(org, earlier)
        self._org = org
        if not self.is_writing:
            self._cursor.execute("SELECT set_config('clew.org', %s, true)", (org or PLATFORM,))
            return
        whole, part = lock_number(org, ""), lock_number(org, self._lock)
        self._number_by(_PART_LOCK if self._lock else _ORG_LOCK, whole=whole, part=part, org=org or PLATFORM)

    def _number_by(self, statement: str, **values: Any) -> None:
        if self._number == 0:
            self.connection.writes += 1
            self._number = self.connection.writes
        told = {"writer": self.connection.writer, "number": self._number, "is_durable": self.is_durable}
        row = self._execute(statement, told | values).fetchone()
        self.xid = row[0] if row else None

    def note_write(self) -> None:
        """Before COMMIT: what failed and was passed over undid everything, which COMMIT would not tell; and a write
        that names no org has no number yet."""
        if not self.is_open:
            raise self.failure or psycopg.OperationalError("the transaction is over")
        if self.xid is None:
            self._number_by(_NUMBERED)

    def end_ghost(self, link: Link) -> None:
        """A server that has not noticed that our connection is gone keeps what the write had locked. Only whoever
        connects as the application may do this; otherwise the server finds out by itself."""
        with suppress(psycopg.errors.InsufficientPrivilege):
            link.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity(%s::int)"
                " WHERE backend_start::text = %s",
                (self.connection.pid, self.connection.started),
            )

    def is_in(self, link: Link) -> bool | None:
        """Whether this write, whose COMMIT was not answered, is in the database; None: it is still under way."""
        try:
            row = link.execute("SELECT pg_xact_status(%s::xid8)", (self.xid,)).fetchone()
        except psycopg.errors.InvalidParameterValue:  # of the future: the server crashed and has never heard of it
            return False
        if row and row[0] == "in progress":
            return None
        if (row and row[0] == "aborted") or not self.is_durable:
            return bool(row and row[0] == "committed")
        last = link.execute(
            "SELECT number FROM clew_writes WHERE writer = %s", (self.connection.writer,)
        ).fetchone()
        return last == (self._number,)


def lock_number(org: str, name: str) -> int:
    digest = blake2b(f"{org}\x1f{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _by_org(asked: Query, rows: Sequence[Row]) -> list[tuple[str | None, list[Row]]]:
    if not asked.is_scoped:
        return [(None, list(rows))] if rows else []
    at = asked.names.index("org_id")
    found: dict[str | None, list[Row]] = {}
    for row in rows:
        found.setdefault(row[at], []).append(row)
    return list(found.items())

"""Named queries on one PostgreSQL connection, inside one transaction that is bound to an org.

The first query that names an org binds the transaction to it: row-level security shows only that org's rows, and a
writer holds the org's lock until it ends, so that writers of an org come one after another as they do in SQLite.
What nobody waits for (BEGIN, the binding, rows that are put in) is sent along with the next query that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from clew.store import postgres_framing as framing
from clew.store.postgres_insert import MOST
from clew.store.postgres_pool import Link
from clew.store.postgres_queries import Query
from clew.store.postgres_wire import Statement, statement
from clew.store.session import Row

if TYPE_CHECKING:
    from concurrent.futures import Future

    from psycopg.pq.abc import PGresult

T = TypeVar("T")

PLATFORM = "\x1f"  # what binds a transaction to rows of no org; an empty setting is that of one that is not bound
FEW_ROWS = 64  # rows that may be asked for ahead: of more, too many would be given out for nothing
MANY = 100  # rows put into a table that was empty before, for which the server should know better
_Asked = tuple[str, tuple[tuple[str, Any], ...]]  # a query and its values
_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)


class Behind(BaseException):
    """Something of this org was handed over before: it is written first. No error, so that no action takes it for
    one."""

    def __init__(self, org: str, future: Future[Any]) -> None:
        super().__init__(org)
        self.org, self.future = org, future


class PostgresSession:
    """One transaction. A write names what it locks: '' is the whole org. `begin`: what is sent before anything.
    `renewed`: another connection for a read whose own turns out to be gone before anything was answered."""

    __slots__ = (
        "_before",
        "_begin",
        "_expected",
        "_lock",
        "_number",
        "_org",
        "_parts",
        "_plans_once",
        "_queries",
        "_renewed",
        "_reserved",
        "_wire",
        "failure",
        "is_durable",
        "is_writing",
        "link",
        "wait_ms",
        "xid",
    )

    finds_nearest = True
    longest_document = 1_170_000  # a tsvector holds 1 MB of eight characters each, and here they are nine

    def __init__(
        self,
        link: Link,
        queries: Mapping[str, Query],
        *,
        is_writing: bool,
        begin: Statement | None = None,
        lock: str = "",
        is_durable: bool = True,
        wait_ms: int | None = None,
        before: Callable[[str], Future[Any] | None] = lambda _org: None,
        renewed: Callable[[Link], Link] | None = None,
    ) -> None:
        self.link = link
        self.is_writing = is_writing
        self.is_durable = is_durable
        self.wait_ms = wait_ms  # how long to wait for a lock; None: as long as others do
        self.failure: psycopg.Error | None = None  # the last that the server reported, whatever became of it
        self.xid: str | None = None  # of a write, once it is bound: tells later whether it is still under way
        self._number = 0  # of the write among those of its connection: tells later whether it was committed
        self._lock = lock
        self._before = before  # of an org: what is to be written first
        self._begin = begin
        self._renewed = renewed
        self._org: str | None = None
        self._parts = 0  # that have begun and not ended
        self._plans_once = is_writing  # as the lock of a write says
        self._expected: dict[_Asked, list[Row] | None] = {}  # None: on its way
        self._reserved: dict[str, list[int] | None] = {}  # rows by table that were asked for ahead; the same
        self._queries = queries
        self._wire = link.wire

    @property
    def connection(self) -> Link:
        """For what is no query of ours: inside the transaction, after everything that was sent."""
        if self.link.closed:
            return self.link
        if self._begin is not None:
            self._start()
        if self.is_writing and not self.is_durable and self._org is None:
            self._send(framing.NOT_DURABLE)
        self._settle()
        return self.link

    def all(self, query: str, /, **values: Any) -> list[Row]:
        if self._expected and (key := _asked(query, values)) in self._expected:
            if self._expected[key] is None:
                self._settle()
            if (found := self._expected.pop(key, None)) is not None:
                return found
        return self._wire.rows(self._asked(self._queries[query], values))

    def one(self, query: str, /, **values: Any) -> Row | None:
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def value(self, query: str, /, **values: Any) -> Any:
        row = self.one(query, **values)
        return row[0] if row else None

    def run(self, query: str, /, **values: Any) -> int:
        result = self._asked(self._queries[query], values)
        return (result.command_tuples or 0) if result.ntuples == 0 else result.ntuples

    def put(self, query: str, /, **values: Any) -> None:
        self._send_query(self._queries[query], values)

    def together(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        return self._served(lambda: self._asked_together(asked)) if asked else []

    def _asked_together(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        found: list[list[Row]] = []
        for name, values in asked:
            self._send_query(self._queries[name], values, lambda result: found.append(self._wire.rows(result)))
        self._settle()
        return found

    def expect(self, query: str, /, **values: Any) -> None:
        self._served(lambda: self._ask_ahead(query, values))

    def _ask_ahead(self, query: str, values: dict[str, Any]) -> None:
        key = _asked(query, values)
        self._expected[key] = None
        self._send_query(self._queries[query], values, lambda result: self._take_expected(key, result))

    def _take_expected(self, key: _Asked, result: PGresult) -> None:
        self._expected[key] = self._wire.rows(result)

    def finish(self, query: str, /, **values: Any) -> list[Row]:
        """Not in a part, whose end others decide. COMMIT goes out before the transaction's number is known."""
        if not self.is_writing or self._parts:
            return self.all(query, **values)
        asked, found = self._queries[query], list[Row]()
        if asked.is_scoped:
            self._bind(values["org_id"], is_whole=self._begin is not None)
        self._send(asked.statement, values, lambda result: found.extend(self._wire.rows(result)))
        self._send(framing.COMMIT)
        self._answer()
        self._begin, self._org, self.xid, self._number = framing.WRITE, None, None, 0
        return found

    def many(self, query: str, /, rows: Iterable[Row]) -> None:
        values = list(rows)
        asked = self._queries[query]
        for org, of_org in asked.by_org(values):
            if org is not None:
                self._bind(org)
            self._insert(asked, of_org)

    def for_each(self, query: str, name: str, /, items: Sequence[int] | Sequence[str], **shared: Any) -> None:
        names = self._queries[query].names
        self.many(query, [tuple(item if of == name else shared[of] for of in names) for item in items])

    def many_last(self, query: str, /, rows: Sequence[Row]) -> None:
        self.many(query, rows)

    def settle(self) -> None:
        """Nothing is left for the end here."""

    def _insert(self, asked: Query, rows: Sequence[Row]) -> None:
        bulk = asked.bulk
        if bulk is None or not bulk.fits(rows):
            for row in rows:
                self._send(asked.statement, row)
            self._count(bulk.table if bulk else "", len(rows))
            return
        if not bulk.sql:
            bulk.prepare(self._types_of)
        for start in range(0, len(rows), MOST):
            if start:  # one lot may be on its way; more would be held in memory until the server has them
                self._settle()
            self._send(statement(bulk.sql), bulk.arrays(rows[start : start + MOST]))
        self._count(bulk.table, len(rows))

    def _count(self, table: str, rows: int) -> None:
        """One by one they are many, too, and whoever asks next should not wait for the server to look by itself."""
        put = self.link.put[table] = self.link.put.get(table, 0) + rows
        if table and put >= MANY:
            self._look_at(table)

    def _look_at(self, table: str) -> None:
        if self.link.young is None:
            self._send(framing.YOUNG)
            self.link.young = {name for (name,) in self._wire.rows(self._answer())}
        if table in self.link.young:
            self.link.young.discard(table)
            self._send(framing.LOOK_AT, [table])

    def _types_of(self, table: str) -> dict[str, str]:
        found = self._execute(
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %(table)s::regclass AND attnum > 0",
            {"table": table},
        )
        return dict(self._wire.rows(found))

    def expect_rows(self, org: str, table: str, count: int) -> None:
        """After the lock: all rows that the org has so far are smaller then."""
        if 0 < count <= FEW_ROWS:
            self._bind(org)
            self._reserved[table] = None
            asked = {"table": table, "count": count}
            self._send(self._queries["rows_next"].statement, asked, lambda result: self._reserve(table, result))

    def _reserve(self, table: str, result: PGresult) -> None:
        self._reserved[table] = [row for (row,) in self._wire.rows(result)]

    def next_rows(self, table: str, count: int) -> list[int]:
        """Each larger than those before: what was reserved goes first."""
        if not count:
            return []
        if table in self._reserved and self._reserved[table] is None:
            self._settle()
        reserved = self._reserved.pop(table, None) or []
        if len(reserved) > count:
            self._reserved[table] = reserved[count:]
        rest = count - len(reserved)
        further = self.all("rows_next", table=table, count=rest) if rest > 0 else []
        return reserved[:count] + [row for (row,) in further]

    def schema(self) -> int:
        return int(self.value("schema_number") or 0)

    # -- what is sent, and what is waited for ------------------------------------------------------

    def _served(self, ask: Callable[[], T]) -> T:
        """By another connection, when this one turns out to be gone before it answered anything."""
        try:
            return ask()
        except psycopg.OperationalError:
            if self._renewed is None or not self.link.closed:
                raise
        self._begin_anew()
        return ask()

    def _asked(self, asked: Query, values: dict[str, Any]) -> PGresult:
        return self._served(lambda: self._ask(asked, values))

    def _ask(self, asked: Query, values: dict[str, Any]) -> PGresult:
        self._send_query(asked, values)
        return self._answer()

    def _send_query(
        self, asked: Query, values: dict[str, Any], told: Callable[[PGresult], object] | None = None
    ) -> None:
        if asked.is_scoped:
            self._bind(values["org_id"])
        if not self.is_writing and asked.is_planned_once != self._plans_once:
            self._plans_once = asked.is_planned_once
            self._send(framing.PLAN_ONCE if self._plans_once else framing.PLAN_EACH)
        self._send(asked.statement, values, told)

    def _begin_anew(self) -> None:
        """The server ended the connection while nobody used it: nothing was asked yet."""
        assert self._renewed is not None
        self.link, self._renewed = self._renewed(self.link), None
        self._wire, self._begin, self._org, self.failure = self.link.wire, framing.READ, None, None
        self._expected.clear()
        self._plans_once = False

    def _execute(self, sql: str, values: dict[str, Any]) -> PGresult:
        self._send(statement(sql), values)
        return self._answer()

    def _send(
        self,
        asked: Statement,
        values: dict[str, Any] | Sequence[Any] = (),
        told: Callable[[PGresult], object] | None = None,
    ) -> None:
        if self._begin is not None:
            self._start()
        try:
            self._wire.send(asked, values, told)
        except psycopg.Error as error:
            self._note_failure(error)
            raise

    def _start(self) -> None:
        begin, self._begin = self._begin, None
        assert begin is not None
        self._send(begin)
        if self.wait_ms is not None:  # 0 would be for ever
            self._send(framing.LOCK_TIMEOUT, [str(max(1, self.wait_ms))])

    def _answer(self) -> PGresult:
        """To what was sent last."""
        try:
            result = self._wire.answer()
        except psycopg.Error as error:
            self._note_failure(error)
            raise
        self._renewed = None
        return result

    def _settle(self) -> None:
        """Everything that was sent is answered."""
        if self._wire.is_waiting:
            self._answer()

    def _note_failure(self, error: psycopg.Error) -> None:
        if not isinstance(error, psycopg.errors.InFailedSqlTransaction):  # a consequence, and says nothing
            self.failure = error

    # -- parts, the org, the end -------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        try:
            self._settle()
        except psycopg.Error:
            return False
        return self._begin is not None or self.link.info.transaction_status == TransactionStatus.INTRANS

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        is_set: list[PGresult] = []  # not where something that was sent before it failed: then nothing is left
        self._send(framing.SAVEPOINT, told=is_set.append)
        org, self._parts = self._org, self._parts + 1
        try:
            yield
            self._settle()  # what fails here undoes this part alone
            if self.link.pgconn.transaction_status != TransactionStatus.INTRANS:  # it failed, and was passed over
                raise self.failure or psycopg.errors.InFailedSqlTransaction("this part has failed")
        except BaseException:
            with suppress(Exception):  # of a part that is undone anyway
                self._settle()
            self._expected.clear()
            self._org = org  # a binding goes with the savepoint that it was made in, and so does the number
            self.xid = self.xid if org is not None else None
            if is_set and self.link.info.transaction_status in _OPEN:
                self._send(framing.UNDO)
                self._send(framing.RELEASE)
                self._answer()
                self.failure = None  # undone; what the action makes of it is the action's own decision
            raise
        finally:
            self._parts -= 1
        self._send(framing.RELEASE)

    def bind(self, org: str) -> None:
        """Only this org's rows are there from now on. A writer also waits for its lock."""
        self._bind(org)
        self._settle()

    def _bind(self, org: str, *, is_whole: bool = False) -> None:
        """`is_whole`: the transaction is sent with its COMMIT."""
        if org == self._org:
            return
        if self.is_writing and (earlier := self._before(org)):
            raise Behind(org, earlier)
        self._org = org
        if not self.is_writing:
            self._send(framing.BIND, [org or PLATFORM])
            return
        whole, part = framing.lock_number(org, ""), framing.lock_number(org, self._lock)
        locked = {"whole": whole, "part": part, "org": org or PLATFORM}
        if is_whole:
            self._send(statement(framing.LOCKS_OF_WHOLE[self.is_durable, bool(self._lock)]), locked)
        else:
            self._number_by(framing.LOCKS[self.is_durable, bool(self._lock)], **locked)

    def _number_by(self, asked: str, **values: Any) -> None:
        if self._number == 0:
            self.link.writes += 1
            self._number = self.link.writes
        values |= {"writer": self.link.writer, "number": self._number}
        self._send(statement(asked), values, self._take_number)

    def _take_number(self, result: PGresult) -> None:
        found = result.get_value(0, 0)
        self.xid = found.decode() if found else None

    def note_write(self) -> None:
        """Before COMMIT: what failed and was passed over undid everything; and a write that names no org has no
        number yet, without which nobody could be asked what became of it."""
        if self._begin is not None:
            return
        if self.xid is None:
            self._settle()
        if not self._wire.is_waiting and not self.is_open:
            raise self.failure or psycopg.OperationalError("the transaction is over")
        if self.xid is None:
            self._number_by(framing.NUMBERED if self.is_durable else framing.UNNUMBERED)
            self._settle()

    def commit(self) -> None:
        """With what was not waited for. Nothing to do where nothing was asked."""
        if self._begin is not None:
            return
        self._send(framing.COMMIT)
        try:
            is_done = self._answer().command_status == b"COMMIT"
        except psycopg.errors.InFailedSqlTransaction as error:  # of what failed before, and was passed over
            raise self.failure or error from None
        if not is_done:
            raise self.failure or psycopg.OperationalError("the transaction is over")

    def end_ghost(self, link: Link) -> None:
        """A server that has not noticed that our connection is gone keeps what the write had locked. Only whoever
        connects as the application may do this; otherwise the server finds out by itself."""
        with suppress(psycopg.errors.InsufficientPrivilege):
            link.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity(%s::int)"
                " WHERE backend_start::text = %s",
                (self.link.pid, self.link.started),
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
        last = link.execute("SELECT number FROM clew_writes WHERE writer = %s", (self.link.writer,)).fetchone()
        return last == (self._number,)


def _asked(query: str, values: dict[str, Any]) -> _Asked:
    return query, tuple(sorted(values.items()))

"""One transaction of SQLite, as the tables use it: named queries, and what is left for the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import apsw

from clew.store.queries import PARAMETER
from clew.store.session import Row, listed

TOGETHER = 25  # rows in one execution: measured with 10 to 50
_VALUES = re.compile(r"VALUES\s*\(([^()]*)\)")


class Session:
    """Named queries on one connection, inside one transaction."""

    __slots__ = ("_given_out", "_queries", "connection", "last")

    finds_nearest = False
    longest_document = None

    def __init__(self, connection: apsw.Connection, named: Mapping[str, str]) -> None:
        self.connection = connection
        self._queries = named
        self.last: list[tuple[str, list[Row]]] = []
        self._given_out: dict[str, int] = {}

    def begin(self) -> None:
        """A transaction of the writer, which forgets what it knew in the one before."""
        self._given_out.clear()
        self.last.clear()
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.settle()
        self.connection.execute("COMMIT")

    def all(self, query: str, /, **values: Any) -> list[Row]:
        return self.connection.execute(self._queries[query], values).fetchall()

    def one(self, query: str, /, **values: Any) -> Row | None:
        rows = self.all(query, **values)  # to the end: a statement left half-way holds its snapshot
        return rows[0] if rows else None

    def value(self, query: str, /, **values: Any) -> Any:
        row = self.one(query, **values)
        return row[0] if row else None

    def run(self, query: str, /, **values: Any) -> int:
        """Execute a statement and return how many rows it changed."""
        self.all(query, **values)
        return self.connection.changes()

    def put(self, query: str, /, **values: Any) -> None:
        """Nothing is gained here by doing it later."""
        self.all(query, **values)

    def together(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        return [self.all(query, **values) for query, values in asked]

    def finish(self, query: str, /, **values: Any) -> list[Row]:
        """Nothing is gained here by ending it now."""
        return self.all(query, **values)

    def expect(self, query: str, /, **values: Any) -> None:
        """Nothing is gained here by asking early."""

    def expect_rows(self, org: str, table: str, count: int) -> None:
        """The writer knows its rows without asking anybody."""

    def many(self, query: str, /, rows: Iterable[tuple[Any, ...]]) -> None:
        """One execution per row of values, in the order in which the query names them: an import runs this
        millions of times, and looking values up by name costs as much as inserting them."""
        told = list(rows)
        whole = len(told) // TOGETHER * TOGETHER
        if whole and (several := _of_rows(self._queries[query])):
            for start in range(0, whole, TOGETHER):
                self.connection.execute(several, tuple(chain.from_iterable(told[start : start + TOGETHER])))
            del told[:whole]
        if told:
            self.connection.executemany(self._queries[query], told).fetchall()

    def for_each(self, query: str, name: str, /, items: Sequence[int] | Sequence[str], **shared: Any) -> None:
        """In one execution: it takes a third of the time of as many."""
        if items:
            several = _of_list(self._queries[query], name)
            self.connection.execute(several, {**shared, name: listed(items)}).fetchall()

    def many_last(self, query: str, /, rows: Sequence[Row]) -> None:
        """At the end of the transaction, also of one that several writes share: any other write in between makes
        SQLite open a statement savepoint, at which FTS5 flushes what it gathered: ten times the cost of an entry.
        """
        self.last.append((query, list(rows)))

    def settle(self) -> None:
        """Do now what was left for the end."""
        last, self.last = self.last, []
        for query, parts in groupby(last, itemgetter(0)):
            self.many(query, [row for _query, rows in parts for row in rows])

    def next_rows(self, table: str, count: int) -> range:
        """The writer is alone: what it reads stays true until it commits."""
        if not self._given_out:
            self._given_out.update(self.all("rows_last"))
        first = self._given_out.get(table, 0) + 1
        self._given_out[table] = first - 1 + count
        return range(first, first + count)

    def schema(self) -> int:
        return int(self.connection.pragma("user_version"))

    @property
    def is_open(self) -> bool:
        return self.connection.in_transaction

    def savepoint(self) -> _Savepoint:
        return _Savepoint(self.connection)


@cache
def _of_rows(insert: str) -> str | None:
    """For so many rows at once; None of a query that is no plain insert, or one that names a value twice."""
    found = list(_VALUES.finditer(insert))
    names = [name.strip() for name in found[0][1].split(",")] if len(found) == 1 else []
    if not all(PARAMETER.fullmatch(name) for name in names) or len({*names}) < len(names) or not names:
        return None
    one = f"({','.join('?' * len(names))})"
    return f"{insert[: found[0].start()]}VALUES {','.join([one] * TOGETHER)}{insert[found[0].end() :]}"


@cache
def _of_list(insert: str, name: str) -> str:
    """The rows of a list instead of one."""
    [values] = _VALUES.finditer(insert)
    picked = re.sub(rf":{name}\b", "j.value", values[1])
    # Without a condition, ON CONFLICT would be read as that of a join.
    listing = f"SELECT {picked} FROM json_each(:{name}) j WHERE true"  # noqa: S608 - of our own queries
    return insert[: values.start()] + listing + insert[values.end() :]


class _Savepoint:
    """A part of a transaction that is undone alone when it fails."""

    __slots__ = ("_connection",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("SAVEPOINT part")

    def __exit__(self, kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            if not self._connection.in_transaction:
                return
            self._connection.execute("ROLLBACK TO part")
        self._connection.execute("RELEASE part")

"""Statements on one connection: sent one after another, their answers read together.

A statement whose answer nobody needs yet goes into libpq's buffer and is on its way with the next one that is
waited for; what does not fit there is worked on by the server meanwhile. The first failure undoes what was sent
after it, and is raised by whoever waits next. psycopg's cursors are not used for this: they wait for each answer,
and cost as much as a short statement does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.waiting import Ready, Wait

from clew.store.session import Row
from clew.values import dataclass

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGresult

PREPARED_FROM = 2  # uses of a statement: whoever runs it once need not keep it
MOST_PREPARED = 300  # on one connection, which keeps a plan of each
_NAMED = re.compile(r"%\((\w+)\)s|%%")
_DONE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
Key = tuple[bytes, tuple[int, ...]]  # a text and the types of its values


@dataclass(frozen=True, slots=True)
class Statement:
    """As the server takes it: values by number. `name`: under which it is always prepared."""

    text: bytes
    names: tuple[str, ...] = ()
    name: bytes = b""


@cache
def statement(sql: str, name: str = "") -> Statement:
    """From a text that names its values as psycopg does."""
    names = tuple(dict.fromkeys(found for found in _NAMED.findall(sql) if found))
    text = _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}" if found[1] else "%", sql)
    return Statement(text.encode(), names, name.encode())


class Wire:
    """Of one connection, and of whoever has it."""

    __slots__ = ("_connection", "_is_marked", "_number", "_pgconn", "_prepared", "_sent", "_transformer", "_uses")

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        """After its types were registered."""
        self._connection = connection
        self._pgconn = connection.pgconn
        self._transformer = Transformer(connection)
        self._uses: dict[Key, int] = {}
        self._prepared: dict[Key, bytes] = {}
        self._is_marked = False  # the server was told that nothing more comes before its answers are read
        self._number = 0  # of the last name that was given
        # What is to be answered: what was prepared by it, and who wants to know the answer.
        self._sent: list[tuple[Key | None, Callable[[PGresult], object] | None]] = []

    @property
    def is_waiting(self) -> bool:
        """Whether something was sent of which no answer was read."""
        return bool(self._sent)

    @property
    def has_left(self) -> bool:
        """Whether the next who has the connection reads the answers."""
        return self._is_marked and self._pgconn.status == ConnStatus.OK

    def send(
        self,
        asked: Statement,
        values: dict[str, Any] | Sequence[Any] = (),
        told: Callable[[PGresult], object] | None = None,
    ) -> None:
        """On its way with the next that is waited for. Values by name, or in the order of the names. `told` is
        called with the answer, unless something before it failed."""
        given: Sequence[Any] = [values[name] for name in asked.names] if isinstance(values, dict) else values
        transformer = self._transformer
        dumped = transformer.dump_sequence(given, [PyFormat.AUTO] * len(given)) if given else ()
        types, formats = (transformer.types or (), transformer.formats) if given else ((), None)
        if not self._sent:
            self._pgconn.enter_pipeline_mode()
        if name := self._name(asked, tuple(types)):
            self._pgconn.send_query_prepared(name, dumped, formats, Format.BINARY)
        else:
            self._pgconn.send_query_params(asked.text, dumped, types, formats, Format.BINARY)
        self._sent.append((None, told))

    def _name(self, asked: Statement, types: tuple[int, ...]) -> bytes:
        """Under which it is prepared by now; nothing for one that is not used often."""
        key = asked.text, types
        if name := self._prepared.get(key):
            return name
        uses = self._uses[key] = self._uses.get(key, 0) + 1
        if not asked.name and (uses < PREPARED_FROM or len(self._prepared) >= MOST_PREPARED):
            return b""
        self._number += 1
        name = self._prepared[key] = asked.name or b"c%d" % self._number
        self._pgconn.send_prepare(name, asked.text, types or None)
        self._sent.append((key, None))
        return name

    def leave(self) -> None:
        """What was sent is on its way; its answers are read by whoever has the connection next."""
        self._pgconn.pipeline_sync()
        self._is_marked = True
        self._pgconn.flush()

    def answer(self) -> PGresult:
        """To what was sent last. Raises the first failure of what was sent since someone waited."""
        is_marked, self._is_marked = self._is_marked, False
        sent, self._sent = self._sent, []
        try:
            if not is_marked:
                self._pgconn.pipeline_sync()
            results = self._connection.wait(self._results())
            if len(results) != len(sent):  # more: an interrupt came before it was noted that something was sent
                raise psycopg.OperationalError("the connection is lost")
            self._pgconn.exit_pipeline_mode()
        except BaseException:  # Ctrl-C too: whose answers are left is not known any more
            self._connection.close()
            raise
        self._take_in(sent, results)
        return results[-1]

    def _take_in(
        self, sent: Sequence[tuple[Key | None, Callable[[PGresult], object] | None]], results: Sequence[PGresult]
    ) -> None:
        failed = None
        for (key, told), result in zip(sent, results, strict=True):
            if result.status in _DONE:
                if told is not None:
                    told(result)
                continue
            failed = failed or result
            if key is not None:
                self._prepared.pop(key, None)
        if failed is not None:
            raise error_from_result(failed)

    def _results(self) -> PQGen[list[PGresult]]:
        """Up to the mark; fewer when the connection is lost. What does not fit is sent while answers are read."""
        pgconn = self._pgconn
        results: list[PGresult] = []
        while pgconn.flush():
            if (yield Wait.RW) & Ready.R:
                pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                if (yield Wait.R) & Ready.R:
                    pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                if pgconn.status != ConnStatus.OK:
                    return results
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def rows(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._transformer.set_pgresult(result)
        try:
            return self._transformer.load_rows(0, result.ntuples, tuple)
        finally:
            self._transformer.set_pgresult(None)  # which may be large, and the connection is kept

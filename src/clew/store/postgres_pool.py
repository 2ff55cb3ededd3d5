"""Connections to one PostgreSQL: made on the thread that needs one, kept for the next, never more than allowed.

No thread works behind the scenes, so that nothing has to be joined when a short command ends, and whoever waits
for a server that is away finds it within a quarter of a second of its return. Who holds a connection and needs
another, as for a read inside a write, gets one beyond the limit: otherwise writers could wait for each other.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus

from clew.errors import Unavailable
from clew.store.postgres_errors import not_let_in, store_closed, told, unreachable
from clew.store.postgres_wire import Wire, statement
from clew.store.session import Row

IDLE_S = 300.0  # after which a connection that nobody needed is let go
LIFETIME_S = 3_600.0  # so that a fleet comes back to a server that was replaced
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.25
# A peer that vanished without a word: noticed within 11 s while we wait for an answer, within 10 s when what we
# sent is not acknowledged. Longer than the stalls of a network that lives, shorter than the patience of a person.
# A server whose machine answers but that itself hangs is not given up: it may be at work.
DEFAULTS = {
    "application_name": "clew",
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_ROLLBACK = statement("ROLLBACK", "rollback")


class Link(psycopg.Connection[Row]):
    """A connection that numbers its writes: by that number the server tells later which of them it has."""

    wire: Wire

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.writer = secrets.randbits(63)
        self.writes = 0
        self.pid = self.info.backend_pid  # a closed connection does not tell
        self.started = ""  # the server's moment: another process of it may get the same number
        self.made_at = time.monotonic()
        self.put: dict[str, int] = {}  # rows, by table
        self.young: set[str] | None = None  # tables that were empty when the server last looked; None: not known
        self.answer: str | None = None  # to the statement that it was last begun with

    def begin(self, statement: str) -> Self:
        try:
            if self.wire.is_waiting:
                self.wire.answer()
            self.answer = self.tell(statement)
        except BaseException:
            self.close()
            raise
        return self

    def tell(self, statement: str) -> str | None:
        """Past the cursors, and without values: BEGIN and COMMIT are a third of what a short transaction sends, and
        when psycopg sees a ROLLBACK, as at the end of each read, it forgets every statement it has prepared."""
        result = self.pgconn.exec_(statement.encode())
        if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            error = error_from_result(result)
            if error.sqlstate is None:  # not the server's word: it was not reached
                self.close()
                raise psycopg.OperationalError("the connection is lost")
            raise error
        found = result.get_value(0, 0) if result.ntuples else None
        return None if found is None else found.decode()

    def is_there(self) -> bool:
        """As far as one can tell without asking: the server has not ended it."""
        try:
            if self.wire.is_waiting:
                self.wire.answer()
            else:
                self.pgconn.consume_input()
        except psycopg.Error:
            self.close()
        return not self.closed

    def undo(self) -> None:
        """Whatever is left of a transaction. The end of one in which all went well is not waited for."""
        with suppress(psycopg.Error):
            if not self.wire.is_waiting and self.pgconn.transaction_status == TransactionStatus.INTRANS:
                self.wire.send(_ROLLBACK)
                self.wire.leave()
                return
        if self.wire.is_waiting:
            with suppress(Exception):  # whoever wanted to know the answers is gone
                self.wire.answer()
        with suppress(psycopg.Error):
            if self.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                self.tell("ROLLBACK")

    @property
    def is_whole(self) -> bool:
        """Whether someone else may have it: nothing of a transaction is left, or its end is on its way."""
        return self.wire.has_left or self.pgconn.transaction_status == TransactionStatus.IDLE


class Places:
    """A semaphore that serves who came first. One of the interpreter's lets whoever gives a place back take it
    again before those who wait have woken: under many short writes some would wait for good."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, *, timeout: float) -> bool:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            return mine.wait(timeout) or not self._gives_up(mine)
        except BaseException:  # Ctrl-C: what was given meanwhile goes to the next
            if not self._gives_up(mine):
                self.release()
            raise

    def _gives_up(self, mine: threading.Event) -> bool:
        """False: it was given a place in this very moment."""
        with self._lock:
            if mine.is_set():
                return False
            self._waiting.remove(mine)
            return True

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


class Pool:
    def __init__(self, url: str, *, size: int, configure: Callable[[Link], None], location: str) -> None:
        self.size = size
        self.losses = 0  # connections that were found dead
        self._conninfo = conninfo(url)
        self._configure = configure
        self._location = location
        self._places = Places(size)
        self._most_writers = max(1, size - max(1, size // 4))
        self._writers = Places(self._most_writers)
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Link]] = []
        self._out: dict[Link, tuple[int, bool]] = {}  # who took it, and whether it has a place
        self._holders: dict[int, int] = {}  # how many connections a thread has
        self._closed = False

    def begun(self, statement: str, *, deadline: float) -> Link:
        """A connection on which `statement` was run; the next one, when one turns out to be gone."""
        return self._taken(deadline, lambda link: link.begin(statement))

    def taken(self, *, deadline: float) -> Link:
        """A connection that is there, as far as one can tell without asking."""
        return self._taken(deadline, _if_there)

    def renewed(self, gone: Link, *, deadline: float) -> Link:
        """Another one, in the place of one that turned out to be gone."""
        self._drop_kept()
        link = self._begin(_if_there, deadline)
        with self._lock:
            self._out[link] = self._out.pop(gone)
        gone.close()
        return link

    def _taken(self, deadline: float, begin: Callable[[Link], Link | None]) -> Link:
        has_place = self._enter(deadline)
        try:
            link = self._begin(begin, deadline)
        except BaseException:
            if has_place:
                self._places.release()
            raise
        who = threading.get_ident()
        with self._lock:
            self._out[link] = (who, has_place)
            self._holders[who] = self._holders.get(who, 0) + 1
        return link

    @contextmanager
    def writing(self, *, deadline: float) -> Iterator[None]:
        """Some places are for readers only: who waits for the lock of an org would otherwise keep them waiting. Who
        holds a connection already needs none: who has one may be waiting for that connection."""
        if self.is_held():
            yield
            return
        if not self._writers.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise self._none_left(self._most_writers)
        try:
            yield
        finally:
            self._writers.release()

    def is_held(self) -> bool:
        """Whether this thread has a connection."""
        return threading.get_ident() in self._holders

    def _enter(self, deadline: float) -> bool:
        if self.is_held():
            return False
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise self._none_left(self.size)
        return True

    def _begin(self, begin: Callable[[Link], Link | None], deadline: float) -> Link:
        pause = FIRST_PAUSE_S
        while True:
            try:
                if link := self._kept():
                    with suppress(psycopg.OperationalError):
                        if begun := begin(link):
                            return begun
                    self._drop_kept()
                link = self._connected()
                return begin(link) or link
            except psycopg.OperationalError as error:
                if refusal := not_let_in(error, self._location):
                    raise refusal from error
                if time.monotonic() + pause > deadline:
                    raise told(error, self._location) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _kept(self) -> Link | None:
        with self._lock:
            if self._closed:
                raise store_closed()
            stale = self._stale()
            kept = self._idle.pop()[1] if self._idle else None
        for link in stale:
            link.close()
        return kept

    def _stale(self) -> list[Link]:
        """Taken out of those that are kept: the last that came back is the last in the list."""
        now = time.monotonic()
        if not self._idle or now - self._idle[0][0] <= IDLE_S:
            return []
        stale = [link for since, link in self._idle if now - since > IDLE_S]
        del self._idle[: len(stale)]
        return stale

    def _drop_kept(self) -> None:
        """What was kept as long as a connection that is dead is hardly better: a server rarely ends only one."""
        with self._lock:
            self.losses += 1
            kept, self._idle = self._idle, []
        for _since, link in kept:
            link.close()

    def _connected(self) -> Link:
        # psycopg prepares nothing: it would have the server forget its statements now and then, and ours with them.
        link = Link.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        try:
            self._configure(link)
            link.wire = Wire(link)
        except BaseException:
            link.close()
            raise
        return link

    def give_back(self, link: Link) -> None:
        """Whatever is left of a transaction is undone first; a connection that is not whole is not kept."""
        link.undo()
        now = time.monotonic()
        is_whole = link.is_whole and now - link.made_at < LIFETIME_S
        with self._lock:
            who, has_place = self._out.pop(link)
            self._holders[who] -= 1
            if not self._holders[who]:
                del self._holders[who]
            self.losses += link.closed
            is_kept = is_whole and not self._closed and len(self._idle) + len(self._out) < self.size
            if is_kept:
                self._idle.append((now, link))
            stale = self._stale()
        for unwanted in stale if is_kept else [*stale, link]:
            unwanted.close()
        if has_place:
            self._places.release()

    def close(self) -> None:
        """Those in use are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _since, link in idle:
            link.close()

    def _none_left(self, limit: int) -> Unavailable:
        if len(self._out) < limit:  # those before us still try to connect
            return unreachable(self._location)
        return Unavailable(
            f"all {self.size} connections to {self._location} are in use",
            code="POOL_EXHAUSTED",
            next="try again, or allow more: set store.connections",
        )


def _if_there(link: Link) -> Link | None:
    return link if link.is_there() else None


def conninfo(url: str, **own: str) -> str:
    """What a URL says goes before what is usual, and what we say ourselves before both."""
    return make_conninfo("", **DEFAULTS | conninfo_to_dict(url) | {"client_encoding": "UTF8"} | own)

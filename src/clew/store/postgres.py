"""PostgreSQL through psycopg: a pool of connections, writes that are run again when that is safe.

A write is one transaction on the caller's thread. What the server undid (a deadlock, a serialization failure, a
lost connection before COMMIT) is run again. When the connection is lost during COMMIT, the server is asked whether
it has that write: nothing is done twice and nothing is reported as done that is not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors as pg

from clew.errors import ClewError, StoreRefused
from clew.model.address import without_password
from clew.store import forked, postgres_schema, postgres_types, queries
from clew.store import postgres_framing as framing
from clew.store.moment import Moment
from clew.store.postgres_errors import (
    UNDONE,
    commit_unknown,
    conflicting,
    not_let_in,
    store_closed,
    told,
    unreachable,
    unreadable,
)
from clew.store.postgres_pool import FIRST_PAUSE_S, LONGEST_PAUSE_S, Link, Pool
from clew.store.postgres_queries import compiled
from clew.store.postgres_session import Behind, PostgresSession
from clew.store.session import unencodable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clew.store.postgres_listen import Listener
    from clew.store.postgres_submit import HandedOver

T = TypeVar("T")

RECONNECT_S = 10.0  # how long a write or the begin of a read looks for a server that went away
GHOST_S = 1.0  # how long a COMMIT may be on its way after its connection was lost
SHORTEST_WAIT_S = 1.0  # to connect, for whoever would rather not wait
SHORT_WAIT_S = 1.0  # for what was handed over before, when it may be waiting for a connection that we hold
CONNECT_TIMEOUT_S = 5
# The server also notices when we are gone, within a second while it works for us: what we hold is free again.
# Nobody waits for a lock for longer than SQLite's writers do. What is durable is, whatever the server's default.
_WATCHFUL = """
SELECT backend_start::text, set_config('client_connection_check_interval', '1s', false),
  set_config('lock_timeout', '30s', false),
  set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
  set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10s', false),
  set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false)
FROM pg_stat_get_activity(pg_backend_pid())
"""
# Of connections that are gone: their last writes were asked about long ago.
_TIDY = """
DELETE FROM clew_writes WHERE writer IN
  (SELECT writer FROM clew_writes WHERE at < clock_timestamp() - interval '1 day' FOR UPDATE SKIP LOCKED)
"""
TIDY_EVERY_S = 3_600.0
_tidied: dict[str, float] = {}  # when this process last did, by where
_LOOK = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"


class PostgresEngine:
    name = "postgres"

    def __init__(self, url: str, *, connections: int = 8, wait_s: float = RECONNECT_S) -> None:
        self.url = url
        self.location = shown(url)
        self._wait_s = wait_s
        self._queries = compiled()
        self._lock = threading.Lock()
        self._handed_over: HandedOver | None = None
        self._listeners: list[Listener] = []
        self._seen: tuple[str, int] = ("", 0)
        self._moment = Moment()
        self._closed = False
        self._pool = Pool(url, size=connections, configure=_configure, location=self.location)
        forked.watch(self)

    # -- reading ---------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[PostgresSession]:
        """One consistent snapshot; never waits for writers."""
        if self._closed:
            raise store_closed()
        with translated(self.location):
            link = self._pool.taken(deadline=time.monotonic() + self._wait_s)
        session = PostgresSession(link, self._queries, is_writing=False, begin=framing.READ, renewed=self._renewed)
        try:
            with translated(self.location):
                yield session
        finally:
            self._pool.give_back(session.link)

    def _renewed(self, gone: Link) -> Link:
        return self._pool.renewed(gone, deadline=time.monotonic() + self._wait_s)

    def has_counted(self, org: str, name: str) -> bool | None:  # noqa: ARG002
        """A look of its own would cost as much here as `data_version`."""
        return None

    def at_one_moment(self) -> AbstractContextManager[None]:
        return self._moment.lasts()

    def data_version(self) -> tuple[int, int]:
        """Changes whenever anything was committed: a cheap first look before the change log. A server that crashed
        may say of other data what it said before; but then connections were lost."""
        return self._moment.version(self._version)

    def _version(self) -> tuple[int, int]:
        losses = self._pool.losses
        if self._closed:
            raise store_closed()
        with translated(self.location):
            asked = "SELECT pg_current_snapshot()::text"
            link = self._pool.begun(asked, deadline=time.monotonic() + self._wait_s)
        snapshot = link.answer or ""
        self._pool.give_back(link)
        with self._lock:
            if snapshot != self._seen[0]:
                self._seen = (snapshot, self._seen[1] + 1)
            return losses, self._seen[1]

    # -- writing ---------------------------------------------------------------------------------

    def write(
        self,
        action: Callable[[PostgresSession], T],
        *,
        durable: bool = True,
        savepoint: bool = True,  # noqa: ARG002 - every write is a transaction of its own here
        lock: str = "",
        wait_ms: int | None = None,
    ) -> T:
        """Run `action` in a transaction; returns after the commit. It may be run again: only `tx` may be changed.

        `lock` names what is worked on when that is less than the whole org; `wait_ms` is how long to wait for it.
        """
        if self._closed:
            raise store_closed()
        return self._write(action, durable=durable, lock=lock, wait_ms=wait_ms)

    def _write(
        self, action: Callable[[PostgresSession], T], *, durable: bool, lock: str = "", wait_ms: int | None = None
    ) -> T:
        """The time for further attempts begins with the first failure: what took long may be run once more."""
        patience_s = self._wait_s if wait_ms is None else max(wait_ms / 1_000, SHORTEST_WAIT_S)
        deadline, pause = 0.0, FIRST_PAUSE_S
        line = _Line(self._handed_over if wait_ms is None else None)
        while True:
            begin_by = deadline or time.monotonic() + patience_s
            try:
                with self._pool.writing(deadline=begin_by):
                    options = {"lock": lock, "is_durable": durable, "wait_ms": wait_ms, "before": line.before}
                    return self._attempt(action, begin_by, options)
            except Behind as behind:
                line.wait(behind, SHORT_WAIT_S if self._pool.is_held() else self._wait_s)
                continue
            except _Again as again:
                deadline = deadline or time.monotonic() + patience_s
                if time.monotonic() > deadline:
                    raise again.why from again.__cause__
                self._end_ghost(again.session, deadline)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _attempt(self, action: Callable[[PostgresSession], T], begin_by: float, options: Mapping[str, Any]) -> T:
        with translated(self.location):
            link = self._pool.taken(deadline=begin_by)
            try:
                tx = PostgresSession(link, self._queries, is_writing=True, begin=framing.WRITE, **options)
                result = self._run(action, tx)
                self._commit(tx)
                return result
            finally:
                self._pool.give_back(link)

    def _run(self, action: Callable[[PostgresSession], T], session: PostgresSession) -> T:
        """Whether to run it again is told by the connection and by what the server said, not by what the action
        made of it: a lost connection may come out of it as any error, or not at all."""
        try:
            result = action(session)
            session.note_write()
            return result
        except Exception as error:
            if session.link.closed:
                raise _Again(unreachable(self.location), session) from error
            if isinstance(session.failure or error, UNDONE):
                raise _Again(conflicting(self.location), session) from error
            if isinstance(error, pg.InFailedSqlTransaction) and session.failure:
                raise session.failure from None
            raise

    def _end_ghost(self, session: PostgresSession, deadline: float) -> None:
        """Until someone has told the server, or there is no time left: what it holds would hold us up."""
        is_left = session.link.closed
        while is_left and time.monotonic() < deadline:
            link = self._pool.begun(_LOOK, deadline=deadline)
            try:
                with suppress(psycopg.OperationalError):  # gone again
                    session.end_ghost(link)
                    is_left = False
            finally:
                self._pool.give_back(link)

    def _commit(self, session: PostgresSession) -> None:
        try:
            session.commit()
        except UNDONE as error:
            raise _Again(conflicting(self.location), session) from error
        except psycopg.Error as error:
            if not session.link.closed:
                raise
            try:
                was_committed = self._was_committed(session)
            except ClewError as gone:  # "try again" would be the wrong advice
                raise commit_unknown(self.location) from gone
            if not was_committed:
                raise _Again(unreachable(self.location), session) from error

    def _was_committed(self, session: PostgresSession) -> bool:
        """Whether a transaction whose COMMIT was not answered is in the database."""
        started = time.monotonic()
        while (now := time.monotonic()) < started + self._wait_s:
            link = self._pool.begun(_LOOK, deadline=started + self._wait_s)
            try:
                is_there = session.is_in(link)
                if is_there is None and now > started + GHOST_S:
                    session.end_ghost(link)
            except psycopg.OperationalError:
                continue  # gone again; asked again
            finally:
                self._pool.give_back(link)
            if is_there is not None:
                return is_there
            time.sleep(FIRST_PAUSE_S)  # the server has not noticed yet that we are gone
        raise commit_unknown(self.location)

    def submit(self, action: Callable[[PostgresSession], T], *, durable: bool = True, org: str = "") -> Future[T]:
        """Hand `action` over; the future is done after the commit. What is of `org` and comes later is written
        after it."""
        from clew.store.postgres_submit import HandedOver

        with self._lock:
            if self._closed:
                raise store_closed()
            self._handed_over = self._handed_over or HandedOver()
            return self._handed_over.add(org, partial(self._write, action, durable=durable))

    def write_unless_busy(self, action: Callable[[PostgresSession], None], *, wait_ms: int) -> None:
        self.write(action, durable=False, wait_ms=wait_ms)

    # -- life ------------------------------------------------------------------------------------

    def sizes(self) -> tuple[int, int]:
        """Of our part of the database; the log is the server's."""
        with self.read() as session:
            return int(session.value("database_size")), 0

    def purge(self) -> bool:
        """Deleted rows are gone for every reader; the server reuses their place when it vacuums."""
        return True

    def listen(self, channel: str, told: Callable[[], object]) -> bool:
        """Call `told` when something may have come there, until the store is closed."""
        from clew.store.postgres_listen import Listener

        with self._lock:
            if self._closed:
                raise store_closed()
            self._listeners.append(Listener(self.url, f"clew_{channel}", told))
        return True

    def leave_to_parent(self) -> None:
        """In a process that was forked. psycopg closes connections only where they were made."""
        self._closed, self._lock, self._listeners, self._handed_over = True, threading.Lock(), [], None

    def close(self) -> None:
        """Finish what was handed over, then let go of the server."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for listener in self._listeners:
            listener.stop()
        if self._handed_over is not None:
            self._handed_over.close()
        self._pool.close()


class _Line:
    """Of one write: behind what it has waited already."""

    def __init__(self, handed_over: HandedOver | None) -> None:
        self._handed_over = handed_over
        self._waited: set[str] = set()

    def before(self, org: str) -> Future[Any] | None:
        return None if org in self._waited or self._handed_over is None else self._handed_over.last(org)

    def wait(self, behind: Behind, timeout_s: float) -> None:
        from concurrent.futures import wait

        wait([behind.future], timeout=timeout_s)
        self._waited.add(behind.org)


class _Again(Exception):
    """The server undid the transaction, or never saw its end: running it again is safe."""

    def __init__(self, why: ClewError, session: PostgresSession) -> None:
        super().__init__(why)
        self.why, self.session = why, session


def _configure(link: Link) -> None:
    link.execute(postgres_schema.search_path(link))
    row = link.execute(_WATCHFUL).fetchone()
    link.started = row[0] if row else ""
    postgres_types.register(link)
    postgres_schema.take_role(link)
    _tidy(link)


def _tidy(link: Link) -> None:
    """Looks through the table: not for each connection."""
    now, last = time.monotonic(), _tidied.get(link.info.dsn)
    if last is not None and now - last < TIDY_EVERY_S:
        return
    _tidied[link.info.dsn] = now
    with suppress(pg.ReadOnlySqlTransaction):  # a replica: reads work there, a write says why it does not
        link.execute(_TIDY)


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn what the server says into errors that name the store and the next move."""
    try:
        yield
    except psycopg.Error as error:
        raise told(error, location) from error
    except UnicodeEncodeError as error:
        raise unencodable() from error


def open_engine(url: str, *, connections: int = 8) -> PostgresEngine:
    """Connect; migrates when we may, refuses when the schema is not the one this Clew knows."""
    found = schema_found(url)
    if found is not None and found > queries.newest_migration():
        raise postgres_schema.newer(shown(url), found)
    if found != queries.newest_migration():
        migrate(url)
    return PostgresEngine(url, connections=connections)


def schema_found(url: str) -> int | None:
    """The number of the last migration that was run there; None: Clew was never there, 0: it was not finished."""
    with (
        connecting(url),
        psycopg.connect(
            url, client_encoding="UTF8", autocommit=True, connect_timeout=CONNECT_TIMEOUT_S
        ) as connection,
    ):
        postgres_schema.check_server(connection)
        with translated(shown(url)):
            return postgres_schema.number_found(connection)


def migrate(url: str) -> list[int]:
    """Run what is missing; for the owner of the schema, or whoever may make it."""
    with connecting(url):
        if postgres_schema.may_migrate(url):
            return postgres_schema.migrate(url)
    found = schema_found(url)
    if found == queries.newest_migration():
        return []
    has = "no schema of Clew's" if found is None else f"schema {found} of {queries.newest_migration()}"
    raise StoreRefused(
        f"{shown(url)} has {has}, and this role may not change it",
        code="STORE_NOT_MIGRATED",
        next="run with the owner's URL: clew migrate",
    )


@contextmanager
def connecting(url: str) -> Iterator[None]:
    try:
        yield
    except ClewError:
        raise
    except psycopg.ProgrammingError as error:
        if isinstance(error, pg.InsufficientPrivilege):
            raise
        raise unreadable(error, url) from error
    except psycopg.OperationalError as error:
        raise not_let_in(error, shown(url)) or told(error, shown(url)) from error


def shown(url: str) -> str:
    """The address without a password: what may be told."""
    return without_password(url)

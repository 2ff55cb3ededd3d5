"""SQLite through apsw: who may open the file, one writer thread with group commit, readers that never block.

Durable when `write` returns: with `durable=True` the transaction is in the log and the log is synced
(synchronous=FULL); otherwise it survives a crash of the process but perhaps not a power cut.
Writers that wait while a sync runs share the next transaction, each inside its own savepoint, so one
failing write never undoes another.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import apsw

from clew.errors import ClewError, StoreRefused, Unavailable
from clew.store import queries

T = TypeVar("T")
Row = tuple[Any, ...]

APPLICATION_ID = 0x434C4557  # "CLEW" in the file header: how we know a file is ours
BUSY_TIMEOUT_MS = 30_000  # another process may hold the write lock for one import batch, never longer
_MAGIC = b"SQLite format 3\x00"
_CLOSE = object()


class Session:
    """Named queries on one connection, inside one transaction."""

    __slots__ = ("_queries", "connection")

    def __init__(self, connection: apsw.Connection, named: Mapping[str, str]) -> None:
        self.connection = connection
        self._queries = named

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

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        self.connection.executemany(self._queries[query], rows).fetchall()


@dataclass(slots=True)
class _Write:
    action: Callable[[Session], Any]
    durable: bool
    future: Future[Any] = field(default_factory=Future)


class SqliteEngine:
    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queries = queries.load(self.name)
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._closed = False

    # -- reading ---------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One consistent snapshot; never waits for writers."""
        session = self._reader()
        with translated(self.path):
            session.connection.execute("BEGIN")
            try:
                yield session
            finally:
                session.connection.execute("COMMIT")

    def data_version(self) -> tuple[int, int]:
        """Changes whenever another connection committed: a cheap first look before the change log."""
        connection = self._reader().connection
        return id(connection), int(connection.pragma("data_version"))

    def _reader(self) -> Session:
        session: Session | None = getattr(self._local, "session", None)
        if session is None:
            with translated(self.path):
                connection = self._connect()
                connection.pragma("query_only", True)
            session = self._local.session = Session(connection, self._queries)
        return session

    # -- writing ---------------------------------------------------------------------------------

    def write(self, action: Callable[[Session], T], *, durable: bool = True) -> T:
        """Run `action` in a transaction of the writer thread; returns after the commit."""
        job = _Write(action, durable)
        with self._lock:
            if self._closed:
                raise Unavailable("the store is closed", code="STORE_CLOSED", next="open it again")
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_loop, name="clew-writer", daemon=True)
                self._writer.start()
            self._queue.put(job)
        return job.future.result()  # type: ignore[no-any-return]

    def _write_loop(self) -> None:
        try:
            with translated(self.path):
                session = Session(self._connect(), self._queries)
        except ClewError as error:
            self._fail_until_closed(error)
            return
        synchronous = 2
        while True:
            batch, closing = self._take()
            wanted = 2 if any(job.durable for job in batch) else 1
            if batch and wanted != synchronous:
                session.connection.pragma("synchronous", wanted)
                synchronous = wanted
            if batch:
                self._commit(session, batch)
            if closing:
                return

    def _take(self) -> tuple[list[_Write], bool]:
        """Everything that waits; blocks for the first."""
        batch = [self._queue.get()]
        while not self._queue.empty():
            batch.append(self._queue.get())
        return [job for job in batch if job is not _CLOSE], _CLOSE in batch

    def _fail_until_closed(self, error: ClewError) -> None:
        closing = False
        while not closing:
            batch, closing = self._take()
            for job in batch:
                job.future.set_exception(error)

    def _commit(self, session: Session, batch: list[_Write]) -> None:
        connection = session.connection
        done: list[tuple[_Write, Any]] = []
        try:
            with translated(self.path):
                connection.execute("BEGIN IMMEDIATE")
                for job in batch:
                    self._run_one(session, job, done)
                connection.execute("COMMIT")
        except BaseException as error:  # the writer must outlive every failure: each caller gets it
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for job in batch:
                if not job.future.done():
                    job.future.set_exception(error)
            return
        for job, result in done:
            job.future.set_result(result)

    def _run_one(self, session: Session, job: _Write, done: list[tuple[_Write, Any]]) -> None:
        session.connection.execute("SAVEPOINT one")
        try:
            with translated(self.path):
                result = job.action(session)
        except BaseException as error:  # belongs to this caller alone
            if not session.connection.in_transaction:
                raise  # a full disk makes SQLite roll the whole transaction back
            session.connection.execute("ROLLBACK TO one")
            job.future.set_exception(error)
        else:
            done.append((job, result))
        session.connection.execute("RELEASE one")

    # -- life ------------------------------------------------------------------------------------

    def truncate_log(self) -> bool:
        """Move the log into the file and empty it; False while a reader still holds it."""

        with translated(self.path):
            connection = self._connect()
            try:
                connection.set_busy_timeout(250)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                log = Path(f"{self.path}-wal")
                return not log.exists() or log.stat().st_size == 0
            except apsw.BusyError:
                return False
            finally:
                self._forget(connection)

    def close(self) -> None:
        """Finish what was handed to the writer, then let go of the file."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.put(_CLOSE)
        if self._writer is not None:
            self._writer.join()
        for connection in self._connections:
            connection.close()

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path)
        with self._lock:
            self._connections.append(connection)
        return connection

    def _forget(self, connection: apsw.Connection) -> None:
        with self._lock:
            self._connections.remove(connection)
        connection.close()


def connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.pragma("foreign_keys", True)
    connection.pragma("secure_delete", True)  # freed pages are overwritten: see forget
    connection.pragma("synchronous", 2)
    connection.pragma("temp_store", 2)  # sorting never spills memory text into a temporary file
    return connection


def open_engine(path: Path) -> SqliteEngine:
    """Open the store at `path`, creating or upgrading it. A file that is not ours is left untouched."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists() or path.stat().st_size == 0:
            path.touch(mode=0o600)
        else:
            check_header(path)
        connection = connect(path)
        try:
            migrate(connection)
        finally:
            connection.close()
    return SqliteEngine(path)


def check_header(path: Path) -> None:
    """Look at the first 100 bytes before SQLite may touch the file."""
    with path.open("rb") as file:
        header = file.read(100)
    if header[:16] != _MAGIC:
        raise _refused(path, "is not a Clew store", "STORE_FOREIGN", "name another file, or move this one away")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise _refused(path, "is a database of another program", "STORE_FOREIGN", "name another file")
    known = queries.migrations(SqliteEngine.name)[-1][0]
    found = int.from_bytes(header[60:64], "big")
    if found > known:
        raise _refused(
            path,
            f"has schema {found}, this Clew knows up to {known}",
            "STORE_NEWER",
            "upgrade Clew: pip install -U clew",
        )


def migrate(connection: apsw.Connection) -> list[int]:
    """Run what is missing, each migration in a transaction of its own; returns the numbers run."""
    ran: list[int] = []
    for number, _slug, sql in queries.migrations(SqliteEngine.name):
        if connection.pragma("user_version") >= number:
            continue
        connection.execute("BEGIN IMMEDIATE")  # two processes may arrive here together
        try:
            if connection.pragma("user_version") < number:
                connection.execute(sql)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", number)
                ran.append(number)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    # After the first migration, so that the header in the main file always names us.
    if connection.pragma("journal_mode") != "wal":
        connection.pragma("journal_mode", "wal")
    return ran


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise into errors that name the file and the next move."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Unavailable(
            f"{path} is in use by another process that does not let go",
            code="STORE_BUSY",
            next="stop the other process or try again",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _refused(
            path, "is damaged", "STORE_CORRUPT", "restore a backup: clew restore FILE; or run: clew doctor"
        ) from error
    except apsw.FullError as error:
        raise Unavailable(
            f"no space left to write {path}", code="DISK_FULL", next="free some disk space and try again"
        ) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise _read_only(path) from error
    except apsw.IOError as error:
        raise Unavailable(
            f"reading or writing {path} failed", code="STORE_IO", next="check the disk, then run: clew doctor"
        ) from error
    except OSError as error:
        if error.errno == 28:
            raise Unavailable(
                f"no space left to write {path}", code="DISK_FULL", next="free some disk space and try again"
            ) from error
        raise _read_only(path) from error


def _refused(path: Path, why: str, code: str, next_move: str) -> StoreRefused:
    return StoreRefused(f"{path} {why}", code=code, next=next_move)


def _read_only(path: Path) -> Unavailable:
    return Unavailable(
        f"{path} cannot be opened for writing",
        code="STORE_READ_ONLY",
        next="check the permissions of the directory, or set CLEW_HOME to another one",
    )

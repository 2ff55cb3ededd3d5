"""SQLite through apsw: who may open the file, one writer at a time with group commit, readers that never block.

Durable when `write` returns: with `durable=True` the transaction is in the log and the log is synced
(synchronous=FULL); otherwise it survives a crash of the process but perhaps not a power cut.
Whoever finds nobody writing writes on its own thread. Those who come while a sync runs leave their write to the
writer thread and share the next transaction, each inside its own savepoint, so one failing write never undoes
another.
"""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from clew.errors import ClewError
from clew.store import forked, queries
from clew.store.moment import Moment
from clew.store.sqlite_answers import Answer, Outcome, Teller
from clew.store.sqlite_errors import check_name, refused, sqlite_translated, store_closed, store_moved, translated
from clew.store.sqlite_log import Log
from clew.store.sqlite_session import Session
from clew.values import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

APPLICATION_ID = 0x434C4557  # "CLEW" in the file header: how we know a file is ours
BUSY_TIMEOUT_MS = 30_000  # another process may hold the write lock for one import batch, never longer
STATEMENTS = 600  # kept prepared: more than there are named queries. Preparing the longest takes 2 ms
CACHE_KB = 32_768  # for the writer: one import batch touches more index pages than the default of 2 MB holds
VACUUM_IN_MEMORY = 256 << 20  # a larger store is rewritten through a temporary file
PURGE_TIMEOUT_MS = 1_000  # whoever holds the log for longer makes the erasure pending
_MAGIC = b"SQLite format 3\x00"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_CLOSE = object()


_INHERITED: list[apsw.Connection] = []  # by a fork


class _Snapshot:
    """As long as somebody reads one, this is there."""


@dataclass(slots=True)
class _Write:
    action: Callable[[Session], Any]
    durable: bool
    savepoint: bool
    future: Future[Any] | Outcome


def _joins(job: _Write) -> Hashable:
    """What is equal for writes that may be made together; None for one that stays by itself. So does that of
    whoever got a future, and may give it up until its turn comes."""
    return getattr(job.action, "joins", None) if isinstance(job.future, Answer) else None


def _tell_failed(future: Future[Any] | Outcome, error: BaseException) -> None:
    """Whoever does not know yet. One that gives up at this very moment needs no answer."""
    if not future.done():
        try:
            future.set_exception(error)
        except Exception:
            if not future.done():
                raise


class SqliteEngine:
    name = "sqlite"

    def __init__(self, path: Path, *, vfs: str | None = None) -> None:
        self.path = path
        self.location = str(path)
        self._vfs = vfs
        self._queries = queries.load(self.name)
        self._local = threading.local()
        self._moment = Moment()
        self._numbers = count(1)
        self._readers: dict[threading.Thread, apsw.Connection] = {}
        self._connections: list[apsw.Connection] = []
        self._file: tuple[int, int] | None = None  # that these have open
        self._spare: apsw.Connection | None = None  # for the next who works beside the writer
        self._log = Log(self._beside)
        self._teller = Teller()
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._handed_over = 0  # to the writer thread, and not settled yet
        self._turn = threading.RLock()  # held by whoever writes
        self._writing: Session | None = None
        self._synchronous = 2
        self._closed = self._is_inherited = False
        forked.watch(self)

    def _check_in_place(self) -> None:
        """A file without its name is read and written as before, and nobody will ever find what was written."""
        if self._connections and forked.identity(self.location) != self._file:
            raise store_moved(self.path)

    def _no_store(self) -> ClewError:
        return forked.store_inherited() if self._is_inherited else store_closed()

    def leave_to_parent(self) -> None:
        """In a process that was forked. The connections are kept, unused: to close one could delete the log under
        the parent."""
        if self._connections and not self._closed:
            forked.note_held(self.path)
        _INHERITED.extend(self._connections)
        self._connections, self._writing, self._writer, self._spare = [], None, None, None
        self._lock, self._turn, self._queue = threading.Lock(), threading.RLock(), queue.SimpleQueue()
        self._local, self._log = threading.local(), Log(self._beside)
        self._closed = self._is_inherited = True

    # -- reading ---------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One consistent snapshot; never waits for writers."""
        session = self._reader()
        connection = session.connection
        with sqlite_translated(self.path):
            if connection.in_transaction:
                # Raises within a snapshot, which stays; what an interrupt left of one that is over is let go.
                connection.execute("BEGIN" if self._local.snapshot() else "ROLLBACK")
            snapshot = _Snapshot()
            self._local.snapshot = weakref.ref(snapshot)
            try:
                connection.execute("BEGIN")  # in here: an interrupt may come as soon as it is done
                yield session
            finally:
                if self._closed:
                    connection.close()
                elif connection.in_transaction:  # not after an error that ended it
                    connection.execute("COMMIT")

    def data_version(self) -> tuple[int, int]:
        """Changes whenever another connection committed: a cheap first look before the change log."""
        return self._moment.version(self._version)

    def _version(self) -> tuple[int, int]:
        session = self._reader()
        with sqlite_translated(self.path):
            ((version,),) = session.connection.execute("PRAGMA data_version")  # prepared once, unlike `pragma`
        return self._local.number, version

    def has_counted(self, org: str, name: str) -> bool | None:
        """Whether a counter of an org or of the store ever moved, without the transaction that several looks need.
        By the connection that writes if nobody does: it alone keeps its pages when it writes. None in the middle of
        a snapshot, which may be older, and while a moment lasts, in which the version is looked at anyway."""
        if self._moment.is_under_way:
            return None
        if self._writing is not None:
            try:
                if self._turn.acquire(blocking=False) and not self._closed:
                    return self._has_counted(self._writing, org, name)
            finally:
                try:  # noqa: SIM105 - see `_write_here`
                    self._turn.release()
                except RuntimeError:
                    pass
        session = self._reader()
        return None if session.connection.in_transaction else self._has_counted(session, org, name)

    def _has_counted(self, session: Session, org: str, name: str) -> bool:
        with sqlite_translated(self.path):
            return bool(session.value("counter_moved", org_id=org, name=name))

    def at_one_moment(self) -> AbstractContextManager[None]:
        return self._moment.lasts()

    def listen(self, channel: str, told: Callable[[], object]) -> bool:  # noqa: ARG002 - a file tells nobody
        return False

    def _reader(self) -> Session:
        if self._closed:
            raise self._no_store()
        self._check_in_place()
        session: Session | None = getattr(self._local, "session", None)
        if session is None:
            self._drop_idle_readers()
            with translated(self.path):
                connection = self._connect()
                connection.pragma("query_only", True)
            with self._lock:
                self._readers[threading.current_thread()] = connection
            # Not id(): the next thread's connection may stand where one that is gone stood.
            self._local.number = next(self._numbers)
            session = self._local.session = Session(connection, self._queries)
        return session

    def _drop_idle_readers(self) -> None:
        """Threads come and go; a connection whose thread has ended would otherwise stay open for good."""
        with self._lock:
            ended = [thread for thread in self._readers if not thread.is_alive()]
            connections = [self._readers.pop(thread) for thread in ended]
        for connection in connections:
            self._forget(connection)

    # -- writing ---------------------------------------------------------------------------------

    def write(
        self,
        action: Callable[[Session], T],
        *,
        durable: bool = True,
        savepoint: bool = True,
        lock: str = "",  # noqa: ARG002 - the one writer is alone anyway
    ) -> T:
        """Run `action` in a transaction; returns after the commit.

        `savepoint=False` is for an action whose changes may each stand alone when a later one fails.
        An interrupt undoes the action, unless others share its transaction: then it only ends the waiting.
        """
        outcome = self._write_here(action, durable, savepoint)
        if outcome is None:
            outcome = Answer()
            self._hand_over(_Write(action, durable, savepoint, outcome))
        result: T = outcome.result()
        return result

    def _write_here(self, action: Callable[[Session], Any], durable: bool, savepoint: bool) -> Outcome | None:
        """Where nobody else writes or waits to: two changes of threads cost as much as the rest of a small write.
        None when somebody does; what was handed over before comes before this."""
        if self._turn._is_owned():  # type: ignore[attr-defined]  # as `Condition` asks it
            raise apsw.SQLError("cannot start a transaction within a transaction")  # what `read` says to the same
        if self._handed_over:
            return None
        try:
            if not self._turn.acquire(blocking=False):
                return None
            if self._closed:
                raise self._no_store()
            outcome = Outcome()
            self._settle([_Write(action, durable, savepoint, outcome)])
            return outcome
        finally:
            # Taken within the `try`, for an interrupt may come as soon as it is taken; given back by no function of
            # ours, for one may come as soon as that is called. For a turn that is not given back all others wait.
            try:  # noqa: SIM105
                self._turn.release()
            except RuntimeError:  # it is somebody else's
                pass

    def submit(
        self,
        action: Callable[[Session], T],
        *,
        durable: bool = True,
        org: str = "",  # noqa: ARG002 - the one writer keeps the order of all
    ) -> Future[T]:
        """Hand `action` over; the future is done after the commit."""
        from concurrent.futures import Future  # only those who do not wait at once need one

        future: Future[T] = Future()
        self._hand_over(_Write(action, durable, True, future))
        return future

    def write_unless_busy(self, action: Callable[[Session], None], *, wait_ms: int) -> None:
        """On this thread and a connection of its own, for what a process leaves behind when it ends: it needs no
        writer thread, and nobody should wait for another process's import because of it. The connection is kept for
        the next time: making one and preparing its statements takes longer than what is written."""
        with translated(self.path), self._beside() as connection:
            connection.set_busy_timeout(wait_ms)
            session = Session(connection, self._queries)
            session.begin()
            action(session)
            session.commit()

    @contextmanager
    def _beside(self) -> Iterator[apsw.Connection]:
        """A connection for work beside the writer, kept for the next time unless something goes wrong: then it is
        closed, and what it began is undone."""
        with self._lock:
            if self._closed:
                raise self._no_store()
            connection, self._spare = self._spare, None
        if connection is None:
            connection = self._connect()
            connection.pragma("synchronous", 1)
        try:
            yield connection
        except BaseException:
            self._forget(connection)
            raise
        with self._lock:
            is_kept = self._spare is None and not self._closed
            self._spare = connection if is_kept else self._spare
        if not is_kept:
            self._forget(connection)

    def _hand_over(self, job: _Write) -> None:
        with self._lock:
            if self._closed:
                raise self._no_store()
            if self._writer is None:
                writer = threading.Thread(target=self._write_loop, name="clew-writer", daemon=True)
                writer.start()  # may fail; then the next write tries again
                self._writer = writer
            self._handed_over += 1
            self._queue.put(job)

    def _write_loop(self) -> None:
        closing = False
        while not closing:
            first = self._queue.get()
            with self._turn:
                batch, closing = self._take(first)
                if batch:
                    self._settle(batch)
            with self._lock:
                self._handed_over -= len(batch)

    def _take(self, first: Any) -> tuple[list[_Write], bool]:
        """Everything that waits by now."""
        batch = [first]
        while not self._queue.empty():
            batch.append(self._queue.get())
        return [job for job in batch if job is not _CLOSE], _CLOSE in batch

    def _settle(self, batch: list[_Write]) -> None:
        """For whoever has the turn: every write of the batch gets its answer."""
        try:
            self._check_in_place()
            session = self._writing or self._begin_writing()
            wanted = 2 if any(job.durable for job in batch) else 1
            if wanted != self._synchronous:
                session.connection.pragma("synchronous", wanted)
                self._synchronous = wanted
        except (ClewError, apsw.Error) as error:
            for job in batch:
                if job.future.set_running_or_notify_cancel():  # not for whoever has given up
                    job.future.set_exception(error)
            return
        self._commit(session, batch)

    def _begin_writing(self) -> Session:
        with translated(self.path):
            session = Session(self._connect(), self._queries)
            session.connection.pragma("cache_size", -CACHE_KB)
            self._log.watch(session.connection)
        self._writing = session
        return session

    def _commit(self, session: Session, batch: list[_Write]) -> None:
        connection = session.connection
        done: list[tuple[_Write, Any]] = []
        try:
            with translated(self.path):
                session.begin()
                if len(batch) == 1:
                    self._run_one(session, batch[0], done, is_alone=True)
                else:
                    self._run_all(session, batch, done)
                if done or connection.in_transaction:  # or the only one failed, and all was undone
                    session.commit()
        except BaseException as error:  # the writer must outlive every failure: each caller gets it
            with suppress(apsw.Error):  # a disk that fails may fail here too; the next BEGIN tells
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            for job in batch:
                _tell_failed(job.future, error)
            return
        self._teller.tell([(job.future, result) for job, result in done])

    def _run_all(self, session: Session, batch: list[_Write], done: list[tuple[_Write, Any]]) -> None:
        """In their order; neighbours that may be made together are, unless that fails."""
        for key, neighbours in groupby(batch, _joins):
            part = list(neighbours)
            if key is None or len(part) == 1 or not self._run_together(session, part, done):
                for job in part:
                    self._run_one(session, job, done, is_alone=False)

    def _run_together(self, session: Session, part: list[_Write], done: list[tuple[_Write, Any]]) -> bool:
        connection, kept = session.connection, len(session.last)
        connection.execute("SAVEPOINT one")
        try:
            answers = part[0].action.together(session, [job.action for job in part])  # type: ignore[attr-defined]
        except Exception:  # whose it is shows when each is run by itself
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            del session.last[kept:]
            return False
        connection.execute("RELEASE one")
        done += zip(part, answers, strict=True)
        return True

    def _run_one(self, session: Session, job: _Write, done: list[tuple[_Write, Any]], *, is_alone: bool) -> None:
        """What is alone in its transaction is undone with it, and needs no savepoint."""
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked has given up
        has_savepoint = job.savepoint and not is_alone
        if has_savepoint:
            session.connection.execute("SAVEPOINT one")
        kept = len(session.last)
        try:
            with sqlite_translated(self.path):
                result = job.action(session)
        except BaseException as error:  # belongs to this caller alone
            if not session.connection.in_transaction:
                raise  # a full disk makes SQLite roll the whole transaction back
            if job.savepoint:
                session.connection.execute("ROLLBACK TO one" if has_savepoint else "ROLLBACK")
                del session.last[kept:]
            job.future.set_exception(error)
        else:
            done.append((job, result))
        if has_savepoint:
            session.connection.execute("RELEASE one")

    # -- life ------------------------------------------------------------------------------------

    def sizes(self) -> tuple[int, int]:
        return _size(self.path), _size(Path(f"{self.path}-wal"))

    def purge(self) -> bool:
        """Leave nothing of deleted rows on the disk, neither in the pages nor in the log.

        `secure_delete` zeroes what is freed; but when SQLite rebalances a tree, copies of the rows it moved
        stay in the unused part of a page, where nothing ever zeroes them. So every page is written anew.
        False while a reader still holds the log, or when the disk has no room for it.
        """
        with translated(self.path):
            connection = self._connect()
            try:
                connection.set_busy_timeout(PURGE_TIMEOUT_MS)
                _empty_log(connection)  # before it grows by the size of the store
                if self.path.stat().st_size > VACUUM_IN_MEMORY:
                    connection.pragma("temp_store", 1)  # by now the forgotten text is in no copy of the store
                connection.execute("VACUUM")
                _empty_log(connection)
            except (apsw.BusyError, apsw.FullError, apsw.IOError):
                return False
            else:
                return True
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
        with self._turn:  # whoever writes on its own thread comes to an end
            self._log.close()
            with self._lock:
                connections = list(self._connections)
            for connection in connections:
                try:
                    connection.close()
                except apsw.ThreadingViolationError:  # in the middle of a query: its thread closes it, see `read`
                    connection.interrupt()

    def _connect(self) -> apsw.Connection:
        self._check_in_place()
        connection = connect(self.path, vfs=self._vfs)
        with self._lock:
            if not self._connections:
                self._file = forked.identity(self.location)
            self._connections.append(connection)
        return connection

    def _forget(self, connection: apsw.Connection) -> None:
        with self._lock:
            self._connections.remove(connection)
        connection.close()


def _empty_log(connection: apsw.Connection) -> None:
    """Busy when a reader needs something in it. What others write a moment later is no reason to doubt it."""
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def connect(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """`vfs` names another way to reach the disk; the tests use one that fails on purpose."""
    flags = apsw.SQLITE_OPEN_READWRITE
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=STATEMENTS)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # Plans that do not depend on bound values. Without it SQLite prepares many a statement anew for every
    # execution, to look at the values first: 84 us instead of 8 for the head of a queue.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("foreign_keys", True)
    connection.pragma("secure_delete", True)  # freed pages are overwritten: see forget
    connection.pragma("synchronous", 2)
    connection.pragma("temp_store", 2)  # sorting never spills memory text into a temporary file
    return connection


def open_engine(path: Path, *, vfs: str | None = None) -> SqliteEngine:
    """Open the store at `path`, creating or upgrading it. A file that is not ours is left untouched."""
    path = behind_links(path)
    check_name(path)
    forked.check_not_held(path)
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _size(path):
            _check_no_log(path)
            path.touch(mode=0o600)  # an empty one is what a creation that was interrupted leaves
        elif not _is_being_created(path):
            check_header(path)
        connection = connect(path, vfs=vfs)
        try:
            _check_schema(connection, path)
            migrate(connection)
        finally:
            connection.close()
    return SqliteEngine(path, vfs=vfs)


def _check_no_log(path: Path) -> None:
    """SQLite would delete it, and with it what was said last, though the store may only have been moved."""
    if _size(log := Path(f"{path}-wal")) and not _size(path):  # nobody created the store just now
        raise refused(
            path,
            f"is not there, or empty, but its log is: {log}",
            "STORE_LOG_ALONE",
            "put the store back beside it; to begin anew, move the log away",
        )


def behind_links(path: Path) -> Path:
    """The file itself: SQLite keeps the log beside that, not beside a link, and its file layer opens no link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_being_created(path: Path) -> bool:
    """Whether a journal beside the file says that it was empty before: another process is creating the store,
    or the power failed while one did, and SQLite will clear away what arrived of it."""
    try:
        with Path(f"{path}-journal").open("rb") as journal:
            start = journal.read(20)
    except FileNotFoundError:
        return False
    return start[:8] == _JOURNAL_MAGIC and start[16:] == bytes(4)  # the number of pages before


def check_header(path: Path) -> None:
    """Look at the first 100 bytes before SQLite may touch the file."""
    path = behind_links(path)
    if not path.is_file():
        raise refused(path, "is not a file", "STORE_FOREIGN", "name another file")
    header = _first_bytes(path)
    if header[:16] != _MAGIC:
        raise refused(path, "is not a Clew store", "STORE_FOREIGN", "name another file, or move this one away")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise refused(path, "is a database of another program", "STORE_FOREIGN", "name another file")
    _check_version(path, int.from_bytes(header[60:64], "big"))


def schema_of(path: Path) -> int:
    """The schema of the store at `path`, 0 without one. Its header is not enough: while others have the store open,
    a migration may be in the log alone."""
    path = behind_links(path)
    if not path.exists() or not path.stat().st_size or _is_being_created(path):
        return 0
    with translated(path):
        check_header(path)
        has_log = Path(f"{path}-wal").exists()
        connection = connect(path)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(has_log))  # a look leaves it as it is
            return int(connection.pragma("user_version"))
        finally:
            connection.close()


def _first_bytes(path: Path) -> bytes:
    """Through SQLite's own file layer: when a process closes any other handle on the file, POSIX drops the
    locks of all of its connections, and another process may then delete the log under them."""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        return bytes(file.xRead(100, 0))
    finally:
        file.xClose()


def _check_schema(connection: apsw.Connection, path: Path) -> None:
    """The header in the main file may be older than the log, after a newer Clew was killed."""
    if Path(f"{path}-wal").exists():
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # refused means untouched
    _check_version(path, connection.pragma("user_version"))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _check_version(path: Path, found: int) -> None:
    known = queries.migrations(SqliteEngine.name)[-1][0]
    if found > known:
        raise refused(
            path,
            f"has schema {found}, this Clew knows up to {known}",
            "STORE_NEWER",
            "upgrade Clew: pip install -U clew",
        )


def migrate(connection: apsw.Connection) -> list[int]:
    """Run what is missing, each migration in a transaction of its own; returns the numbers run."""
    ran: list[int] = []
    found = connection.pragma("user_version")
    for number, _slug, sql in queries.migrations(SqliteEngine.name):
        if number <= found:
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


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0

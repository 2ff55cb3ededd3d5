"""Copies of a whole store while it is in use: out of it, and back into its place.

Backup: SQLite's own page copy of one snapshot into a file beside the target, checked, synced, and only then given
its name. Whoever finds the name finds a whole copy; an interrupted run leaves the old file, or none.

Restore: the source is copied aside, checked to the last page and upgraded before anything else is touched. Then
SQLite writes it into the live file as one transaction: other processes keep their snapshot until it commits, and a
crash leaves the content from before. That content is kept in a file of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from uuid import uuid4

import apsw

from clew.errors import Conflict, InvalidInput, NotFound, StoreRefused, Unavailable
from clew.model.progress import Progress, no_progress
from clew.model.times import from_micros
from clew.model.upkeep import BackupReport, RestoreReport
from clew.store import queries
from clew.store.ledger import Audit
from clew.store.sqlite import (
    APPLICATION_ID,
    SqliteEngine,
    behind_links,
    check_header,
    connect,
    migrate,
    open_engine,
)
from clew.store.sqlite_errors import translated
from clew.store.sqlite_session import Session

PAGES_AT_ONCE = 1_000
BEFORE_RESTORE = ".before-restore"  # what a restore replaced, kept beside the store
TEMPORARY = ".{name}.{unique}.tmp"  # the name of a copy until it is complete

# -- out -------------------------------------------------------------------------------------------


def backup(path: Path, target: Path, *, overwrite: bool = False, progress: Progress = no_progress) -> BackupReport:
    """Copy the store at `path`, whole and checked, to `target`. Others may read and write meanwhile."""
    with _writing(target):
        _check_target(path, target, overwrite)
        with _beside(target) as copy:
            _copy_pages(path, copy, progress)
            memories = _finish_copy(copy)
            size = copy.stat().st_size
            copy.replace(target)
        _sync_directory(target)
    return BackupReport(target, size, memories)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """It need not lie in the home, so another home is no help."""
    try:
        with translated(target):
            yield
    except Unavailable as error:
        if error.code == "STORE_READ_ONLY":
            error.next = "name a file in a directory that you may write to"
        raise


def _check_target(path: Path, target: Path, overwrite: bool) -> None:
    if not target.parent.exists():  # a typing error in a path makes no directories
        raise NotFound(
            f"there is no directory {target.parent}", code="FILE_NOT_FOUND", next="create it, or check the path"
        )
    if not target.exists():
        return
    _check_regular(target)
    if target.samefile(path):
        raise InvalidInput(f"{target} is the store itself", code="BACKUP_ONTO_ITSELF", next="name another file")
    if not overwrite:
        raise Conflict(
            f"{target} exists", code="BACKUP_EXISTS", next="name another file, or overwrite it with --overwrite"
        )
    if target.stat().st_size:
        check_header(target)  # never over anything but an earlier backup
    if Path(f"{target}-wal").exists():
        raise Conflict(f"{target} is in use as a store", code="BACKUP_IN_USE", next="name another file")


def _check_regular(target: Path) -> None:
    """The copy would take the place of what has the name, be it a device of the machine: those count as empty."""
    if target.is_dir():
        raise InvalidInput(f"{target} is a directory", code="FILE_IS_DIRECTORY", next="name a file in it")
    if not target.is_file():
        raise InvalidInput(f"{target} is no regular file", code="FILE_NOT_REGULAR", next="name another file")


def _copy_pages(path: Path, copy: Path, progress: Progress = no_progress) -> None:
    with closing(connect(path)) as source, closing(apsw.Connection(str(copy))) as target:
        target.pragma("journal_mode", "off")  # the copy has no name yet; nobody needs it after a crash
        target.pragma("synchronous", 0)
        with source:  # one snapshot from the first page to the last, or each write would start it over
            source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            _copy_all(target, source, progress)


def _copy_all(target: apsw.Connection, source: apsw.Connection, progress: Progress = no_progress) -> None:
    with target.backup("main", source, "main") as work:
        _finish(work, progress)


def _finish(work: apsw.Backup, progress: Progress) -> None:
    while not work.done:
        work.step(PAGES_AT_ONCE)
        progress(work.page_count - work.remaining, work.page_count)


def _finish_copy(copy: Path, *, thorough: bool = False) -> int:
    """Check the copy, make it one self-contained file on the disk, and count its memories."""
    with closing(connect(copy)) as connection:
        connection.pragma("journal_mode", "delete")
        found = str(connection.pragma("integrity_check" if thorough else "quick_check"))
        if found != "ok" or connection.pragma("application_id") != APPLICATION_ID:
            raise StoreRefused(
                f"the copy of the store is damaged: {found.splitlines()[0][:200]}",
                code="STORE_CORRUPT",
                next="run: clew doctor; or restore an earlier backup",
            )
        memories = int(_session(connection).value("memory_count_all", most=1 << 62))
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
    return memories


# -- back in ---------------------------------------------------------------------------------------


def restore(source: Path, path: Path, *, overwrite: bool = True, progress: Progress = no_progress) -> RestoreReport:
    """Put the content of the backup `source` in the place of the store at `path`."""
    path = behind_links(path)
    _check_source(source, path)
    with _beside(path) as staged:
        with translated(source):
            memories = _stage(source, staged)
        previous = _set_aside_if_damaged(path)
        engine = open_engine(path)  # creates the file where there is none, so one way serves both
        engine.close()
        with translated(path):
            kept = _replace(staged, path, overwrite=overwrite, progress=progress)
    return RestoreReport(path, source, memories, previous or kept)


def _check_source(source: Path, path: Path) -> None:
    if source.is_dir():
        raise InvalidInput(f"{source} is a directory", code="FILE_IS_DIRECTORY", next="name a backup in it")
    if not source.is_file():
        raise NotFound(f"{source} was not found", code="FILE_NOT_FOUND", next="check the name of the backup")
    if path.exists() and source.samefile(path):
        raise InvalidInput(f"{source} is the store itself", code="RESTORE_FROM_ITSELF", next="name a backup")
    with translated(source):
        check_header(source)


def _stage(source: Path, staged: Path) -> int:
    """A checked and upgraded copy; the source is only read, even from a medium that cannot be written."""
    source = behind_links(source)
    uri = source.absolute().as_uri()
    if not Path(f"{source}-wal").exists():
        uri += "?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(uri, flags=flags)) as reading, closing(apsw.Connection(str(staged))) as writing:
        writing.pragma("journal_mode", "off")
        _copy_all(writing, reading)
    with closing(connect(staged)) as connection:
        migrate(connection)
    return _finish_copy(staged, thorough=True)


def _set_aside_if_damaged(path: Path) -> Path | None:
    """A store that SQLite cannot even open is moved out of the way, with its log."""
    try:
        if path.exists():
            open_engine(path).close()
        return None
    except StoreRefused as error:
        if error.code != "STORE_CORRUPT":
            raise  # another program's file, or a newer one: not ours to replace
    aside = _free_name(path)
    with translated(path):
        path.replace(aside)
        for end in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{path}{end}").replace(f"{aside}{end}")
    return aside


def _replace(staged: Path, path: Path, *, overwrite: bool, progress: Progress) -> Path | None:
    """Write the staged pages into the live file as one transaction."""
    with closing(connect(path)) as live, closing(connect(staged)) as source:
        with live.backup("main", source, "main") as work:
            work.step(1)  # takes the write lock: what is read now is the last word of the old content
            kept = _keep_previous(path, overwrite=overwrite)
            _outnumber(source, path)
            _finish(work, progress)
        if live.pragma("journal_mode") != "wal":
            live.pragma("journal_mode", "wal")
        with suppress(apsw.BusyError):
            live.set_busy_timeout(0)
            live.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return kept


def _free_name(path: Path) -> Path:
    """Where the old content goes; a second restore does not overwrite what the first one put aside."""
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    names = (Path(f"{path}{BEFORE_RESTORE}{suffix}") for suffix in suffixes)
    return next(name for name in names if not name.exists())


def kept_aside(path: Path) -> list[str]:
    """The names of what restores put aside, without the logs that may lie beside a damaged one."""
    named = re.compile(re.escape(f"{path.name}{BEFORE_RESTORE}") + r"(-\d+)?")
    return sorted(file.name for file in path.parent.iterdir() if named.fullmatch(file.name))


def _keep_previous(path: Path, *, overwrite: bool) -> Path | None:
    """Copy the old content aside, as it is; there is nothing to keep of an empty store."""
    aside = _free_name(path)
    with closing(connect(path)) as connection:
        try:
            if not _session(connection).value("memory_count_all", most=1):
                return None
        except apsw.CorruptError:
            pass  # all the more reason to keep it
    if not overwrite:
        raise Conflict(f"{path} holds memories", code="RESTORE_WOULD_REPLACE", next="ask for it to be overwritten")
    with _beside(aside) as copy:
        _copy_pages(path, copy)
        with closing(apsw.Connection(str(copy))) as connection:
            connection.pragma("journal_mode", "delete")
        copy.replace(aside)
    _sync_directory(aside)
    return aside


def _outnumber(source: apsw.Connection, path: Path) -> None:
    """Counters never run backwards: readers of the old content must see that theirs is out of date, and a
    token from before must not be handed out again. Changes and leases of the backup's day mean nothing now."""
    old = _counters(path)
    session = _session(source)
    counters = {(org, name): value for org, name, value in session.all("counters_all")}
    source.execute("BEGIN IMMEDIATE")
    session.run("change_clear")
    session.run("leases_clear")
    orgs = {org for org, _name in old.keys() | counters.keys()}
    for org, name in sorted(old.keys() | counters.keys() | {(org, "change") for org in orgs}):
        value = max(old.get((org, name), 0), counters.get((org, name), 0)) + 2
        session.run("counter_set", org_id=org, name=name, value=value)
        if name == "audit":
            _note_restore(session, org, value)
        if name == "change":  # a gap before the oldest entry makes every read model start anew
            session.run(
                "change_insert", org_id=org, seq=value, project_id="", kind="store", row_id="restored", op="put"
            )
    source.execute("COMMIT")


def _note_restore(session: Session, org: str, value: int) -> None:
    """The audit log goes on where the backup's ended, and says so: the gap in its numbers is this entry's."""
    audit = Audit(session)
    last = audit.head(org)
    audit.note(
        org,
        at=from_micros(session.value("clock")),
        actor="operator",
        action="restore",
        kind="store",
        id="store",
        detail={"after": last.seq if last else 0, "replaced": value - 2},
    )


def _counters(path: Path) -> dict[tuple[str, str], int]:
    with closing(connect(path)) as connection:
        try:
            return {(org, name): value for org, name, value in _session(connection).all("counters_all")}
        except apsw.CorruptError:
            return {}


# -- parts -----------------------------------------------------------------------------------------


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A private file in the target's directory, gone afterwards unless it was given the target's name."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    copy = target.with_name(TEMPORARY.format(name=target.name, unique=uuid4().hex[:12]))
    copy.touch(mode=0o600, exist_ok=False)
    try:
        yield copy
    finally:
        for end in ("", "-journal", "-wal", "-shm"):
            Path(f"{copy}{end}").unlink(missing_ok=True)


def _sync_directory(file: Path) -> None:
    """So that the new name survives a power cut, where directories can be synced."""
    if os.name != "posix":
        return
    handle = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _session(connection: apsw.Connection) -> Session:
    return Session(connection, queries.load(SqliteEngine.name))

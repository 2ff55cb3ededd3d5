"""What SQLite and the system raise, as errors that name the file and the next move."""

from __future__ import annotations

from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path

import apsw

from clew.errors import ClewError, Conflict, InvalidInput, StoreRefused, Unavailable
from clew.store.session import unencodable

NO_SPACE = (ENOSPC, EDQUOT, EFBIG)  # of the disk, of a quota, of the largest file allowed
PROBED = 1 << 16  # bytes: SQLite lets its files grow by 32 KB at most
_LACKING = ("no such table", "no such column", "has no column named", "vtable constructor failed")
_READS = (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS)
_SHARED = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_SHMOPEN)


class sqlite_translated:  # noqa: N801 - read as a verb, and cheaper than a generator: each read and write enters some
    """Turns what SQLite raises into errors that name the file and the next move; what a caller's code does with
    files of its own is none of ours."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, apsw.Error) and (told := _told(self._path, error)):
            raise told from error
        if isinstance(error, UnicodeEncodeError):
            raise unencodable() from error


class translated(sqlite_translated):  # noqa: N801
    """The same with what the system raises, around our own code."""

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, apsw.Error):
            raise (disk_full if error.errno in NO_SPACE else read_only)(self._path) from error
        super().__exit__(kind, error, trace)


def _told(path: Path, error: apsw.Error) -> ClewError | None:
    """What to raise instead; None for what only a mistake of ours can cause."""
    code: int = getattr(error, "extendedresult", 0)
    match error:
        case apsw.ConnectionClosedError() | apsw.CursorClosedError() | apsw.InterruptError():
            return store_closed()
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(
                f"{path} is in use by another process that does not let go",
                code="STORE_BUSY",
                next="stop the other process or try again",
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return _damaged(path)
        case apsw.SQLError() if any(part in str(error) for part in _LACKING):
            return _damaged(path)
        case apsw.FullError():
            return disk_full(path)
        case apsw.IOError() | apsw.CantOpenError() if _is_for_want_of_space(path, code):
            return _no_room_to_read(path) if code in _SHARED else disk_full(path)
        case apsw.ConstraintError():
            return Conflict(
                f"{path} holds something that excludes this",
                code="STORE_CONFLICT",
                next="look at what is there and try again",
            )
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return read_only(path)
        case apsw.IOError():
            return Unavailable(
                f"reading or writing {path} failed", code="STORE_IO", next="check the disk, then run: clew doctor"
            )
    return None


def _is_for_want_of_space(path: Path, code: int) -> bool:
    """SQLite says `full` only of some writes, and names no quota and no limit of files at all: so we try to write
    a little where its largest file ends. Nothing stays, and what was not read is no matter of space."""
    if code in _READS:
        return False
    from tempfile import TemporaryFile  # for this alone

    try:
        with TemporaryFile(dir=path.parent, buffering=0) as file:
            file.seek(max(map(_size, (path, *_beside(path)))))
            return file.write(bytes(PROBED)) < PROBED
    except OSError as error:
        return error.errno in NO_SPACE


def _beside(path: Path) -> tuple[Path, ...]:
    return tuple(Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def store_closed() -> Unavailable:
    return Unavailable("the store is closed", code="STORE_CLOSED", next="open it again")


def store_moved(path: Path) -> Unavailable:
    return Unavailable(
        f"{path} was removed, moved or replaced while it was open here",
        code="STORE_MOVED",
        next="put it back, or start this process anew; a daemon ends with: clew serve --stop",
    )


def _damaged(path: Path) -> StoreRefused:
    return refused(path, "is damaged", "STORE_CORRUPT", "restore a backup: clew restore FILE")


def refused(path: Path, why: str, code: str, next_move: str) -> StoreRefused:
    return StoreRefused(f"{path} {why}", code=code, next=next_move)


def disk_full(path: Path) -> Unavailable:
    return Unavailable(
        f"no space left to write {path}", code="DISK_FULL", next="free some disk space and try again"
    )


def _no_room_to_read(path: Path) -> Unavailable:
    return Unavailable(
        f"no space left beside {path}, where SQLite needs 32 KB even to read it",
        code="DISK_FULL",
        next="free some disk space and try again",
    )


def read_only(path: Path) -> Unavailable:
    if file := next((above for above in path.parents if above.is_file()), None):
        return Unavailable(
            f"{file} is a file, and {path} would lie in it",
            code="STORE_READ_ONLY",
            next="name a directory: CLEW_HOME, or --home",
        )
    return Unavailable(
        f"{path} cannot be opened for writing",
        code="STORE_READ_ONLY",
        next="check the permissions of the file and its directory, or set CLEW_HOME to another directory",
    )


def check_name(path: Path) -> None:
    """Before anything is made there: SQLite opens no file whose name it cannot read."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the path {path} is not valid UTF-8",
            code="PATH_NOT_UTF8",
            next="name another file, or set CLEW_HOME to another directory",
        ) from error

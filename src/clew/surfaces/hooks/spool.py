"""The spool: events that a hook told while no daemon answered, until the daemon has them.

Writers (the hook client, the forwarder) append a record under a lock and sync it. The reader renames the file, so
that writers begin a new one, hands over each record, and removes the file only when every one is done. Killed at
any point it begins the file again: nothing is lost, and who takes the records knows by the event id what it has.
What is torn or damaged is kept under spool/damaged, and what follows it is still found.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

from clew.errors import ClewError, Misconfigured, StoreRefused, Unavailable
from clew.model.host import NOT_KEPT
from clew.surfaces.hooks import offline
from clew.values import dataclass

FOLDER = "spool"
NAME = "events.spool"
DROPPED = "dropped"
_HEAD = re.compile(rb"clew1 ([0-9a-f]{8}) (([0-9a-f]{32}) ([A-Za-z0-9-]{1,64}) ([0-9]{1,8})\n)")
_MARK = b"clew1 "
OLDEST_MS = 30 * 24 * 3_600 * 1_000  # before the file was written last: an id that tells of more was made otherwise
ATTEMPTS = 3  # of one record; trouble that passes, or a store that is being closed, must not cost an event
# Locks of files are held by processes: two threads of one process would not wait for each other.
_one_thread = Lock()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    """One event as its hook told it. `at`: when, or when the file was last written where its id does not say."""

    event_id: str
    host: str
    body: bytes
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Damaged:
    """Bytes that are no whole record."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ingested:
    """How many records were handed over, how many were refused, and how many pieces were no record."""

    records: int = 0
    refused: int = 0
    damaged: int = 0


class Spool:
    """The spool of a home, for the process that reads it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._reading = Lock()
        self._is_unfinished = True  # a file taken by a reader that was killed may lie there
        self._failures: Counter[str] = Counter()

    def is_empty(self) -> bool:
        """Cheap enough to ask before every event."""
        return not self._is_unfinished and _size(self.home / FOLDER / NAME) == 0

    def append(self, event_id: str, host: str, body: bytes) -> None:
        """Durable when this returns."""
        append(self.home, event_id=event_id, host=host, body=body)

    def ingest(self, handle: Callable[[Record], None]) -> Ingested:
        """Hand over what waits, oldest first. `handle` must know an event id that it had before. If it raises, the
        rest waits for the next call. Unless it is the store's, it is counted as the record's own trouble: the third
        time the record is set aside, and the others go on. Nobody waits for another one who reads: that one does
        it."""
        done = Ingested()
        if not self._reading.acquire(blocking=False):
            return done
        try:
            self._is_unfinished = True
            for taken in _taken_files(self.home):
                one = _ingest_file(taken, self._patient(handle))
                done = Ingested(done.records + one.records, done.refused + one.refused, done.damaged + one.damaged)
            self._is_unfinished = False
            if done.records:
                _forget_dropped(self.home)
        finally:
            self._reading.release()
        return done

    def _patient(self, handle: Callable[[Record], None]) -> Callable[[Record], bool]:
        """Whether the record was handled; False: never will be."""

        def try_it(record: Record) -> bool:
            try:
                handle(record)
            except Exception as error:  # whatever it is, the event stays until it was tried often enough
                if _is_of_the_store(error):
                    raise
                self._failures[record.event_id] += 1
                if self._failures[record.event_id] < ATTEMPTS:
                    raise _stuck(record, error) from error
                return False
            return True

        return try_it


def _is_of_the_store(error: Exception) -> bool:
    """A server that only reads for now, a password that was changed, a damaged file: no other event would be taken
    either. A statement that a server refused may be refused for what this event says."""
    if isinstance(error, ClewError) and error.code == NOT_KEPT:
        return False
    if isinstance(error, StoreRefused):
        return error.code != StoreRefused.default_code
    return isinstance(error, Unavailable | Misconfigured)


def _stuck(record: Record, error: Exception) -> Unavailable:
    return Unavailable(
        f"event {record.event_id} of the spool was not taken ({type(error).__name__})",
        code="SPOOL_STUCK",
        next=f"it is tried again; after {ATTEMPTS} times it is kept under spool/damaged",
    )


def append(home: Path, *, event_id: str, host: str, body: bytes) -> None:
    """For other writers than the hook client, by the same code. Raises Unavailable when nothing can be written."""
    with _one_thread:
        try:
            offline.sync(str(home), offline.append(str(home), offline.record(event_id, host, body)))
        except (OSError, ValueError):
            raise Unavailable(
                f"the spool under {home} cannot be written or is full",
                code="SPOOL_UNAVAILABLE",
                next="free space on the disk, or start the daemon: clew serve",
            ) from None


def parse(data: bytes, *, at: datetime | None = None) -> Iterator[Record | Damaged]:
    """Whole records, and what lies between them. A record is never found inside the event of another one: raw
    newlines, which every head ends with, do not stand in the strings of JSON."""
    place = lost = 0
    while place < len(data):
        found = _record_at(data, place, at)
        if found is None:
            place = _next_mark(data, place + 1)
            continue
        if lost < place:
            yield Damaged(data[lost:place])
        yield found[0]
        place = lost = found[1]
    if lost < place:
        yield Damaged(data[lost:])


def _record_at(data: bytes, place: int, at: datetime | None) -> tuple[Record, int] | None:
    head = _HEAD.match(data, place)
    if head is None:
        return None
    end = head.end() + int(head[5])
    if end >= len(data) or data[end : end + 1] != b"\n":
        return None
    if crc32(memoryview(data)[head.start(2) : end]) != int(head[1], 16):
        return None
    event_id = head[3].decode()
    return Record(event_id, head[4].decode(), data[head.end() : end], _came_at(event_id, at)), end + 1


def _came_at(event_id: str, written: datetime | None) -> datetime | None:
    """When a hook was told, which its id begins with; not of an id that was made otherwise."""
    if written is None:
        return None
    before_ms = written.timestamp() * 1000 - int(event_id[:12], 16)
    return written - timedelta(milliseconds=before_ms) if 0 <= before_ms <= OLDEST_MS else written


def _next_mark(data: bytes, place: int) -> int:
    found = data.find(_MARK, place)
    return len(data) if found < 0 else found


# -- what was dropped --------------------------------------------------------------------------------


def dropped(home: Path) -> int:
    """How many events hooks could keep nowhere since the spool was last taken in: too large, or the spool was full.
    The file ends at offline.MAX_DROPPED."""
    return _size(home / FOLDER / DROPPED)


def _forget_dropped(home: Path) -> None:
    if count := dropped(home):
        _log.warning("%d events of hooks were too large, or found the spool full, and are lost", count)
    with suppress(OSError):
        (home / FOLDER / DROPPED).unlink(missing_ok=True)


# -- files -------------------------------------------------------------------------------------------


def _taken_files(home: Path) -> Iterator[Path]:
    """Those that an earlier reader left behind, oldest first, then what was told since."""
    folder = home / FOLDER
    yield from sorted(folder.glob("taken-*.spool"))
    fresh = _take_file(folder)
    if fresh is not None:
        yield fresh


def _take_file(folder: Path) -> Path | None:
    """Rename the spool if no writer is in it just now; if one is, next time. A writer that opened it before sees
    that the file it has is no longer the one of that name."""
    spool, taken = folder / NAME, folder / f"taken-{time.time_ns():020d}-{os.getpid()}.spool"
    if _size(spool) == 0 or not _one_thread.acquire(blocking=False):
        return None
    try:
        return taken if _is_renamed(spool, taken) else None
    except OSError:
        return None
    finally:
        _one_thread.release()


def _is_renamed(spool: Path, taken: Path) -> bool:
    if sys.platform == "win32":  # there, no file is renamed that somebody has open
        spool.rename(taken)
        return True
    import fcntl

    file = os.open(spool, os.O_RDWR)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = offline.is_still(file, str(spool))
        if is_ours:
            spool.rename(taken)
        return is_ours
    finally:
        os.close(file)


def _ingest_file(taken: Path, is_handled: Callable[[Record], bool]) -> Ingested:
    records = refused = damaged = 0
    aside = bytearray()
    for part in _parts_of(taken):
        if isinstance(part, Damaged):
            damaged += 1
            aside += part.data
        elif is_handled(part):
            records += 1
        else:
            refused += 1
            aside += offline.record(part.event_id, part.host, part.body)
    if aside:
        _keep(taken, bytes(aside))
    taken.unlink(missing_ok=True)
    return Ingested(records, refused, damaged)


def _parts_of(taken: Path) -> Iterator[Record | Damaged]:
    try:
        at = datetime.fromtimestamp(taken.stat().st_mtime, UTC)
        data = taken.read_bytes()
    except FileNotFoundError:  # another reader has finished it
        return
    yield from parse(data, at=at)


def _keep(taken: Path, data: bytes) -> None:
    """Under the name of the file it was in: begun again, it is written again, not added."""
    folder = taken.parent / "damaged"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = os.open(folder / taken.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(file)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0

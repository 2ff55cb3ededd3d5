"""The numbers of a store and its health. Looks, and changes nothing but the log, which it may fold in.

Every check stands alone: one that fails, or that a damaged file makes impossible, does not keep the others from
being made. What it finds wrong it names, with the way to mend it.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from clew.errors import ClewError
from clew.model.facts import COPY_STATE
from clew.model.scope import Reach
from clew.model.times import CLOCK_SLACK, to_rfc3339
from clew.model.upkeep import Check, Stats
from clew.store import queries
from clew.store.backup import TEMPORARY
from clew.store.copy_sides import unfinished
from clew.store.sqlite import connect, migrate
from clew.store.sqlite_errors import translated

if TYPE_CHECKING:
    from clew.store.store import Store, Tx

SAFE_SQLITE = (3, 51, 3)  # older ones can lose a log that is reset while another process reads it
ROOM = 64 << 20  # bytes that should be free on the disk, beside room for a copy of the store
LARGE_LOG = 256 << 20  # bytes; normally the log is folded in every few megabytes
RESTORE = "restore a backup: clew restore FILE"
REINDEX = "rebuild the index: clew reindex"
DAMAGE = {
    "missing": "{} memories are not in the index",
    "stray": "the index holds {} forgotten memories",
    "differing": "full text and terms differ in {} memories",
}


def stats(tx: Tx, store: Store, reach: Reach, space: str) -> Stats:
    by_project: Counter[str] = Counter()
    by_type: Counter[str] = Counter()
    by_layer: Counter[str] = Counter()
    content_bytes = 0
    for project, type_, layer, count, size in tx.memories.counts(reach):
        by_project[project] += count
        by_type[type_] += count
        by_layer[layer] += count
        content_bytes += size
    vectors = tx.index.vector_counts(reach)
    is_owner = reach == Reach.everything(reach.org)  # the file holds others' memories too: its size is theirs
    file_bytes, log_bytes = store.sizes() if is_owner else (0, 0)
    total = by_type.total()
    return Stats(
        org=reach.org,
        memories=by_type.total(),
        by_project=dict(by_project),
        by_type=dict(by_type),
        by_layer=dict(by_layer),
        content_bytes=content_bytes,
        path=store.location,
        file_bytes=file_bytes,
        log_bytes=log_bytes,
        bytes_per_memory=round(file_bytes / max(1, tx.memories.count_all()), 1) if is_owner else 0.0,
        space=space,
        vectors=vectors,
        coverage=round(vectors.get(space, 0) / total, 4) if total and space else 0.0,
        schema=tx.session.schema(),
        last_change=tx.changes.last(reach.org) if is_owner else 0,
        graph=tx.edges.counts(reach.org) if is_owner else {},
        jobs=tx.jobs.counts(reach.org) if is_owner else {},
    )


def checks(store: Store, now: datetime) -> list[Check]:
    """Everything about the file that can be wrong, from the outside in."""
    path = store.path
    inner: list[tuple[str, Callable[[], Iterator[Check]]]] = [
        ("schema", partial(_schema, store)),
        ("copy", partial(unfinished_copy, store)),
        ("integrity", partial(_integrity, store)),
        ("references", partial(_references, store)),
        ("index", partial(_index, store)),
        ("log", partial(_log_size, store)),
        ("clock", partial(_clock, store, now)),
    ]
    found = [*file_checks(path)]
    for name, check in inner:
        try:
            found += check()
        except ClewError as error:
            found.append(Check(name, False, error.message, error.next))
    return found


def file_checks(path: Path) -> list[Check]:
    """What can be said without opening the store: also where it cannot be opened."""
    return [_permissions(path), _leftovers(path), _disk(path), _sqlite()]


def _permissions(path: Path) -> Check:
    if os.name != "posix":
        return Check("permissions", True, "this platform has none to check")
    for file in (path, _log(path), Path(f"{path}-shm")):
        mode = _mode(file)
        if mode & 0o077:
            return Check("permissions", False, f"{file} is open to others ({mode:04o})", f"run: chmod 600 {file}")
    mode = _mode(path.parent)
    if mode & 0o022 and not mode & stat.S_ISVTX:
        detail = f"others may replace files in {path.parent} ({mode:04o})"
        return Check("permissions", False, detail, f"run: chmod 700 {path.parent}")
    return Check("permissions", True, "only you can read the store")


def _leftovers(path: Path) -> Check:
    """A process that was killed cannot clean up, and its copy holds text that may be forgotten by now."""
    begins, _, ends = TEMPORARY.format(name=path.name, unique="*").partition(".*")
    left: list[Path] = []
    with suppress(OSError):  # there is no such directory yet, or it cannot be listed
        beside = sorted(path.parent.iterdir())
        left = [file for file in beside if file.name.startswith(begins) and file.name.endswith(ends)]
    if left:
        return Check("leftovers", False, f"{left[0]} was left by an interrupted copy", f"delete it: rm {left[0]}")
    return Check("leftovers", True, "no interrupted copy beside the store")


def _disk(path: Path) -> Check:
    folder = next(folder for folder in path.parents if folder.exists())
    free, needed = shutil.disk_usage(folder).free, max(ROOM, _size(path) + _size(_log(path)))
    if free < needed:
        detail = f"{free >> 20:,} MB free, {needed >> 20:,} MB wanted"
        return Check("disk", False, detail, "free some space on the disk, or move the store: set CLEW_HOME")
    return Check("disk", True, f"{free >> 20:,} MB free")


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < SAFE_SQLITE:
        wanted = ".".join(map(str, SAFE_SQLITE))
        return Check("sqlite", False, f"SQLite {version} is older than {wanted}", "upgrade it: pip install -U apsw")
    return Check("sqlite", True, f"SQLite {version}")


def _schema(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        found = tx.session.schema()
    known = queries.newest_migration()
    if found > known:
        detail = f"the file has schema {found}, this Clew knows up to {known}"
        yield Check("schema", False, detail, "upgrade Clew: pip install -U clew")
    elif found < known:
        yield Check("schema", False, f"the file has schema {found} of {known}", "upgrade it: clew migrate")
    elif lacking := _lacking(store.path):
        yield Check("schema", False, f"the file lacks {', '.join(lacking)}", RESTORE)
    else:
        yield Check("schema", True, f"schema {found}")


def _lacking(path: Path) -> list[str]:
    """Columns, and tables without any, that a new store has and this file has not."""
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh)
        wanted = _parts(fresh)
    with translated(path), closing(connect(path)) as connection:
        found = _parts(connection)
    tables = {table for table, _column in found}
    return sorted({f"{table}.{column}" if table in tables else table for table, column in wanted - found})


def _parts(connection: apsw.Connection) -> set[tuple[str, str]]:
    """Table and column of all there are."""
    return set(connection.execute("SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c"))


def unfinished_copy(store: Store) -> Iterator[Check]:
    """Said only of one: it is not opened, so this is met by whoever had it open when the copy began."""
    with store.read() as tx:
        state = tx.meta.get(COPY_STATE)
    if state is not None:
        found = unfinished(store.location, state)
        yield Check("copy", False, found.message, found.next)


def _integrity(store: Store) -> Iterator[Check]:
    # On a connection of its own: one that has read the full-text index before would check it by an old plan
    # of its segments and take another process's rebuild for damage.
    with translated(store.path), closing(connect(store.path)) as connection:
        problems = [str(text) for (text,) in connection.execute("PRAGMA integrity_check(10)")]
    if problems != ["ok"]:
        yield Check("integrity", False, f"the file is damaged: {problems[0][:200]}", RESTORE)
    else:
        yield Check("integrity", True, "every page is sound")


def _references(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        broken = tx.session.all("broken_references")
    if broken:
        detail = f"{len(broken)} rows of {broken[0][0]} belong to nothing"
        yield Check("references", False, detail, RESTORE)
    else:
        yield Check("references", True, "every row belongs to a memory")


def _index(store: Store) -> Iterator[Check]:
    try:
        store.write(lambda tx: tx.index.verify(), durable=False)
    except ClewError as error:
        if error.code != "STORE_CORRUPT" or isinstance(error.__cause__, apsw.SQLError):  # a table is not there
            raise
        yield Check("index", False, "the full-text index is damaged", REINDEX)
        return
    damage: Counter[str] = Counter()
    with store.read() as tx:
        for org in tx.config.orgs():
            damage.update(tx.index.damage(org))
    worst = next((name for name in DAMAGE if damage[name]), None)
    if worst:
        yield Check("index", False, DAMAGE[worst].format(damage[worst]), REINDEX)
    else:
        yield Check("index", True, "every memory is in the index, and nothing else is")


def _log_size(store: Store) -> Iterator[Check]:
    size = _size(_log(store.path))
    if size > LARGE_LOG and not store.purge():
        detail = f"the log has grown to {size >> 20:,} MB, because a process has been reading for long"
        yield Check("log", False, detail, "end the other processes that use the store, then run: clew doctor")
    else:
        yield Check("log", True, f"{_size(_log(store.path)) >> 10:,} kB in the log")


def _clock(store: Store, now: datetime) -> Iterator[Check]:
    with store.read() as tx:
        newest = tx.memories.newest()
    if newest is not None and newest > now + CLOCK_SLACK:
        detail = f"the newest memory is of {to_rfc3339(newest)}, the clock says {to_rfc3339(now)}"
        move = "set the system's clock; if it is right now, run: clew reindex"
        yield Check("clock", False, f"{detail}: what was written since then is hidden until then", move)
    else:
        yield Check("clock", True, "not behind the newest memory")


def _log(path: Path) -> Path:
    return Path(f"{path}-wal")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _mode(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return 0

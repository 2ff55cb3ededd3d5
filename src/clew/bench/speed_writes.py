"""What writing costs beside the bare parts, each in a store of its own: an import, and single durable writes."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import clew
from clew.bench import speed_bare
from clew.bench.speed_cold import PROJECT, opened
from clew.bench.speed_figures import Taken, figure, timed, times
from clew.bench.texts import texts

BATCH = 500  # of one transaction, as an import writes them
THREADS = 8


class Batch(NamedTuple):
    """So many memories in one transaction, and the same texts in a bare full-text table."""

    many: int
    ours: Taken
    bare: Taken


def ingest(count: int, chars: int, *, graph: bool) -> dict[str, Any]:
    """Bulk import with rows, full text and vectors, beside the same text in a bare FTS5 table."""
    drafts = (clew.Draft(content=content) for content in texts(count, chars=chars))
    with folder() as home:
        path = home / "clew.db"
        with clew.open(path, home=home, relate={"in_process": False}, graph={"write": graph}) as memory:
            memory.remember("warm up", scope=PROJECT)
            with closing(speed_bare.full_text_table(home / "bare.db")) as bare:
                taken = [write_batch(memory, batch, PROJECT, bare) for batch in batches(drafts)]
        return ingest_row(taken) | {"bytes_per_memory": size_of(home) // count}


def write_batch(memory: clew.Clew, batch: Sequence[clew.Draft], scope: clew.Scope, bare: Any) -> Batch:
    """In turns with a bare FTS5 table, so that a busy disk hits both alike."""
    theirs = timed(partial(speed_bare.index_batch, bare, [draft.content for draft in batch]))
    ours = timed(lambda: sum(1 for _ in memory.remember_many(batch, scope=scope)))
    return Batch(len(batch), ours, theirs)


def batches(drafts: Iterator[clew.Draft]) -> Iterator[list[clew.Draft]]:
    while batch := list(islice(drafts, BATCH)):
        yield batch


def ingest_row(batches: Sequence[Batch]) -> dict[str, Any]:
    """The figure is of one memory: of each batch, the share of one."""
    count = sum(batch.many for batch in batches)
    each = figure([_share(batch.ours, batch.many) for batch in batches])
    bare = figure([_share(batch.bare, batch.many) for batch in batches])
    wall, cpu = _sum([batch.ours for batch in batches])
    bare_wall, bare_cpu = _sum([batch.bare for batch in batches])
    return each | {
        "memories": count,
        "per_second": round(count / wall),
        "cpu_us_each": round(cpu / count * 1e6, 1),
        "bare_fts5_ms": bare["ms"],
        "bare_fts5_per_second": round(count / bare_wall),
        "times_bare_fts5": round(wall / bare_wall, 2),
        "times_bare_fts5_cpu": round(cpu / max(1e-9, bare_cpu), 2),
    }


def _sum(taken: Sequence[Taken]) -> tuple[float, float]:
    return sum(one.wall_s for one in taken), sum(one.cpu_s or 0.0 for one in taken)


def _share(taken: Taken, many: int) -> Taken:
    return Taken(taken.wall_s / many, None if taken.cpu_s is None else taken.cpu_s / many)


def single_writes(count: int) -> dict[str, Any]:
    """One acknowledged memory after another, beside bare commits of the same text, both synchronous=FULL, in turns.
    Then the same by several threads at once, whose commits may share a flush."""
    contents = list(texts(2 * count, chars=250, seed=3))
    bare: list[Taken] = []
    ours: list[Taken] = []
    with folder() as home, opened(home) as memory, closing(speed_bare.full_table(home / "bare.db")) as table:
        memory.remember("warm up", scope=PROJECT)
        for own, other in zip(contents[::2], contents[1::2], strict=True):
            bare.append(timed(partial(speed_bare.commit_one, table, own)))
            ours.append(timed(partial(memory.remember, other, scope=PROJECT)))
        together = THREADS * count / timed(partial(_write_together, memory, count)).wall_s
    bare_s, ours_s = ([one.wall_s for one in taken] for taken in (bare, ours))
    return figure(ours) | {
        "per_second": round(count / sum(ours_s)),
        "bare_full_commits_per_second": round(count / sum(bare_s)),
        "bare_full_ms": figure(bare)["ms"],
        "times_bare_full_commit": times(figure(ours), figure(bare)),
        "share_of_bare": round(sum(bare_s) / sum(ours_s), 3),
        "share_of_bare_median": round(statistics.median(bare_s) / statistics.median(ours_s), 3),
        "threads": THREADS,
        "concurrent_per_second": round(together),
        "concurrent_share_of_bare": round(together * sum(bare_s) / count, 3),
    }


def _write_together(memory: clew.Clew, count: int) -> None:
    """Each thread writes its own texts and waits for each to be durable."""
    shares = [list(texts(count, chars=250, seed=100 + thread)) for thread in range(THREADS)]

    def write(contents: list[str]) -> None:
        for content in contents:
            memory.remember(content, scope=PROJECT)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, shares))


def size_of(home: Path) -> int:
    """Bytes of a store; of one that is closed, its log is in its file."""
    return sum(file.stat().st_size for file in home.glob("clew.db*"))


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        yield Path(name)

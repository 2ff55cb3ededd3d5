"""What the statements of a write take by themselves: the least that any program around them could take.

Memories are written by Clew while every statement is noted; the same statements then go to a copy of the store, one
after another and prepared, without anything around them, in turns with what the goals compare a write to: a bare
synced commit for single writes, a bare FTS5 table for imports.

    python tools/statements_alone.py
"""

from __future__ import annotations

import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

import clew
from clew.bench.speed_bare import commit_one, full_table, full_text_table, index_batch
from clew.bench.texts import texts
from clew.providers.static import StaticEmbedder
from clew.recall.analyse import term_hashes
from clew.remember.prepare import WritePolicy, draft_memory
from clew.remember.redact import redact
from clew.store import sqlite, sqlite_log

FIRST, SINGLE, BATCH, BATCHES = 2_000, 300, 500, 10
Statement = tuple[str, Any]
# What a write could leave to a job, if memories were not to be found as soon as they are acknowledged.
LATER = re.compile(r"\b(?:memory_terms|memory_fts|memory_embeddings|graph_pending)\b")


@contextmanager
def noted() -> Iterator[list[Statement]]:
    """Every statement that a store's connections execute, except beside a write: what empties the log would stand
    in the middle of somebody's transaction."""
    seen: list[Statement] = []

    def note(_cursor: object, sql: str, values: Any) -> bool:
        if threading.current_thread().name != sqlite_log.THREAD:
            seen.append((sql, dict(values) if isinstance(values, dict) else values))
        return True

    made = sqlite.connect

    def connect(*args: Any, **named: Any) -> apsw.Connection:
        connection = made(*args, **named)
        connection.exec_trace = note
        return connection

    sqlite.connect = connect  # type: ignore[assignment]
    try:
        yield seen
    finally:
        sqlite.connect = made


def opened(home: Path, *, graph: bool) -> clew.Clew:
    home.mkdir(exist_ok=True)
    return clew.open(home / "clew.db", home=home, relate={"in_process": False}, graph={"write": graph})


def written(
    folder: Path, portions: Sequence[Sequence[str]], *, graph: bool
) -> tuple[list[float], list[list[Statement]]]:
    """Seconds and statements of each portion, and in `folder / copy` a store as it was before."""
    with opened(folder / "own", graph=graph) as memory:
        for _ in memory.remember_many(clew.Draft(content=text) for text in texts(FIRST, chars=250, seed=1)):
            pass
    shutil.copytree(folder / "own", folder / "copy")
    took, statements = [], []
    with noted() as seen, opened(folder / "own", graph=graph) as memory:
        for portion in portions:
            seen.clear()
            began = time.perf_counter()
            for _ in memory.remember_many([clew.Draft(content=text) for text in portion]):
                pass
            took.append(time.perf_counter() - began)
            statements.append(list(seen))
    return took, statements


def sent_again(store: apsw.Connection, statements: Sequence[Statement]) -> float:
    runs = [(sql, [values for _sql, values in many]) for sql, many in groupby(statements, itemgetter(0))]
    began = time.perf_counter()
    for sql, many in runs:
        if len(many) > 1:
            store.executemany(sql, many).fetchall()
        else:
            store.execute(sql, many[0]).fetchall()
    return time.perf_counter() - began


def measure(
    title: str, portions: Sequence[Sequence[str]], *, graph: bool, without: re.Pattern[str] | None = None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took, statements = written(folder, portions, graph=graph)
        store = apsw.Connection(str(folder / "copy" / "clew.db"), statementcachesize=500)
        for pragma in ("synchronous=FULL", "cache_size=-64000", "foreign_keys=ON"):
            store.execute(f"PRAGMA {pragma}")
        commits, table = full_table(folder / "commits.db"), full_text_table(folder / "table.db")
        alone, bare = [], []
        for portion, all_of_it in zip(portions, statements, strict=True):
            many = [one for one in all_of_it if without is None or not without.search(one[0])]
            began = time.perf_counter()
            commit_one(commits, portion[0]) if len(portion) == 1 else index_batch(table, list(portion))
            bare.append(time.perf_counter() - began)
            alone.append(sent_again(store, many))
        each = [statistics.median(times) / len(portions[0]) * 1e6 for times in (took, alone, bare)]
        print(f"{title:<30}{each[0]:>9.1f}{each[1]:>13.1f}{each[2]:>8.1f}{each[1] / each[2]:>11.2f}x", flush=True)


def measure_texts(batches: Sequence[Sequence[str]]) -> None:
    """What cannot be left out before anything is stored, each by itself, over the same batches."""
    model, now = StaticEmbedder(), datetime.now(UTC)

    def made(batch: Sequence[str]) -> None:
        for text in batch:
            draft_memory(
                clew.Draft(content=text), clew.Scope(), now=now, policy=WritePolicy(), parents={}, trust="user"
            )

    steps = {"terms": lambda batch: list(map(term_hashes, batch)), "vectors": model.embed,
             "masking": lambda batch: list(map(redact, batch)), "a memory made": made}  # fmt: skip
    for name, step in steps.items():
        took = []
        for batch in batches:
            began = time.perf_counter()
            step(batch)
            took.append(time.perf_counter() - began)
        print(f"of an import, {name + ' alone':<16}{statistics.median(took) / len(batches[0]) * 1e6:>9.1f}")


def main() -> None:
    print(f"{'microseconds a memory':<30}{'by Clew':>9}{'statements':>13}{'bare':>8}{'at least':>12}")
    made = list(texts(BATCH * BATCHES, chars=250, seed=5))
    batches = [made[start : start + BATCH] for start in range(0, len(made), BATCH)]
    for graph in (False, True):
        with_graph = ", with the graph" if graph else ""
        measure(f"single write{with_graph}", [[text] for text in made[:SINGLE]], graph=graph)
        measure(f"import{with_graph}", batches, graph=graph)
    measure("single write, indices later", [[text] for text in made[:SINGLE]], graph=False, without=LATER)
    measure_texts(batches)


if __name__ == "__main__":
    main()

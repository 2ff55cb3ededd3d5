"""`clew bench speed`: what each step costs on this machine, as ratios to the bare parts measured in the same run.

Absolute times belong to the machine and the hour; ratios and growth factors are what to compare.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

import clew
from clew.bench import surfaces
from clew.bench.metrics import percentile
from clew.bench.texts import questions, texts
from clew.model.progress import Progress, no_progress

PROJECT = clew.Scope(project="bench")
PROJECT_SIZE = 5_000
SIZES = [10_000, 100_000]
BATCH = 500
THREADS = 8


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often each thing is done: often enough for a steady median, or just to see that it works."""

    ingest: int
    writes: int
    asks: int
    processes: int


def _rounds(quick: bool) -> Rounds:
    return Rounds(1_000, 30, 50, 5) if quick else Rounds(10_000, 300, 500, 100)


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    if args.url is None:
        return run(args.sizes or SIZES, quick=args.quick, progress=progress)
    from clew.bench import engines

    rounds = engines.QUICK if args.quick else engines.Rounds()
    return engines.run(args.url, args.sizes or engines.SIZES, rounds=rounds, progress=progress)


def run(sizes: list[int], *, quick: bool = False, progress: Progress = no_progress) -> dict[str, Any]:
    """Progress is told in steps; the last ones take as long as the stores are large."""
    report: dict[str, Any] = {"machine": machine(), "ingest": {}, "single_writes": {}, "surfaces": {}, "recall": {}}
    steps = _steps(sizes, _rounds(quick))
    for done, (part, step) in enumerate(steps):
        progress(done, len(steps))
        report[part] |= step()
    progress(len(steps), len(steps))
    report["recall"] |= _growth(report["recall"])
    report["peak_rss_mb"] = peak_memory_mb()
    return report


def _steps(sizes: list[int], rounds: Rounds) -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """(part of the report, what measures some of it)."""
    return [
        ("ingest", lambda: {"250": ingest(rounds.ingest, 250, graph=False)}),
        ("ingest", lambda: {"250 with graph": ingest(rounds.ingest, 250, graph=True)}),
        ("ingest", lambda: {"2000": ingest(rounds.ingest // 5, 2_000, graph=False)}),
        ("ingest", lambda: {"2000 with graph": ingest(rounds.ingest // 5, 2_000, graph=True)}),
        ("single_writes", lambda: single_writes(rounds.writes)),
        *((("surfaces", lambda: plugged_in(rounds.processes)),) if surfaces.CAN_SERVE else ()),
        *(("recall", partial(_recall_row, size, rounds.asks)) for size in sizes),
    ]


def _recall_row(size: int, asks: int) -> dict[str, Any]:
    return {str(size): recall_at(size, asks=asks)}


def _growth(rows: dict[str, Any]) -> dict[str, Any]:
    """How much slower the largest store is. Says something only while the project that is asked stays as it is."""
    sizes = list(rows)
    first, last = sizes[0], sizes[-1]
    one, other = rows[first], rows[last]
    if first == last or one["in_project"] != other["in_project"]:
        return {}
    factor = other["warm_ms"]["p50"] / one["warm_ms"]["p50"]
    return {"growth": {"from": int(first), "to": int(last), "factor": round(factor, 3)}}


def machine() -> dict[str, Any]:
    import numpy

    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": numpy.__version__,
        "clew": clew.__version__,
    }


def peak_memory_mb() -> int | None:
    """None where the platform does not tell."""
    try:
        import resource
    except ImportError:
        return None
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes // (1024 * 1024 if sys.platform == "darwin" else 1024)


def ingest(count: int, chars: int, *, graph: bool) -> dict[str, Any]:
    """Bulk import with rows, full text and vectors, beside the same text in a bare FTS5 table."""
    contents = list(texts(count, chars=chars))
    with _folder() as folder:
        bare = _timed(lambda: _bare_fts(folder / "bare.db", contents))
        with clew.open(folder / "clew.db", home=folder, graph={"write": graph}) as memory:
            memory.remember("warm up", scope=PROJECT)
            drafts = [clew.Draft(content=content) for content in contents]
            wall = _timed(lambda: sum(1 for _ in memory.remember_many(drafts, scope=PROJECT)))
        size = sum(file.stat().st_size for file in folder.glob("clew.db*"))
    return {
        "memories": count,
        "per_second": round(count / wall["wall_s"]),
        "cpu_us_each": round(wall["cpu_s"] / count * 1e6, 1),
        "bare_fts5_per_second": round(count / bare["wall_s"]),
        "times_bare_fts5": round(wall["wall_s"] / bare["wall_s"], 2),
        "times_bare_fts5_cpu": round(wall["cpu_s"] / bare["cpu_s"], 2),
        "bytes_per_memory": size // count,
    }


def single_writes(count: int) -> dict[str, Any]:
    """One acknowledged memory after another, beside bare commits of the same text, both synchronous=FULL.
    The two take turns, so that a busy disk hits both alike. Then the same by several threads at once, whose
    commits may share a flush."""
    contents = list(texts(2 * count, chars=250, seed=3))
    bare_ms, clew_ms = [], []
    with _folder() as folder, clew.open(folder / "clew.db", home=folder) as memory:
        bare = _full_table(folder / "bare.db")
        memory.remember("warm up", scope=PROJECT)
        for own, other in zip(contents[::2], contents[1::2], strict=True):
            bare_ms.append(_timed(partial(bare.execute, "INSERT INTO t (x) VALUES (?)", (own,)))["wall_s"])
            clew_ms.append(_timed(partial(memory.remember, other, scope=PROJECT))["wall_s"])
        bare.close()
        together = THREADS * count / _timed(partial(_write_together, memory, count))["wall_s"]
    return {
        "per_second": round(count / sum(clew_ms)),
        "bare_full_commits_per_second": round(count / sum(bare_ms)),
        "share_of_bare": round(sum(bare_ms) / sum(clew_ms), 3),
        "share_of_bare_median": round(statistics.median(bare_ms) / statistics.median(clew_ms), 3),
        "ms": {"p50": _ms(clew_ms, 0.5), "p99": _ms(clew_ms, 0.99)},
        "threads": THREADS,
        "concurrent_per_second": round(together),
        "concurrent_share_of_bare": round(together * sum(bare_ms) / count, 3),
    }


def _write_together(memory: clew.Clew, count: int) -> None:
    """Each thread writes its own texts and waits for each to be durable."""
    shares = [list(texts(count, chars=250, seed=100 + thread)) for thread in range(THREADS)]

    def write(contents: list[str]) -> None:
        for content in contents:
            memory.remember(content, scope=PROJECT)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, shares))


def recall_at(size: int, *, asks: int) -> dict[str, Any]:
    """Warm recall in a project of 5,000 among others, recall of what was just written, and a cold `clew recall`
    process."""
    with _folder() as folder:
        with clew.open(folder / "clew.db", home=folder) as memory:
            _fill(memory, size)
            memory.recall("warm up", scope=PROJECT)
            asked = questions(asks)
            wall = [_timed(partial(memory.recall, text, scope=PROJECT)) for text in asked]
            after_write = _recall_after_writes(memory, asked[: asks // 10])
        cold = cold_recall(folder)
        daemon = surfaces.over_socket(folder, asks=asks, seconds=asks / 100) if surfaces.CAN_SERVE else None
    seconds = [entry["wall_s"] for entry in wall]
    return {
        "in_project": min(size, PROJECT_SIZE),
        "warm_ms": {"p50": _ms(seconds, 0.5), "p99": _ms(seconds, 0.99)},
        "warm_cpu_ms": {"p50": _ms([entry["cpu_s"] for entry in wall], 0.5)},
        "after_write_ms": {"p50": _ms(after_write, 0.5)},
        "cold": cold,
        "daemon": daemon,
    }


def plugged_in(runs: int) -> dict[str, Any]:
    """Hooks and MCP, over a small store: what they cost besides recall."""
    with _folder() as folder:
        with clew.open(folder / "clew.db", home=folder) as memory:
            _fill(memory, 1_000)
        return surfaces.plugged_in(folder, runs=runs)


def _recall_after_writes(memory: clew.Clew, asked: list[str]) -> list[float]:
    """Seconds of each recall that has to take in one memory more than the one before it."""
    seconds = []
    for content, text in zip(texts(len(asked), chars=250, seed=4), asked, strict=True):
        memory.remember(content, scope=PROJECT)
        seconds.append(_timed(partial(memory.recall, text, scope=PROJECT))["wall_s"])
    return seconds


def cold_recall(home: Path, *, runs: int = 7) -> dict[str, Any]:
    """A process that recalls once, beside one that only imports numpy."""
    environment = {**os.environ, "CLEW_HOME": str(home)}
    ask = [sys.executable, "-m", "clew", "recall", "government water service", "--project", "bench", "--json"]
    bare = [sys.executable, "-c", "import numpy"]
    times: dict[str, list[float]] = {"clew": [], "numpy": []}
    for _ in range(runs):
        for name, command in (("numpy", bare), ("clew", ask)):
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - started)
    clew_s, numpy_s = min(times["clew"]), min(times["numpy"])
    return {
        "ms": round(clew_s * 1000, 1),
        "import_numpy_ms": round(numpy_s * 1000, 1),
        "times_import_numpy": round(clew_s / numpy_s, 2),
    }


def table(report: dict[str, Any]) -> str:
    if "sizes" in report:
        from clew.bench import engine_table

        return engine_table.table(report)
    lines = [f"machine: {report['machine']}"]
    for chars, row in report["ingest"].items():
        lines.append(
            f"ingest {chars} chars: {row['per_second']:,}/s, {row['times_bare_fts5']}x bare FTS5 "
            f"({row['times_bare_fts5_cpu']}x CPU), {row['cpu_us_each']} us CPU, {row['bytes_per_memory']:,} bytes"
        )
    row = report["single_writes"]
    lines.append(
        f"single durable writes: {row['per_second']}/s, {row['share_of_bare']} of bare FULL commits, "
        f"p50 {row['ms']['p50']} ms, p99 {row['ms']['p99']} ms"
    )
    lines.append(
        f"concurrent durable writes, {row['threads']} threads: {row['concurrent_per_second']:,}/s, "
        f"{row['concurrent_share_of_bare']} of bare FULL commits"
    )
    lines += surfaces.lines(report["surfaces"])
    for size, row in report["recall"].items():
        if size == "growth":
            lines.append(f"recall growth {row['from']:,} -> {row['to']:,}: {row['factor']}x")
            continue
        lines.append(
            f"recall at {int(size):,} ({row['in_project']:,} in the project): p50 {row['warm_ms']['p50']} ms, "
            f"p99 {row['warm_ms']['p99']} ms; after a write p50 {row['after_write_ms']['p50']} ms; "
            f"cold {row['cold']['ms']} ms = {row['cold']['times_import_numpy']}x import numpy"
        )
        if daemon := row["daemon"]:
            lines.append(
                f"recall at {int(size):,} through the daemon: p50 {daemon['ms']['p50']} ms, "
                f"p99 {daemon['ms']['p99']} ms; "
                f"on one core {daemon['rate']['recalls']:,} recalls/s, {daemon['rate']['shows']:,} shows/s "
                f"over {daemon['rate']['connections']} connections"
            )
    lines.append(f"peak memory: {report['peak_rss_mb']} MB")
    return "\n".join(lines)


def _fill(memory: clew.Clew, size: int) -> None:
    for start in range(0, size, PROJECT_SIZE):
        scope = PROJECT if start == 0 else clew.Scope(project=f"other-{start}")
        count = min(PROJECT_SIZE, size - start)
        drafts = (clew.Draft(content=text) for text in texts(count, chars=250, seed=start + 10))
        for _ in memory.remember_many(drafts, scope=scope):
            pass


def _bare_fts(path: Path, contents: list[str]) -> None:
    connection = _full_table(path)
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
    for start in range(0, len(contents), BATCH):
        with connection:
            connection.executemany(
                "INSERT INTO f VALUES (?)", [(text,) for text in contents[start : start + BATCH]]
            )
    connection.close()


def _full_table(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
    return connection


def _timed(action: Callable[[], object]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    action()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def _ms(seconds: list[float], share: float) -> float:
    return round(percentile(seconds, share) * 1000, 3)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)

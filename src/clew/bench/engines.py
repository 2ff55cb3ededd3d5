"""`clew bench speed --url`: SQLite and PostgreSQL side by side, in one run and in turns.

Both hold the same memories and grow from size to size. Recall is asked three ways: in a project that is kept in
memory, in a large one that is kept in memory while it fits, and in the same one searched where it lies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import clew
from clew.bench import engine_queue, engine_walks
from clew.bench.engine_sides import LARGE, PROJECT, Side, both, fill, in_project
from clew.bench.metrics import percentile
from clew.bench.texts import questions, texts
from clew.model.progress import Progress, no_progress
from clew.model.scope import Scope
from clew.values import dataclass

Step = tuple[str, str, Callable[[], dict[str, Any]]]  # part of the report, its row, what measures some of it
SIZES = [1_000, 10_000, 100_000]
THREADS = 8
# The way, the scope that is asked, and how much memory the search indices may take.
WAYS: tuple[tuple[str, Scope, int], ...] = (
    ("project", PROJECT, 512),
    ("large", LARGE, 512),
    ("large, searched where it lies", LARGE, 0),
)
GOAL_P50_MS, GOAL_GROWTH = 10.0, 1.5


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often each thing is done."""

    asks: int = 200
    writes: int = 100
    processes: int = 5
    edges: int = 1_000_000
    walks: int = 50
    injects: int = 100  # of each session


QUICK = Rounds(asks=20, writes=10, processes=1, edges=10_000, walks=10, injects=10)


def run(
    url: str, sizes: Sequence[int], *, rounds: Rounds | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    rounds = rounds or Rounds()
    report: dict[str, Any] = {part: {} for part in ("machine", "sizes", "graph", "queue")}
    with both(url) as sides:
        report["machine"] = _machine(sides)
        steps = _steps(sides, sorted(sizes), rounds)
        for done, (part, key, step) in enumerate(steps):
            progress(done, len(steps))
            report[part].setdefault(key, {}).update(step())
        progress(len(steps), len(steps))
    return report | {"growth": _growth(report["sizes"])}


def _steps(sides: Sequence[Side], sizes: Sequence[int], rounds: Rounds) -> list[Step]:
    steps: list[Step] = []
    for size in sizes:
        at_size: dict[str, Callable[[], dict[str, Any]]] = {
            "ingest": partial(ingest, sides, size),
            "recall": partial(recalls, sides, rounds.asks),
            "cold": partial(cold, sides, rounds.processes),
            "writes": partial(writes, sides, rounds.writes),
        }
        steps += [("sizes", str(size), partial(_named, part, measured)) for part, measured in at_size.items()]
    walks = partial(engine_walks.measure, edges=rounds.edges, asks=rounds.walks)
    steps += [("graph", side.name, partial(walks, side)) for side in sides]
    steps += [("queue", side.name, partial(engine_queue.measure, side, rounds.injects)) for side in sides]
    return steps


def _named(part: str, measured: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return {part: measured()}


def _machine(sides: Sequence[Side]) -> dict[str, Any]:
    from clew.bench.speed import machine

    [server] = [side.server for side in sides if side.server]
    return machine() | {"postgres": server.server()}


def ingest(sides: Sequence[Side], size: int) -> dict[str, Any]:
    return {side.name: grow(side, size) for side in sides}


def grow(side: Side, size: int) -> dict[str, Any]:
    """Import up to so many memories. On PostgreSQL the indices over vectors are built afterwards."""
    added = size - side.size
    if side.server:
        side.server.drop_vector_indices()
    with side.opened() as memory:
        cpu, started = time.process_time(), time.perf_counter()
        fill(memory, side.size, size)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    side.size = size
    row: dict[str, Any] = {
        "memories": added,
        "per_second": round(added / wall),
        "cpu_us_each": round(cpu / added * 1e6, 1),
    }
    if side.server:
        seconds, bytes = side.server.build_vector_indices()
        side.server.tidy()
        row["vector_index"] = {"built_s": round(seconds, 2), "bytes_per_memory": bytes // size}
    return row | {"bytes_per_memory": side.bytes() // size}


def recalls(sides: Sequence[Side], asks: int) -> dict[str, Any]:
    """Warm, each question to one engine after the other, and the first question of a process."""
    told: dict[str, Any] = {side.name: {} for side in sides}
    for way, scope, megabytes in WAYS:
        with ExitStack() as stack:
            opened = {side.name: stack.enter_context(_asked(side, megabytes)) for side in sides}
            first = {name: _first(memory, scope) for name, memory in opened.items()}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in opened}
            for text in questions(asks):
                for name, memory in opened.items():
                    times[name].append(_timed(partial(memory.recall, text, scope=scope)))
        for name, taken in times.items():
            told[name][way] = {**first[name], "ms": _spread([wall for wall, _cpu in taken])}
            told[name][way]["cpu_ms"] = round(percentile([cpu for _wall, cpu in taken], 0.5) * 1_000, 3)
    return told | {"in_project": in_project(sides[0].size)}


def _asked(side: Side, megabytes: int) -> clew.Clew:
    return side.opened(stays=megabytes > 0, recall={"read_model_mb": megabytes})


def _first(memory: clew.Clew, scope: Scope) -> dict[str, Any]:
    """What is kept of a scope is read by the first question; the model is loaded before. What is kept of its graph
    is read behind the second, and waited for."""
    memory.recall("warm up", scope=Scope(project="nowhere"))
    started = time.perf_counter()
    notes = memory.recall("government water service", scope=scope).trace.notes
    seconds = time.perf_counter() - started
    is_kept = "read_model" not in notes
    if is_kept:
        _wait_for_graph(memory, scope)
    return {"first_ms": round(seconds * 1_000, 1), "is_kept": is_kept}


def _wait_for_graph(memory: clew.Clew, scope: Scope) -> None:
    until = time.perf_counter() + engine_walks.PATIENCE_S
    while time.perf_counter() < until:
        notes = [memory.recall(text, scope=scope).trace.notes for text in questions(5, seed=6)]
        walks = {note.get("graph", {}).get("walk") for note in notes} - {None}
        if "arrays" in walks or not walks:  # nowhere to walk to: nothing will be loaded
            return


def cold(sides: Sequence[Side], runs: int) -> dict[str, Any]:
    """`clew recall` as a process of its own, in turns; the best and the median."""
    words = ("recall", "government water service", "--project", "bench", "--json")
    command = [sys.executable, "-P", "-m", "clew", *words]
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(runs):
        for side in sides:
            environment = {**os.environ, "CLEW_HOME": str(side.home), "CLEW_URL": str(side.place)}
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, start_new_session=True)
            times[side.name].append((time.perf_counter() - started) * 1_000)
    return {
        name: {"best_ms": round(min(taken), 1), "p50_ms": round(percentile(taken, 0.5), 1)}
        for name, taken in times.items()
    }


def writes(sides: Sequence[Side], count: int) -> dict[str, Any]:
    """One durable memory after another, in turns; then by several threads at once."""
    told: dict[str, Any] = {}
    with ExitStack() as stack:
        opened = {side.name: stack.enter_context(side.opened()) for side in sides}
        times: dict[str, list[float]] = {name: [] for name in opened}
        for memory in opened.values():
            memory.remember(f"warm up {count}", scope=PROJECT)
        for text in texts(count, chars=250, seed=sides[0].size + 3):
            for name, memory in opened.items():
                times[name].append(_timed(partial(memory.remember, text, scope=PROJECT))[0])
        for name, memory in opened.items():
            told[name] = {"ms": _spread(times[name]), "threads": THREADS}
            told[name]["concurrent_per_second"] = _together(memory, count, sides[0].size)
    return told


def _together(memory: clew.Clew, count: int, size: int) -> int:
    shares = [list(texts(count, chars=250, seed=size + 100 + thread)) for thread in range(THREADS)]

    def write(contents: list[str]) -> None:
        for content in contents:
            memory.remember(content, scope=PROJECT)

    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, shares))
    return round(THREADS * count / (time.perf_counter() - started))


def _growth(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """How much slower each way is than in the store before, while what is asked stays as large or grows along."""
    found = []
    for one, other in zip(list(rows)[:-1], list(rows)[1:], strict=True):
        for name in ("sqlite", "postgres"):
            for way, _scope, _megabytes in WAYS:
                before, after = (rows[size]["recall"][name][way]["ms"]["p50"] for size in (one, other))
                factor = round(after / max(before, 1e-9), 2)
                found.append({"engine": name, "way": way, "from": int(one), "to": int(other), "factor": factor})
    return found


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": round(percentile(seconds, share / 100) * 1_000, 3) for share in (50, 99)}

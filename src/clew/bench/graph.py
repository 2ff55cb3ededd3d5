"""`clew bench graph`: what a walk through the graph costs as the graph grows, and what writing it costs.

Made-up memories that name services, more often the popular ones, so that nodes differ in degree as they do in life.
Everything goes through the public write path and the public recall path; the time of the walk is that of the
trace's own stage.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clew
from clew.bench.metrics import percentile
from clew.bench.texts import texts
from clew.model.progress import Progress, no_progress

PROJECT = clew.Scope(project="bench")
EDGES_PER_MEMORY = 10  # entity edges, with the default settings
NAMED = 3  # services in one text
BATCH = 500
PATIENCE_S = 300.0  # for the arrays to be loaded


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(args.edges, asks=args.asks, progress=progress)


def run(sizes: list[int], *, asks: int = 300, progress: Progress = no_progress) -> dict[str, Any]:
    """Progress is told in memories written."""
    counts = [max(50, size // EDGES_PER_MEMORY) for size in sizes]
    report: dict[str, Any] = {"graphs": {}}
    done = 0
    for size, count in zip(sizes, counts, strict=True):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            report["graphs"][str(size)] = _row(
                Path(folder), count, asks, lambda written, before=done: progress(before + written, sum(counts))
            )
        done += count
    medians = [row["walk_p50_ms"] for row in report["graphs"].values()]
    if len(medians) > 1:
        report["growth"] = round(medians[-1] / max(medians[0], 1e-9), 2)
    return report


def _row(folder: Path, count: int, asks: int, progress: Any) -> dict[str, Any]:
    with clew.open(folder / "bench.db") as memory:
        started = time.perf_counter()
        for written, _remembered in enumerate(memory.remember_many(drafts(count), scope=PROJECT), 1):
            if written % BATCH == 0:
                progress(written)
        seconds = time.perf_counter() - started
        progress(count)
        by_queries = [_walk_ms(memory, question) for question in _questions(3, count)]
        _wait_for_arrays(memory, count)
        walks = [_walk_ms(memory, question) for question in _questions(asks, count)]
        status = memory.graph.status()
    return {
        "memories": count,
        "edges": status.counts["edges"],
        "written_per_s": round(count / seconds),
        "walk_p50_ms": round(percentile(walks, 0.5), 3),
        "walk_p99_ms": round(percentile(walks, 0.99), 3),
        "first_walk_by_queries_ms": round(by_queries[0], 3),
    }


def drafts(count: int, *, seed: int = 5) -> Iterator[clew.Draft]:
    rng = random.Random(seed)
    for text in texts(count, chars=100, seed=seed):
        named = " ".join(f"Node{_popular(rng, count)}Service" for _ in range(NAMED))
        yield clew.Draft(content=f"{text} {named}")


def _questions(count: int, size: int) -> list[str]:
    rng = random.Random(9)
    return [f"what about Node{_popular(rng, size)}Service" for _ in range(count)]


def _popular(rng: random.Random, count: int) -> int:
    """One of a tenth as many services as memories; a squared draw prefers the first."""
    return int(max(1, count // 10) * rng.random() ** 2)


def _walk_ms(memory: clew.Clew, question: str) -> float:
    """By words: a look at the vectors of 100,000 memories before each walk would measure the processor's cache."""
    recalled = memory.recall(question, scope=PROJECT, plan="graph_mode", retrieval="lexical", counted=False)
    return next((stage.ms for stage in recalled.trace.stages if stage.name == "graph"), 0.0)


def _wait_for_arrays(memory: clew.Clew, size: int) -> None:
    """The second question makes a long-lived process load the graph; wait until it answers from there."""
    until = time.perf_counter() + PATIENCE_S
    question = _questions(1, size)[0]
    while time.perf_counter() < until:
        note = memory.recall(question, scope=PROJECT, plan="graph_mode", counted=False).trace.notes.get("graph", {})
        if note.get("walk") == "arrays":
            return
        time.sleep(0.1)


def table(report: dict[str, Any]) -> str:
    lines = [f"{'edges':>10}{'memories':>10}{'written/s':>11}{'walk p50':>10}{'p99':>10}{'by queries':>12}"]
    lines += [
        f"{row['edges']:>10,}{row['memories']:>10,}{row['written_per_s']:>11,}{row['walk_p50_ms']:>8.2f}ms"
        f"{row['walk_p99_ms']:>8.2f}ms{row['first_walk_by_queries_ms']:>10.1f}ms"
        for row in report["graphs"].values()
    ]
    return "\n".join([*lines, *([f"growth of the walk: {report['growth']}x"] if "growth" in report else [])])

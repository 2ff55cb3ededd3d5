"""`clew bench graph`: what a walk through the graph costs as the graph grows, and what writing it costs.

Made-up memories that name services, more often the popular ones, so that nodes differ in degree as they do in life.
Everything goes through the public write path and the public recall path; the time of the walk in a recall is that
of the trace's own stage. There the memories that are scored grow along with the graph, and leave less of it in the
processor's cache; so the expansion is also timed by itself, from the same seeds, one after another.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import clew
from clew.bench.metrics import percentile
from clew.bench.speed_figures import Taken, answered
from clew.bench.texts import texts
from clew.model.progress import Progress, no_progress
from clew.model.recalled import RecallOptions
from clew.model.scope import Reach
from clew.recall.graph import activation_of, expand
from clew.recall.recall import search
from clew.values import dataclass

PROJECT = clew.Scope(project="bench")
EDGES_PER_MEMORY = 10  # entity edges, with the default settings
NAMED = 3  # services in one text
BATCH = 500
TIMED = ("expansion", "in_recall")
ROUNDS = 5
LEXICAL = RecallOptions(retrieval="lexical", counted=False)
PATIENCE_S = 300.0  # for the arrays to be loaded


class Walked(NamedTuple):
    """A recall that walked: all of it, and its stage of the walk alone."""

    taken: Taken
    walk_ms: float
    way: str  # arrays | queries | "" where there was nowhere to walk


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(args.edges, asks=args.asks, progress=progress)


def run(sizes: list[int], *, asks: int = 300, progress: Progress = no_progress) -> dict[str, Any]:
    """All graphs are asked in turns, so that none has the machine's better minute. Progress is told in memories
    written."""
    counts = [max(50, size // EDGES_PER_MEMORY) for size in sizes]
    with ExitStack() as opened:
        graphs: dict[str, _Asked] = {}
        for size, count in zip(sizes, counts, strict=True):
            done = sum(graph.row["memories"] for graph in graphs.values())
            told = partial(lambda before, written: progress(before + written, sum(counts)), done)
            folder = opened.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            alone = {"in_process": False}  # jobs would be measured along
            memory = opened.enter_context(clew.open(Path(folder) / "bench.db", relate=alone))
            graphs[str(size)] = _filled(memory, count, asks, told)
        for _ in range(ROUNDS):
            for graph in graphs.values():
                graph.ask()
        report: dict[str, Any] = {"graphs": {name: graph.row | graph.times() for name, graph in graphs.items()}}
    rows = list(report["graphs"].values())
    if len(rows) > 1:
        report["growth"] = {part: _growth(rows[0][part], rows[-1][part]) for part in TIMED}
    return report


def _growth(first: dict[str, float], last: dict[str, float]) -> float:
    return round(last["p50_ms"] / max(first["p50_ms"], 1e-9), 2)


@dataclass
class _Asked:
    """A store that is there, what is known of it, and how long its walks took."""

    memory: clew.Clew
    row: dict[str, Any]
    asked: list[str]
    seeds: list[dict[str, float]]
    expansion: list[float] = field(default_factory=list)
    in_recall: list[float] = field(default_factory=list)

    def ask(self) -> None:
        self.in_recall += [one.walk_ms for one in walked(self.memory, self.asked)]
        self.expansion += expansions(self.memory, self.seeds)

    def times(self) -> dict[str, dict[str, float]]:
        return {part: _spread(getattr(self, part)) for part in TIMED}


def _filled(memory: clew.Clew, count: int, asks: int, progress: Callable[[int], None]) -> _Asked:
    started = time.perf_counter()
    for written, _remembered in enumerate(memory.remember_many(drafts(count), scope=PROJECT), 1):
        if written % BATCH == 0:
            progress(written)
    seconds = time.perf_counter() - started
    progress(count)
    by_queries = [one.walk_ms for one in walked(memory, questions(3, count))]
    wait_for_arrays(memory, count)
    row = {
        "memories": count,
        "edges": memory.graph.status().counts["edges"],
        "written_per_s": round(count / seconds),
        "first_walk_by_queries_ms": round(by_queries[0], 3),
    }
    asked = questions(asks, count)
    return _Asked(memory, row, asked, seeds_of(memory, asked))


def _spread(ms: Sequence[float]) -> dict[str, float]:
    return {f"p{share}_ms": round(percentile(ms, share / 100), 3) for share in (50, 99)}


def drafts(count: int, *, seed: int = 5) -> Iterator[clew.Draft]:
    rng = random.Random(seed)
    for text in texts(count, chars=100, seed=seed):
        yield clew.Draft(content=f"{text} {services(rng, count)}")


def services(rng: random.Random, size: int) -> str:
    """What a text of one among so many memories names."""
    return " ".join(f"Node{_popular(rng, size)}Service" for _ in range(NAMED))


def questions(count: int, size: int) -> list[str]:
    """About services of a store of so many memories."""
    rng = random.Random(9)
    return [f"what about Node{_popular(rng, size)}Service" for _ in range(count)]


def _popular(rng: random.Random, count: int) -> int:
    """One of a tenth as many services as memories; a squared draw prefers the first."""
    return int(max(1, count // 10) * rng.random() ** 2)


def walked(memory: clew.Clew, asked: Sequence[str], *, scope: clew.Scope = PROJECT) -> list[Walked]:
    """One recall after the other over a store that is there."""
    return [_walked(memory, question, scope) for question in asked]


def _walked(memory: clew.Clew, question: str, scope: clew.Scope) -> Walked:
    """By words: a look at the vectors of 100,000 memories before each walk would measure the processor's cache."""
    ask = partial(memory.recall, question, scope=scope, plan="graph_mode", retrieval="lexical", counted=False)
    recalled, taken = answered(ask)
    trace = recalled.trace
    ms = next((stage.ms for stage in trace.stages if stage.name == "graph"), 0.0)
    return Walked(taken, ms, str(trace.notes.get("graph", {}).get("walk") or ""))


def seeds_of(memory: clew.Clew, asked: Sequence[str], *, scope: clew.Scope = PROJECT) -> list[dict[str, float]]:
    """Where a recall would begin to walk, and with which weights."""
    reader, now = memory._reader, memory.now()
    runs = [search(text, Reach.of(scope), LEXICAL, reader=reader, now=now) for text in asked]
    found = [dict(run.seeds) for run in runs if run.seeds]
    return [{id: (score / max(seeds.values())) ** 2 for id, score in seeds.items()} for seeds in found]


def expansions(memory: clew.Clew, seeds: Sequence[dict[str, float]], *, scope: clew.Scope = PROJECT) -> list[float]:
    """Milliseconds of the expansion alone."""
    reader, now, reach, taken = memory._reader, memory.now(), Reach.of(scope), []
    settings = activation_of(reader.graph, include_low_confidence=False)
    for given in seeds:
        started = time.perf_counter()
        expand(reader.graphs, reach, given, settings, now=now)
        taken.append((time.perf_counter() - started) * 1_000)
    return taken


def wait_for_arrays(memory: clew.Clew, size: int, *, scope: clew.Scope = PROJECT) -> float:
    """The second question makes a long-lived process load the graph; wait until it answers from there, and tell how
    many seconds that took. Not where there is nowhere to walk, nor for ever: a graph that is too large to be kept
    is never loaded, and walks go on by queries."""
    started = time.perf_counter()
    asked = questions(5, size)
    while (waited := time.perf_counter() - started) < PATIENCE_S:
        ways = {one.way for one in walked(memory, asked, scope=scope)}
        if "arrays" in ways or ways == {""}:
            break
        time.sleep(0.1)
    return waited


def table(report: dict[str, Any]) -> str:
    heads = f"{'expansion p50':>15}{'p99':>8}{'in a recall':>13}{'p99':>8}{'by queries':>12}"
    lines = [f"{'edges':>10}{'memories':>10}{'written/s':>11}{heads}"]
    for row in report["graphs"].values():
        (alone, alone_p99), (within, within_p99) = (row[part].values() for part in TIMED)
        lines.append(
            f"{row['edges']:>10,}{row['memories']:>10,}{row['written_per_s']:>11,}{alone:>13.2f}ms{alone_p99:>6.2f}ms"
            f"{within:>11.2f}ms{within_p99:>6.2f}ms{row['first_walk_by_queries_ms']:>10.1f}ms"
        )
    if "growth" in report:
        lines.append("growth: {expansion}x, in a recall {in_recall}x".format(**report["growth"]))
    return "\n".join(lines)

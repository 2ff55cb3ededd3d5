"""A large graph, put in through the tables, and what walking it costs: hop by hop, in recall, and from memory.

The same edges on every engine: each memory leads to earlier ones, more often to the first, so that some are hubs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

import clew
from clew.bench.engine_sides import LARGE, Side
from clew.bench.metrics import percentile
from clew.bench.texts import questions
from clew.model.graph import Statement
from clew.model.recalled import Trace
from clew.model.scope import Reach

BATCH = 5_000  # edges of one transaction
SEEDS, FRONTIER, HOPS = 10, 200, 3  # nodes a walk starts from; nodes of a later hop; hops
MAX_ENTRIES = 1_024  # read of one node, as recall does
PATIENCE_S = 600.0
EVERY_SEED = {"min_seed_score": 0.0}  # made-up questions are only loosely about made-up memories
REACH = Reach.of(LARGE)


def measure(side: Side, *, edges: int, asks: int) -> dict[str, Any]:
    with side.opened(stays=False, recall={"read_model_mb": 0}) as memory:
        nodes = _nodes(memory)
        written = _write(memory, nodes, edges)
    if side.server:
        side.server.tidy()
    with side.opened(stays=False, recall={"read_model_mb": 0}, graph=EVERY_SEED) as memory:
        hops = _hops(memory, [node for node, _row in nodes], asks)
        by_queries = _walks(memory, asks)
    with side.opened(graph=EVERY_SEED) as memory:
        loaded = _wait_for_arrays(memory)
        from_memory = _walks(memory, asks)
    return {
        "memories": len(nodes), **written, "hops": hops, "loading_s": loaded,
        "by_queries_ms": _spread(by_queries), "from_memory_ms": _spread(from_memory),
    }  # fmt: skip


def _nodes(memory: clew.Clew) -> list[tuple[int, int]]:
    """(node, row) of every memory, in the order in which they came."""
    with memory.store.read() as tx:
        found = tx.graph.scope(REACH, datetime.now(UTC))[0]
    return sorted(((node, row) for _id, node, _until, row in found), key=lambda pair: pair[1])


def _write(memory: clew.Clew, nodes: Sequence[tuple[int, int]], edges: int) -> dict[str, Any]:
    started, count = time.perf_counter(), 0
    stated = _statements(nodes, edges)
    while said := list(islice(stated, BATCH)):
        count += len(said)
        memory.store.write(partial(_state, said=said))
    return {"edges": count, "edges_per_s": round(count / (time.perf_counter() - started))}


def _state(tx: Any, said: Sequence[Statement]) -> None:
    tx.graph.state(REACH.org, said, datetime.now(UTC), new_from=1)


def _statements(nodes: Sequence[tuple[int, int]], edges: int) -> Iterator[Statement]:
    rng, each = random.Random(11), max(1, edges // len(nodes))
    for place, (node, row) in enumerate(nodes):
        others = {int(place * rng.random() ** 2) for _ in range(each)} if place else set()
        for other in sorted(others):
            sure = 0.7 + 0.3 * rng.random()
            yield Statement(str(LARGE.project), node, nodes[other][0], "entity", row, "entity", sure)


def _hops(memory: clew.Clew, nodes: Sequence[int], asks: int) -> list[dict[str, Any]]:
    """Reading what is next to the nodes of each hop, all at once."""
    rng = random.Random(12)
    times: list[list[float]] = [[] for _ in range(HOPS)]
    sizes: list[list[int]] = [[] for _ in range(HOPS)]
    for _ask in range(asks):
        frontier = rng.sample(nodes, min(SEEDS, len(nodes)))
        for hop in range(HOPS):
            started = time.perf_counter()
            found = _next_to(memory, frontier)
            times[hop].append((time.perf_counter() - started) * 1_000)
            sizes[hop].append(len(frontier))
            reached = sorted({entry[0] for both in found.values() for entries in both for entry in entries})
            frontier = rng.sample(reached, min(FRONTIER, len(reached)))
    return [
        {"nodes": round(sum(met) / len(met)), "ms": _spread(took)} for met, took in zip(sizes, times, strict=True)
    ]


def _next_to(memory: clew.Clew, nodes: Sequence[int]) -> dict[int, tuple[list[Any], list[Any]]]:
    now = datetime.now(UTC)
    with memory.store.read() as tx:
        return tx.graph.edges_at_many(REACH, nodes, now=now, moment=now, limit=MAX_ENTRIES)


def _walks(memory: clew.Clew, asks: int) -> list[float]:
    """Milliseconds of the walk's own stage; the first warms up."""
    traces = [_walk(memory, text) for text in questions(asks + 1)][1:]
    return [stage.ms for trace in traces for stage in trace.stages if stage.name == "graph"]


def _walk(memory: clew.Clew, text: str) -> Trace:
    """From what words find: vectors are not what is measured here."""
    return memory.recall(text, scope=LARGE, plan="graph_mode", retrieval="lexical", counted=False).trace


def _wait_for_arrays(memory: clew.Clew) -> float:
    """Seconds from the second question, which makes a process that stays load the graph."""
    started = time.perf_counter()
    text = questions(1)[0]
    while time.perf_counter() < started + PATIENCE_S:
        if _walk(memory, text).notes.get("graph", {}).get("walk") == "arrays":
            return round(time.perf_counter() - started, 2)
        time.sleep(0.05)
    raise RuntimeError("the graph was not loaded")


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": round(percentile(values, share / 100), 3) for share in (50, 99)}

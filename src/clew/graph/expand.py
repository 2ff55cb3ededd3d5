"""From memories to other memories, over the nodes that they hang on. Pure.

The expansion of memories.sh: the nodes of the seeds are hop 0; edges are followed both ways for at most two hops;
a memory that hangs on a node reached is a candidate. The score is that of the last edge. memories.sh cuts by one
score and orders by another, without the edge's weight; here one score does both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from clew.graph.groups import first_best, newcomers
from clew.model.graph import TYPE_WEIGHTS, type_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clew.graph.adjacency import Floats, Kinds, Nodes, Walkable

Memory = TypeVar("Memory", int, str)

MAX_DEPTH = 2
MAX_LIMIT = 50
FAN_OUT = 64
SHARED_NODE = "shared_node"


class Expansion(NamedTuple, Generic[Memory]):
    """A memory that the graph adds, and why."""

    memory: Memory
    via_node: int
    edge_type: str
    hop_count: int
    confidence: float
    score: float
    seed: Memory


class Expanded(NamedTuple, Generic[Memory]):
    expansions: list[Expansion[Memory]]
    total_candidates: int  # before the cut


class _Reason(NamedTuple, Generic[Memory]):
    """How a node was reached: everything of an Expansion between the memory and its seed."""

    via_node: int
    edge_type: str
    hop_count: int
    confidence: float
    score: float
    seed: Memory


def expand(
    graph: Walkable,
    links: Mapping[Memory, Sequence[int]],
    memories_of: Callable[[Nodes], Sequence[Iterable[Memory]]],
    *,
    depth: int = 1,
    limit: int = 8,
    fan_out: int | None = FAN_OUT,
) -> Expanded[Memory]:
    """The best `limit` memories around the seeds: score falling, hops rising, id rising.

    `links` gives, for each seed in order, the nodes it hangs on, its own included. `memories_of` gives, for each of
    some nodes, the memories that hang on it and that the caller may see. Depth is held within 0..2 and limit within
    1..50; at depth 0 nothing is expanded.
    """
    depth, limit = min(max(depth, 0), MAX_DEPTH), min(max(limit, 1), MAX_LIMIT)
    reasons = _shared(links)
    if not depth or not reasons:
        return Expanded([], 0)
    known = frontier = np.array([reason.via_node for reason in reasons], np.int64)
    first = 0
    for hop in range(1, depth + 1):
        nodes, reached = _reach(graph, known, frontier, reasons[first:], hop=hop, fan_out=fan_out)
        first = len(reasons)
        reasons += reached
        known, frontier = np.concatenate((known, nodes)), nodes
    candidates = _candidates(reasons, memories_of(known), links)
    ordered = sorted(candidates, key=lambda one: (-one.score, one.hop_count, one.memory))
    return Expanded(ordered[:limit], len(ordered))


def _shared(links: Mapping[Memory, Sequence[int]]) -> list[_Reason[Memory]]:
    """The nodes of the seeds, each with the first seed that hangs on it."""
    owner: dict[int, Memory] = {}
    for seed, nodes in links.items():
        for node in nodes:
            owner.setdefault(int(node), seed)
    weight = TYPE_WEIGHTS[SHARED_NODE]
    return [_Reason(node, SHARED_NODE, 1, 1.0, weight, seed) for node, seed in owner.items()]


def _reach(
    graph: Walkable,
    known: Nodes,
    frontier: Nodes,
    reasons: Sequence[_Reason[Memory]],
    *,
    hop: int,
    fan_out: int | None,
) -> tuple[Nodes, list[_Reason[Memory]]]:
    """The nodes first reached by this hop, each by its entry of the highest score. `reasons` are the frontier's."""
    found = graph.out(frontier, fan_out=fan_out)
    nodes, ids = newcomers(known, found.target)
    new = (ids >= 0).nonzero()[0]
    scores = _scores(graph.types, found.kind[new], found.weight[new] * found.confidence[new], hop)
    best = first_best(ids[new], scores, nodes.size)
    at = new[best]
    columns = (nodes, found.kind[at], found.confidence[at], scores[best], found.owners[at])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return nodes, [
        _Reason(node, graph.types[kind], hop, confidence, value, reasons[owner].seed)
        for node, kind, confidence, value, owner in rows
    ]


def _scores(types: Sequence[str], kind: Kinds, strength: Floats, hop: int) -> Floats:
    """Type weight times edge weight times confidence, over the hops."""
    weights = np.array([type_weight(name) for name in types], np.float64)
    return np.asarray(weights[kind] * strength / hop)


def _candidates(
    reasons: Iterable[_Reason[Memory]],
    memories: Iterable[Iterable[Memory]],
    seeds: Mapping[Memory, Sequence[int]],
) -> Iterable[Expansion[Memory]]:
    """Each memory that is not a seed, by its nearest node and among these by the one of the highest score."""
    best: dict[Memory, _Reason[Memory]] = {}
    for reason, hanging in zip(reasons, memories, strict=True):
        for memory in hanging:
            if memory in seeds:
                continue
            known = best.get(memory)
            if known is None or (reason.hop_count, -reason.score) < (known.hop_count, -known.score):
                best[memory] = reason
    return [Expansion(memory, *reason) for memory, reason in best.items()]

"""A way through the graph as one reach sees it: what is next to a node, and which nodes are memories.

This one asks the store, hop by hop; `arrays.py` keeps the answers in memory. Both give the same entries in the
same order, so the same pure functions find the same memories; a test compares them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.graph.activation import spread_from
from clew.graph.adjacency import Adjacency
from clew.model.graph import type_weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from clew.graph.activation import Activation, Spread
    from clew.model.scope import Reach
    from clew.ports import Row, Tx

Nodes = NDArray[np.int64]
Entry = tuple[int, float, float, str, int]  # target, weight, confidence, type, until when it counts
Ends = tuple[dict[int, int], dict[int, int]]  # until when nodes and edges count

NEVER = int(np.iinfo(np.int64).max)
MAX_ENTRIES = 1_024  # read of one node, strongest or newest first; a walk follows far fewer
SHARED = "shared_node"
# Types weigh what model/graph.py says, but being named by a memory counts fully (measured: docs/performance.md),
# and what replaces another does not lead to it: the old would be lifted by the new (memories_sh.md W9).
# Likeness leads nowhere: what is near in meaning was compared with the question already (measured there, too).
_FORWARD = {"mention": 1.0, "supersedes": 0.0, "similar_to": 0.0}
# Against their direction: an effect does not lead to its cause, in Engram; what is named says less of who names it;
# what was replaced leads to what replaced it.
_BACKWARD = {"causal": 0.0, "mention": 0.5, "supersedes": type_weight("supersedes")}


class Walk:
    """The graph as one reach sees it at one moment. `nodes` are rows."""

    kind: ClassVar[str] = ""

    def __init__(self) -> None:
        self._kinds: dict[str, int] = {}

    @property
    def types(self) -> Sequence[str]:
        return list(self._kinds)

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        raise NotImplementedError

    def spread(self, seeds: dict[int, float], settings: Activation) -> Spread | None:
        """The memories around nodes of these weights, best first; None when nothing was reached."""
        weights = list(seeds.values())
        return spread_from(self, list(seeds), settings, seed_weights=weights, is_wanted=self.are_memories)

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        raise NotImplementedError

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        raise NotImplementedError

    def are_memories(self, nodes: Nodes) -> NDArray[np.bool_]:
        asked = nodes.tolist()
        found = self.memories_of(asked)
        return np.array([node in found for node in asked], np.bool_)


def entries_of(
    tx: Tx, reach: Reach, nodes: Iterable[int], *, now: datetime, moment: datetime, with_ends: bool = False
) -> dict[int, list[Entry]]:
    """Everything next to each node, strongest first; equals by falling row, so newest first. Who keeps them wants
    to know until when they count; who walks on at once does not."""
    wanted = list(nodes)
    edges = tx.graph.edges_at_many(reach, wanted, now=now, moment=moment, limit=MAX_ENTRIES)
    linked = tx.graph.linked_at_many(reach, wanted, now=now, moment=moment, limit=MAX_ENTRIES)
    ends: Ends = ({}, {})
    if with_ends:
        rows = [row for both in edges.values() for found in both for row in found]
        others = [node for found in linked.values() for node in found] + [row[0] for row in rows]
        ends = tx.graph.ends(reach, [*wanted, *others], [row[4] for row in rows], now=now)
    return {node: _entries(node, edges[node], linked[node], ends) for node in wanted}


def _entries(node: int, both: tuple[list[Row], list[Row]], linked: Sequence[int], ends: Ends) -> list[Entry]:
    starting, ending = both
    nodes, edges = ends
    end = nodes.get(node, NEVER)
    entries = [
        (to, weight * factor(type_), sure, type_, min(end, nodes.get(to, NEVER), edges.get(row, NEVER)))
        for found, factor in ((starting, forward), (ending, backward))
        for to, type_, weight, sure, row in found
    ]
    entries += [(to, type_weight(SHARED), 1.0, SHARED, min(end, nodes.get(to, NEVER))) for to in linked]
    return sorted((entry for entry in entries if entry[1] > 0), key=_strongest_first)


def forward(type_: str) -> float:
    return _FORWARD.get(type_, type_weight(type_))


def backward(type_: str) -> float:
    return _BACKWARD.get(type_, forward(type_))


def _strongest_first(entry: Entry) -> tuple[float, int, str]:
    target, weight, confidence, type_, _until = entry
    return -weight * confidence, -target, type_


class QueryWalk(Walk):
    """Reads nodes when they are asked for, and remembers them for the rest of one recall."""

    kind: ClassVar[str] = "queries"

    def __init__(self, tx: Tx, reach: Reach, *, now: datetime, moment: datetime) -> None:
        super().__init__()
        self._tx, self._reach, self._now, self._moment = tx, reach, now, moment
        self._known: dict[int, list[Entry]] = {}

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        asked = nodes.tolist()
        unknown = dict.fromkeys(node for node in asked if node not in self._known)
        if unknown:
            self._known |= entries_of(self._tx, self._reach, unknown, now=self._now, moment=self._moment)
        return adjacency([self._known[node][:fan_out] for node in asked], self._kinds)

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        return self._tx.graph.own_nodes(self._reach.org, ids)

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        described = self._tx.graph.described(self._reach.org, nodes)
        return {row: node.key for row, node in described.items() if node.type == "memory"}


_KINDS_LOCK = threading.Lock()  # threads share the numbers of the types


def number_kinds(types: Iterable[str], kinds: dict[str, int]) -> None:
    """Types that are met for the first time get the next numbers."""
    new = set(types).difference(kinds)
    if new:
        with _KINDS_LOCK:
            for type_ in sorted(new):
                kinds.setdefault(type_, len(kinds))


def adjacency(found: Sequence[Sequence[Entry]], kinds: dict[str, int]) -> Adjacency:
    flat = [entry for entries in found for entry in entries]
    starts = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(entries) for entries in found], out=starts[1:])
    target, weight, confidence, types, _until = zip(*flat, strict=True) if flat else ((), (), (), (), ())
    number_kinds(types, kinds)
    kind = [kinds[type_] for type_ in types]
    return Adjacency(
        starts,
        np.array(target, np.int64),
        np.array(weight, np.float64),
        np.array(confidence, np.float64),
        np.array(kind, np.int16),
    )

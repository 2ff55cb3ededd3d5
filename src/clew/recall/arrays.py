"""The graph of one reach as arrays: every entry of every node, in the order of `walk.entries_of`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clew.graph.adjacency import Adjacency
from clew.model.times import to_micros
from clew.recall.walk import NEVER, Entry, Nodes, Walk, adjacency, entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.model.scope import Reach
    from clew.ports import Store

BYTES_PER_ENTRY = 40


@dataclass(frozen=True, eq=False)
class Base:
    """All entries of a reach as arrays, those of a node side by side."""

    rows: Nodes  # of the nodes, rising; the last one stands for none
    starts: Nodes
    target: Nodes
    weight: NDArray[np.float64]
    confidence: NDArray[np.float64]
    kind: NDArray[np.int16]
    until: Nodes
    kinds: dict[str, int]
    first_end: int  # when the first entry ends
    memory_nodes: Nodes  # rising; the last one stands for none
    memory_ids: list[str]  # aligned
    by_id: dict[str, int]

    @property
    def nbytes(self) -> int:
        return BYTES_PER_ENTRY * len(self.target) + 200 * len(self.memory_ids)


@dataclass(eq=False)
class ArrayWalk(Walk):
    """From memory. Nodes that changed since the arrays were made are read again when somebody comes by, once."""

    kind: ClassVar[str] = "arrays"
    base: Base
    store: Store
    reach: Reach
    seq: int
    now: datetime
    changed: set[int] = field(default_factory=set)
    patched: dict[int, list[Entry]] = field(default_factory=dict)
    new_ids: dict[str, int] = field(default_factory=dict)
    new_nodes: dict[int, str] = field(default_factory=dict)
    unsettled: dict[str, int] = field(default_factory=dict)  # memories that begin to hold later, and when
    checked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kinds = self.base.kinds

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        if self.changed:
            met = self.changed.intersection(nodes.tolist())
            if met:
                self._read(met.difference(self.patched))
                return self._mixed(nodes, fan_out)
        return self._plain(nodes, fan_out)

    def _read(self, nodes: set[int]) -> None:
        if nodes:
            now = self.now
            with self.store.read() as tx:
                self.patched |= entries_of(tx, self.reach, nodes, now=now, moment=now, with_ends=True)

    def _plain(self, nodes: Nodes, fan_out: int | None) -> Adjacency:
        base = self.base
        at = base.rows.searchsorted(nodes)
        begin = base.starts[at]
        count = base.starts[at + 1] - begin
        count[base.rows[at] != nodes] = 0
        if base.first_end <= to_micros(self.now):
            return self._living(begin, count, fan_out)
        if fan_out is not None:
            count = np.minimum(count, fan_out)
        return self._taken(begin, count)

    def _living(self, begin: Nodes, count: Nodes, fan_out: int | None) -> Adjacency:
        """Without what has ended; the cap counts what is left."""
        found = self._taken(begin, count)
        at = _places(begin, count, found.starts)
        owner = found.owners
        alive = self.base.until[at] > to_micros(self.now)
        order = alive.cumsum()
        first = np.append(0, order)[found.starts[:-1]]
        keep = alive & (order - first[owner] <= fan_out) if fan_out is not None else alive
        starts = np.append(0, np.bincount(owner[keep], minlength=len(begin)).cumsum())
        return Adjacency(starts, found.target[keep], found.weight[keep], found.confidence[keep], found.kind[keep])

    def _taken(self, begin: Nodes, count: Nodes) -> Adjacency:
        starts = np.zeros(len(begin) + 1, np.int64)
        count.cumsum(out=starts[1:])
        at = _places(begin, count, starts)
        base = self.base
        return Adjacency(starts, base.target[at], base.weight[at], base.confidence[at], base.kind[at])

    def _mixed(self, nodes: Nodes, fan_out: int | None) -> Adjacency:
        found: list[Sequence[Entry]] = []
        types, now = list(self._kinds), to_micros(self.now)
        for node in nodes.tolist():
            if node in self.changed:
                found.append([entry for entry in self.patched[node] if entry[4] > now][:fan_out])
            else:
                found.append(_entries(self._plain(np.array([node]), fan_out), types))
        return adjacency(found, self._kinds)

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        known = {id: self.new_ids.get(id) or self.base.by_id.get(id) for id in ids}
        return {id: node for id, node in known.items() if node is not None}

    def are_memories(self, nodes: Nodes) -> NDArray[np.bool_]:
        known = self.base.memory_nodes
        found = known[known.searchsorted(nodes)] == nodes
        if self.new_nodes:
            found |= np.isin(nodes, list(self.new_nodes))
        return np.asarray(found)

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        found = (
            {node: id for node in nodes if (id := self.new_nodes.get(node)) is not None} if self.new_nodes else {}
        )
        base, asked = self.base, [node for node in nodes if node not in found]
        at = base.memory_nodes.searchsorted(asked)
        places = zip(asked, at.tolist(), base.memory_nodes[at].tolist(), strict=True)
        return found | {node: base.memory_ids[place] for node, place, known in places if node == known}


def _places(begin: Nodes, count: Nodes, starts: Nodes) -> Nodes:
    return np.asarray(np.arange(starts[-1]) + (begin - starts[:-1]).repeat(count))


def _entries(found: Adjacency, types: Sequence[str]) -> list[Entry]:
    columns = (found.target.tolist(), found.weight.tolist(), found.confidence.tolist(), found.kind.tolist())
    return [(to, weight, sure, types[kind], NEVER) for to, weight, sure, kind in zip(*columns, strict=True)]

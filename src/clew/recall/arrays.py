"""The graph of one reach as arrays: every entry of every node, in the order of `walk.entries_of`."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.graph.adjacency import Adjacency
from clew.graph.packed import Arrays, Changes, can_spread, spread_packed
from clew.model.times import to_micros
from clew.recall.among import are_among
from clew.recall.walk import NEVER, Entry, Nodes, Walk, entries_of, number_kinds
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clew.graph.activation import Activation, Spread
    from clew.model.scope import Reach
    from clew.ports import Store

# Together, and not an array for each: in a large graph every array that is looked into is another wait for memory.
ENTRY = np.dtype(
    [
        ("target", np.int64),
        ("weight", np.float64),
        ("confidence", np.float64),
        ("until", np.int64),
        ("kind", np.int16),
    ],
    align=True,
)
Entries = NDArray[np.void]  # of ENTRY
SPARSE = 16  # times as many places as numbers a table may have
SMALL = 1 << 18  # places: a table of a megabyte may hold as few numbers as it likes


class Numbering:
    """Where each of some rising numbers stands; any other at the place after the last. A table tells, unless they
    lie too far apart: a search in a large array waits for memory at every step."""

    def __init__(self, numbers: Nodes) -> None:
        size = int(numbers[-1]) + 2 if numbers.size else 1
        self._numbers = self._table = None
        if size <= max(SMALL, SPARSE * numbers.size):
            self._table = np.full(size, numbers.size, np.int32)
            self._table[numbers] = np.arange(numbers.size, dtype=np.int32)
        else:
            self._numbers = np.append(numbers, NEVER)

    def of(self, numbers: Nodes) -> NDArray[np.signedinteger]:
        if self._table is not None:
            return self._table.take(numbers, mode="clip")
        assert self._numbers is not None
        at = self._numbers.searchsorted(numbers)
        return np.where(self._numbers[at] == numbers, at, self._numbers.size - 1)

    @property
    def table(self) -> NDArray[np.int32] | None:
        return self._table

    @property
    def nbytes(self) -> int:
        return sum(kept.nbytes for kept in (self._table, self._numbers) if kept is not None)


@dataclass(frozen=True, eq=False)
class Base:
    """All entries of a reach, those of a node side by side."""

    nodes: Numbering
    starts: Nodes  # by the number of the node; none has no entries
    entries: Entries
    kinds: dict[str, int]
    first_end: int  # when the first entry ends
    memories: Numbering  # of the nodes that are memories
    memory_ids: list[str]  # aligned
    by_id: dict[str, int]

    @cached_property
    def packed(self) -> Arrays | None:
        """For the compiled part; None where a number has to be searched."""
        numbers, memories = self.nodes.table, self.memories.table
        if numbers is None or memories is None:
            return None
        return Arrays(self.entries, self.starts, numbers, memories, len(self.memory_ids))

    @property
    def nbytes(self) -> int:
        arrays = self.entries.nbytes + self.starts.nbytes + self.nodes.nbytes + self.memories.nbytes
        return arrays + 200 * len(self.memory_ids)


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
    patched: dict[int, Entries] = field(default_factory=dict)
    new_ids: dict[str, int] = field(default_factory=dict)
    new_nodes: dict[int, str] = field(default_factory=dict)
    unsettled: dict[str, int] = field(default_factory=dict)  # memories that begin or cease to hold, and when
    checked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kinds = self.base.kinds

    @cached_property
    def next_turn(self) -> int:
        return min(self.unsettled.values(), default=NEVER)

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        begin, count = self._where(nodes)
        changed = self.changed.intersection(nodes.tolist()) if self.changed else None
        if changed:
            self._read(changed.difference(self.patched))
            count[[node in changed for node in nodes.tolist()]] = 0
        found, starts = self._taken(begin, count, fan_out)
        if changed:
            found, starts = self._with_changed(nodes, found, starts, fan_out)
        return Adjacency(starts, found["target"], found["weight"], found["confidence"], found["kind"])

    def spread(self, seeds: dict[int, float], settings: Activation) -> Spread | None:
        packed = self.base.packed
        if packed is None or not can_spread(settings):
            return super().spread(seeds, settings)
        changes = Changes(self.changed, self.patched, self.new_nodes, self.base.first_end, to_micros(self.now))
        try:
            return spread_packed(packed, changes, seeds, settings, lambda: self.types, self._read)
        except FloatingPointError:  # numbers that are not finite
            return super().spread(seeds, settings)

    def _read(self, nodes: set[int]) -> None:
        if nodes:
            now = self.now
            with self.store.read() as tx:
                read = entries_of(tx, self.reach, nodes, now=now, moment=now, with_ends=True)
            number_kinds((entry[3] for entries in read.values() for entry in entries), self._kinds)
            self.patched |= {node: _packed(entries, self._kinds) for node, entries in read.items()}

    def _where(self, nodes: Nodes) -> tuple[Nodes, Nodes]:
        """Where the entries of each node begin, and how many there are."""
        at, starts = self.base.nodes.of(nodes), self.base.starts
        begin = starts.take(at)
        return begin, starts.take(at + 1) - begin

    def _taken(self, begin: Nodes, count: Nodes, fan_out: int | None) -> tuple[Entries, Nodes]:
        now = to_micros(self.now)
        if self.base.first_end > now:
            return _side_by_side(self.base.entries, begin, count if fan_out is None else np.minimum(count, fan_out))
        found, starts = _side_by_side(self.base.entries, begin, count)
        return _living(found, starts, now, fan_out)

    def _with_changed(
        self, nodes: Nodes, found: Entries, starts: Nodes, fan_out: int | None
    ) -> tuple[Entries, Nodes]:
        """With the entries of nodes that changed, in the order of the nodes."""
        now, begin, count = to_micros(self.now), starts[:-1].copy(), np.diff(starts)
        parts, size = [found], found.size
        for place, node in enumerate(nodes.tolist()):
            if node in self.changed:
                entries = self.patched[node]
                entries = entries[entries["until"] > now][:fan_out]
                begin[place], count[place] = size, entries.size
                parts.append(entries)
                size += entries.size
        return _side_by_side(np.concatenate(parts), begin, count)

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        by_id = self.base.by_id
        if not self.new_ids:
            return {id: node for id in ids if (node := by_id.get(id)) is not None}
        known = {id: self.new_ids.get(id) or by_id.get(id) for id in ids}
        return {id: node for id, node in known.items() if node is not None}

    def are_memories(self, nodes: Nodes) -> NDArray[np.bool_]:
        found = self.base.memories.of(nodes) < len(self.base.memory_ids)
        if self.new_nodes:
            found |= are_among(nodes, np.fromiter(self.new_nodes, np.int64, len(self.new_nodes)))
        return np.asarray(found)

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        ids = self.base.memory_ids
        at = self.base.memories.of(np.array(nodes, np.int64)).tolist()
        found = {node: ids[place] for node, place in zip(nodes, at, strict=True) if place < len(ids)}
        if self.new_nodes:
            found |= {node: id for node in nodes if (id := self.new_nodes.get(node)) is not None}
        return found


def _side_by_side(entries: Entries, begin: Nodes, count: Nodes) -> tuple[Entries, Nodes]:
    """`count` entries from each beginning on, and where those of each now begin."""
    starts = np.zeros(len(begin) + 1, np.int64)
    count.cumsum(out=starts[1:])
    at = np.arange(starts[-1])
    at += (begin - starts[:-1]).repeat(count)
    return entries.take(at), starts


def _living(entries: Entries, starts: Nodes, now: int, fan_out: int | None) -> tuple[Entries, Nodes]:
    """Without what has ended; the cap counts what is left."""
    owner = np.arange(len(starts) - 1).repeat(np.diff(starts))
    alive = entries["until"] > now
    order = alive.cumsum()
    first = np.append(0, order)[starts[:-1]]
    keep = alive & (order - first[owner] <= fan_out) if fan_out is not None else alive
    return entries[keep], np.append(0, np.bincount(owner[keep], minlength=len(starts) - 1).cumsum())


def _packed(entries: Sequence[Entry], kinds: dict[str, int]) -> Entries:
    rows = [(to, weight, sure, until, kinds[type_]) for to, weight, sure, type_, until in entries]
    return np.array(rows, ENTRY)

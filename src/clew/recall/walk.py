"""Ways through the graph for one reach: by queries, node by node, or from arrays kept in memory.

Both give a walk the same entries in the same order, so the same pure functions find the same memories; a test
compares them. A process that asks once walks by queries: loading every edge of a scope would cost it more than all
else. One that stays loads the arrays in the background, then keeps them current by the change log: the nodes that
a change touched are read again, the rest stays.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.graph.adjacency import Adjacency
from clew.model.graph import type_weight
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Row, Store, Tx

Nodes = NDArray[np.int64]
Entry = tuple[int, float, float, str, int]  # target, weight, confidence, type, until when it counts

NEVER = int(np.iinfo(np.int64).max)
MAX_ENTRIES = 1_024  # read of one node, strongest or newest first; a walk follows far fewer
MAX_PATCHED = 2_048  # nodes read again before the arrays are made anew
BYTES_PER_ENTRY = 40
SHARED = "shared_node"
# Types weigh what model/graph.py says, but being named by a memory counts fully. Measured: docs/performance.md.
_FORWARD = {"mention": 1.0}
# Against their direction: an effect does not lead to its cause, in Engram; what is named says less of who names it.
_BACKWARD = {"causal": 0.0, "mention": 0.5}


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

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        raise NotImplementedError

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        raise NotImplementedError

    def are_memories(self, nodes: Nodes) -> NDArray[np.bool_]:
        asked = nodes.tolist()
        found = self.memories_of(asked)
        return np.array([node in found for node in asked], np.bool_)


def entries_of(
    tx: Tx, reach: Reach, node: int, *, now: datetime, moment: datetime, with_ends: bool = False
) -> list[Entry]:
    """Everything next to a node, strongest first; equals by falling row, so newest first. Who keeps them wants to
    know until when they count; who walks on at once does not."""
    starting, ending = tx.graph.edges_at(reach, node, now=now, moment=moment, limit=MAX_ENTRIES)
    linked = tx.graph.linked_at(reach, node, now=now, moment=moment, limit=MAX_ENTRIES)
    nodes: dict[int, int] = {}
    edges: dict[int, int] = {}
    if with_ends:
        rows = [row[0] for row in (*starting, *ending)] + linked
        nodes, edges = tx.graph.ends(reach, [node, *rows], [row[4] for row in (*starting, *ending)], now=now)
    end = nodes.get(node, NEVER)
    entries = [
        (to, weight * factor(type_), sure, type_, min(end, nodes.get(to, NEVER), edges.get(row, NEVER)))
        for found, factor in ((starting, forward), (ending, backward))
        for to, type_, weight, sure, row in found
    ]
    entries += [(to, type_weight(SHARED), 1.0, SHARED, min(end, nodes.get(to, NEVER))) for to in linked]
    return sorted((entry for entry in entries if entry[1] > 0), key=_strongest_first)


def forward(type_: str) -> float:
    return _FORWARD.get(type_) or type_weight(type_)


def backward(type_: str) -> float:
    return forward(type_) * _BACKWARD.get(type_, 1.0)


def _strongest_first(entry: Entry) -> tuple[float, int, str]:
    target, weight, confidence, type_, _until = entry
    return -weight * confidence, -target, type_


class QueryWalk(Walk):
    """Reads each node when it is asked for, and remembers it for the rest of one recall."""

    kind: ClassVar[str] = "queries"

    def __init__(self, tx: Tx, reach: Reach, *, now: datetime, moment: datetime) -> None:
        super().__init__()
        self._tx, self._reach, self._now, self._moment = tx, reach, now, moment
        self._known: dict[int, list[Entry]] = {}

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        found = [self._entries(node)[:fan_out] for node in nodes.tolist()]
        return _adjacency(found, self._kinds)

    def _entries(self, node: int) -> list[Entry]:
        if node not in self._known:
            self._known[node] = entries_of(self._tx, self._reach, node, now=self._now, moment=self._moment)
        return self._known[node]

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        return self._tx.graph.own_nodes(self._reach.org, ids)

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        described = self._tx.graph.described(self._reach.org, nodes)
        return {row: node.key for row, node in described.items() if node.type == "memory"}


def _adjacency(found: Sequence[Sequence[Entry]], kinds: dict[str, int]) -> Adjacency:
    flat = [entry for entries in found for entry in entries]
    starts = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(entries) for entries in found], out=starts[1:])
    target, weight, confidence, types, _until = zip(*flat, strict=True) if flat else ((), (), (), (), ())
    kind = [kinds.setdefault(type_, len(kinds)) for type_ in types]
    return Adjacency(
        starts,
        np.array(target, np.int64),
        np.array(weight, np.float64),
        np.array(confidence, np.float64),
        np.array(kind, np.int16),
    )


@dataclass(frozen=True, eq=False)
class Base:
    """All entries of a reach as arrays, those of a node side by side."""

    rows: Nodes  # of the nodes, rising
    starts: Nodes
    target: Nodes
    weight: NDArray[np.float64]
    confidence: NDArray[np.float64]
    kind: NDArray[np.int16]
    until: Nodes
    kinds: dict[str, int]
    has_ends: bool  # whether any entry ends at some time
    memory_nodes: Nodes  # rising
    memory_ids: list[str]  # aligned
    by_id: dict[str, int]

    @property
    def nbytes(self) -> int:
        return BYTES_PER_ENTRY * len(self.target) + 200 * len(self.memory_ids)


@dataclass(eq=False)
class ArrayWalk(Walk):
    """From memory; nodes that changed since the arrays were made are read from `patched` instead."""

    kind: ClassVar[str] = "arrays"
    base: Base
    seq: int
    now: int
    patched: dict[int, list[Entry]] = field(default_factory=dict)
    new_ids: dict[str, int] = field(default_factory=dict)
    new_nodes: dict[int, str] = field(default_factory=dict)
    checked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kinds = self.base.kinds

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        if self.patched and not self.patched.keys().isdisjoint(nodes.tolist()):
            return self._mixed(nodes, fan_out)
        return self._plain(nodes, fan_out)

    def _plain(self, nodes: Nodes, fan_out: int | None) -> Adjacency:
        base = self.base
        at = np.minimum(base.rows.searchsorted(nodes), max(0, base.rows.size - 1))
        known = base.rows[at] == nodes if base.rows.size else np.zeros(len(nodes), np.bool_)
        begin = np.where(known, base.starts[at], 0)
        count = np.where(known, base.starts[at + 1] - begin, 0) if base.rows.size else begin
        if base.has_ends:
            return self._living(begin, count, fan_out)
        if fan_out is not None:
            count = np.minimum(count, fan_out)
        return self._taken(begin, count)

    def _living(self, begin: Nodes, count: Nodes, fan_out: int | None) -> Adjacency:
        """Without what has ended; the cap counts what is left."""
        found = self._taken(begin, count)
        at = _places(begin, count, found.starts)
        owner = found.owners
        alive = self.base.until[at] > self.now
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
        types = list(self._kinds)
        for node in nodes.tolist():
            if node in self.patched:
                found.append([entry for entry in self.patched[node] if entry[4] > self.now][:fan_out])
            else:
                found.append(_entries(self._plain(np.array([node]), fan_out), types))
        return _adjacency(found, self._kinds)

    def nodes_of(self, ids: Sequence[str]) -> dict[str, int]:
        known = {id: self.new_ids.get(id) or self.base.by_id.get(id) for id in ids}
        return {id: node for id, node in known.items() if node is not None}

    def are_memories(self, nodes: Nodes) -> NDArray[np.bool_]:
        known = self.base.memory_nodes
        at = np.minimum(known.searchsorted(nodes), max(0, known.size - 1))
        found = known[at] == nodes if known.size else np.zeros(len(nodes), np.bool_)
        if self.new_nodes:
            found |= np.isin(nodes, list(self.new_nodes))
        return np.asarray(found)

    def memories_of(self, nodes: Sequence[int]) -> dict[int, str]:
        found = {node: id for node in nodes if (id := self.new_nodes.get(node)) is not None}
        base, asked = self.base, np.array([node for node in nodes if node not in found], np.int64)
        if asked.size and base.memory_nodes.size:
            at = np.minimum(base.memory_nodes.searchsorted(asked), base.memory_nodes.size - 1)
            hits = base.memory_nodes[at] == asked
            found |= {int(node): base.memory_ids[place] for node, place in zip(asked[hits], at[hits], strict=True)}
        return found


def _places(begin: Nodes, count: Nodes, starts: Nodes) -> Nodes:
    return np.asarray(np.arange(starts[-1]) + (begin - starts[:-1]).repeat(count))


def _entries(found: Adjacency, types: Sequence[str]) -> list[Entry]:
    columns = (found.target.tolist(), found.weight.tolist(), found.confidence.tolist(), found.kind.tolist())
    return [(to, weight, sure, types[kind], NEVER) for to, weight, sure, kind in zip(*columns, strict=True)]


def load_base(tx: Tx, reach: Reach, now: datetime) -> Base:
    """Everything the reach sees, as arrays in the order of `entries_of`."""
    memories, links, statements, by_users = tx.graph.scope(reach, now)
    node_of = {row: node for _id, node, _until, row in memories}
    until_of = {row: until for _id, _node, until, row in memories}
    edges: dict[int, tuple[Row, int]] = {}
    for statement in statements:
        memory_row, edge = statement[0], statement[1:]
        known = edges[edge[0]][1] if edge[0] in edges else 0
        edges[edge[0]] = (edge, max(known, until_of.get(memory_row, 0)))
    seen = set(node_of.values()) | {node for _row, node in links}
    seen |= {node for edge, _until in edges.values() for node in edge[1:3]}
    for edge in by_users:
        if edge[0] not in edges and edge[1] in seen and edge[2] in seen:
            edges[edge[0]] = (edge, NEVER)
    hidden = _hidden_memories(tx, reach, edges.values(), set(node_of.values()))
    ends = {node: until for _id, node, until, _row in memories}
    flat = list(_flat(edges.values(), hidden, ends))
    for row, node in links:
        if row in node_of:
            end = until_of[row]
            flat += [(node_of[row], node, type_weight(SHARED), 1.0, SHARED, end),
                     (node, node_of[row], type_weight(SHARED), 1.0, SHARED, end)]  # fmt: skip
    return _packed(flat, [(id, node) for id, node, _until, _row in memories], until_of.values())


def _hidden_memories(tx: Tx, reach: Reach, edges: Iterable[tuple[Row, int]], visible: set[int]) -> set[int]:
    """Nodes at the ends of edges that are memories this reach may not see."""
    ends = {node for edge, _until in edges for node in edge[1:3]} - visible
    return {row for row, node in tx.graph.described(reach.org, ends).items() if node.type == "memory"}


def _flat(
    edges: Iterable[tuple[Row, int]], hidden: set[int], ends: dict[int, int]
) -> Iterator[tuple[int, int, float, float, str, int]]:
    for (_row, source, target, type_, weight, confidence), stated_until in edges:
        if source in hidden or target in hidden:
            continue
        until = min(stated_until, ends.get(source, NEVER), ends.get(target, NEVER))
        yield source, target, weight * forward(type_), confidence, type_, until
        if backward(type_):
            yield target, source, weight * backward(type_), confidence, type_, until


def _packed(
    flat: Sequence[tuple[int, int, float, float, str, int]], memories: list[tuple[str, int]], ends: Iterable[int]
) -> Base:
    source, target, weight, confidence, types, until = zip(*flat, strict=True) if flat else ((),) * 6
    names = sorted(set(types))
    kinds = {name: code for code, name in enumerate(names)}
    kind = np.array([kinds[name] for name in types], np.int16)
    owner, to = np.array(source, np.int64), np.array(target, np.int64)
    strength = np.array(weight, np.float64) * np.array(confidence, np.float64)
    order = np.lexsort((kind, -to, -strength, owner))
    rows, first = np.unique(owner[order], return_index=True)
    memories.sort(key=lambda pair: pair[1])
    return Base(
        rows=rows,
        starts=np.append(first, len(order)).astype(np.int64),
        target=to[order],
        weight=np.array(weight, np.float64)[order],
        confidence=np.array(confidence, np.float64)[order],
        kind=kind[order],
        until=np.array(until, np.int64)[order],
        kinds=kinds,
        has_ends=any(end != NEVER for end in ends),
        memory_nodes=np.array([node for _id, node in memories], np.int64),
        memory_ids=[id for id, _node in memories],
        by_id=dict(memories),
    )


class Graphs:
    """Walks by reach. With `in_background`, arrays are loaded from the second question on."""

    def __init__(self, store: Store, *, max_bytes: int, in_background: bool) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._in_background = in_background
        self._kept: OrderedDict[Reach, ArrayWalk] = OrderedDict()
        self._asked: set[Reach] = set()
        self._loading: set[Reach] = set()
        self._lock = threading.Lock()

    @contextmanager
    def walk(self, reach: Reach, *, now: datetime, as_of: datetime | None = None) -> Iterator[Walk]:
        kept = self._current(reach, now) if as_of is None else None
        if kept is not None:
            yield kept
            return
        if self._in_background and as_of is None:
            self._load_later(reach, now)
        with self._store.read() as tx:
            yield QueryWalk(tx, reach, now=now, moment=as_of or now)

    def load(self, reach: Reach, now: datetime) -> ArrayWalk:
        """Make the arrays now."""
        with self._store.read() as tx:
            seq = tx.changes.last(reach.org)
            loaded = ArrayWalk(load_base(tx, reach, now), seq, to_micros(now))
        with self._lock:
            self._kept[reach] = loaded
            self._make_room()
        return loaded

    def _load_later(self, reach: Reach, now: datetime) -> None:
        with self._lock:
            first = reach not in self._asked
            self._asked.add(reach)
            if first or reach in self._loading:
                return
            self._loading.add(reach)
        threading.Thread(target=self._load_quietly, args=(reach, now), name="clew-graph", daemon=True).start()

    def _load_quietly(self, reach: Reach, now: datetime) -> None:
        try:
            self.load(reach, now)
        except Exception as error:  # an extra: questions go on walking by queries, and the next one tries again
            logging.getLogger(__name__).warning("the graph was not loaded: %s", type(error).__name__)
        finally:
            with self._lock:
                self._loading.discard(reach)

    def _current(self, reach: Reach, now: datetime) -> ArrayWalk | None:
        connection, version = self._store.data_version()
        with self._lock:
            kept = self._kept.get(reach)
            if kept is None:
                return None
            self._kept.move_to_end(reach)
        if kept.checked.get(connection) != version:
            fresh = self._refreshed(reach, kept, now)
            with self._lock:
                if fresh is None:
                    self._kept.pop(reach, None)
                    return None
                self._kept[reach] = kept = fresh
            kept.checked[connection] = version
        kept.now = to_micros(now)
        return kept

    def _refreshed(self, reach: Reach, kept: ArrayWalk, now: datetime) -> ArrayWalk | None:
        """With what changed since read again; None when that is too much."""
        with self._store.read() as tx:
            last = tx.changes.last(reach.org)
            if last == kept.seq:
                return kept
            changes = tx.changes.since(reach.org, kept.seq, limit=4 * MAX_PATCHED)
            if changes is None:
                return None
            ids = sorted({change.id for change in changes if change.kind == "memory"})
            touched = set(tx.graph.touched_by(reach.org, ids))
            touched |= {int(change.id) for change in changes if change.kind == "node"}
            if len(kept.patched) + len(touched) > MAX_PATCHED:
                return None
            read = {node: entries_of(tx, reach, node, now=now, moment=now, with_ends=True) for node in touched}
            own = tx.graph.own_nodes(reach.org, ids)
        return ArrayWalk(
            kept.base,
            last,
            to_micros(now),
            kept.patched | read,
            kept.new_ids | own,
            kept.new_nodes | {node: id for id, node in own.items()},
        )

    def _make_room(self) -> None:
        while len(self._kept) > 1 and sum(walk.base.nbytes for walk in self._kept.values()) > self._max_bytes:
            self._kept.popitem(last=False)

"""Read the graph of one reach into arrays: column by column, since a large one has millions of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.model.graph import REINFORCEMENT, type_weight
from clew.recall.among import are_among, not_among
from clew.recall.arrays import ENTRY, Base, Numbering
from clew.recall.walk import NEVER, SHARED, Nodes, backward, forward

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.model.scope import Reach
    from clew.ports import Row, Tx

    Floats = NDArray[np.float64]
    Kinds = NDArray[np.int16]


class _Columns(NamedTuple):
    """Edges, or the entries that they make: from one node to another."""

    source: Nodes
    target: Nodes
    kind: Kinds
    weight: Floats
    confidence: Floats
    until: Nodes

    def taken(self, at: NDArray[Any]) -> _Columns:
        return _Columns(*(column[at] for column in self))


class _Lookup:
    """What belongs to each of some distinct numbers."""

    def __init__(self, numbers: Nodes, values: Nodes) -> None:
        order = numbers.argsort()
        self._numbers, self._values = np.append(numbers[order], NEVER), np.append(values[order], 0)

    def of(self, numbers: Nodes, default: int) -> Nodes:
        at = self._numbers.searchsorted(numbers)
        return np.where(self._numbers[at] == numbers, self._values[at], default)


def load_base(tx: Tx, reach: Reach, now: datetime) -> Base:
    """Everything the reach sees, as arrays in the order of `entries_of`."""
    memories, links, statements, by_users = tx.graph.scope(reach, now)
    ids, nodes, until, rows = _columns(memories, None, np.int64, np.int64, np.int64)
    names = sorted({SHARED, *(statement[4] for statement in statements), *(edge[3] for edge in by_users)})
    kinds = {name: code for code, name in enumerate(names)}
    edges = _edges(tx, reach, now, statements, by_users, kinds, _Lookup(rows, until))
    edges = _between_visible(tx, reach, edges, nodes, _Lookup(nodes, until))
    linking = _linking(links, rows, nodes, until, kinds[SHARED])
    return _packed([*_both_ways(edges, names), *linking], kinds, dict(zip(ids, nodes.tolist(), strict=True)))


def _columns(rows: Sequence[Row], *types: Any) -> list[Any]:
    """One array per column of such a type; as it is where none is named."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    return [one if type_ is None else np.array(one, type_) for one, type_ in zip(columns, types, strict=True)]


def _edges(
    tx: Tx,
    reach: Reach,
    now: datetime,
    statements: Sequence[Row],
    by_users: Sequence[Row],
    kinds: dict[str, int],
    ends: _Lookup,
) -> _Columns:
    """What memories state, and what people linked that no memory states."""
    stated, known = _stated(statements, kinds, ends)
    linked = tx.graph.linked_nodes(reach, {node for edge in by_users for node in edge[1:3]}, now)
    made = [edge[1:] for edge in by_users if edge[0] not in known and linked.issuperset(edge[1:3])]
    source, target, types, weight, sure = _columns(made, np.int64, np.int64, None, float, float)
    more = _Columns(source, target, _coded(types, kinds), weight, sure, np.full(len(made), NEVER))
    return _joined([stated, more])


def _stated(statements: Sequence[Row], kinds: dict[str, int], ends: _Lookup) -> tuple[_Columns, set[int]]:
    """One edge for all memories that state it, and the rows of these edges. It lasts as long as any of them, and is
    as sure as if nobody else stated it."""
    memory, edge, source, target, types, weight, told, base, by_user = _columns(
        statements, np.int64, np.int64, np.int64, np.int64, None, float, float, float, bool
    )
    rows, which, witnesses = np.unique(edge, return_inverse=True, return_counts=True)
    sure = np.where(by_user, told, seen_confidence(told, base, witnesses[which]))
    until = np.zeros(len(rows), np.int64)
    np.maximum.at(until, which, np.where(by_user, NEVER, ends.of(memory, 0)))
    last = np.zeros(len(rows), np.int64)
    last[which] = np.arange(len(which))
    columns = _Columns(source, target, _coded(types, kinds), weight, sure, np.zeros(len(which), np.int64))
    return columns.taken(last)._replace(until=until), set(rows.tolist())


def seen_confidence(confidence: Floats, base: Floats, visible: Nodes) -> Floats:
    """As if there were no other witnesses; the same as the fragment of this name in graph.sql."""
    lowered = np.minimum(confidence, base + REINFORCEMENT * (visible - 1))
    return np.where(confidence <= base, confidence, lowered)


def _coded(types: Iterable[str], kinds: dict[str, int]) -> Kinds:
    return np.fromiter(map(kinds.__getitem__, types), np.int16)


def _between_visible(tx: Tx, reach: Reach, edges: _Columns, nodes: Nodes, ends: _Lookup) -> _Columns:
    """Without the edges of memories that this reach may not see; the others last as long as their ends."""
    strangers = not_among(np.concatenate((edges.source, edges.target)), nodes)
    described = tx.graph.described(reach.org, strangers.tolist())
    hidden = np.array([row for row, node in described.items() if node.type == "memory"], np.int64)
    if hidden.size:
        edges = edges.taken(~(are_among(edges.source, hidden) | are_among(edges.target, hidden)))
    until = np.minimum(ends.of(edges.source, NEVER), ends.of(edges.target, NEVER))
    return edges._replace(until=np.minimum(edges.until, until))


def _both_ways(edges: _Columns, names: Sequence[str]) -> list[_Columns]:
    """An entry each way, as far as the type leads there."""
    found = []
    turned = edges._replace(source=edges.target, target=edges.source)
    for way, factor in ((edges, forward), (turned, backward)):
        weight = way.weight * np.array([factor(name) for name in names])[way.kind]
        leads = np.array([bool(factor(name)) for name in names])[way.kind]
        found.append(way._replace(weight=weight).taken(leads))
    return found


def _linking(links: Sequence[Row], rows: Nodes, nodes: Nodes, until: Nodes, kind: int) -> list[_Columns]:
    """From a memory to what it is linked with, and back."""
    memory, node = _columns(links, np.int64, np.int64)
    own, end = _Lookup(rows, nodes).of(memory, -1), _Lookup(rows, until).of(memory, 0)
    seen = own >= 0
    own, node, end = own[seen], node[seen], end[seen]
    weight, sure = np.full(len(own), type_weight(SHARED)), np.ones(len(own))
    there = _Columns(own, node, np.full(len(own), kind, np.int16), weight, sure, end)
    return [there, there._replace(source=node, target=own)]


def _joined(parts: Sequence[_Columns]) -> _Columns:
    return _Columns(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _packed(parts: Sequence[_Columns], kinds: dict[str, int], by_id: dict[str, int]) -> Base:
    all_ = _joined(parts)
    order = np.lexsort((all_.kind, -all_.target, -(all_.weight * all_.confidence), all_.source))
    source = all_.source[order]
    nodes, first = np.unique(source, return_index=True)
    entries = np.empty(len(order), ENTRY)
    for name in ENTRY.names or ():
        entries[name] = getattr(all_, name)[order]
    memories = sorted(by_id, key=by_id.__getitem__)
    return Base(
        nodes=Numbering(nodes),
        starts=np.append(first, (len(order), len(order))).astype(np.int64),
        entries=entries,
        kinds=kinds,
        first_end=int(entries["until"].min(initial=NEVER)),
        memories=Numbering(np.array([by_id[id] for id in memories], np.int64)),
        memory_ids=memories,
        by_id=by_id,
    )

"""Look around in the graph: what is next to a node, and what there is at all.

In: a view, which is what one reach may see, and what a person calls the node. Out: values without rows. Nothing is
written; asked twice, the answer is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clew.errors import InvalidInput
from clew.model.explored import Explored, ExploredEdge, Neighbor, Neighborhood, SeenEdge, SeenNode
from clew.model.limit import as_whole
from clew.recall.named import View, nodes_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LIMIT = 100
MAX_DEPTH = 3


def neighbors(view: View, text: str, *, limit: int = 20, edge_type: str = "", depth: int = 1) -> Neighborhood:
    """The edges around a node, nearest hop first and strongest first, with who states them."""
    limit = check("limit", limit, MAX_LIMIT)
    depth = check("depth", depth, MAX_DEPTH)
    start = nodes_named(view, text)
    met = _around(view, start, edge_type=edge_type, depth=depth, limit=limit)
    links = _links(view, start.values())
    nodes = start | view.nodes({row for edge in met for row in (edge.here, edge.there)} | {row for _, row in links})
    memories = view.tx.explore.memories_linked(view.reach, start, now=view.now, limit=limit)
    return Neighborhood(
        nodes=tuple(start.values()),
        neighbors=tuple(_neighbor(view, edge, nodes) for edge in met if {edge.here, edge.there} <= nodes.keys()),
        memories=tuple(memory for memory in memories if memory.role != "self"),
        links=tuple((role, nodes[row]) for role, row in links[:limit] if row in nodes),
    )


def explore(view: View, text: str | None = None, *, limit: int = 20) -> Explored:
    """What the explorer shows: the nodes on which most hangs, or the edges and memories of one of them."""
    limit = check("limit", limit, MAX_LIMIT)
    if text is None:
        return Explored(nodes=tuple(view.tx.explore.connected(view.reach, now=view.now, limit=limit)))
    start = nodes_named(view, text)
    edges = view.tx.explore.edges_seen(view.reach, start, now=view.now, limit=limit, newest=True)
    nodes = start | view.nodes({row for edge in edges for row in (edge.source, edge.target)})
    return Explored(
        node=next(iter(start.values())),
        edges=tuple(_explored(view, edge, start, nodes) for edge in edges),
        memories=view.tx.explore.memories_linked(view.reach, start, now=view.now, limit=limit),
    )


def check(name: str, value: int, most: int) -> int:
    """The number itself, as one of Python's own."""
    number = as_whole(value)
    if number is None or not 1 <= number <= most:
        raise InvalidInput(
            f"{name} {str(value)[:20]} is out of range", code="GRAPH_LIMIT_INVALID", next=f"ask for 1 to {most}"
        )
    return number


class _Met(NamedTuple):
    """An edge on the way out: from a node that was known to the one at its other end."""

    hop: int
    edge: SeenEdge
    here: int
    there: int


def _around(view: View, start: Iterable[int], *, edge_type: str, depth: int, limit: int) -> list[_Met]:
    known, frontier = set(start), set(start)
    met: dict[int, _Met] = {}
    for hop in range(1, depth + 1):
        edges = view.tx.explore.edges_seen(
            view.reach, frontier, now=view.now, limit=limit + len(met), edge_type=edge_type
        )
        for edge in edges:
            ends = (edge.source, edge.target) if edge.source in frontier else (edge.target, edge.source)
            met.setdefault(edge.row, _Met(hop, edge, *ends))
        frontier = {edge.there for edge in met.values() if edge.hop == hop} - known
        known |= frontier
        if len(met) >= limit or not frontier:
            break
    return list(met.values())[:limit]


def _neighbor(view: View, met: _Met, nodes: dict[int, SeenNode]) -> Neighbor:
    edge = met.edge
    return Neighbor(
        hop=met.hop,
        direction="outbound" if met.here == edge.source else "inbound",
        edge_type=edge.type,
        weight=edge.weight,
        confidence=edge.confidence,
        near=nodes[met.here],
        node=nodes[met.there],
        evidence=view.witnesses(edge.row),
    )


def _links(view: View, start: Iterable[SeenNode]) -> Sequence[tuple[str, int]]:
    """(role, row) of what a memory hangs on; nothing for other nodes."""
    ids = [node.key for node in start if node.type == "memory"]
    found = view.tx.explore.named_by(view.reach, ids, now=view.now) if ids else []
    return [(role, row) for _id, row, role in found if role != "self"]


def _explored(view: View, edge: SeenEdge, start: dict[int, SeenNode], nodes: dict[int, SeenNode]) -> ExploredEdge:
    return ExploredEdge(
        edge=edge,
        direction="outbound" if edge.source in start else "inbound",
        source=nodes[edge.source],
        target=nodes[edge.target],
        evidence=view.witnesses(edge.row),
    )

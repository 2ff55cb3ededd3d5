"""How two nodes hang together: the shortest way between them, and of several the surest. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.groups import first_best, newcomers, strongest
from clew.graph.settings import DEFAULT_FLOOR

if TYPE_CHECKING:
    from clew.graph.adjacency import Floats, Kinds, Nodes, Walkable

MAX_HOPS = 4
FAN_OUT = 64
MAX_FRONTIER = 1024  # the surest nodes of a hop go on, so a way through very many others may be missed


class Path(NamedTuple):
    """A way from node to node. Types and confidences have one entry per step."""

    nodes: tuple[int, ...]
    types: tuple[str, ...]
    confidences: tuple[float, ...]

    @property
    def confidence(self) -> float:
        """That all steps hold."""
        return float(np.prod(self.confidences))


class _Hop(NamedTuple):
    """The nodes first reached in one hop, and by which entry each is reached most surely."""

    nodes: Nodes
    parent: Nodes  # which of the nodes that went on from the hop before
    confidence: Floats
    kind: Kinds
    product: Floats
    kept: Nodes  # those that go on


def strongest_path(
    graph: Walkable,
    start: int,
    goal: int,
    max_hops: int = MAX_HOPS,
    floor: float = DEFAULT_FLOOR,
    *,
    fan_out: int | None = FAN_OUT,
) -> Path | None:
    """The way with the fewest hops, of these the one with the greatest product of confidences; None without a way.

    Edges below the floor are not followed. From a node to itself it takes no step.
    """
    if start == goal:
        return Path((start,), (), ())
    known = frontier = np.array([start], np.int64)
    hops: list[_Hop] = []
    product = np.ones(1)
    for _ in range(max_hops):
        hop = _step(graph, known, frontier, product, floor=floor, fan_out=fan_out)
        hops.append(hop)
        if (at := (hop.nodes == goal).nonzero()[0]).size:
            return _back(hops, int(at[0]), start, graph)
        known = np.concatenate((known, hop.nodes))
        frontier, product = hop.nodes[hop.kept], hop.product[hop.kept]
    return None


def _step(
    graph: Walkable, known: Nodes, frontier: Nodes, product: Floats, *, floor: float, fan_out: int | None
) -> _Hop:
    """A shortest way meets each node at its own hop, so the best way to a hop's nodes leads over the hop before."""
    found = graph.out(frontier, fan_out=fan_out)
    # An edge below the floor leads, as it were, back to the start, which is never new.
    nodes, ids = newcomers(known, np.where(found.confidence >= floor, found.target, known[0]))
    new = (ids >= 0).nonzero()[0]
    owner = found.owners[new]
    products = product[owner] * found.confidence[new]
    best = first_best(ids[new], products, nodes.size)
    at, reached = new[best], products[best]
    kept = strongest(reached, MAX_FRONTIER)
    return _Hop(nodes, owner[best], found.confidence[at], found.kind[at], reached, kept)


def _back(hops: list[_Hop], at: int, start: int, graph: Walkable) -> Path:
    steps: list[tuple[int, str, float]] = []
    for number in range(len(hops) - 1, -1, -1):
        hop = hops[number]
        steps.append((int(hop.nodes[at]), graph.types[hop.kind[at]], float(hop.confidence[at])))
        at = int(hops[number - 1].kept[hop.parent[at]]) if number else at
    nodes, types, confidences = zip(*reversed(steps), strict=True)
    return Path((start, *nodes), types, confidences)

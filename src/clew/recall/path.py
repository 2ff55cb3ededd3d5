"""How two things hang together: the shortest way between them, of several the surest.

What memories state comes first, whichever way it points. Only if that does not connect the two, ways over memories
that merely name both, or share a tag, are tried: they say that two things have to do with each other, not what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.errors import NotFound
from clew.graph.adjacency import Adjacency, Nodes
from clew.graph.paths import Path, strongest_path
from clew.model.explored import SHARED, FoundPath, SeenEdge, SeenNode, Step
from clew.recall.explore import check
from clew.recall.named import View, nodes_named

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_HOPS = 8
MAX_PAIRS = 64  # of nodes, when several projects know things of these names
MAX_EDGES = 4_096  # read in one hop

Entry = tuple[int, float, float, str]  # where to, weight, confidence, type


def path(view: View, start: str, goal: str, *, max_hops: int = 4) -> FoundPath:
    """The way from one node to another; NotFound without one."""
    max_hops = check("max-hops", max_hops, MAX_HOPS)
    sources, targets = nodes_named(view, start), nodes_named(view, goal)
    pairs = [(source, target) for source in sources for target in targets][:MAX_PAIRS]
    for shared in (False, True):
        ways = Ways(view, shared=shared)
        found = [way for pair in pairs if (way := strongest_path(ways, *pair, max_hops, 0.0))]
        if found:
            return _told(view, min(found, key=lambda way: (len(way.types), -way.confidence)), ways)
    raise NotFound(
        f"no path from '{start[:60]}' to '{goal[:60]}' within {max_hops} hop{'s'[: max_hops > 1]}",
        code="GRAPH_PATH_NOT_FOUND",
        next=f"allow more with --max-hops, up to {MAX_HOPS}, or look at one side: clew graph neighbors NODE",
    )


def _told(view: View, way: Path, ways: Ways) -> FoundPath:
    nodes: dict[int, SeenNode] = view.nodes(way.nodes)
    pairs = zip(way.nodes, way.nodes[1:], strict=False)
    steps = [
        _step(view, ways.edges.get((*pair, type_)), pair[0], confidence)
        for pair, type_, confidence in zip(pairs, way.types, way.confidences, strict=True)
    ]
    return FoundPath(tuple(nodes[row] for row in way.nodes), tuple(steps), way.confidence)


def _step(view: View, edge: SeenEdge | None, here: int, confidence: float) -> Step:
    if edge is None:
        return Step(SHARED, "outbound", confidence)
    direction = "outbound" if edge.source == here else "inbound"
    return Step(edge.type, direction, confidence, view.witnesses(edge.row))


class Ways:
    """The graph for finding paths: edges lead both ways; with `shared`, so do links. One query per hop."""

    def __init__(self, view: View, *, shared: bool) -> None:
        self._view, self._shared = view, shared
        self._kinds: dict[str, int] = {}
        self._known: dict[int, list[Entry]] = {}
        self.edges: dict[tuple[int, int, str], SeenEdge] = {}  # by the step that they allow

    @property
    def types(self) -> Sequence[str]:
        return list(self._kinds)

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        rows = nodes.tolist()
        self._read([row for row in rows if row not in self._known])
        return self._packed([self._known[row][:fan_out] for row in rows])

    def _read(self, rows: Sequence[int]) -> None:
        """What is stated, strongest first, then links. Not where memories are filed: that connects everything."""
        view = self._view
        fresh: dict[int, list[Entry]] = {row: [] for row in rows}
        stated = view.tx.explore.edges_seen(view.reach, rows, now=view.now, limit=MAX_EDGES, only="stated")
        for edge in stated:
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                if here in fresh:
                    fresh[here].append((there, edge.weight, edge.confidence, edge.type))
                    self.edges.setdefault((here, there, edge.type), edge)
        if self._shared:
            for here, there in view.tx.explore.beside(view.reach, rows, now=view.now, limit=MAX_EDGES):
                fresh[here].append((there, 1.0, 1.0, SHARED))
        self._known |= fresh

    def _packed(self, found: Sequence[Sequence[Entry]]) -> Adjacency:
        flat = [entry for entries in found for entry in entries]
        starts = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(entries) for entries in found], out=starts[1:])
        return Adjacency(
            starts,
            np.array([entry[0] for entry in flat], np.int64),
            np.array([entry[1] for entry in flat], np.float64),
            np.array([entry[2] for entry in flat], np.float64),
            np.array([self._kinds.setdefault(entry[3], len(self._kinds)) for entry in flat], np.int16),
        )

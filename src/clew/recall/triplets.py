"""Facts of the graph that matter to a question: `Source → relation → Target`, the most important first.

In: a view, the question, and the memories that recall found for it, with their relevance. The seeds are the things
that the question names, at distance 0, and what the memories name, as far away as the best of them is irrelevant.
Nodes that only the walk finds lie farther with every hop. Without a question, the surest facts, newest first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clew.graph.triplets import importance, traversal_distance
from clew.model.explored import Fact, Facts, SeenEdge
from clew.recall.explore import MAX_LIMIT, check
from clew.recall.named import View, nodes_of
from clew.remember.things import thing_named, things_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.model.graph import Node
    from clew.model.recalled import Result

SEED_MEMORIES = 10  # Rensei's topK
DEPTH = 2  # Rensei's neighborhoodDepth
MAX_EDGES = 2_048  # read in one hop
_SEEDING = frozenset(("self", "tag", "category", "mention"))

Distances = dict[int, float]


class _Ranked(NamedTuple):
    importance: float
    edge: SeenEdge
    source: Node
    target: Node

    @property
    def order(self) -> tuple[float, float, str, str, str, str]:
        """Most important first, then the surer, then by the alphabet."""
        edge = self.edge
        return -self.importance, -edge.confidence, self.source.name, edge.type, self.target.name, edge.id


def triplets(
    view: View,
    query: str | None = None,
    recalled: Sequence[tuple[str, float]] = (),
    *,
    limit: int = 10,
    depth: int = DEPTH,
    of_things: bool = False,
) -> Facts:
    """`recalled` are ids with relevances, best first; `depth` is how many hops the walk takes from the seeds.
    `of_things`: none that only says how memories hang together."""
    limit = check("limit", limit, MAX_LIMIT)
    if query is None:
        edges = view.tx.explore.facts_seen(view.reach, now=view.now, limit=limit)
        ends = dict.fromkeys((row for edge in edges for row in (edge.source, edge.target)), 0.0)
        ranked = _ranked(view, edges, ends)
    else:
        ranked = _best(view, _seeds(view, query, recalled), limit=limit, depth=depth, of_things=of_things)
    return Facts(tuple(_facts(view, ranked)), query)


def triplets_around(view: View, nodes: Iterable[int], *, limit: int = 10, depth: int = DEPTH) -> Facts:
    """Facts of things near these nodes, given by their rows."""
    limit = check("limit", limit, MAX_LIMIT)
    seeds = dict.fromkeys(nodes, 0.0)
    return Facts(tuple(_facts(view, _best(view, seeds, limit=limit, depth=depth, of_things=True))))


def recalled_seeds(results: Iterable[Result], *, top_k: int = SEED_MEMORIES) -> list[tuple[str, float]]:
    """The best memories for a question; rules come along only if they say something about it."""
    relevant = [(result.memory.id, result.relevance) for result in results if result.relevance > 0]
    return sorted(relevant, key=lambda pair: (-pair[1], pair[0]))[:top_k]


def _best(view: View, seeds: Distances, *, limit: int, depth: int, of_things: bool) -> list[_Ranked]:
    distances, edges = _walked(view, seeds, depth, only="things" if of_things else "facts")
    return sorted(_ranked(view, edges, distances), key=lambda one: one.order)[:limit]


def _seeds(view: View, query: str, recalled: Sequence[tuple[str, float]]) -> Distances:
    named = [thing.ref for thing in things_in(query)]
    whole = thing_named(query)
    distances = dict.fromkeys(nodes_of(view, [*named, *([whole] if whole else [])]), 0.0)
    relevance = dict(recalled)
    for id, node, role in view.tx.explore.named_by(view.reach, list(relevance), now=view.now):
        if role in _SEEDING:
            distances[node] = min(distances.get(node, 1.0), 1 - relevance[id])
    return distances


def _walked(view: View, seeds: Distances, depth: int, *, only: str) -> tuple[Distances, list[SeenEdge]]:
    """How far every node within reach of the walk is, and the facts that it came along."""
    distances, nearest_seed, frontier = dict(seeds), dict(seeds), list(seeds)
    edges: dict[int, SeenEdge] = {}
    for hop in range(1, depth + 1):
        found = view.tx.explore.edges_seen(view.reach, frontier, now=view.now, limit=MAX_EDGES, only=only)
        edges |= {edge.row: edge for edge in found}
        fresh: Distances = {}
        for edge in found:
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                if here in nearest_seed and there not in nearest_seed:
                    fresh[there] = min(fresh.get(there, 1.0), nearest_seed[here])
        distances |= {node: traversal_distance(nearest, hop) for node, nearest in fresh.items()}
        nearest_seed |= fresh
        frontier = list(fresh)
    return distances, list(edges.values())


def _ranked(view: View, edges: Sequence[SeenEdge], distances: Distances) -> list[_Ranked]:
    nodes = view.tx.graph.described(view.reach.org, [row for edge in edges for row in (edge.source, edge.target)])
    return [_scored(edge, nodes[edge.source], nodes[edge.target], distances) for edge in edges]


def _scored(edge: SeenEdge, source: Node, target: Node, distances: Distances) -> _Ranked:
    near = distances[edge.source], distances[edge.target]
    score = importance(*near, source.importance_weight, target.importance_weight, edge.feedback_weight)
    return _Ranked(score, edge, source, target)


def _facts(view: View, ranked: Sequence[_Ranked]) -> Iterator[Fact]:
    """As they may be shown; only these are asked for their labels and witnesses."""
    nodes = view.nodes(row for one in ranked for row in (one.edge.source, one.edge.target))
    for score, edge, _source, _target in ranked:
        if edge.source in nodes and edge.target in nodes:
            evidence = view.witnesses(edge.row)
            yield Fact(nodes[edge.source], edge.type, nodes[edge.target], score, edge.confidence, evidence)

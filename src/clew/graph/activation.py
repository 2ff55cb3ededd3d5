"""Spreading activation: which nodes lie near the seeds, how near, and by which way. Pure.

Engram's search is breadth-first: an entry adds weight * confidence * decay^hop to the node it leads to, every time
one is traversed; each node is expanded once; seeds never score. That is `compat`. In `personalised` the strongest
way to a node counts, not their number, what a seed gives depends on the seed, and seeds score by what other seeds
give them: among results that are all seeds, the graph would otherwise have no say.

A whole hop is one set of array operations. The seeds are put before all entries as if they had been touched first.
Then "not seen before" is "a group that begins in this hop", and neither visited marks nor anything else as large
as the graph is needed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.groups import Groups, first_best, group, highest, strongest, summed
from clew.graph.refine import hub_damping, inhibit, refine
from clew.graph.settings import Activation, Refinement
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from clew.graph.adjacency import Adjacency, Floats, Kinds, Nodes, Walkable

__all__ = ["Activated", "Activation", "Refinement", "Spread", "spread", "spread_from"]


MAX_ASKED = 128  # nodes of which it is asked whether they are wanted; the rest is too weak to be a result


class Activated(NamedTuple):
    """A node that was reached. Of the entries of the least hop, the one that contributed most says how."""

    node: int
    score: float
    seed: int
    hop: int
    decayed_weight: float  # what that entry contributed
    type: str
    edge_confidence: float
    path: tuple[int, ...]  # from the seed to the node
    edge_confidences: tuple[float, ...]  # one per step of the path

    @property
    def path_confidence(self) -> float:
        """The strongest edge along the path."""
        return max(self.edge_confidences)


Chain = tuple[tuple[int, ...], tuple[float, ...]]  # a path and its confidences


class Last(NamedTuple):
    """The entry by which a node was reached."""

    share: float
    confidence: float
    number: int  # of the expanded node that it leaves
    hop: int
    kind: int


class Spread:
    """What a spread found, best first: the nodes and their scores. How each was reached is worked out when somebody
    asks: most of what is found is never shown."""

    def __init__(self, nodes: list[int], scores: list[float], types: Sequence[str]) -> None:
        self.nodes, self.scores, self._types = nodes, scores, types

    def activated(self, at: int) -> Activated:
        """All about one of the nodes."""
        last = self._last(at)
        path, confidences = self._chain(last.number)
        return Activated(
            self.nodes[at],
            self.scores[at],
            path[0],
            last.hop,
            last.share,
            self._types[last.kind],
            last.confidence,
            (*path, self.nodes[at]),
            (*confidences, last.confidence),
        )

    def _last(self, at: int) -> Last:
        raise NotImplementedError

    def _chain(self, number: int) -> Chain:
        """The way to an expanded node from the seed on whose behalf it was expanded, and its confidences."""
        raise NotImplementedError


class _Searched(Spread):
    def __init__(self, search: _Search, part: Nodes, scores: Floats, types: Sequence[str]) -> None:
        """`part`: the groups that were found, with these scores."""
        super().__init__(search.groups.nodes[part].tolist(), scores.tolist(), types)
        self._search, self._part = search, part

    @cached_property
    def _winners(self) -> Nodes:
        return _winners(self._search)

    def _last(self, at: int) -> Last:
        entries, entry = self._search.entries, self._winners[self._part[at]]
        return Last(
            float(entries.share[entry]),
            float(entries.confidence[entry]),
            int(entries.parent[entry]),
            int(entries.hop[entry]),
            int(entries.kind[entry]),
        )

    def _chain(self, number: int) -> Chain:
        return _chain(self._search, self._winners, number)


class _Entries(NamedTuple):
    """What was traversed, in order. The first entries, one per seed, stand for the seeds themselves."""

    target: Nodes
    share: Floats
    confidence: Floats
    kind: Kinds
    parent: Nodes  # which of the expanded nodes it leaves
    hop: Nodes

    def taken(self, at: NDArray[np.bool_]) -> _Entries:
        return _Entries(
            self.target[at], self.share[at], self.confidence[at], self.kind[at], self.parent[at], self.hop[at]
        )

    def followed_by(self, more: _Entries) -> _Entries:
        return _Entries(
            np.concatenate((self.target, more.target)),
            np.concatenate((self.share, more.share)),
            np.concatenate((self.confidence, more.confidence)),
            np.concatenate((self.kind, more.kind)),
            np.concatenate((self.parent, more.parent)),
            np.concatenate((self.hop, more.hop)),
        )


@dataclass(slots=True)
class _Search:
    """The state of one search. An expanded node is known by its number in the order of expansion."""

    entries: _Entries
    groups: Groups
    scores: Floats  # per group
    seeds: int
    expanded: Nodes  # the group of each expanded node
    origin: Nodes  # the seed that reached it first
    chains: dict[int, Chain]


def spread(
    graph: Walkable,
    seeds: Sequence[int],
    settings: Activation,
    *,
    seed_weights: Sequence[float] | None = None,
    is_wanted: Callable[[Nodes], NDArray[np.bool_]] | None = None,
) -> list[Activated]:
    """The nodes around the seeds, best first; equals in the order in which they were first touched.

    `seed_weights`, one per seed, scale what each seed gives, in the personalised refinement only. `is_wanted` says
    which nodes may be results: the others pass activation on, and neither compete with these nor count.
    """
    found = spread_from(graph, seeds, settings, seed_weights=seed_weights, is_wanted=is_wanted)
    return [found.activated(at) for at in range(len(found.nodes))] if found else []


def spread_from(
    graph: Walkable,
    seeds: Sequence[int],
    settings: Activation,
    *,
    seed_weights: Sequence[float] | None = None,
    is_wanted: Callable[[Nodes], NDArray[np.bool_]] | None = None,
) -> Spread | None:
    """The same for those who want to know of few nodes how they were reached; None when nothing was."""
    start = list(dict.fromkeys(seeds))
    if not start or not settings.max_steps:
        return None
    given = _given(seeds, seed_weights) if settings.refinement == "personalised" else None
    search = _search(graph, np.array(start, np.int64), settings, given)
    nodes, scores = search.groups.nodes, search.scores
    part = np.flatnonzero(scores) if given is not None else np.arange(search.seeds, nodes.size)
    if not part.size:
        return None
    scores = refine(graph, nodes[part], scores[part], settings)
    if is_wanted is not None:
        near = strongest(scores, max(MAX_ASKED, 4 * (settings.max_expanded or scores.size)))
        part, scores = part[near], scores[near]
        wanted = is_wanted(nodes[part])
        part, scores = part[wanted], scores[wanted]
    if settings.beta is not None:
        scores = inhibit(scores, settings.beta, settings.top_m)
    kept = strongest(scores, scores.size if settings.max_expanded is None else settings.max_expanded)
    kept = kept[(-scores[kept]).argsort(kind="stable")]
    return _Searched(search, part[kept], scores[kept], graph.types)


def _given(seeds: Sequence[int], weights: Sequence[float] | None) -> Floats:
    """What each distinct seed gives; of a seed that is named twice, its first weight."""
    first: dict[int, float] = {}
    for seed, weight in zip(seeds, [1.0] * len(seeds) if weights is None else weights, strict=True):
        first.setdefault(seed, weight)
    return np.array(list(first.values()), np.float64)


def _search(graph: Walkable, seeds: Nodes, settings: Activation, given: Floats | None) -> _Search:
    search = _begin(seeds)
    frontier, numbers = seeds, search.expanded
    left = settings.max_expanded
    for hop in range(1, settings.max_steps + 1):
        found = graph.out(frontier, fan_out=settings.fan_out)
        if not found.target.size:
            break
        factors = None if given is None else given[search.origin[numbers]] * hub_damping(found.degrees)
        before = search.groups.nodes.size
        _add(search, _traverse(search, found, numbers, hop, settings, factors), sums=given is None)
        fresh = search.scores[before:]
        chosen = strongest(fresh, fresh.size if left is None else left)
        if hop == settings.max_steps or not chosen.size:
            break
        left = None if left is None else left - chosen.size
        chosen += before
        frontier, numbers = search.groups.nodes[chosen], _expand(search, chosen)
    return search


def _begin(seeds: Nodes) -> _Search:
    count = seeds.size
    numbers, zero = np.arange(count), np.zeros(count)
    entries = _Entries(seeds, zero, zero, np.zeros(count, np.int16), numbers, np.zeros(count, np.int64))
    chains: dict[int, Chain] = {number: ((seed,), ()) for number, seed in enumerate(seeds.tolist())}
    return _Search(entries, Groups(seeds, numbers, numbers), zero, count, numbers, numbers, chains)


def _traverse(
    search: _Search, found: Adjacency, numbers: Nodes, hop: int, settings: Activation, factors: Floats | None
) -> _Entries:
    """The entries of one hop, without those that return to the seed they come from: no seed feeds itself."""
    owner = found.owners
    share = found.weight * found.confidence * settings.decay**hop
    if factors is not None:
        share *= factors[owner]
    allowed = found.confidence >= settings.confidence_floor
    allowed &= found.target != search.groups.nodes[search.origin[numbers[owner]]]
    entries = _Entries(found.target, share, found.confidence, found.kind, numbers[owner], np.full(owner.size, hop))
    return entries if allowed.all() else entries.taken(allowed)


def _add(search: _Search, more: _Entries, *, sums: bool) -> None:
    """Sums in the order of traversal, so that what is equal in Engram is equal here to the last bit."""
    search.entries = search.entries.followed_by(more)
    search.groups = group(search.entries.target)
    score = summed if sums else highest
    search.scores = score(search.groups.ids, search.entries.share, search.groups.nodes.size)


def _expand(search: _Search, chosen: Nodes) -> Nodes:
    """Notes the groups as expanded, each on behalf of the seed that touched it first."""
    numbers = np.arange(search.expanded.size, search.expanded.size + chosen.size)
    origin = search.origin[search.entries.parent[search.groups.first[chosen]]]
    search.expanded = np.concatenate((search.expanded, chosen))
    search.origin = np.concatenate((search.origin, origin))
    return numbers


def _winners(search: _Search) -> Nodes:
    """Per group the entry that tells how its node was reached."""
    entries, groups = search.entries, search.groups
    is_nearest = entries.hop == entries.hop[groups.first][groups.ids]
    is_nearest |= (groups.ids < search.seeds) & (entries.hop > 0)  # a seed is reached by others, if at all
    return first_best(groups.ids, np.where(is_nearest, entries.share, -np.inf), groups.nodes.size)


def _chain(search: _Search, winners: Nodes, number: int) -> Chain:
    """The way to an expanded node from the seed on whose behalf it was expanded, and its confidences.

    That is the way by the best entries, unless the best entry came from another seed: then by the first entry.
    """
    if (known := search.chains.get(number)) is not None:
        return known
    at = search.expanded[number]
    entry, parents = winners[at], search.entries.parent
    if search.origin[parents[entry]] != search.origin[number]:
        entry = search.groups.first[at]
    path, confidences = _chain(search, winners, int(parents[entry]))
    node, confidence = int(search.groups.nodes[at]), float(search.entries.confidence[entry])
    chain = search.chains[number] = (*path, node), (*confidences, confidence)
    return chain

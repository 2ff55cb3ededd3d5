"""What becomes of the scores of a spread: mass flows between the nodes found, the strong subdue the weak. Pure.

Two refinements. `compat` is Engram's: a lazy walk without return, which draws the mass to where the found nodes
hang together most and forgets how near the seeds were. `personalised` returns to the activation at every step, so
nearness stays. Both keep the total, so that their scores compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.groups import locate, strongest, summed
from clew.graph.pagerank import DAMPING, walk

if TYPE_CHECKING:
    from clew.graph.adjacency import Floats, Nodes, Walkable
    from clew.graph.settings import Activation

# Of the personalised walk. At 0.85 the middle of a chain still overtakes the node next to the seed; at 0.25 the
# near stay ahead on chains of one-way and of two-way edges, and nodes that support one another still gain.
FLOW = 0.25
MAX_REFINED = 64  # the strongest take part, the others keep their score: the work of a call stays bounded


class _Subgraph(NamedTuple):
    """The entries between the nodes that take part, which are numbered 0..n-1."""

    source: Nodes
    target: Nodes
    strength: Floats


def hub_damping(degrees: Nodes) -> Floats:
    """A node that leads everywhere says little about each place: 1 for one entry, 0.38 for 64."""
    if degrees.size and degrees.max() < len(DAMPED):
        return DAMPED[degrees]
    return _damped(degrees)


def _damped(degrees: Nodes) -> Floats:
    return np.asarray(1 / np.sqrt(1 + np.log2(np.maximum(degrees, 1))))


DAMPED = _damped(np.arange(1025))  # of as many entries as are followed of a node, and none


def refine(graph: Walkable, nodes: Nodes, scores: Floats, settings: Activation) -> Floats:
    """The scores of the nodes, whose order is the order of first touch, after the refinement of the settings."""
    if not settings.iterations or nodes.size < 2:
        return scores
    part = strongest(scores, MAX_REFINED)
    mass = scores[part]
    between = _between(graph, nodes[part], settings)
    refined = scores.copy()
    if settings.refinement == "compat":
        refined[part] = _lazy_walk(between, mass, settings.iterations)
    elif (total := float(mass.sum())) > 0:
        refined[part] = total * walk(*between, mass / total, damping=FLOW, iterations=settings.iterations)
    return refined


def _between(graph: Walkable, nodes: Nodes, settings: Activation) -> _Subgraph:
    found = graph.out(nodes, fan_out=settings.fan_out)
    at, target = locate(found.target, nodes)
    confidence = found.confidence[at]
    strength = found.weight[at] * confidence
    flows = (confidence >= settings.confidence_floor) & (strength > 0)
    at = at[flows]
    source = found.starts.searchsorted(at, side="right") - 1
    return _Subgraph(source, target[flows], strength[flows])


def _lazy_walk(between: _Subgraph, scores: Floats, iterations: int) -> Floats:
    """Engram's: a node keeps 0.15 of its mass and sends the rest along its entries; one without any keeps all."""
    size = scores.size
    total = summed(between.source, between.strength, size)
    stay = np.where(total > 0, 1 - DAMPING, 1.0)
    send = DAMPING * between.strength / total[between.source]
    itself = np.arange(size)
    source, target = np.concatenate((itself, between.source)), np.concatenate((itself, between.target))
    share = np.concatenate((stay, send))
    for _ in range(iterations):
        scores = summed(target, scores.take(source) * share, size)
    return scores


def inhibit(scores: Floats, beta: float, top_m: int) -> Floats:
    """Engram's lateral inhibition: u - beta * the sum of (k - u) over those of the top M that are stronger."""
    if beta == 0 or top_m == 0 or scores.size < 2:
        return scores.copy()
    rivals = scores[strongest(scores, top_m)]
    ahead = np.maximum(rivals[:, None] - scores, 0).sum(axis=0)
    return np.asarray(np.maximum(scores - beta * ahead, 0))

"""Personalised PageRank over nodes 0..n-1: a walker follows edges and, now and then, returns to the seeds. Pure.

Engram's rule: r' = (1 - d) s + d * sum of r(u) w / out(u) + d * (mass of nodes without edges) * s, from r = s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.groups import summed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.adjacency import Floats, Nodes

DAMPING = 0.85
ITERATIONS = 20
TOLERANCE = 1e-6  # in the sum of all changes
ALMOST_ONE = 1 - 1e-9  # without any return the walk need not settle


def pagerank(
    source: Nodes,
    target: Nodes,
    weight: Floats,
    teleport: Floats,
    *,
    damping: float = DAMPING,
    iterations: int = ITERATIONS,
) -> Floats:
    """The share of time spent at each node; sums to 1. An edge without a positive weight weighs 1."""
    return walk(source, target, np.where(weight > 0, weight, 1.0), teleport, damping=damping, iterations=iterations)


def walk(
    source: Nodes,
    target: Nodes,
    weight: Floats,
    teleport: Floats,
    *,
    damping: float = DAMPING,
    iterations: int = ITERATIONS,
) -> Floats:
    """As `pagerank`, over positive weights. `teleport` sums to 1."""
    kept = clamp_damping(damping)
    size = teleport.size
    out = summed(source, weight, size)
    share = kept * weight / out[source]
    lost = np.where(out > 0, 0.0, kept)  # what a node without edges hands to the seeds
    back, rank = (1 - kept) * teleport, teleport
    for _ in range(iterations):
        # Not as a product with a matrix: BLAS adds up as it likes, and nodes that are alike would differ by it.
        after = summed(target, rank[source] * share, size) + float((lost * rank).sum()) * teleport + back
        settled = np.abs(after - rank).sum() < TOLERANCE
        rank = after
        if settled:
            break
    return rank


def teleport_to(
    size: int,
    seeds: Sequence[int] = (),
    *,
    seed_weights: Mapping[int, float] | None = None,
    priors: Floats | None = None,
) -> Floats:
    """Where the walker returns to: by the seed weights, or alike to all seeds, or else to all nodes.

    Seeds outside the graph do not count. Priors, one per node, bend the vector unless there are seed weights.
    """
    inside = {seed for seed in seeds if 0 <= seed < size}
    vector = np.zeros(size)
    for node, weight in (seed_weights or {}).items():
        if 0 <= node < size and (not seeds or node in inside) and math.isfinite(weight) and weight > 0:
            vector[node] = weight
    if not vector.any():
        vector[sorted(inside) or slice(None)] = 1
        vector = vector if priors is None else _bent(vector, priors)
    return np.asarray(vector / vector.sum()) if size else vector


def _bent(vector: Floats, priors: Floats) -> Floats:
    bent = vector * np.where(np.isfinite(priors) & (priors > 0), priors, 0)
    return bent if bent.any() else vector


def top(scores: Floats, count: int) -> list[tuple[int, float]]:
    """The best nodes with their scores; equals by number."""
    order = np.argsort(-scores, kind="stable")[: max(0, count)]
    return list(zip(order.tolist(), scores[order].tolist(), strict=True))


def clamp_damping(damping: float) -> float:
    if math.isnan(damping) or damping < 0:
        return 0.0
    return min(damping, ALMOST_ONE)

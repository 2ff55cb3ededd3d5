"""Personalised PageRank over nodes 0..n-1: a walker follows edges and, now and then, returns to the seeds. Pure.

Engram's rule: r' = (1 - d) s + d * sum of r(u) w / out(u) + d * (mass of nodes without edges) * s, from r = s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.groups import summed

if TYPE_CHECKING:
    from clew.graph.adjacency import Floats, Nodes

DAMPING = 0.85
ITERATIONS = 20
TOLERANCE = 1e-6  # in the sum of all changes
ALMOST_ONE = 1 - 1e-9  # without any return the walk need not settle


def walk(
    source: Nodes,
    target: Nodes,
    weight: Floats,
    teleport: Floats,
    *,
    damping: float = DAMPING,
    iterations: int = ITERATIONS,
) -> Floats:
    """The share of time spent at each node; sums to 1, as `teleport` does. Weights are positive."""
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


def clamp_damping(damping: float) -> float:
    if math.isnan(damping) or damping < 0:
        return 0.0
    return min(damping, ALMOST_ONE)

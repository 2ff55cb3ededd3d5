"""Who is next to whom: what every walk over the graph asks, and an index in memory that answers.

Nodes are integers and never negative; the caller translates them. An answer is flat arrays, one entry per edge and
direction, so that a walk costs a few array operations per hop, however many edges it follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

Nodes = NDArray[np.int64]
Floats = NDArray[np.float64]
Kinds = NDArray[np.int16]

# Engram's index: what caused something is not caused by it; sharing an entity or a time holds both ways.
ONE_WAY = frozenset(("causal",))


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The outgoing entries of the nodes asked for: those of node i lie at starts[i]:starts[i + 1]."""

    starts: Nodes
    target: Nodes
    weight: Floats
    confidence: Floats
    kind: Kinds  # index into the types of the graph

    @property
    def degrees(self) -> Nodes:
        return self.starts[1:] - self.starts[:-1]

    @property
    def owners(self) -> Nodes:
        """For every entry, which of the nodes asked for it leaves."""
        degrees = self.degrees
        return np.arange(degrees.size).repeat(degrees)


class Walkable(Protocol):
    """A graph one can walk."""

    @property
    def types(self) -> Sequence[str]: ...

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        """The entries of each node, in order. Where a node has more than `fan_out`, its strongest by weight times
        confidence, strongest first; otherwise all of them in the order of the edges."""
        ...


class Edges(NamedTuple):
    """Edges as columns. A confidence that is not finite counts as 1, as a missing one does in Engram."""

    source: Nodes
    target: Nodes
    weight: Floats
    confidence: Floats
    kind: Kinds


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """All entries of a graph over the nodes 0..n-1, those of a node side by side in the order of the edges."""

    types: tuple[str, ...]
    starts: Nodes
    target: Nodes
    weight: Floats
    confidence: Floats
    kind: Kinds
    strongest: Nodes  # the same entries, those of a node by falling strength; equals in the order of the edges

    def out(self, nodes: Nodes, *, fan_out: int | None) -> Adjacency:
        begin = self.starts[nodes]
        count = self.starts[nodes + 1] - begin
        capped = None
        if fan_out is not None and (over := count > fan_out).any():
            count = np.minimum(count, fan_out)
            capped = over.repeat(count).nonzero()[0]
        starts = np.zeros(len(nodes) + 1, np.int64)
        count.cumsum(out=starts[1:])
        at = np.arange(starts[-1]) + (begin - starts[:-1]).repeat(count)
        if capped is not None:
            at[capped] = self.strongest.take(at.take(capped))
        return Adjacency(
            starts, self.target.take(at), self.weight.take(at), self.confidence.take(at), self.kind.take(at)
        )


def build_csr(edges: Edges, types: Sequence[str], size: int) -> Csr:
    """An index over the nodes 0..size-1, in which causal edges lead one way and all others both."""
    owner, columns = _both_ways(edges, np.array([name not in ONE_WAY for name in types], np.bool_))
    order = owner.argsort(kind="stable")
    target, weight, confidence, kind = columns
    weight, confidence = weight[order], confidence[order]
    starts = np.zeros(size + 1, np.int64)
    np.bincount(owner, minlength=size).cumsum(out=starts[1:])
    strongest = np.lexsort((-weight * confidence, owner[order]))
    return Csr(tuple(types), starts, target[order], weight, confidence, kind[order], strongest)


def _both_ways(edges: Edges, has_reverse: NDArray[np.bool_]) -> tuple[Nodes, tuple[Nodes, Floats, Floats, Kinds]]:
    """Every edge followed by its reverse, if it has one. Engram reverses loops too, so a loop counts twice."""
    goes_back = has_reverse[edges.kind] if edges.kind.size else np.zeros(0, np.bool_)
    confidence = np.where(np.isfinite(edges.confidence), edges.confidence, 1.0).clip(0, 1)
    keep = np.column_stack((np.ones_like(goes_back), goes_back)).ravel()
    owner = np.column_stack((edges.source, edges.target)).ravel()[keep]
    target = np.column_stack((edges.target, edges.source)).ravel()[keep]
    return owner, (target, edges.weight.repeat(2)[keep], confidence.repeat(2)[keep], edges.kind.repeat(2)[keep])

"""Entries that lead to the same node, gathered without a loop and without anything as large as the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.adjacency import Floats, Nodes

BUCKETS = 1 << 13  # of the filter in `locate`: 256 nodes leave some 3 % of strangers to the exact search


class Groups(NamedTuple):
    """Entries by the node they lead to. Groups are numbered in the order in which their nodes are first touched."""

    nodes: Nodes
    first: Nodes  # where each group is first touched; rising
    ids: Nodes  # the group of every entry


def group(targets: Nodes) -> Groups:
    """Entries that are appended later never renumber a group."""
    position, ordered = _by_target(targets)
    is_head = np.ones(targets.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_head[1:])
    heads = position[is_head]
    touched = heads.argsort()
    number = np.empty_like(touched)
    number[touched] = np.arange(touched.size)
    ids = np.empty_like(position)
    ids[position] = number[is_head.cumsum() - 1]
    first = heads[touched]
    return Groups(targets[first], first, ids)


def _by_target(targets: Nodes) -> tuple[Nodes, Nodes]:
    """Positions and targets, sorted by both. Sorting numbers is much faster than sorting positions by number,
    so both travel in one number where they fit."""
    bits = targets.size.bit_length()
    if targets.size and int(targets.max()) < 1 << (62 - bits):
        keys = (targets << bits) | np.arange(targets.size)
        keys.sort()
        return keys & ((1 << bits) - 1), keys >> bits
    position = targets.argsort(kind="stable")
    return position, targets[position]


def summed(ids: Nodes, values: Floats, size: int) -> Floats:
    """The sum of the values of each group, added in the order given."""
    return np.asarray(np.bincount(ids, values, minlength=size), np.float64)


def highest(ids: Nodes, values: Floats, size: int) -> Floats:
    """The highest value of each group, at least 0."""
    best = np.zeros(size)
    np.maximum.at(best, ids, values)
    return best


def newcomers(known: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """The nodes among `targets` that are not `known`, which are distinct, and for every target which of the new
    nodes it is; negative for the known ones."""
    groups = group(np.concatenate((known, targets)))
    return groups.nodes[known.size :], groups.ids[known.size :] - known.size


def first_best(ids: Nodes, values: Floats, size: int) -> Nodes:
    """For every group the position of its highest value, the earliest of equals. No group may be empty."""
    best = np.full(size, -np.inf)
    np.maximum.at(best, ids, values)
    reach = (values == best[ids]).nonzero()[0][::-1]
    winner = np.zeros(size, np.int64)
    winner[ids[reach]] = reach  # of several, the last one written stays: the earliest
    return winner


def strongest(scores: Floats, count: int) -> NDArray[np.intp]:
    """The positions of the `count` highest scores, rising; among equals the earlier ones."""
    if count >= scores.size:
        return np.arange(scores.size)
    if count <= 0:
        return np.arange(0)
    least = np.partition(scores, -count)[-count]
    above = (scores > least).nonzero()[0]
    equal = (scores == least).nonzero()[0][: count - above.size]
    return np.sort(np.concatenate((above, equal)))


def locate(values: Nodes, nodes: Nodes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the values are among the distinct `nodes`, and where. Most are not, and a small table tells."""
    table = np.zeros(BUCKETS, np.bool_)
    table[nodes & (BUCKETS - 1)] = True
    maybe = table[values & (BUCKETS - 1)].nonzero()[0]
    order = nodes.argsort()
    sought = values[maybe]
    at = order[np.minimum(nodes[order].searchsorted(sought), nodes.size - 1)]
    found = nodes[at] == sought
    return maybe[found], at[found]

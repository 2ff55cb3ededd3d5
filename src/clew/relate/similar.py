"""Which near memories are connected as similar. Pure.

`similar_to` goes both ways, weighs what the two have in common, and rests on both texts: it belongs to the pair, so
whoever of the two is looked at last decides. No memory is similar to more than `limit` others, however many are
near it. A neighbour that has its share lets go of its weakest for a nearer one, else it is passed over. What
all may see comes before what few may see: somebody's own notes never cost the others a connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.model.relation import SIMILAR, Finding, Neighbour


class Held(NamedTuple):
    """One that a memory is similar to, from that memory's side."""

    other: int  # its row
    weight: float
    private: int = 0  # in how many ways fewer may see it: project, user
    is_over: bool = False  # forgotten, expired or superseded: the first to go


class Settled(NamedTuple):
    kept: tuple[int, ...]  # rows of those that the memory is similar to now
    dropped: frozenset[tuple[int, int]]  # pairs of others, (neighbour, its weakest), that are so no more


def similar_findings(neighbours: Sequence[Neighbour], *, threshold: float) -> list[Finding]:
    """All that come near enough, nearest first; the threshold itself is near enough."""
    return [
        Finding("similar_to", near.memory.id, 1.0, SIMILAR, weight=near.similarity)
        for near in neighbours
        if near.similarity >= threshold
    ]


def settle(row: int, near: Sequence[Held], held: Mapping[int, Sequence[Held]], *, limit: int) -> Settled:
    """`near`: who could be similar to the memory in `row`, nearest first; how private, as seen from each of them,
    that memory is. `held`: what each of them is similar to already."""
    kept: list[int] = []
    dropped: set[tuple[int, int]] = set()
    for candidate in near:
        if len(kept) == limit:
            break
        others = sorted((one for one in held.get(candidate.other, ()) if one.other != row), key=_strongest_first)
        new = Held(row, candidate.weight, candidate.private)
        if len(others) >= limit and (not limit or _strongest_first(new) >= _strongest_first(others[limit - 1])):
            continue
        kept.append(candidate.other)
        dropped |= {(candidate.other, one.other) for one in others[limit - 1 :]}
    return Settled(tuple(kept), frozenset(dropped))


def _strongest_first(one: Held) -> tuple[bool, int, float]:
    return one.is_over, one.private, -one.weight


def privacy(place: tuple[str, str], seen_from: tuple[str, str]) -> int:
    """In how many ways, project and user, a memory here is seen by fewer than one there."""
    return sum(here != there for here, there in zip(place, seen_from, strict=True))

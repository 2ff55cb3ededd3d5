"""Corroboration: memories that say nearly the same lend each other weight. Built and, as rensei.md 2.3 has it, not
wired; it would run before weights are applied. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import log2

BITS = 64
NEAR = 3  # differing bits within a cluster
BOOST = 0.1
_WORD = re.compile(r"\w+")


def simhash(text: str) -> int:
    """64 bits that differ in few places for texts that share most of their words."""
    counts = [0] * BITS
    for word in _WORD.findall(text.lower()):
        bits = int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        for at in range(BITS):
            counts[at] += 1 if bits >> at & 1 else -1
    return sum(1 << at for at, count in enumerate(counts) if count > 0)


def clusters(hashes: Mapping[str, int], *, near: int = NEAR) -> list[list[str]]:
    """Ids by likeness; two belong together if a chain of near ones connects them. For the few of one retrieval."""
    left, found = sorted(hashes), []
    while left:
        cluster = [left.pop(0)]
        for one in cluster:  # grows while it is looked through
            close = [id for id in left if (hashes[one] ^ hashes[id]).bit_count() <= near]
            cluster += close
            left = [id for id in left if id not in close]
        found.append(cluster)
    return found


def canonical(cluster: Sequence[str], weights: Mapping[str, float]) -> tuple[str, int]:
    """The one that stands for the others, by its weight, and how many others there are."""
    return min(cluster, key=lambda id: (-weights.get(id, 1.0), id)), len(cluster) - 1


def boosted(base: float, score: int) -> float:
    """What `score` witnesses make of a relevance."""
    return base + BOOST * log2(1 + score)

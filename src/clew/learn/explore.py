"""Now and then the last place goes to what was hardly tried: only what is shown can be learnt about. Pure.

The draw depends on the session and the question alone, so the same input gives the same block, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from random import Random

FEW_SAMPLES = 3  # fewer outcomes than this, and a memory counts as hardly tried: rensei.md 2.3


def draw_of(session_id: str, query: str) -> Random:
    """The dice of one question of one session. Not for secrets."""
    return Random(sha256(f"{session_id}\n{query}".encode(errors="surrogatepass")).digest())  # noqa: S311


def explore(
    taken: Sequence[str], eligible: Sequence[str], chance: float, random: Random
) -> tuple[list[str], str | None]:
    """What to show, and which of it is there by chance: with probability `chance` one of `eligible` takes the last
    place. Nothing is added where nothing was taken, so silence stays silence."""
    others = sorted(set(eligible).difference(taken))
    if not taken or not others or random.random() >= chance:
        return list(taken), None
    chosen = random.choice(others)
    return [*taken[:-1], chosen], chosen


def hardly_tried(ids: Sequence[str], samples: Mapping[str, int]) -> list[str]:
    return [id for id in ids if samples.get(id, 0) < FEW_SAMPLES]

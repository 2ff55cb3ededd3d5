"""Paired differences: how much one mode gains over the other on the same questions, and how sure that is. Pure.

Method. The mean of the differences, and a 95 % interval by the percentile bootstrap: draw as many groups as there
are, with replacement, 2,000 times, and take the middle 95 % of the means of what was drawn. A group is a session:
its questions share one outcome, so that drawing single questions would make the interval too narrow. Without
groups each pair is its own. The draws come from a fixed seed: the same differences always give the same interval.
With a few groups a bootstrap is too sure of itself; the counts of better, worse and same beside it need no such
assumption.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import fsum
from random import Random

from clew.model.replay import TIE, Paired

SEED = 5
DRAWS = 2_000
OUTSIDE = 0.025  # of the draws, on either side of a 95 % interval


def compare(differences: Sequence[float], groups: Sequence[Hashable] | None = None, *, seed: int = SEED) -> Paired:
    """Of each pair, what the second mode scored less what the first did. `groups` names the group of each pair."""
    if not differences:
        return Paired()
    gathered = _gathered(differences, groups if groups is not None else range(len(differences)))
    mean = _mean(gathered)
    low, high = _interval(gathered, mean, seed) if len(gathered) > 1 else (None, None)
    return Paired(
        pairs=len(differences),
        groups=len(gathered),
        mean=mean,
        low=low,
        high=high,
        better=sum(one > TIE for one in differences),
        worse=sum(one < -TIE for one in differences),
        same=sum(abs(one) <= TIE for one in differences),
    )


def _gathered(differences: Sequence[float], groups: Iterable[Hashable]) -> list[tuple[float, int]]:
    """The sum and the number of the differences of each group."""
    own: dict[Hashable, list[float]] = {}
    for group, one in zip(groups, differences, strict=True):
        own.setdefault(group, []).append(one)
    return [(fsum(values), len(values)) for values in own.values()]


def _interval(gathered: Sequence[tuple[float, int]], mean: float, seed: int) -> tuple[float, float]:
    """The ends lie as far from either end of the draws, so that swapping the modes swaps and negates them."""
    rng = Random(seed)  # noqa: S311 - draws that can be repeated, no secret
    means = sorted(_mean(rng.choices(gathered, k=len(gathered))) for _ in range(DRAWS))
    beyond = int(OUTSIDE * DRAWS)
    # Of two or three lopsided groups the middle of the draws can miss the mean itself.
    return min(mean, means[beyond]), max(mean, means[-1 - beyond])


def _mean(gathered: Sequence[tuple[float, int]]) -> float:
    return fsum(total for total, _count in gathered) / sum(count for _total, count in gathered)

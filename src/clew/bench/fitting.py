"""One weight per feature, so that answers stand before the other candidates of their question. Pure.

The chance of a candidate is the softmax of its score over the candidates; the weights make the answers likeliest.
That is convex, so Newton's method finds the one best set of weights in a few steps, and the same one every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.values import dataclass

STEPS = 30
PENALTY = 1e-3  # on the square of each weight, once features are brought to unit spread
ENOUGH = 1e-7

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One question: the features of its candidates, and which of them answer it."""

    group: str  # groups count alike, however many questions they have
    features: NDArray[np.float32]  # (candidates, features)
    answers: NDArray[np.bool_]


def fit(examples: Sequence[Example], *, penalty: float = PENALTY) -> Floats:
    """The weights, for features as they are."""
    told = [example for example in examples if example.answers.any()]
    if not told:
        raise ValueError("no example has an answer among its candidates")
    spread = np.concatenate([example.features for example in told]).std(axis=0, dtype=np.float64)
    spread = np.where(spread > 1e-9, spread, 1.0)
    parts = [(example.features / spread, example.answers / example.answers.sum()) for example in told]
    sizes = Counter(example.group for example in told)
    counts = np.array([1 / (len(sizes) * sizes[example.group]) for example in told])
    weights = np.zeros(len(spread))
    loss, slope, bend = _loss(parts, counts, weights, penalty)
    for _step in range(STEPS):
        direction = np.linalg.solve(bend, slope)
        share = 1.0
        while share > ENOUGH:  # a full step may overshoot far from the best
            found = _loss(parts, counts, weights - share * direction, penalty)
            if found[0] <= loss:
                break
            share /= 2
        gained, weights = loss - found[0], weights - share * direction
        loss, slope, bend = found
        if gained < ENOUGH:
            break
    return weights / spread


def _loss(
    parts: Sequence[tuple[Floats, Floats]], counts: Floats, weights: Floats, penalty: float
) -> tuple[float, Floats, Floats]:
    """The loss at these weights, its slope and its bend."""
    loss = penalty / 2 * float(weights @ weights)
    slope, bend = penalty * weights, penalty * np.eye(len(weights))
    for (features, wanted), count in zip(parts, counts, strict=True):
        score = features @ weights
        score -= score.max()
        chance = np.exp(score)
        total = chance.sum()
        chance /= total
        loss += count * float(np.log(total) - wanted @ score)
        mean = chance @ features
        slope += count * (mean - wanted @ features)
        bend += count * ((features * chance[:, None]).T @ features - np.outer(mean, mean))
    return loss, slope, bend

"""How sure a mean over questions is: 95 % intervals by the bootstrap, and paired differences. Pure, and seeded.

Questions are drawn anew with replacement, as many as there are, 2,000 times; the interval holds the middle 95 %
of the means (Efron and Tibshirani 1993, chapter 13). In a mean over categories each category is drawn from by
itself. Two rankings of the same questions are compared by the differences per question: what makes a question
hard for both cancels out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.bench.metrics import FIGURES, Group, Score, groups_of, summarise

RESAMPLES = 2_000
ENDS = (0.025, 0.975)
SEED = 95
Floats = NDArray[np.float64]


def estimates(scores: Sequence[Score], chosen: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """The means of every group, each with the ends of its interval."""
    chosen = tuple(chosen)
    rows, groups = _rows(scores), groups_of([score.category for score in scores], chosen)
    return {
        name: means | {"interval": _named(_ends(rows, groups[name]))}
        for name, means in summarise(scores, chosen).items()
    }


def gains(
    scores: Sequence[Score], over: Sequence[Score], chosen: Iterable[str] = ()
) -> dict[str, dict[str, dict[str, Any]]]:
    """By group and figure, how much better `scores` are than `over`, question by question. A gain counts when the
    lower end of its interval is above zero; it is worse, beyond chance, when the upper end is below."""
    rows = _rows(scores) - _rows(over)
    groups = groups_of([score.category for score in scores], chosen)
    return {name: _gain(rows, group) for name, group in groups.items()}


def _gain(rows: Floats, group: Group) -> dict[str, dict[str, Any]]:
    means = np.mean([rows[part].mean(axis=0) for part in group], axis=0)
    intervals = _named(_ends(rows, group))
    return {
        figure: {"gain": _rounded(mean), "interval": [low, high], "counts": low > 0, "worse": high < 0}
        for (figure, (low, high)), mean in zip(intervals.items(), means, strict=True)
    }


def _ends(rows: Floats, group: Group) -> Floats:
    """Of the means of every column, the lower and the upper end."""
    drawn = [_draws(len(part), at) @ rows[part] / len(part) for at, part in enumerate(group)]
    return np.asarray(np.quantile(np.mean(drawn, axis=0), ENDS, axis=0))


@lru_cache(maxsize=64)
def _weights(questions: int, part: int) -> NDArray[np.uint16]:
    """How often each question was drawn, one row per resample. Parts of a group are drawn apart from each other."""
    drawn = np.random.default_rng([SEED, part]).integers(0, questions, size=(RESAMPLES, questions))
    drawn += np.arange(RESAMPLES)[:, None] * questions
    counted = np.bincount(drawn.ravel(), minlength=RESAMPLES * questions)
    return counted.reshape(RESAMPLES, questions).astype(np.uint16)


def _draws(questions: int, part: int) -> Floats:
    return _weights(questions, part).astype(np.float64)


def _rows(scores: Sequence[Score]) -> Floats:
    return np.array([score.figures for score in scores], dtype=np.float64).reshape(-1, len(FIGURES))


def _named(ends: Floats) -> dict[str, list[float]]:
    return {figure: [_rounded(low), _rounded(high)] for figure, low, high in zip(FIGURES, *ends, strict=True)}


def _rounded(value: float) -> float:
    return round(float(value), 4) + 0.0  # not -0.0

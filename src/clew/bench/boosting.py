"""Small trees, one after the other, each for what the weights and the trees before it get wrong. Pure.

A tree asks the same questions of every candidate (`recall/trees.py`). Which ones, and what they give, comes from
pairs of an answer and another candidate of the same question: the pair pulls the two apart by how likely it is to
stand the wrong way round, times how much the ranking would gain from turning it (LambdaMART; Burges, "From RankNet
to LambdaRank to LambdaMART", 2010). Features are sorted into a few bins beforehand, so a tree costs some sums per
feature. The same examples and seed give the same trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.bench.fitting import Example
from clew.recall.trees import Tree, Trees
from clew.values import dataclass

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

TREES = 120
DEPTH = 4
RATE = 0.3  # of what a tree would change by itself
PENALTY = 0.01  # on the square of what a tree gives, as in fitting.py: groups count 1 together
BINS = 32
SHARE = 0.6  # of the features, drawn anew for each tree: so that neighbours of a good feature are tried as well
FIRST = 20  # pairs of which neither stands among so many do not count
DIGITS = 4
SEED = 1
_MOST = 50.0  # what an exponential is given, at most
_AT_ONCE = 400_000  # candidates times features: what stays near the processor


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Those of all questions in one row, and the pairs of an answer and another one of the same question."""

    starts: Places  # per question
    question: Places  # per candidate
    answer: Places  # per pair
    other: Places
    count: Floats  # how much a pair counts: by its group, and by what the best order of its question is worth


@dataclass(frozen=True, slots=True)
class _Binned:
    """Each feature as the number of thresholds that are below it."""

    thresholds: list[Floats]  # per feature, rising, fewer than BINS
    bins: NDArray[np.uint8]  # (features, candidates)


def boost(examples: Sequence[Example], weights: Floats, *, trees: int = TREES, depth: int = DEPTH,
          seed: int = SEED) -> list[Tree]:  # fmt: skip
    """Trees to be added to the score that the weights give; none where nothing can be told apart."""
    told = [example for example in examples if example.answers.any() and not example.answers.all()]
    if not told:
        return []
    features = np.concatenate([example.features for example in told])
    candidates, binned = _candidates(told), _binned(features, _counts(told))
    score, rng = features @ weights, np.random.default_rng(seed)
    kept = max(1, round(SHARE * features.shape[1]))
    found: list[Tree] = []
    for _number in range(trees):
        slope, bend = _slopes(candidates, score)
        tried = np.sort(rng.permutation(features.shape[1])[:kept])
        tree = _grown(binned, tried, slope, bend, depth)
        if tree is not None:
            score += Trees.of([tree]).scores(features)
            found.append(tree)
    return found


def _candidates(told: Sequence[Example]) -> _Candidates:
    lengths = np.array([len(example.answers) for example in told])
    starts = np.cumsum(lengths) - lengths
    sizes = Counter(example.group for example in told)
    answer, other, count = [], [], []
    for start, example in zip(starts.tolist(), told, strict=True):
        right, wrong = np.flatnonzero(example.answers), np.flatnonzero(~example.answers)
        answer.append(start + right.repeat(len(wrong)))
        other.append(start + np.tile(wrong, len(right)))
        best = float(_worth(np.arange(len(right))).sum())
        count.append(np.full(len(right) * len(wrong), 1 / (len(sizes) * sizes[example.group] * best)))
    return _Candidates(
        starts,
        np.arange(len(told)).repeat(lengths),
        np.concatenate(answer),
        np.concatenate(other),
        np.concatenate(count),
    )


def _worth(rank: Places) -> Floats:
    """Of an answer at this rank, from 0, as NDCG counts it."""
    worth: Floats = 1 / np.log2(rank + 2.0)
    return worth


def _slopes(of: _Candidates, score: Floats) -> tuple[Floats, Floats]:
    """How the loss changes with the score of each candidate, and how that changes."""
    order = np.lexsort((-score, of.question))
    rank = np.empty(len(score), np.intp)
    rank[order] = np.arange(len(score)) - of.starts[of.question]
    worth, above = _worth(rank), np.minimum(rank[of.answer], rank[of.other]) < FIRST
    gained = np.abs(worth[of.answer] - worth[of.other]) * above * of.count
    wrong = 1 / (1 + np.exp(np.clip(score[of.answer] - score[of.other], -_MOST, _MOST)))
    pull = gained * wrong
    slack = pull * (1 - wrong)
    size = len(score)
    slope = _sums(of.other, pull, size) - _sums(of.answer, pull, size)
    return slope, _sums(of.other, slack, size) + _sums(of.answer, slack, size)


def _sums(where: Places, of: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(where, of, size), np.float64)


def _counts(told: Sequence[Example]) -> Floats:
    """Per candidate; groups count alike."""
    sizes = Counter[str]()
    for example in told:
        sizes[example.group] += len(example.answers)
    return np.concatenate([np.full(len(example.answers), 1 / sizes[example.group]) for example in told])


def _binned(features: NDArray[np.float32], counts: Floats) -> _Binned:
    thresholds = [_thresholds(column, counts) for column in features.T]
    found = zip(thresholds, features.T, strict=True)
    return _Binned(thresholds, np.array([np.searchsorted(at, column) for at, column in found], np.uint8))


def _thresholds(column: NDArray[np.float32], counts: Floats) -> Floats:
    """The least value and such that about as much lies between each two, as they will be written down."""
    order = column.argsort(kind="stable")
    below = counts[order].cumsum()
    at = np.searchsorted(below, np.arange(BINS - 1) / (BINS - 1) * below[-1])
    rounded = np.unique(np.round(column[order[at]].astype(np.float64), DIGITS))
    return np.asarray(rounded[rounded < column.max()], np.float64)


def _grown(binned: _Binned, tried: Places, slope: Floats, bend: Floats, depth: int) -> Tree | None:
    """The tree that lowers the loss most, one question at a time; none where nothing can be asked."""
    at = np.zeros(len(slope), np.intp)
    columns: list[int] = []
    thresholds: list[float] = []
    for level in range(depth):
        question = _best_question(binned, tried, at, 2**level, slope, bend)
        if question is None:
            return None
        column, place = question
        at += (binned.bins[column] > place).astype(np.intp) << level
        columns.append(column)
        thresholds.append(float(binned.thresholds[column][place]))
    size = 2**depth
    given = -RATE * _sums(at, slope, size) / (_sums(at, bend, size) + PENALTY)
    return Tree(tuple(columns), tuple(thresholds), tuple((np.round(given, DIGITS) + 0.0).tolist()))


def _best_question(
    binned: _Binned, tried: Places, at: Places, parts: int, slope: Floats, bend: Floats
) -> tuple[int, int] | None:
    """The feature and which of its thresholds; the first of equals."""
    best, found = 0.0, None
    together = max(1, _AT_ONCE // len(at))
    for first in range(0, len(tried), together):
        some = tried[first : first + together]
        gains = _gains(binned, some, at, parts, slope, bend)
        if gains.max() > best:
            row, place = divmod(int(gains.argmax()), BINS - 1)
            best, found = float(gains[row, place]), (int(some[row]), place)
    return found


def _gains(binned: _Binned, some: Places, at: Places, parts: int, slope: Floats, bend: Floats) -> Floats:
    """(features, thresholds): what dividing each of the parts there brings; 0 where there is no threshold."""
    rows = np.arange(len(some))[:, None]
    where = ((rows * parts + at) * BINS + binned.bins[some]).ravel()
    gains = np.zeros((len(some), BINS - 1))
    of_slope, of_bend = (
        _sums(where, np.tile(of, len(some)), len(some) * parts * BINS).reshape(-1, parts, BINS).cumsum(axis=2)
        for of in (slope, bend)
    )
    for total_slope, total_bend in (
        (of_slope, of_bend),  # below the threshold
        (of_slope[:, :, -1:] - of_slope, of_bend[:, :, -1:] - of_bend),  # above it
    ):
        gains += (total_slope**2 / (total_bend + PENALTY)).sum(axis=1)[:, :-1]
    count = np.array([len(binned.thresholds[column]) for column in some])
    return np.where(np.arange(BINS - 1) < count[:, None], gains, 0)

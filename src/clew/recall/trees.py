"""Small trees over the features of candidates: what a weighted sum of them cannot say. Pure.

Each tree asks the same few questions of every candidate, whether a feature is above a threshold, and gives a number
for each combination of answers; a score is the sum over the trees. So "says it in its own words" may count for much
where nothing leads to a memory, and for little where its neighbours say the rest. The trees stand in ranker.json
beside the weights and are made by the same command (`clew bench learn`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clew.values import dataclass

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    """Questions, first to last, and what each combination of answers gives: a yes to the first question is worth 1
    in the place of a combination, to the second 2, to the third 4."""

    columns: tuple[int, ...]  # the feature that each question is about
    thresholds: tuple[float, ...]  # the answer is yes above it
    gives: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Trees:
    """Any number of trees of one depth, laid out so that they are asked together."""

    depth: int
    columns: NDArray[np.intp]  # (depth * trees,): the first questions of all trees, then the second ones
    thresholds: Floats  # (depth * trees, 1)
    starts: NDArray[np.intp]  # (trees, 1): where the numbers of each tree begin in `gives`
    gives: Floats

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        depth = len(trees[0].columns) if trees else 0
        for tree in trees:
            if not len(tree.columns) == len(tree.thresholds) == depth or len(tree.gives) != 2**depth:
                raise ValueError(f"a tree of {depth} questions gives {2**depth} numbers, and all have one depth")
        return cls(
            depth,
            np.array([tree.columns for tree in trees], np.intp).T.ravel(),
            np.array([tree.thresholds for tree in trees], np.float64).T.reshape(-1, 1),
            np.arange(len(trees), dtype=np.intp)[:, None] * 2**depth,
            np.array([tree.gives for tree in trees], np.float64).ravel(),
        )

    @classmethod
    def read(cls, told: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Self:
        """From what `tell` wrote; `names` are those of the features, in the order in which they will come."""
        return cls.of([_read(one, names) for one in told])

    def scores(self, features: NDArray[np.floating]) -> Floats:
        """(candidates, features) -> one number per candidate. Fastest where each feature lies in one piece."""
        if not len(self.starts):
            return np.zeros(len(features))
        above = (features.T.take(self.columns, axis=0) > self.thresholds).view(np.uint8)
        answers = above.reshape(self.depth, len(self.starts), len(features))
        at = answers[0]
        for place in range(1, self.depth):
            at = at + (answers[place] << place)
        found: Floats = self.gives.take(self.starts + at).sum(axis=0)
        return found


def tell(trees: Iterable[Tree], names: Sequence[str]) -> list[dict[str, Any]]:
    """As they are kept in JSON, by the names of features."""
    return [
        {
            "above": [[names[column], at] for column, at in zip(tree.columns, tree.thresholds, strict=True)],
            "gives": list(tree.gives),
        }
        for tree in trees
    ]


def _read(told: Mapping[str, Any], names: Sequence[str]) -> Tree:
    above = told["above"]
    unknown = {name for name, _at in above}.difference(names)
    if unknown:
        raise ValueError(f"a tree asks for features that there are not: {', '.join(sorted(unknown))}")
    return Tree(
        tuple(names.index(name) for name, _at in above),
        tuple(float(at) for _name, at in above),
        tuple(map(float, told["gives"])),
    )

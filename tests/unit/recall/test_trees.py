"""Trees over features: what they give beside asking each question of each candidate by itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.recall.trees import Tree, Trees, tell

NAMES = ("words", "meaning", "author", "title")


def one_by_one(trees: list[Tree], features: NDArray[np.float64]) -> list[float]:
    """Written down anew: a yes to question k is worth 2 to the power of k in the place of what is given."""
    found = []
    for candidate in features:
        total = 0.0
        for tree in trees:
            asked = enumerate(zip(tree.columns, tree.thresholds, strict=True))
            total += tree.gives[sum(2**k for k, (column, at) in asked if candidate[column] > at)]
        found.append(total)
    return found


VALUES = (-1.0, 0.0, 0.25, 0.5, 1.0, 3.0)  # few, so that some stand on a threshold


def forest(seed: int, depth: int, count: int) -> list[Tree]:
    rng = np.random.default_rng(seed)
    return [
        Tree(
            tuple(rng.integers(len(NAMES), size=depth).tolist()),
            tuple(rng.choice(VALUES, depth).tolist()),
            tuple(rng.normal(size=2**depth).tolist()),
        )
        for _number in range(count)
    ]


forests = st.builds(forest, st.integers(0, 999), st.integers(1, 5), st.integers(0, 6))


@settings(max_examples=50)
@given(forests, st.integers(0, 999), st.integers(0, 12))
def test_all_at_once_is_what_one_by_one_gives(trees: list[Tree], seed: int, candidates: int) -> None:
    features = np.random.default_rng(seed).choice(VALUES, (candidates, len(NAMES)))
    expected = one_by_one(trees, features)
    for laid_out in (features, np.asfortranarray(features), features.astype(np.float32)):
        assert Trees.of(trees).scores(laid_out).tolist() == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20)
@given(forests)
def test_what_is_told_reads_back(trees: list[Tree]) -> None:
    told = json.loads(json.dumps(tell(trees, NAMES)))
    features = np.random.default_rng(3).normal(size=(20, len(NAMES)))
    assert Trees.read(told, NAMES).scores(features).tolist() == Trees.of(trees).scores(features).tolist()


def test_a_threshold_itself_is_not_above_it() -> None:
    trees = Trees.of([Tree((1,), (0.5,), (-1.0, 1.0))])
    assert trees.scores(np.array([[9, 0.5], [9, 0.51], [9, 0.0]])).tolist() == [-1, 1, -1]


def test_features_are_found_by_name_wherever_they_stand() -> None:
    told = [{"above": [["title", 0.0], ["words", 2.0]], "gives": [0, 1, 2, 3]}]
    features = np.random.default_rng(1).normal(1, 2, size=(30, len(NAMES)))
    other = [3, 1, 0, 2]
    as_it_is = Trees.read(told, NAMES).scores(features)
    assert len(set(as_it_is.tolist())) == 4
    assert Trees.read(told, [NAMES[at] for at in other]).scores(features[:, other]).tolist() == as_it_is.tolist()


def test_a_feature_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="colour"):
        Trees.read([{"above": [["words", 1.0], ["colour", 0.5]], "gives": [0, 0, 0, 0]}], NAMES)


@pytest.mark.parametrize(
    "trees",
    [[Tree((0,), (0.0,), (1.0, 2.0, 3.0))], [Tree((0, 1), (0.0,), (1.0, 2.0, 3.0, 4.0))],
     [Tree((0,), (0.0,), (1.0, 2.0)), Tree((0, 1), (0.0, 0.0), (1.0, 2.0, 3.0, 4.0))]],
    ids=["too many numbers", "a threshold is missing", "two depths"],
)  # fmt: skip
def test_trees_that_do_not_fit_together_are_refused(trees: list[Tree]) -> None:
    with pytest.raises(ValueError, match="one depth"):
        Trees.of(trees)

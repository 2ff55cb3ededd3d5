"""Trees learnt from questions with known answers: what weights cannot learn, and nothing from chance alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.bench import boosting
from clew.bench.boosting import _candidates, _slopes, boost
from clew.bench.fitting import Example, fit
from clew.recall.trees import Tree, Trees

Floats = NDArray[np.float64]
Wanted = Callable[[Floats], Floats]  # features -> how good a candidate is


def either_but_not_both(features: Floats) -> Floats:
    """No weights tell these apart: each of the two features by itself says nothing."""
    return np.where((features[:, 0] > 0.5) != (features[:, 1] > 0.5), 4.0, 0.0)


def examples(wanted: Wanted, *, count: int = 80, seed: int = 5, group: str = "a") -> list[Example]:
    """Twelve candidates of four features each; the best one answers, with some luck in it."""
    rng = np.random.default_rng(seed)
    found = []
    for _number in range(count):
        features = rng.random((12, 4)).astype(np.float32)
        answers = np.zeros(12, np.bool_)
        answers[np.argmax(wanted(features.astype(np.float64)) + rng.gumbel(scale=0.3, size=12))] = True
        found.append(Example(group, features, answers))
    return found


def score(trees: list[Tree], weights: Floats, one: Example) -> Floats:
    total: Floats = one.features @ weights + Trees.of(trees).scores(one.features)
    return total


def found_first(trees: list[Tree], weights: Floats, asked: list[Example]) -> float:
    return float(np.mean([one.answers[np.argmax(score(trees, weights, one))] for one in asked]))


def loss(trees: list[Tree], weights: Floats, asked: list[Example]) -> float:
    """The mean over pairs of an answer and another candidate of what it costs to have them so far apart."""
    costs = []
    for one in asked:
        of = score(trees, weights, one)
        costs.append(np.log1p(np.exp(of[~one.answers] - of[one.answers][:, None])).mean())
    return float(np.mean(costs))


def test_what_no_weights_can_say_is_learnt_and_holds_on_other_questions() -> None:
    known, asked = examples(either_but_not_both), examples(either_but_not_both, seed=6)
    weights = fit(known)
    trees = boost(known, weights, trees=30)
    # Half of the candidates are good; which of them answers is luck.
    good = [either_but_not_both(one.features.astype(np.float64)) > 0 for one in asked]
    kept = [Example("a", one.features, is_good) for one, is_good in zip(asked, good, strict=True)]
    assert found_first([], weights, kept) < 0.75
    assert found_first(trees, weights, kept) > 0.95


def test_each_tree_lowers_the_loss() -> None:
    known = examples(either_but_not_both)
    weights = fit(known)
    trees = boost(known, weights, trees=12)
    losses = [loss(trees[:count], weights, known) for count in (0, 1, 4, 12)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.8 * losses[0]


def test_the_slopes_pull_answers_up_and_what_stands_above_them_down() -> None:
    """Three candidates, the second answers. Its pull is what the others are pushed by, and most by the first."""
    of = _candidates([Example("a", np.zeros((3, 1), np.float32), np.array([False, True, False]))])
    slope, bend = _slopes(of, np.array([1.0, 0.0, -1.0]))
    assert slope.sum() == pytest.approx(0) and slope[1] < 0 < slope[2] < slope[0] and (bend > 0).all()
    wrong, worth = 1 / (1 + np.exp(-1.0)), 1 / np.log2([2, 3, 4])
    assert slope[0] == pytest.approx(wrong * (worth[0] - worth[1]))
    assert slope[2] == pytest.approx((1 - wrong) * (worth[1] - worth[2]))


def test_groups_count_alike_however_many_questions_they_have() -> None:
    few, many = (
        examples(either_but_not_both, count=3, group="few"),
        examples(either_but_not_both, count=40, group="many"),
    )
    of = _candidates([*few, *many])
    slope, _bend = _slopes(of, np.zeros(43 * 12))
    is_few = of.question < 3
    assert of.count[of.question[of.answer] < 3].sum() == pytest.approx(of.count[of.question[of.answer] >= 3].sum())
    assert np.abs(slope[is_few]).mean() > 5 * np.abs(slope[~is_few]).mean()


def test_the_same_seed_gives_the_same_trees_and_another_one_others() -> None:
    known = examples(either_but_not_both, count=20)
    start = np.zeros(4)
    assert boost(known, start, trees=4) == boost(known, start, trees=4) != boost(known, start, trees=4, seed=2)


def test_they_are_as_many_and_as_deep_as_they_are_told_to_be_and_written_in_few_digits() -> None:
    trees = boost(examples(either_but_not_both, count=20), np.zeros(4), trees=3, depth=2)
    assert [(len(tree.columns), len(tree.gives)) for tree in trees] == [(2, 4)] * 3
    numbers = [number for tree in trees for number in (*tree.thresholds, *tree.gives)]
    assert numbers == [round(number, boosting.DIGITS) for number in numbers]


def test_they_begin_where_the_weights_end() -> None:
    """Where weights put each answer far above the others, there is nothing left to learn."""
    known = examples(lambda features: 3 * features[:, 2])
    apart = [Example("a", one.features + 40 * one.answers[:, None], one.answers) for one in known]
    trees = boost(apart, np.array([0, 0, 5.0, 0]), trees=3)
    assert max(abs(number) for tree in trees for number in tree.gives) < 1e-3


def test_a_feature_that_is_always_the_same_is_not_asked_about() -> None:
    known = examples(either_but_not_both, count=20)
    flat = [Example("a", one.features * np.array([1, 1, 0, 1], np.float32), one.answers) for one in known]
    assert 2 not in {column for tree in boost(flat, np.zeros(4), trees=8) for column in tree.columns}
    same = [Example("a", np.ones((12, 4), np.float32), one.answers) for one in known]
    assert boost(same, np.zeros(4), trees=3) == []


def test_questions_that_say_nothing_are_left_aside() -> None:
    known = examples(either_but_not_both, count=20)
    unanswered, all_answers = (
        Example("b", np.full((3, 4), 9, np.float32), np.full(3, right)) for right in (False, True)
    )
    assert boost([*known, unanswered, all_answers], np.zeros(4), trees=3) == boost(known, np.zeros(4), trees=3)
    assert boost([unanswered, all_answers], np.zeros(4)) == []

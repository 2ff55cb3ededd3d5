"""Relevance times weight, with both ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew.learn
from clew.errors import InvalidInput
from clew.learn import apply_feedback_ranking
from clew.learn.rank import RANKINGS, factor
from clew.model.learning import Candidate

unit = st.floats(0, 1, allow_nan=False)
# Few distinct values, so that ties happen.
coarse = st.sampled_from((0.0, 0.05, 0.5, 0.5000001, 1.0))
found = st.lists(st.tuples(unit | coarse, unit | coarse), max_size=12).map(
    lambda pairs: [Candidate(f"m{at:02}", score, weight) for at, (score, weight) in enumerate(pairs)]
)


def ids(candidates: list[Candidate], **options: object) -> list[str]:
    return [one.id for one in apply_feedback_ranking(candidates, **options)]  # type: ignore[arg-type]


def test_the_score_is_relevance_times_weight_and_the_higher_comes_first() -> None:
    ranked = apply_feedback_ranking([Candidate("a", 0.9, 0.5), Candidate("b", 0.6, 1.0)])
    assert [(one.id, one.weighted_score) for one in ranked] == [("b", 0.6), ("a", 0.45)]
    assert [(one.unweighted_rank, one.weighted_rank) for one in ranked] == [(1, 0), (0, 1)]


def test_every_documented_name_is_there() -> None:
    assert all(getattr(clew.learn, name) for name in clew.learn.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = clew.learn.nonsense


def test_weighting_switched_off_orders_by_relevance_and_still_tells_both_ranks() -> None:
    ranked = apply_feedback_ranking([Candidate("a", 0.9, 0.5), Candidate("b", 0.6, 1.0)], weighting_enabled=False)
    assert [one.id for one in ranked] == ["a", "b"]
    assert [(one.unweighted_rank, one.weighted_rank) for one in ranked] == [(0, 1), (1, 0)]


def test_ties_go_by_relevance_and_then_by_id() -> None:
    same_score = [Candidate("c", 0.5, 1.0), Candidate("b", 1.0, 0.5), Candidate("a", 0.5, 1.0)]
    assert ids(same_score) == ["b", "a", "c"]


def test_neutral_ranking_lifts_above_a_half_and_lowers_below() -> None:
    assert [factor(weight, ranking="neutral") for weight in (0.0, 0.5, 1.0)] == pytest.approx([0.7, 1.0, 1.3])
    proven, untried = Candidate("proven", 0.5, 1.0), Candidate("untried", 0.6, 0.5)
    assert ids([proven, untried], ranking="neutral") == ["proven", "untried"]


def test_multiplying_can_never_lift_a_proven_memory_over_a_fresh_one_of_more_relevance() -> None:
    assert ids([Candidate("proven", 0.5, 1.0), Candidate("fresh", 0.6)]) == ["fresh", "proven"]


def test_a_ranking_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="'best'"):
        apply_feedback_ranking([], ranking="best")


@given(found, st.booleans(), st.sampled_from(RANKINGS))
def test_both_ranks_are_permutations_from_zero(given: list[Candidate], enabled: bool, ranking: str) -> None:
    ranked = apply_feedback_ranking(given, weighting_enabled=enabled, ranking=ranking)
    places = list(range(len(given)))
    assert sorted(one.unweighted_rank for one in ranked) == sorted(one.weighted_rank for one in ranked) == places
    assert [one.weighted_rank if enabled else one.unweighted_rank for one in ranked] == places


@given(found, st.randoms(use_true_random=False), st.sampled_from(RANKINGS))
def test_the_order_does_not_depend_on_the_order_of_the_input(
    given: list[Candidate], random: object, ranking: str
) -> None:
    shuffled = list(given)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert apply_feedback_ranking(shuffled, ranking=ranking) == apply_feedback_ranking(given, ranking=ranking)


@given(found, st.sampled_from(RANKINGS))
def test_c01_the_higher_score_never_stands_below_the_lower(given: list[Candidate], ranking: str) -> None:
    scores = [one.weighted_score for one in apply_feedback_ranking(given, ranking=ranking)]
    assert scores == sorted(scores, reverse=True)


@given(found, unit)
def test_with_equal_weights_both_ranks_agree_in_neutral_ranking(given: list[Candidate], weight: float) -> None:
    """In plain multiplication a weight of 0 makes all scores equal, and then relevance decides: it agrees too."""
    equal = [Candidate(one.id, one.relevance_score, weight) for one in given]
    for ranked in (apply_feedback_ranking(equal), apply_feedback_ranking(equal, ranking="neutral")):
        assert all(one.unweighted_rank == one.weighted_rank for one in ranked)

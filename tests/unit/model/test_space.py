"""Cosines of any model on one absolute scale."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.model.space import VectorSpace

COSINES = st.floats(-1, 1)
SPACE = VectorSpace("toy", "1", 16, 0.1, 0.9)


@given(COSINES, COSINES)
def test_relevance_lies_between_0_and_1_and_grows_with_the_cosine(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= SPACE.relevance(low) <= SPACE.relevance(high) <= 1


def test_unrelated_is_0_and_the_same_is_1_under_every_model() -> None:
    for unrelated, same in ((0.1, 0.9), (-0.05, 0.4), (0.6, 0.95)):
        space = VectorSpace("any", "1", 8, unrelated, same)
        assert (space.relevance(unrelated), space.relevance(same)) == (0, 1)


def test_two_revisions_of_a_model_are_two_spaces() -> None:
    assert VectorSpace("toy", "1", 16, 0, 1).key != VectorSpace("toy", "2", 16, 0, 1).key

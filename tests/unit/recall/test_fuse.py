"""Two kinds of evidence: an absolute relevance, and a rank score whose weight depends on the evidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from clew.model.space import VectorSpace
from clew.recall.fuse import Evidence, Floats, lexical_relevance, rank_scores, relevance, semantic_relevance

pytestmark = pytest.mark.usefixtures("by_both")

SPACE = VectorSpace("toy", "1", 16, 0.1, 0.9)
SHARES = arrays.arrays(np.float32, 8, elements=st.floats(0, 1, width=32))
COSINES = arrays.arrays(np.float32, 8, elements=st.floats(-1, 1, width=32))
ALL = np.ones(8, np.bool_)


def both(covered: Floats, cosine: Floats) -> Floats:
    return relevance(lexical_relevance(covered), semantic_relevance(cosine, SPACE))


def ranked(lexical: list[float], cosine: list[float]) -> list[float]:
    evidence = Evidence(*(np.array(values, np.float32) for values in (lexical, lexical, cosine)))
    return list(rank_scores(evidence, np.ones(len(lexical), np.bool_)))


@given(SHARES, COSINES)
def test_relevance_lies_between_0_and_1(covered: Floats, cosine: Floats) -> None:
    assert both(covered, cosine).min() >= 0 and both(covered, cosine).max() <= 1


@given(SHARES, SHARES, COSINES, COSINES)
def test_more_evidence_of_either_kind_never_lowers_relevance(a: Floats, b: Floats, c: Floats, d: Floats) -> None:
    less, more = both(np.minimum(a, b), np.minimum(c, d)), both(np.maximum(a, b), np.maximum(c, d))
    assert (more >= less - 1e-6).all()


@given(SHARES, COSINES)
def test_both_kinds_together_are_at_least_as_much_as_the_better_one(covered: Floats, cosine: Floats) -> None:
    words, meaning = lexical_relevance(covered), semantic_relevance(cosine, SPACE)
    assert (relevance(words, meaning) >= np.maximum(words, meaning) - 1e-6).all()


@pytest.mark.parametrize(("unrelated", "same"), [(0.1, 0.9), (-0.05, 0.4), (0.6, 0.95)])
def test_unrelated_is_0_and_the_same_is_1_under_every_model(unrelated: float, same: float) -> None:
    space = VectorSpace("any", "1", 8, unrelated, same)
    cosines = np.array([-1, unrelated, (unrelated + same) / 2, same, 1], np.float32)
    assert semantic_relevance(cosines, space) == pytest.approx([0, 0, 0.5, 1, 1], abs=1e-6)


def test_a_memory_that_covers_the_query_is_fully_relevant_without_a_vector() -> None:
    assert both(np.ones(1, np.float32), np.zeros(1, np.float32))[0] == 1
    assert semantic_relevance(np.ones(1, np.float32), None)[0] == 0


def test_a_near_vector_is_fully_relevant_without_a_shared_word() -> None:
    assert both(np.zeros(1, np.float32), np.full(1, 0.9, np.float32))[0] == pytest.approx(1)


def test_one_shared_word_of_an_ordinary_question_stays_below_the_floor() -> None:
    assert both(np.full(1, 0.25, np.float32), np.zeros(1, np.float32))[0] < 0.4


@given(SHARES, COSINES)
def test_rank_scores_are_finite_and_never_negative(covered: Floats, cosine: Floats) -> None:
    scores = rank_scores(Evidence(covered, covered, cosine), ALL)
    assert np.isfinite(scores).all() and scores.min() >= 0


@given(SHARES, COSINES)
def test_better_on_both_counts_never_ranks_lower(covered: Floats, cosine: Floats) -> None:
    covered[0], cosine[0] = covered.max(), cosine.max()
    scores = rank_scores(Evidence(covered, covered, cosine), ALL)
    assert scores[0] >= scores.max() - 1e-4


@given(SHARES, COSINES)
def test_what_is_not_allowed_does_not_move_the_others(covered: Floats, cosine: Floats) -> None:
    allowed = np.arange(8) < 4
    whole = rank_scores(Evidence(covered, covered, cosine), allowed)[:4]
    alone = rank_scores(Evidence(covered[:4], covered[:4], cosine[:4]), ALL[:4])
    assert alone == pytest.approx(whole, abs=1e-4)


def test_the_evidence_that_stands_out_decides() -> None:
    """Memory 0 has the word, memory 1 the meaning; what sets a memory apart from the rest counts more."""
    rest, none = [0.3, 0.2, 0.25, 0.35, 0.3, 0.25], [0.0] * 6
    rare_word = ranked([5, 0, *none], [0.2, 0.36, *rest])
    clear_meaning = ranked([1, 0.9, 1.1, 0.8, 1.2, 1, 0.9, 1.1], [0.2, 0.95, *rest])
    assert rare_word[0] > rare_word[1]
    assert clear_meaning[1] > clear_meaning[0]


def test_words_that_all_memories_share_say_nothing() -> None:
    assert ranked([2, 2, 2], [0.1, 0.9, 0.5]) == pytest.approx(ranked([0, 0, 0], [0.1, 0.9, 0.5]), abs=1e-5)


def test_the_rounding_of_equal_cosines_is_not_evidence() -> None:
    """The same text twice may come out one bit apart, depending on where in the matrix it lies."""
    half = np.float32(0.5)
    scores = ranked([0, 0], [half, np.nextafter(half, np.float32(1))])
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_nothing_found_is_nothing_ranked() -> None:
    assert ranked([0, 0], [0, 0]) == [0, 0]
    assert ranked([], []) == []

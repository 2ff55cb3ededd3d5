"""Bootstrap intervals against cases worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.bench.intervals import estimates, gains
from clew.bench.metrics import BY_CATEGORY, CUTOFFS, FIGURES, Score

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=20)


def scores(values: Sequence[float], category: str = "a") -> list[Score]:
    """Questions whose every figure is the value."""
    return [Score(category, dict.fromkeys(CUTOFFS, value), value) for value in values]


def interval(values: Sequence[float]) -> list[float]:
    ends: list[float] = estimates(scores(values))["all"]["interval"]["recall@10"]
    return ends


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_questions_that_are_all_alike_leave_no_doubt(value: float) -> None:
    assert interval([value] * 7) == [value, value]


def test_one_question_says_nothing_about_others_and_its_interval_is_itself() -> None:
    assert interval([0.5]) == [0.5, 0.5]


def test_two_questions_are_drawn_as_0_1_1_and_2() -> None:
    """Means 0, 0.5, 0.5 and 1, each a quarter: the middle 95 % reaches both ends."""
    assert interval([0.0, 1.0]) == [0.0, 1.0]


def test_one_miss_among_four() -> None:
    """How often the miss is drawn is binomial with 4 and 1/4: at least 3 times in 5.1 %, 4 times in 0.4 %, so the
    lower 2.5 % end at 3, a mean of 0.25; never in 31.6 %, so the upper end is 1."""
    assert interval([1.0, 1.0, 1.0, 0.0]) == [0.25, 1.0]


def test_many_questions_have_the_interval_of_the_normal_distribution() -> None:
    low, high = interval([0.0, 1.0] * 200)
    assert low == pytest.approx(0.5 - 1.96 * 0.5 / 20, abs=0.006)
    assert high == pytest.approx(0.5 + 1.96 * 0.5 / 20, abs=0.006)


def test_the_same_scores_give_the_same_intervals() -> None:
    assert estimates(scores([0.0, 0.25, 1.0])) == estimates(scores([0.0, 0.25, 1.0]))


@settings(max_examples=30, deadline=None)
@given(VALUES)
def test_an_interval_lies_within_the_values_and_around_their_mean(values: list[float]) -> None:
    entry = estimates(scores(values))["all"]
    for figure in FIGURES:
        low, high = entry["interval"][figure]
        assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
        assert low - 1e-4 <= entry[figure] <= high + 1e-4 or len(values) < 3


def test_categories_are_drawn_apart_from_each_other() -> None:
    """Two categories of one doubtful size each: drawn together, their mean would be as doubtful as one of them."""
    halves = [0.0, 1.0] * 50
    both = estimates(scores(halves, "a") + scores(halves, "b"))
    alone, together = (both[name]["interval"]["ndcg@10"] for name in ("a", BY_CATEGORY))
    assert together[1] - together[0] == pytest.approx((alone[1] - alone[0]) / 2**0.5, rel=0.15)


def test_a_gain_is_paired_so_what_is_hard_for_both_cancels_out() -> None:
    before, after = [0.0, 0.25, 0.5, 0.75] * 5, [0.25, 0.5, 0.75, 1.0] * 5
    gain = gains(scores(after), scores(before))["all"]["recall@5"]
    assert gain == {"gain": 0.25, "interval": [0.25, 0.25], "counts": True, "worse": False}


@pytest.mark.parametrize(
    ("before", "after", "counts", "worse"),
    [
        ([0.0] * 20, [1.0] + [0.0] * 19, False, False),  # one of twenty: in 36 % of the draws nobody gained
        ([0.0] * 20, [1.0] * 10 + [0.0] * 10, True, False),
        ([1.0] * 20, [0.0] * 10 + [1.0] * 10, False, True),
        ([1.0] * 20, [0.0] + [1.0] * 19, False, False),
        ([0.5] * 20, [0.5] * 20, False, False),
    ],
)
def test_a_gain_counts_when_its_lower_end_is_above_zero_and_is_worse_when_its_upper_end_is_below(
    before: list[float], after: list[float], counts: bool, worse: bool
) -> None:
    gain = gains(scores(after), scores(before))["all"]["recall@10"]
    assert gain["counts"] is counts is (gain["interval"][0] > 0)
    assert gain["worse"] is worse is (gain["interval"][1] < 0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_what_one_gains_the_other_loses(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = scores([ours for ours, _ in pairs]), scores([theirs for _, theirs in pairs])
    won, lost = gains(ours, theirs)["all"]["recall@2"], gains(theirs, ours)["all"]["recall@2"]
    assert won["gain"] == -lost["gain"]
    assert won["interval"] == pytest.approx([-end for end in reversed(lost["interval"])], abs=2e-4)


def test_nothing_compared_is_nothing_gained() -> None:
    assert gains([], []) == estimates([]) == {}

"""Paired differences and their interval."""

from __future__ import annotations

from itertools import cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.rollout.paired import compare

differences = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=12)
quick = settings(max_examples=30, deadline=None)


@pytest.mark.parametrize("count", [2, 3, 50])
def test_no_difference_is_zero_with_an_interval_of_no_width(count: int) -> None:
    found = compare([0.0] * count)
    assert (found.mean, found.low, found.high, found.same) == (0.0, 0.0, 0.0, count)
    assert found.verdict == "unclear"


@quick
@given(st.floats(-1, 1), st.integers(2, 9))
def test_the_same_difference_every_time_is_certain(value: float, count: int) -> None:
    found = compare([value] * count)
    assert found.low == found.high == found.mean == pytest.approx(value)


@quick
@given(differences)
def test_swapping_the_two_modes_negates_everything(values: list[float]) -> None:
    found, swapped = compare(values), compare([-value for value in values])
    assert found.low is not None and found.high is not None
    assert (swapped.mean, swapped.low, swapped.high) == (-found.mean, -found.high, -found.low)
    assert (swapped.better, swapped.worse, swapped.same) == (found.worse, found.better, found.same)


@quick
@given(differences, st.integers(2, 4))
def test_the_interval_holds_the_mean_also_of_groups(values: list[float], groups: int) -> None:
    found = compare(values, list(islice(cycle(range(groups)), len(values))))
    assert found.low is not None and found.high is not None
    assert min(values) - 1e-12 <= found.low <= found.mean <= found.high <= max(values) + 1e-12


@quick
@given(differences)
def test_every_pair_is_better_worse_or_the_same(values: list[float]) -> None:
    found = compare(values)
    assert found.better + found.worse + found.same == found.pairs == len(values)


@pytest.mark.parametrize(("values", "groups"), [([], None), ([0.4], None), ([0.4, 0.2], ["one", "one"])])
def test_fewer_than_two_groups_have_no_interval_and_it_says_so(
    values: list[float], groups: list[str] | None
) -> None:
    found = compare(values, groups)
    assert (found.low, found.high, found.verdict) == (None, None, "too_few")
    assert found.as_json()["interval"] is None and found.pairs == len(values)


def test_the_same_differences_give_the_same_interval() -> None:
    values = [0.1, -0.3, 0.5, 0.0, 0.25]
    assert compare(values) == compare(values)
    assert compare(values, seed=6).low != compare(values).low


def test_questions_of_one_session_count_as_one_draw() -> None:
    """Ten questions of one good session and one of a bad one are two draws, not eleven."""
    values = [0.5] * 10 + [-0.5]
    alone, together = compare(values), compare(values, ["good"] * 10 + ["bad"])
    assert alone.mean == together.mean and (alone.groups, together.groups) == (11, 2)
    assert alone.verdict == "better" and together.verdict == "unclear"


def test_a_gain_in_every_session_is_a_gain() -> None:
    assert compare([0.2, 0.1, 0.3, 0.25]).verdict == "better"
    assert compare([-0.2, -0.1, -0.3, -0.25]).verdict == "worse"


def test_an_interval_is_near_that_of_the_normal_distribution() -> None:
    """Of 400 draws of 0 and 1 with equal chance: 0.5 +- 1.96 * 0.5 / 20."""
    found = compare([0.0, 1.0] * 200)
    assert (found.low, found.high) == (pytest.approx(0.451, abs=0.006), pytest.approx(0.549, abs=0.006))

"""A little chance for what was hardly tried."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.learn.explore import draw_of, explore, hardly_tried

names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5)


def test_the_last_place_goes_to_one_that_was_not_taken() -> None:
    shown, explored = explore(["a", "b", "c"], ["c", "d"], 1.0, draw_of("s", "q"))
    assert (shown, explored) == (["a", "b", "d"], "d")


@given(names, names, st.text())
def test_without_a_chance_nothing_changes(taken: list[str], eligible: list[str], query: str) -> None:
    assert explore(taken, eligible, 0.0, draw_of("s", query)) == (taken, None)


@given(names, names, st.floats(0, 1), st.text())
def test_the_same_question_of_the_same_session_draws_the_same(
    taken: list[str], eligible: list[str], chance: float, query: str
) -> None:
    one = explore(taken, eligible, chance, draw_of("s", query))
    assert one == explore(taken, list(reversed(eligible)), chance, draw_of("s", query))
    assert len(one[0]) == len(taken) and one[0][: len(taken) - 1] == taken[:-1]


def test_silence_stays_silence() -> None:
    assert explore([], ["a"], 1.0, draw_of("s", "q")) == ([], None)


def test_the_chance_is_about_as_asked() -> None:
    hits = sum(explore(["a"], ["b"], 0.05, draw_of(f"s{at}", "q"))[1] is not None for at in range(4_000))
    assert 130 < hits < 280


def test_hardly_tried_means_fewer_than_three_outcomes() -> None:
    assert hardly_tried(["a", "b", "c"], {"a": 2, "b": 3}) == ["a", "c"]

"""Who is similar to whom: at most so many, in both directions, the nearest first."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.scope import Scope
from clew.relate.similar import Held, settle
from told_relations import OpenAt, both_ways, edges, open_told, remember, rows

UPRIGHT = {"a": [1.0, 0.0], "b": [0.99, 0.01], "c": [0.0, 1.0], "turned a": [0.0, 1.0]}


def test_t13_near_memories_are_similar_both_ways_and_no_more_when_one_is_removed(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    clew = open_told(clew_at, tmp_path, UPRIGHT)
    [a, _b] = remember(clew, "a", "b")
    clew.jobs.run()
    assert edges(clew) == both_ways("similar_to", "a", "b")
    clew.forget(a)
    assert not edges(clew)


def test_t14_orthogonal_memories_are_not_similar(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, UPRIGHT, relate={"similarity_threshold": 0.95})
    remember(clew, "a", "c")
    clew.jobs.run()
    assert not edges(clew)


def test_t15_after_an_edit_only_what_is_near_now_is_similar(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, UPRIGHT, relate={"max_similar": 1})
    [a, *_others] = remember(clew, "a", "b", "c")
    clew.jobs.run()
    assert edges(clew) == both_ways("similar_to", "a", "b")
    clew.edit(a, content="turned a")
    clew.jobs.run()
    assert edges(clew) == both_ways("similar_to", "turned a", "c")


def test_w7_an_old_memory_is_found_however_many_are_newer(clew_at: OpenAt, tmp_path: Path) -> None:
    told = UPRIGHT | {f"newer {number}": [0.0, 1.0] for number in range(30)}
    clew = open_told(clew_at, tmp_path, told, relate={"max_k": 2})
    remember(clew, "a", *(f"newer {number}" for number in range(30)), "b")
    clew.jobs.run()
    assert both_ways("similar_to", "a", "b") <= edges(clew)


def test_the_threshold_itself_is_near_enough_and_the_weight_is_the_likeness(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    told = {"a": [1.0, 0.0], "b": [0.5, 0.75**0.5]}
    clew = open_told(clew_at, tmp_path, told, relate={"similarity_threshold": 0.5})
    remember(clew, "a", "b")
    clew.jobs.run()
    assert (
        rows(clew, "SELECT weight, confidence FROM graph_edges WHERE edge_type = 'similar_to'") == [(0.5, 1.0)] * 2
    )


def test_a_popular_memory_is_similar_to_its_nearest_only(clew_at: OpenAt, tmp_path: Path) -> None:
    told = {"hub": [1.0, 0.0]} | {f"{at}": [1.0, 0.05 * at] for at in range(1, 8)}
    clew = open_told(clew_at, tmp_path, told, relate={"max_similar": 2, "max_k": 1})
    remember(clew, "hub", "7", "6", "5", "4", "3", "2", "1")
    for _ in range(2):
        clew.jobs.run()
        near = {target for source, _kind, target in edges(clew) if source == "hub"}
        assert len(near) <= 2


def test_what_is_somebodys_own_never_costs_others_a_connection(clew_at: OpenAt, tmp_path: Path) -> None:
    told = {"shared": [1.0, 0.0], "far": [1.0, 0.2], "mine": [1.0, 0.0]}
    clew = open_told(clew_at, tmp_path, told, relate={"max_similar": 1})
    remember(clew, "shared", "far")
    remember(clew, "mine", scope=Scope(project="shop", user="ada"))
    clew.jobs.run()
    assert edges(clew) == both_ways("similar_to", "shared", "far")


def test_a_connection_to_what_is_over_is_the_first_to_go() -> None:
    held = {2: [Held(3, 0.99, is_over=True), Held(4, 0.9)]}
    assert settle(1, [Held(2, 0.86)], held, limit=2).dropped == {(2, 3)}


def test_a_nearer_one_takes_the_place_of_the_weakest_and_an_equal_one_does_not() -> None:
    held = {2: [Held(3, 0.9), Held(4, 0.95)]}
    assert settle(1, [Held(2, 0.9)], held, limit=2).kept == ()
    assert settle(1, [Held(2, 0.91)], held, limit=2) == ((2,), {(2, 3)})


@settings(deadline=None)
@given(
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)))), max_size=30),
)
def test_no_memory_ever_has_more_similar_ones_than_the_limit(
    limit: int, looks: list[tuple[int, list[tuple[int, float]]]]
) -> None:
    likeness: dict[frozenset[int], float] = {}
    for row, near in looks:
        found = {other: weight for other, weight in near if other != row}
        candidates = [Held(other, weight) for other, weight in sorted(found.items(), key=lambda one: -one[1])]
        settled = settle(row, candidates, {other: _held(likeness, other) for other in found}, limit=limit)
        gone = {pair for pair in likeness if row in pair} | {frozenset(pair) for pair in settled.dropped}
        likeness = {pair: weight for pair, weight in likeness.items() if pair not in gone}
        likeness |= {frozenset((row, other)): found[other] for other in settled.kept}
        assert all(len(_held(likeness, one)) <= limit for one in range(10))


def _held(likeness: dict[frozenset[int], float], row: int) -> list[Held]:
    return [Held(*(pair - {row}), weight) for pair, weight in likeness.items() if row in pair]

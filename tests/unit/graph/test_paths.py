"""The shortest and then surest way between two nodes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from graph_cases import csr
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.paths import Path, strongest_path

NODE = st.integers(0, 7)
ROWS = st.lists(
    st.tuples(NODE, NODE, st.just(1.0), st.sampled_from((0.1, 0.3, 0.5, 0.9)), st.just("causal")),
    min_size=1,
    max_size=25,
)


def test_of_ways_with_as_many_hops_the_surest_is_taken() -> None:
    rows = [(0, 1, 1, 0.9, "entity"), (0, 2, 1, 0.6, "entity"), (1, 3, 1, 0.3, "time"), (2, 3, 1, 0.8, "about")]
    found = strongest_path(csr(rows, 4), 0, 3)
    assert found == Path((0, 2, 3), ("entity", "about"), (0.6, 0.8))
    assert found is not None and found.confidence == pytest.approx(0.48)


def test_fewer_hops_beat_more_confidence() -> None:
    rows = [(0, 1, 1, 1, "entity"), (1, 2, 1, 1, "entity"), (0, 2, 1, 0.25, "time")]
    assert strongest_path(csr(rows, 3), 0, 2) == Path((0, 2), ("time",), (0.25,))


def test_of_parallel_edges_the_surer_is_named() -> None:
    rows = [(0, 1, 1, 0.4, "about"), (0, 1, 1, 0.7, "similar_to")]
    assert strongest_path(csr(rows, 2), 0, 1) == Path((0, 1), ("similar_to",), (0.7,))


def test_there_is_no_way_against_a_cause_below_the_floor_or_beyond_the_hops() -> None:
    rows = [(0, 1, 1, 0.9, "causal"), (1, 2, 1, 0.1, "causal"), (1, 3, 1, 0.9, "causal")]
    graph = csr(rows, 5)
    assert strongest_path(graph, 1, 0) is None
    assert strongest_path(graph, 0, 2) is None
    assert strongest_path(graph, 0, 3, 1) is None
    assert strongest_path(graph, 0, 4) is None
    assert strongest_path(graph, 0, 2, floor=0) is not None


def test_from_a_node_to_itself_takes_no_step() -> None:
    assert strongest_path(csr([(0, 1, 1, 1, "entity")], 2), 0, 0) == Path((0,), (), ())


def test_a_fan_out_follows_the_strongest_entries_only() -> None:
    graph = csr([(0, 1, 1, 0.3, "entity"), (0, 2, 1, 0.9, "entity")], 3)
    assert strongest_path(graph, 0, 1, fan_out=1) is None


def all_ways(
    edges: list[tuple[int, int, float]], goal: int, way: list[int], product: float
) -> list[tuple[int, float]]:
    if way[-1] == goal:
        return [(len(way) - 1, product)]
    steps = [
        (target, confidence) for source, target, confidence in edges if source == way[-1] and target not in way
    ]
    return [
        found for node, by in steps if len(way) <= 3 for found in all_ways(edges, goal, [*way, node], product * by)
    ]


@given(ROWS)
def test_no_other_way_is_shorter_or_as_short_and_surer(rows: list[tuple[int, int, float, float, str]]) -> None:
    edges = [(source, target, confidence) for source, target, _, confidence, _ in rows if confidence >= 0.2]
    ways = all_ways(edges, 7, [0], 1.0)
    found = strongest_path(csr(rows, 8), 0, 7, 3)
    if found is None:
        assert not ways
        return
    hops, product = min(ways, key=lambda way: (way[0], -way[1]))
    assert (len(found.types), found.confidence) == (hops, pytest.approx(product))
    assert all((a, b, by) in edges for (a, b), by in zip(pairwise(found.nodes), found.confidences, strict=True))

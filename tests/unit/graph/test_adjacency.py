"""The index in memory: direction, order and the bound on the fan-out."""

from __future__ import annotations

import numpy as np
from graph_cases import csr
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.groups import first_best, group, locate, strongest


def targets(graph: object, nodes: list[int], fan_out: int | None = None) -> list[list[int]]:
    found = graph.out(np.array(nodes, np.int64), fan_out=fan_out)  # type: ignore[attr-defined]
    return [found.target[a:b].tolist() for a, b in zip(found.starts, found.starts[1:], strict=False)]


def test_causal_edges_lead_one_way_and_others_both() -> None:
    graph = csr([(0, 1, 1, 1, "causal"), (1, 2, 1, 1, "entity"), (2, 3, 1, 1, "time"), (3, 0, 1, 1, "about")], 4)
    assert targets(graph, [0, 1, 2, 3]) == [[1, 3], [2], [1, 3], [2, 0]]


def test_entries_keep_the_order_of_the_edges_with_reverses_in_between() -> None:
    graph = csr([(5, 0, 1, 1, "entity"), (0, 3, 1, 1, "entity"), (4, 0, 1, 1, "time"), (0, 0, 1, 1, "time")], 6)
    assert targets(graph, [0, 1, 5]) == [[5, 3, 4, 0, 0], [], [0]]


def test_a_fan_out_that_binds_takes_the_strongest_first_and_else_keeps_the_order() -> None:
    rows = [
        (0, 1, 1, 0.2, "causal"),
        (0, 2, 0.5, 0.8, "causal"),
        (0, 3, 1, 0.9, "causal"),
        (4, 2, 1, 0.1, "causal"),
    ]
    graph = csr([*rows, (4, 1, 1, 1, "causal")], 5)
    assert targets(graph, [0, 4], fan_out=2) == [[3, 2], [2, 1]]
    assert targets(graph, [4, 0], fan_out=3) == [[2, 1], [1, 2, 3]]


def test_a_confidence_that_is_missing_counts_as_one_and_others_are_clamped() -> None:
    rows = [(0, 1, 1, np.nan, "causal"), (0, 2, 1, 7, "causal"), (0, 3, 1, -1, "causal")]
    assert csr(rows, 4).out(np.array([0]), fan_out=None).confidence.tolist() == [1, 1, 0]


def test_an_empty_graph_has_nodes_without_entries() -> None:
    assert targets(csr([], 3), [0, 2]) == [[], []]


NODES = st.lists(st.one_of(st.integers(0, 9), st.integers(2**61, 2**61 + 3)), max_size=30)


@given(NODES)
def test_groups_are_numbered_by_first_touch(nodes: list[int]) -> None:
    groups = group(np.array(nodes, np.int64))
    distinct = list(dict.fromkeys(nodes))
    assert groups.nodes.tolist() == distinct
    assert groups.first.tolist() == [nodes.index(node) for node in distinct]
    assert groups.ids.tolist() == [distinct.index(node) for node in nodes]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_first_best_of_a_group_is_the_earliest_of_its_highest(pairs: list[tuple[int, int]]) -> None:
    groups = group(np.array([pair[0] for pair in pairs], np.int64))
    values = [float(pair[1]) for pair in pairs]
    best = first_best(groups.ids, np.array(values), groups.nodes.size)
    for number, position in enumerate(best.tolist()):
        mine = [at for at, which in enumerate(groups.ids.tolist()) if which == number]
        assert position == max(mine, key=lambda at: (values[at], -at))


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(-1, 25))
def test_the_strongest_are_the_first_of_a_stable_sort(values: list[int], count: int) -> None:
    expected = sorted(sorted(range(len(values)), key=lambda at: -values[at])[: max(0, count)])
    assert strongest(np.array(values, np.float64), count).tolist() == expected


@given(st.lists(st.integers(0, 2**15), max_size=40), st.sets(st.integers(0, 2**15), min_size=1, max_size=40))
def test_locate_finds_exactly_the_members(values: list[int], nodes: set[int]) -> None:
    listed = list(nodes)
    at, where = locate(np.array(values, np.int64), np.array(listed, np.int64))
    assert at.tolist() == [position for position, value in enumerate(values) if value in nodes]
    assert [listed[index] for index in where.tolist()] == [value for value in values if value in nodes]

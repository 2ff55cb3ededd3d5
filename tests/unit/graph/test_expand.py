"""The expansion of memories.sh: from memories over nodes to memories."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from graph_cases import csr

from clew.graph.adjacency import Nodes
from clew.graph.expand import Expanded, Expansion, expand

Row = tuple[int, int, float, float, str]


def hanging(links: dict[str, list[int]]) -> Callable[[Nodes], list[list[str]]]:
    """The way back of links: the memories of each node."""
    return lambda nodes: [[memory for memory, own in links.items() if node in own] for node in nodes.tolist()]


def expanded(rows: list[Row], links: dict[str, list[int]], seeds: list[str], **options: int) -> Expanded[str]:
    return expand(csr(rows, 10), {seed: links[seed] for seed in seeds}, hanging(links), **options)


def score_of(type_: str, weight: float = 1, confidence: float = 1, hops: int = 1) -> float:
    """The score of memory b, reached from memory a by an edge of the type after edges of no account."""
    before = [(node, node + 1, 0.1, 1.0, "about") for node in range(hops - 1)]
    rows = [*before, (hops - 1, hops, weight, confidence, type_)]
    (only,) = expanded(rows, {"a": [0], "b": [hops]}, ["a"], depth=hops).expansions
    return only.score


def test_memories_t10_a_similar_memory_is_found_with_its_reason() -> None:
    found = expanded([(0, 1, 1, 1, "similar_to")], {"mem-a": [0], "mem-b": [1]}, ["mem-a"], depth=1)
    assert found == ([Expansion("mem-b", 1, "similar_to", 1, 1.0, 1.0, "mem-a")], 1)


def test_memories_t10_edges_are_followed_against_their_direction() -> None:
    found = expanded([(1, 0, 1, 1, "similar_to")], {"mem-a": [0], "mem-b": [1]}, ["mem-a"], depth=1)
    assert [one.memory for one in found.expansions] == ["mem-b"]


def test_memories_t11_only_own_nodes_give_nothing() -> None:
    links = {"a": [0], "b": [1]}
    assert expanded([(0, 1, 1, 1, "similar_to")], links, ["a", "b"], depth=2) == ([], 0)


def test_memories_t12_scores_follow_type_confidence_and_hops() -> None:
    assert score_of("caused_by") > score_of("similar_to")
    assert score_of("similar_to", confidence=0.5) == pytest.approx(score_of("similar_to") / 2)
    assert score_of("similar_to", hops=2) == pytest.approx(score_of("similar_to") / 2)
    shared = expanded([], {"a": [0], "b": [0]}, ["a"]).expansions[0].score
    assert 0 < shared < score_of("similar_to")


def test_memories_14_worked_numbers() -> None:
    assert score_of("similar_to", weight=0.92) == pytest.approx(0.92)
    assert score_of("caused_by", confidence=0.8, hops=2) == pytest.approx(0.6)
    assert score_of("prefers_over", confidence=0.75) == pytest.approx(0.6)
    assert score_of("mentions") == pytest.approx(0.5)
    assert score_of("conditional_on", confidence=0.88, hops=2) == pytest.approx(0.6 * 0.88 / 2)


def test_memories_14_of_equal_scores_fewer_hops_come_first() -> None:
    rows = [
        (0, 1, 1, 1, "about"),
        (1, 2, 1, 0.5, "similar_to"),
        (0, 3, 1, 0.25, "similar_to"),
        (0, 4, 1, 0.25, "similar_to"),
    ]
    links = {"seed": [0], "a": [2], "z": [3], "y": [4]}
    found = expanded(rows, links, ["seed"], depth=2).expansions
    assert [(one.memory, one.hop_count) for one in found] == [("y", 1), ("z", 1), ("a", 2)]


def test_a_node_shared_with_a_seed_is_a_weak_reason_of_one_hop() -> None:
    found = expanded([], {"a": [0, 5], "b": [1, 5], "c": [2, 5]}, ["a", "b"])
    assert found.expansions == [Expansion("c", 5, "shared_node", 1, 1.0, 0.25, "a")]


def test_of_several_reasons_the_nearer_and_then_the_stronger_counts() -> None:
    rows = [(0, 1, 1, 1, "similar_to"), (0, 2, 1, 1, "caused_by"), (2, 3, 1, 1, "caused_by")]
    (only,) = expanded(rows, {"a": [0, 4], "b": [1, 2, 3, 4]}, ["a"], depth=2).expansions
    assert (only.via_node, only.edge_type, only.score) == (2, "caused_by", 1.5)


def test_a_second_hop_inherits_the_seed() -> None:
    rows = [(0, 1, 1, 1, "about"), (1, 2, 1, 1, "depends_on")]
    (only,) = expanded(rows, {"s": [9], "a": [0], "c": [2]}, ["s", "a"], depth=2).expansions
    assert (only.seed, only.hop_count, only.score) == ("a", 2, pytest.approx(0.45))


def test_depth_and_limit_are_held_within_their_bounds() -> None:
    rows = [(node, node + 1, 1.0, 1.0, "about") for node in range(5)]
    links = {name: [node] for node, name in enumerate("abcdef")}
    assert [one.memory for one in expanded(rows, links, ["a"], depth=9).expansions] == ["b", "c"]
    assert expanded(rows, links, ["a"], depth=-1) == expanded(rows, links, ["a"], depth=0) == ([], 0)
    cut = expanded(rows, links, ["a"], depth=2, limit=0)
    assert (len(cut.expansions), cut.total_candidates) == (1, 2)


def test_at_most_fifty_are_added() -> None:
    crowd = {f"m{number:03}": [0] for number in range(80)}
    found = expanded([], {"seed": [0]} | crowd, ["seed"], limit=1000)
    assert (len(found.expansions), found.total_candidates) == (50, 80)
    assert found.expansions[0].memory == "m000"


def test_no_seeds_or_no_links_give_nothing() -> None:
    assert expanded([], {"a": []}, ["a"]) == expanded([], {}, []) == ([], 0)

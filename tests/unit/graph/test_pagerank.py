"""Personalised PageRank by the numbers of Engram's inventory, item 35."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from clew.graph.adjacency import Floats
from clew.graph.pagerank import pagerank, teleport_to, top

Edge = tuple[int, int, float]


def ranks(edges: Sequence[Edge], teleport: Floats, **options: float) -> Floats:
    source, target = (np.array([edge[end] for edge in edges], np.int64) for end in (0, 1))
    weight = np.array([edge[2] for edge in edges], np.float64)
    return pagerank(source, target, weight, teleport, **options)  # type: ignore[arg-type]


def chain(*nodes: int) -> list[Edge]:
    return [(a, b, 1.0) for a, b in pairwise(nodes)]


def test_engram_35_a_ring_converges_and_sums_to_one() -> None:
    found = ranks(chain(0, 1, 2, 3, 0), teleport_to(4, [0]), iterations=90)
    assert found == pytest.approx([0.313812, 0.26674, 0.226729, 0.192719], abs=2e-6)
    again = ranks(chain(0, 1, 2, 3, 0), teleport_to(4, [0]), iterations=100)
    assert again.sum() == pytest.approx(1) and again == pytest.approx(found, abs=1e-5)


def test_engram_35_the_centre_of_a_star_comes_first() -> None:
    found = ranks([(0, leaf, 1.0) for leaf in (1, 2, 3, 4)], teleport_to(5, [0]))
    assert found == pytest.approx([0.558349] + [0.110413] * 4, abs=1e-6)
    assert top(found, 1)[0][0] == 0


def test_engram_35_the_heavier_edge_carries_more() -> None:
    found = ranks([(0, 1, 0.1), (0, 2, 0.9)], teleport_to(3, [0]))
    assert found[1:] == pytest.approx([0.044165, 0.397486], abs=1e-6)


def test_engram_35_a_node_without_edges_returns_its_mass() -> None:
    found = ranks(chain(0, 1), teleport_to(2, [0]), iterations=100)
    assert found == pytest.approx([0.540541, 0.459459], abs=1e-6) and found.sum() == pytest.approx(1)


def test_engram_35_a_seed_given_twice_counts_once() -> None:
    assert teleport_to(3, [0, 0, 1]).tolist() == teleport_to(3, [0, 1]).tolist() == [0.5, 0.5, 0]


def test_engram_35_no_iteration_gives_the_seed_vector() -> None:
    assert ranks(chain(0, 1), teleport_to(2, [0]), iterations=0).tolist() == [1, 0]


@pytest.mark.parametrize("count", [0, -1])
def test_engram_35_the_top_of_nothing_is_empty(count: int) -> None:
    assert top(np.array([0.4, 0.6]), count) == []


@pytest.mark.parametrize("damping", [1.5, -1, float("nan")])
def test_engram_35_any_damping_stays_finite(damping: float) -> None:
    found = ranks(chain(0, 1, 2, 0), teleport_to(3, [0]), damping=damping)
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1)


def test_engram_35_priors_bend_the_seeds_but_not_explicit_weights() -> None:
    priors = np.array([3.0, 1.0])
    assert teleport_to(2, [0, 1], priors=priors).tolist() == [0.75, 0.25]
    assert teleport_to(2, [0, 1], seed_weights={0: 1, 1: 1}, priors=priors).tolist() == [0.5, 0.5]


def test_engram_35_a_chain_of_supersessions_fades_from_its_tip() -> None:
    found = ranks(chain(0, 1, 2, 3, 4), teleport_to(5, [0]), iterations=30)
    assert found == pytest.approx([0.275214, 0.227446, 0.193329, 0.16433, 0.13968], abs=1e-6)


def test_seed_weights_count_for_seeds_in_the_graph_only() -> None:
    weights = {0: 1.0, 1: 3.0, 2: -1.0, 9: 5.0}
    assert teleport_to(3, seed_weights=weights).tolist() == [0.25, 0.75, 0]
    assert teleport_to(3, [1], seed_weights=weights).tolist() == [0, 1, 0]


def test_without_seeds_all_nodes_are_alike() -> None:
    assert teleport_to(4).tolist() == teleport_to(4, [7]).tolist() == [0.25] * 4
    assert teleport_to(0).tolist() == []


def test_an_edge_without_a_positive_weight_weighs_one() -> None:
    assert ranks([(0, 1, 0.0), (0, 2, -3.0)], teleport_to(3, [0]))[1:].tolist() == pytest.approx(
        [0.220826] * 2, abs=1e-6
    )


def test_equals_are_ordered_by_number() -> None:
    assert [node for node, _ in top(np.array([0.2, 0.4, 0.2, 0.2]), 9)] == [1, 0, 2, 3]

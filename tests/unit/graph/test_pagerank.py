"""Personalised PageRank by the numbers of Engram's inventory, item 35."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from graph_cases import csr

from clew.graph.activation import Activation, spread
from clew.graph.adjacency import Floats
from clew.graph.pagerank import walk

Edge = tuple[int, int, float]


def ranks(edges: Sequence[Edge], teleport: Floats, **options: float) -> Floats:
    source, target = (np.array([edge[end] for edge in edges], np.int64) for end in (0, 1))
    weight = np.array([edge[2] for edge in edges], np.float64)
    return walk(source, target, weight, teleport, **options)  # type: ignore[arg-type]


def to_first(size: int) -> Floats:
    return np.eye(size)[0]


def chain(*nodes: int) -> list[Edge]:
    return [(a, b, 1.0) for a, b in pairwise(nodes)]


def test_engram_35_a_ring_converges_and_sums_to_one() -> None:
    found = ranks(chain(0, 1, 2, 3, 0), to_first(4), iterations=90)
    assert found == pytest.approx([0.313812, 0.26674, 0.226729, 0.192719], abs=2e-6)
    again = ranks(chain(0, 1, 2, 3, 0), to_first(4), iterations=100)
    assert again.sum() == pytest.approx(1) and again == pytest.approx(found, abs=1e-5)


def test_engram_35_the_centre_of_a_star_comes_first() -> None:
    found = ranks([(0, leaf, 1.0) for leaf in (1, 2, 3, 4)], to_first(5))
    assert found == pytest.approx([0.558349] + [0.110413] * 4, abs=1e-6)
    assert found.argmax() == 0


def test_engram_35_the_heavier_edge_carries_more() -> None:
    found = ranks([(0, 1, 0.1), (0, 2, 0.9)], to_first(3))
    assert found[1:] == pytest.approx([0.044165, 0.397486], abs=1e-6)


def test_engram_35_a_node_without_edges_returns_its_mass() -> None:
    found = ranks(chain(0, 1), to_first(2), iterations=100)
    assert found == pytest.approx([0.540541, 0.459459], abs=1e-6) and found.sum() == pytest.approx(1)


def test_engram_35_no_iteration_gives_the_seed_vector() -> None:
    assert ranks(chain(0, 1), to_first(2), iterations=0).tolist() == [1, 0]


@pytest.mark.parametrize("damping", [1.5, -1, float("nan")])
def test_engram_35_any_damping_stays_finite(damping: float) -> None:
    found = ranks(chain(0, 1, 2, 0), to_first(3), damping=damping)
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1)


def test_engram_35_a_chain_of_supersessions_fades_from_its_tip() -> None:
    found = ranks(chain(0, 1, 2, 3, 4), to_first(5), iterations=30)
    assert found == pytest.approx([0.275214, 0.227446, 0.193329, 0.16433, 0.13968], abs=1e-6)


def test_engram_35_a_seed_given_twice_counts_once() -> None:
    graph = csr([(0, 2, 1, 0.9, "causal"), (1, 2, 1, 0.5, "causal"), (2, 3, 1, 1, "causal")], 4)
    once, twice = (spread(graph, seeds, Activation(refinement="personalised")) for seeds in ([0, 1], [0, 0, 1]))
    assert once == twice

"""Lateral inhibition and the bound on the refinement."""

from __future__ import annotations

import numpy as np
import pytest
from graph_cases import csr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from clew.graph.activation import Activation, spread
from clew.graph.adjacency import Floats
from clew.graph.refine import MAX_REFINED, hub_damping, inhibit

SCORES = arrays.arrays(np.float64, st.integers(0, 20), elements=st.floats(0, 10))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([1, 0.7, 0.65, 0.2, 0.1], [1, 0.655, 0.59, 0, 0]),
        ([1, 0.01], [1, 0]),
        ([0.8, 0.5], [0.8, 0.455]),
        ([0.9, 0.6, 0.35], [0.9, 0.555, 0.23]),
    ],
)
def test_engram_19_the_strong_subdue_the_weak(before: list[float], after: list[float]) -> None:
    assert inhibit(np.array(before, np.float64), 0.15, 7) == pytest.approx(after)


def test_engram_19_without_beta_or_rivals_nothing_changes() -> None:
    scores = np.array([1, 0.5, 0.1])
    assert inhibit(scores, 0, 7).tolist() == inhibit(scores, 0.15, 0).tolist() == scores.tolist()


@given(SCORES, st.floats(0, 1), st.integers(0, 9))
def test_inhibition_never_raises_a_score_and_leaves_the_best(scores: Floats, beta: float, top_m: int) -> None:
    inhibited = inhibit(scores, beta, top_m)
    assert (inhibited <= scores).all() and (inhibited >= 0).all()
    assert not scores.size or inhibited.max() == scores.max()


@given(SCORES)
def test_inhibition_never_swaps_two_nodes(scores: Floats) -> None:
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(inhibit(scores, 0.15, 7)[order]) <= 1e-12).all()


def test_only_the_strongest_are_refined_and_the_rest_keep_their_score() -> None:
    """The weakest two are linked, so they would change if they took part."""
    count = MAX_REFINED + 2
    star = [(0, node, 1 - node / 1000, 1.0, "causal") for node in range(1, count + 1)]
    graph = csr([*star, (count - 1, count, 0.1, 1, "causal")], count + 1)
    raw, refined = (
        {one.node: one.score for one in spread(graph, [0], Activation(1, iterations=i, beta=None, fan_out=None,
                                                                      max_expanded=None))}
        for i in (0, 8)
    )  # fmt: skip
    assert refined[count] == raw[count] and refined[count - 1] == raw[count - 1]


def test_damping_grows_with_the_degree() -> None:
    assert hub_damping(np.array([0, 1, 64])) == pytest.approx([1, 1, 7**-0.5])

"""How much a fact of the graph matters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.triplets import Triplet, importance, traversal_distance

UNIT = st.floats(0, 1)


def test_rensei_the_best_fact_has_importance_one_and_relevance_score_zero() -> None:
    assert importance(0, 0, 1, 1, 1) == pytest.approx(1)
    assert Triplet("a", "uses", "b", importance(0, 0, 1, 1, 1)).relevance_score == pytest.approx(0)


def test_rensei_neutral_feedback_changes_nothing_and_other_feedback_by_its_influence() -> None:
    neutral = importance(0.2, 0.4, 0.5, 0.5, 0.5)
    assert neutral == pytest.approx(0.7 * 1.0 / 1.625)
    assert importance(0.2, 0.4, 0.5, 0.5, 1) == pytest.approx(1.3 * neutral)
    assert importance(0.2, 0.4, 0.5, 0.5, 0) == pytest.approx(0.7 * neutral)


@given(UNIT, UNIT, UNIT, UNIT, UNIT, UNIT)
def test_rensei_importance_lies_between_0_and_1(a: float, b: float, c: float, d: float, e: float, f: float) -> None:
    assert 0 <= importance(a, b, c, d, e, f) <= 1 + 1e-12


@given(UNIT, UNIT, UNIT, UNIT)
def test_rensei_importance_falls_with_distance_and_rises_with_feedback(
    a: float, b: float, c: float, d: float
) -> None:
    near, far = sorted((a, b))
    assert importance(near, c, 0.5, 0.5, d) >= importance(far, c, 0.5, 0.5, d)
    assert importance(c, c, 0.5, 0.5, far) >= importance(c, c, 0.5, 0.5, near)


def test_rensei_a_node_only_the_walk_found_is_farther_by_its_hops() -> None:
    assert traversal_distance(0.2, 2) == pytest.approx(0.5)
    assert traversal_distance(0.9, 3) == 1

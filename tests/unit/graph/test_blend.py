"""Blending, merging and comparing what the graph found with what recall found."""

from __future__ import annotations

import numpy as np
import pytest

from clew.graph.blend import Scored, blend, compare_shadow, merge


def test_engram_20_bounds_hold_even_when_swapped() -> None:
    assert blend(10, 1, 1, 0.2, 0.4) == 0.4
    assert blend(0, 0, 1, 0.9, 0.2) == 0.2
    assert (blend(0, 0), blend(100, 1)) == (0.05, 0.95)


def test_engram_20_rises_with_the_activation() -> None:
    found = blend(np.array([0.1, 0.8, 5]), 0.6, 0.7)
    assert found == pytest.approx([0.243636, 0.491111, 0.763333], abs=1e-6)


def test_engram_20_defaults_over_arrays_of_both() -> None:
    found = blend(np.array([0.7, 1.4, 0.49]), np.full(3, 0.9))
    assert found == pytest.approx([0.582647, 0.694167, 0.528758], abs=1e-6)
    assert blend(0.7, 0.9) == pytest.approx(found[0])


def test_engram_20_what_is_not_finite_counts_as_nothing() -> None:
    assert blend(np.array([np.nan, np.inf, -3]), 1.0).tolist() == pytest.approx([0.35] * 3)


def test_engram_21_merging_keeps_the_higher_score_and_the_first_snippet() -> None:
    baseline = [Scored("a", 0.7, "seed A"), Scored("b", 0.4, ""), Scored("b", 0.3, "late")]
    merged = merge(baseline, [Scored("a", 0.9), Scored("c", 0.2, "graph")])
    assert merged == [Scored("a", 0.9, "seed A"), Scored("b", 0.4, "late"), Scored("c", 0.2, "graph")]


def test_engram_24_a_shadow_run_is_compared_and_told_in_one_line() -> None:
    baseline = [Scored("a", 0.5), Scored("b", 0.4), Scored("c", 0.3)]
    found = compare_shadow(baseline, [Scored("a", 0.6), Scored("b", 0.4), Scored("x", 0.9)])
    assert (found.baseline_count, found.graph_count, found.overlap_count) == (3, 3, 2)
    assert (found.overlap_ratio, found.average_overlap_delta) == (pytest.approx(2 / 3), pytest.approx(0.05))
    assert found.line == "on b=3 g=3 ov=2 (0.67) avgDelta=0.050"


def test_a_shadow_run_without_overlap_or_baseline_is_all_zero() -> None:
    assert compare_shadow([], [Scored("a", 1)]).line == "on b=0 g=1 ov=0 (0.00) avgDelta=0.000"

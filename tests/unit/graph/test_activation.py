"""Spreading activation, by the inventory of Engram and by the vectors made from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from graph_cases import NO_INHIBITION, RAW, VECTORS, csr, edges, run, scores
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.activation import Activated, Activation, spread
from clew.graph.case import activate_case
from clew.graph.settings import clamp_confidence, clamp_count, clamp_floor, clamp_unit

DIAMOND = edges("A-B .9, A-C .3, B-D .9, C-D .3")
WEIGHTS = st.floats(0.01, 2)
SHARES = st.floats(0, 1)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 11), st.integers(0, 11), WEIGHTS, SHARES, st.sampled_from(("entity", "causal", "about"))
    ),
    min_size=1,
    max_size=40,
)
SEEDS = st.lists(st.integers(0, 11), min_size=1, max_size=4)
OPEN = {"fan_out": None, "max_expanded": None}


def mass(found: list[Activated]) -> float:
    return sum(one.score for one in found)


@pytest.mark.parametrize("case", VECTORS["activation"], ids=lambda case: case["case"])
def test_engram_vectors_give_the_same_scores_provenance_and_order(case: dict[str, Any]) -> None:
    found, expected = activate_case(case), case["expected"]
    for key in ("node", "seed", "hop", "type", "edge_confidence"):
        assert [row[key] for row in found] == [row[key] for row in expected]
    for key in ("score", "decayed_weight"):
        assert [row[key] for row in found] == pytest.approx([row[key] for row in expected], abs=1e-9)


def test_engram_06_one_edge_gives_its_decay() -> None:
    assert scores(edges("A-B"), "A", max_steps=1) == {"B": pytest.approx(0.7)}


def test_engram_07_two_seeds_add_up() -> None:
    assert scores(edges("A-C, B-C"), "AB", max_steps=1) == {"C": pytest.approx(1.4)}


def test_engram_08_a_seed_never_scores_even_by_a_loop() -> None:
    assert run(edges("A-A"), "A") == []
    assert scores(edges("A-B"), "AB") == {}


@pytest.mark.parametrize(
    ("text", "score", "confidence"), [("A-B .9", 0.63, 0.9), ("A-B", 0.7, 1), ("A-B .5", 0.35, 0.5)]
)
def test_engram_09_confidence_scales_the_score(text: str, score: float, confidence: float) -> None:
    (row,) = run(edges(text), "A", **RAW)
    assert (row["score"], row["edge_confidence"]) == (pytest.approx(score), confidence)


def test_engram_10_edges_below_the_floor_are_not_followed() -> None:
    assert list(scores(edges("A-B .8, A-C .05"), "A")) == ["B"]
    assert scores(edges("A-B .05, B-C .9"), "A") == {}
    assert list(scores(edges("A-B .001"), "A", confidence_floor=0)) == ["B"]
    assert list(scores(edges("A-B .2"), "A", confidence_floor=0.2)) == ["B"]


def test_engram_11_floors_and_iterations_are_clamped() -> None:
    assert [clamp_floor(value) for value in (-0.5, 2, math.nan, None, 0.4)] == [0, 1, 0.2, 0.2, 0.4]
    assert [clamp_count(value) for value in (-3, math.nan, None, 7.6)] == [0, 0, 0, 7]
    assert [clamp_confidence(value) for value in (None, math.inf, 1.5, -1, 0.3)] == [1, 1, 1, 0, 0.3]


def test_engram_12_diamond_raw_refined_and_inhibited() -> None:
    assert scores(DIAMOND, "A", **RAW) == pytest.approx({"B": 0.9387, "C": 0.3129, "D": 0.588})
    refined = {"D": 0.900672, "B": 0.704196, "C": 0.234732}
    assert scores(DIAMOND, "A", **NO_INHIBITION) == pytest.approx(refined, abs=1e-6)
    assert list(scores(DIAMOND, "A", **NO_INHIBITION)) == ["D", "B", "C"]
    assert sum(refined.values()) == pytest.approx(1.8396)
    assert scores(DIAMOND, "A") == pytest.approx({"B": 0.674724, "C": 0.064421, "D": 0.900672}, abs=1e-6)


def test_engram_13_a_single_candidate_is_not_refined() -> None:
    assert scores(edges("S-B .9", "time"), "S", pagerank_iterations=16) == {"B": pytest.approx(0.63)}


def test_engram_14_five_edges_over_many_iterations() -> None:
    graph, long = edges("A-B .7, A-C .5, B-C .9, B-D .6, C-D .8"), {"max_steps": 4}
    assert scores(graph, "A", **RAW | long) == pytest.approx({"B": 1.1368, "C": 1.0654, "D": 0.686}, abs=1e-4)
    refined = scores(graph, "A", **NO_INHIBITION | long, pagerank_iterations=32)
    assert refined == pytest.approx({"B": 0.941804, "C": 1.067378, "D": 0.879017}, abs=1e-6)


def test_engram_15_a_chain_scores_backwards_too() -> None:
    assert scores(edges("A-B, B-C"), "A", **RAW) == pytest.approx({"B": 1.043, "C": 0.49})
    assert scores(edges("A-B, B-C"), "A") == pytest.approx({"B": 0.78244, "C": 0.745778}, abs=1e-6)
    chain = {"B": 0.417374, "C": 0.912174, "D": 0.417374}
    assert scores(edges("A-B, B-C, C-D"), "A") == pytest.approx(chain, abs=1e-6)


def test_engram_16_a_cause_is_not_reached_from_its_effect() -> None:
    chain = edges("A-B, B-C", "causal")
    assert scores(chain, "A", **RAW) == pytest.approx({"B": 0.7, "C": 0.49})
    assert scores(chain, "A") == pytest.approx({"C": 1.19, "B": 0}, abs=1e-6)
    assert scores(chain, "C") == {}


def test_engram_17_a_star_and_a_doubled_edge() -> None:
    star = scores(edges("A-B, A-C .5, A-D .25"), "A")
    assert star == pytest.approx({"B": 0.7, "C": 0.2975, "D": 0.07})
    assert scores(edges("A-B, A-B"), "A", max_steps=1) == {"B": pytest.approx(1.4)}


def test_engram_18_the_nearest_and_then_the_strongest_entry_is_the_provenance() -> None:
    row = next(row for row in run(DIAMOND, "A", **RAW) if row["node"] == "D")
    assert (row["seed"], row["hop"], row["edge_confidence"]) == ("A", 2, 0.9)
    assert row["decayed_weight"] == pytest.approx(0.441)
    near = run(edges("A-B .3, A-C, C-B"), "A", **RAW)
    assert next(row["hop"] for row in near if row["node"] == "B") == 1


def test_engram_29_counts_and_shares_are_clamped() -> None:
    assert [clamp_count(value) for value in (-4, 0, -9)] == [0, 0, 0]
    assert [clamp_unit(value) for value in (2, -1, 9)] == [1, 0, 1]
    assert Activation(max_steps=-4, confidence_floor=3).max_steps == 0


def test_no_steps_or_no_seeds_give_nothing() -> None:
    assert run(DIAMOND, "A", max_steps=0) == []
    assert run(DIAMOND, "") == []


def test_a_seed_given_twice_counts_once() -> None:
    assert run(DIAMOND, "AA") == run(DIAMOND, "A")


def test_a_path_leads_from_the_seed_over_the_best_entries() -> None:
    row = next(row for row in run(DIAMOND, "A", **RAW) if row["node"] == "D")
    assert (row["path"], row["edge_confidences"]) == (["A", "B", "D"], [0.9, 0.9])


def test_the_strongest_edge_of_a_path_is_its_confidence() -> None:
    graph = csr([(0, 1, 1, 0.5, "causal"), (1, 2, 1, 0.8, "causal")], 3)
    two = next(one for one in spread(graph, [0], Activation()) if one.node == 2)
    assert two.path_confidence == 0.8


def test_a_path_keeps_to_its_seed_when_another_seed_reached_a_node_more_strongly() -> None:
    """M is expanded for A, who came first; that B's edge is stronger is M's provenance, not N's."""
    found = {row["node"]: row for row in run(edges("A-M .5, B-M .9, M-N"), "AB", **RAW)}
    assert found["M"]["path"] == ["B", "M"]
    assert (found["N"]["seed"], found["N"]["path"]) == ("A", ["A", "M", "N"])


def test_equals_keep_the_order_of_first_touch() -> None:
    assert list(scores(edges("A-Z, A-M, A-B"), "A", max_steps=1)) == ["Z", "M", "B"]


def test_a_bound_on_expansion_takes_the_strongest_and_cuts_the_results() -> None:
    """Only B leads to X, and three times; B is the weakest of the first hop."""
    graph = edges("A-B .3, A-C .9, A-D .8, B-X, B-X, B-X")
    assert list(scores(graph, "A", **RAW, max_expanded=2)) == ["C", "D"]
    assert list(scores(graph, "A", **RAW, max_steps=2, max_expanded=3)) == ["X", "C", "D"]
    assert run(graph, "A", max_expanded=0) == []


def test_a_bound_on_the_fan_out_follows_the_strongest_entries() -> None:
    graph = edges("A-B .3, A-C .9, A-D .5")
    assert list(scores(graph, "A", **RAW, fan_out=2, max_steps=1)) == ["C", "D"]


def test_personalised_keeps_the_near_above_the_far() -> None:
    for type_ in ("entity", "causal"):
        chain = edges("A-B, B-C, C-D", type_)
        assert list(scores(chain, "A", refinement="personalised")) == ["B", "C", "D"]
        assert next(iter(scores(chain, "A"))) != "B"


def test_personalised_scales_by_the_weight_of_the_seed() -> None:
    graph = csr([(0, 2, 1, 1, "entity"), (1, 3, 1, 1, "entity")], 4)
    settings = Activation(refinement="personalised", beta=None)
    even = {one.node: one.score for one in spread(graph, [0, 1], settings)}
    tilted = {one.node: one.score for one in spread(graph, [0, 1], settings, seed_weights=[1, 0.25])}
    assert even[2] == pytest.approx(even[3])
    assert tilted[3] == pytest.approx(tilted[2] / 4)


def test_personalised_gives_less_through_a_hub() -> None:
    hub = [(0, other, 1.0, 1.0, "causal") for other in range(2, 10)]
    graph = csr([*hub, (1, 10, 1, 1, "causal")], 11)
    found = {one.node: one.score for one in spread(graph, [0, 1], Activation(refinement="personalised", beta=None))}
    assert found[2] < found[10]


@given(ROWS, SEEDS)
def test_a_refinement_keeps_the_mass(rows: list[tuple[int, int, float, float, str]], seeds: list[int]) -> None:
    graph = csr(rows, 12)
    for refinement in ("compat", "personalised"):
        raw, refined = (
            spread(graph, seeds, Activation(iterations=count, beta=None, refinement=refinement, **OPEN))
            for count in (0, 8)
        )
        assert mass(refined) == pytest.approx(mass(raw))


@given(ROWS, SEEDS, st.sampled_from(("compat", "personalised")))
def test_a_path_is_aligned(
    rows: list[tuple[int, int, float, float, str]], seeds: list[int], refinement: Any
) -> None:
    for one in spread(csr(rows, 12), seeds, Activation(confidence_floor=0, refinement=refinement)):
        assert (one.path[0], one.path[-1]) == (one.seed, one.node)
        assert len(one.edge_confidences) == one.hop == len(one.path) - 1
        assert one.edge_confidences[-1] == one.edge_confidence


def by_queue(rows: list[tuple[int, int, float, float, str]], seeds: list[int]) -> dict[int, tuple[Any, ...]]:
    """Engram's search as it is told, one entry at a time: score, seed, hop and contribution per node."""
    entries = [
        entry for a, b, w, c, t in rows if c >= 0.2 for entry in ((a, b, w * c), *[(b, a, w * c)] * (t != "causal"))
    ]
    queue, found = [(seed, 0, seed) for seed in dict.fromkeys(seeds)], dict[int, tuple[Any, ...]]()
    visited = set(seeds)
    for node, hop, seed in queue:
        for _, target, strength in [entry for entry in entries if entry[0] == node and hop < 3]:
            share = strength * 0.7 ** (hop + 1)
            score, *how = found.get(target, (0.0, seed, hop + 1, share))
            better = hop + 1 < how[1] or (hop + 1 == how[1] and share > how[2])
            if target not in seeds:
                found[target] = (score + share, *((seed, hop + 1, share) if better else how))
            if target not in visited:
                visited.add(target)
                queue.append((target, hop + 1, seed))
    return found


@given(ROWS, SEEDS)
def test_whole_hops_give_what_single_entries_give(
    rows: list[tuple[int, int, float, float, str]], seeds: list[int]
) -> None:
    found = spread(csr(rows, 12), seeds, Activation(iterations=0, beta=None, **OPEN))
    expected = by_queue(rows, seeds)
    order = sorted(expected, key=lambda node: -expected[node][0])
    assert [one.node for one in found] == order
    for one in found:
        assert (one.score, one.seed, one.hop, one.decayed_weight) == pytest.approx(expected[one.node], abs=1e-12)


@given(ROWS, SEEDS, st.randoms())
def test_the_order_of_the_edges_matters_only_for_ties(
    rows: list[tuple[int, int, float, float, str]], seeds: list[int], chance: Any
) -> None:
    shuffled = chance.sample(rows, len(rows))
    one, other = (
        {found.node: found.score for found in spread(csr(some, 12), seeds, Activation(**OPEN))}
        for some in (rows, shuffled)
    )
    assert one == pytest.approx(other, abs=1e-9)


@given(ROWS, SEEDS)
def test_every_result_is_finite_sorted_and_no_seed(
    rows: list[tuple[int, int, float, float, str]], seeds: list[int]
) -> None:
    found = spread(csr(rows, 12), seeds, Activation())
    values = [one.score for one in found]
    assert values == sorted(values, reverse=True) and np.isfinite(values).all()
    assert not {one.node for one in found} & set(seeds)

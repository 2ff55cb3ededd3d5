"""Near duplicates, and what they lend each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.learn.corroborate import boosted, canonical, clusters, simhash


def test_a_simhash_has_64_bits_and_ignores_case_and_order() -> None:
    assert simhash("Redis holds sessions") == simhash("SESSIONS holds redis") < 1 << 64


def test_three_differing_bits_are_near_and_four_are_not() -> None:
    assert clusters({"a": 0, "b": 0b111, "c": 0b1111 << 20}) == [["a", "b"], ["c"]]


def test_a_chain_of_near_ones_is_one_cluster() -> None:
    assert clusters({"a": 0, "b": 0b111, "c": 0b111111}) == [["a", "b", "c"]]


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 255), max_size=8))
def test_every_id_is_in_exactly_one_cluster(hashes: dict[str, int]) -> None:
    assert sorted(id for cluster in clusters(hashes) for id in cluster) == sorted(hashes)


def test_the_heaviest_stands_for_its_cluster_and_the_others_are_its_score() -> None:
    assert canonical(["a", "b", "c"], {"a": 0.2, "b": 0.9, "c": 0.9}) == ("b", 2)


@pytest.mark.parametrize(("score", "boost"), [(0, 0.0), (1, 0.1), (3, 0.2), (7, 0.3)])
def test_witnesses_boost_by_their_logarithm(score: int, boost: float) -> None:
    assert boosted(0.5, score) == pytest.approx(0.5 + boost)

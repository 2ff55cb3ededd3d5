"""Metrics against cases worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.bench.metrics import (
    BY_CATEGORY,
    CHOSEN,
    CUTOFFS,
    Score,
    groups_of,
    percentile,
    score_ranking,
    summarise,
)

RANKED = [f"u{n}" for n in range(1, 31)]
UNITS = st.lists(st.sampled_from(RANKED), unique=True)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["u1"], {2: 1, 5: 1, 10: 1, 20: 1}),
        (["u2", "u4"], {2: 0.5, 5: 1, 10: 1, 20: 1}),
        (["u3", "u7", "u15", "u99"], {2: 0, 5: 0.25, 10: 0.5, 20: 0.75}),
        (["u21"], {2: 0, 5: 0, 10: 0, 20: 0}),
    ],
)
def test_recall_at_k_is_the_share_of_gold_units_among_the_first_k(
    gold: list[str], expected: dict[int, float]
) -> None:
    assert score_ranking(RANKED, gold, "c").recall == expected


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["u1"], 1.0),
        (["u1", "u2"], 1.0),
        (["u2"], 1 / math.log2(3)),
        (["u3"], 0.5),  # 1 / log2(4)
        (["u1", "u3"], (1 + 0.5) / (1 + 1 / math.log2(3))),
        (["u11"], 0.0),
        (["u1", "unknown"], 1 / (1 + 1 / math.log2(3))),
    ],
)
def test_ndcg_at_10_discounts_by_rank(gold: list[str], expected: float) -> None:
    assert score_ranking(RANKED, gold, "c").ndcg == pytest.approx(expected)


@given(UNITS, UNITS.filter(bool))
def test_metrics_lie_between_0_and_1_and_recall_grows_with_k(ranked: list[str], gold: list[str]) -> None:
    score = score_ranking(ranked, gold, "c")
    assert 0 <= score.ndcg <= 1 + 1e-9
    values = [score.recall[k] for k in CUTOFFS]
    assert values == sorted(values) and values[0] >= 0 and values[-1] <= 1


@given(UNITS.filter(bool))
def test_the_gold_units_in_front_are_the_best_ranking(gold: list[str]) -> None:
    best = [*gold, *(unit for unit in RANKED if unit not in gold)]
    assert score_ranking(best, gold, "c").ndcg == pytest.approx(1)


def scored(*golds: tuple[list[str], str]) -> list[Score]:
    return [score_ranking(RANKED, gold, category) for gold, category in golds]


THREE = scored((["u1"], "a"), (["u21"], "b"), (["u2", "u21"], "b"))


def test_a_summary_has_means_in_all_and_per_category_and_the_plain_mean_over_categories() -> None:
    assert {name: (part["questions"], part["recall@2"]) for name, part in summarise(THREE).items()} == {
        "all": (3, 0.5),
        "a": (1, 1.0),
        "b": (2, 0.25),
        BY_CATEGORY: (3, 0.625),  # (1.0 + 0.25) / 2
    }


def test_chosen_categories_have_their_plain_mean_where_all_of_them_occur() -> None:
    scores = [*THREE, *scored((["u3"], "c"))]
    assert summarise(scores, ["b", "c"])[CHOSEN]["recall@2"] == 0.125  # (0.25 + 0) / 2
    assert summarise(scores, ["c", "b", "c"])[CHOSEN]["questions"] == 3
    assert CHOSEN not in summarise(scores, ["b", "d"])


def test_one_category_has_no_mean_over_categories() -> None:
    assert set(summarise(scored((["u1"], "a"), (["u2"], "a")))) == {"all", "a"}


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_groups_hold_every_question_once(categories: list[str]) -> None:
    groups = groups_of(categories)
    everything = sorted(range(len(categories)))
    of_categories = [at for name in set(categories) for part in groups[name] for at in part]
    assert sorted(of_categories) == everything
    for name in {"all", BY_CATEGORY} & set(groups):
        assert sorted(at for part in groups[name] for at in part) == everything


def test_nothing_asked_is_nothing_summarised() -> None:
    assert summarise([]) == {}


@pytest.mark.parametrize(("share", "expected"), [(0.01, 1), (0.5, 50), (0.99, 99), (0.995, 100), (1.0, 100)])
def test_a_percentile_is_a_value_that_occurred(share: float, expected: int) -> None:
    assert percentile([float(n) for n in range(100, 0, -1)], share) == expected
    assert percentile([], share) == 0

"""Decay of an edge's confidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from graph_cases import VECTORS

from clew.graph.confidence import decay

W = timedelta(days=90)
MS = timedelta(milliseconds=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [(case["settings"], row) for case in VECTORS["confidence"] for row in case["rows"]]


def at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@pytest.mark.parametrize(("settings", "row"), ROWS)
def test_engram_vectors_decay_once_and_again(settings: dict[str, Any], row: dict[str, Any]) -> None:
    options = timedelta(days=settings["window_days"]), settings["per_window"], settings["floor"]
    anchor, now = at(row["last_reinforced_at"] or row["created_at"]), at(row["now"])
    assert now is not None
    once = decay(row["confidence"], anchor, now, *options)
    for (confidence, after), expected in (
        (once, row["decayed"]),
        (decay(*once, now, *options), row["decayed_again"]),
    ):
        assert confidence == pytest.approx(expected["confidence"], abs=1e-9)
        assert after == (at(expected["last_reinforced_at"]) or anchor)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(days=30), 0.9),
        (W, 0.9),
        (W + MS, 0.8),
        (1.5 * W, 0.8),
        (2 * W, 0.8),
        (2 * W + MS, 0.7),
        (3 * W, 0.7),
    ],
)
def test_engram_31_confidence_falls_by_the_window(age: timedelta, expected: float) -> None:
    assert decay(0.9, START, START + age)[0] == pytest.approx(expected)


def test_engram_31_floor_old_edges_and_other_windows() -> None:
    assert decay(0.2, START, START + 100 * W)[0] == 0.1
    assert decay(None, START, START + 2 * W)[0] == 0.9
    day = timedelta(days=1)
    assert decay(1.0, START, START + 3 * day, day, 0.25, 0.5)[0] == 0.5


def test_engram_31_the_anchor_moves_by_whole_windows() -> None:
    assert decay(0.9, START, START + 2.5 * W) == (pytest.approx(0.7), START + 2 * W)


def test_engram_31_settings_or_dates_that_make_no_sense_change_nothing() -> None:
    assert decay(0.9, START, START + 9 * W, timedelta(milliseconds=-1)) == (0.9, START)
    assert decay(0.9, None, START) == (0.9, None)
    assert decay(0.9, START, START + 9 * W, W, -0.1) == (0.9, START)
    assert decay(0.9, START, START + 9 * W, W, 0.1, float("nan")) == (0.9, START)


def test_engram_31_an_edge_below_the_floor_stays() -> None:
    assert decay(0.05, START, START + 9 * W)[0] == 0.05

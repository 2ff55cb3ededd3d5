"""The scripted week, small: the gate blocks when the graph fails, and opens again by itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from clew.bench import rollout
from clew.bench.rollout_plot import spans, week_svg
from clew.bench.week import DAYS, FAULT_AT, REPAIRED_AT, START, Asked, Week, at, report_of
from clew.errors import InvalidInput
from clew.surfaces.cli.parser import parse

REQUESTS = 700
FINE, FAILED, SHUT = (
    Asked(True, True, False, False, ""),
    Asked(True, False, True, False, "graph_expansion_error"),
    Asked(True, False, True, True, "quality_gate_blocked", ("GRAPH_ERROR_RATE_REGRESSION",)),
)


@pytest.fixture(scope="module")
def week() -> dict[str, Any]:
    return rollout.run(REQUESTS)


def hours(week: Mapping[str, Any], first: int, last: int) -> list[dict[str, Any]]:
    return [hour for hour in week["hours"][first:last] if hour["requests"]]


# -- a real week ---------------------------------------------------------------------------------------


def test_before_the_fault_the_canary_is_applied(week: dict[str, Any]) -> None:
    assert week["applied_share"]["before"] == 1.0
    assert not any(hour["is_blocked"] or hour["errors"] for hour in week["hours"][:FAULT_AT])


def test_the_gate_blocks_within_a_few_requests_of_the_fault(week: dict[str, Any]) -> None:
    block = week["blocking"]
    assert block["requests"] <= 25 and 0 < block["minutes"] < 6 * 60
    assert set(block["reason_codes"]) & {"GRAPH_ERROR_RATE_REGRESSION", "GRAPH_ERROR_RATE_ABOVE_LIMIT"}
    assert block["errors"] == block["requests"]


def test_w2_while_it_is_shut_the_shadow_goes_on_failing_and_is_counted(week: dict[str, Any]) -> None:
    blocked = week["blocked"]
    assert blocked["failed_shadow_runs"] > 10 and blocked["shadow_runs"] > blocked["failed_shadow_runs"]
    assert all(hour["is_blocked"] and not hour["applied"] for hour in hours(week, FAULT_AT + 2, REPAIRED_AT))


def test_w1_it_heals_without_anyones_help(week: dict[str, Any]) -> None:
    """After a window without errors, not when requests have become few."""
    heal, since = week["healing"], REPAIRED_AT + 25
    assert heal["at"] is not None and heal["hours_after_repair"] <= 25
    assert not any(hour["is_blocked"] for hour in week["hours"][since:])
    assert sum(hour["applied"] for hour in week["hours"][since:]) > 50
    assert week["blocked"]["times"] == 1


def test_the_default_goes_back_to_the_baseline_and_comes_back(week: dict[str, Any]) -> None:
    strategies = [one["strategy"] for one in week["default_strategy"]]
    assert strategies == ["hybrid_graph", "baseline", "hybrid_graph"]


def test_every_request_is_in_some_hour_and_every_fallback_has_its_reason(week: dict[str, Any]) -> None:
    assert week["requests"] == REQUESTS and len(week["hours"]) == 24 * DAYS
    for hour in week["hours"]:
        assert hour["wanted"] == hour["applied"] + sum(hour["fallback_reasons"].values())


def test_the_week_is_told_in_words(week: dict[str, Any]) -> None:
    told = rollout.table(week)
    assert "blocked after" in told and "hours after the repair, by itself" in told


# -- its plot ------------------------------------------------------------------------------------------


def test_a_plot_without_a_place_is_refused_before_the_week_begins(tmp_path: Path) -> None:
    for place in ("", str(tmp_path), str(tmp_path / "no" / "week.svg")):
        with pytest.raises(InvalidInput, match=r"names no file|cannot be written|no directory"):
            rollout.measure(parse(["bench", "rollout", "--plot", place]))


def test_the_plot_is_well_formed_small_and_legible_on_dark_screens(week: dict[str, Any]) -> None:
    text = week_svg(week)
    root = ElementTree.fromstring(text)
    said = " ".join(root.itertext())
    assert root.tag.endswith("svg") and len(text.encode()) < 60_000
    assert [
        word for word in ("requests", "graph errors", "quality gate", "Monday", "blocked") if word not in said
    ] == []
    assert "prefers-color-scheme:dark" in said


def test_hours_of_one_state_are_one_span() -> None:
    states = [("wait", "too few"), ("pass", "open"), ("pass", "open"), ("fail", "blocked")]
    assert spans(states) == [(0, 1, "wait", "too few"), (1, 3, "pass", "open"), (3, 4, "fail", "blocked")]


def test_the_plot_in_the_documents_shows_a_whole_week() -> None:
    text = (Path(__file__).parents[3] / "docs" / "rollout-week.svg").read_text(encoding="utf-8")
    assert "20,000 requests" in " ".join(ElementTree.fromstring(text).itertext()) and len(text) < 60_000


# -- the arithmetic around it --------------------------------------------------------------------------


def test_the_schedule_has_days_and_nights_and_a_weekend() -> None:
    moments = rollout.schedule(5_000)
    at_hours = [(moment - START) / timedelta(hours=1) for moment in moments]
    by_day, by_night = (sum(low <= hour % 24 < low + 6 for hour in at_hours) for low in (10, 0))
    assert moments == sorted(moments) and len(moments) == 5_000 and moments[-1] < at(24 * DAYS)
    assert by_day > 5 * by_night
    assert sum(hour >= 24 * 5 for hour in at_hours) < len(moments) / 5


def test_turning_points_are_the_first_request_that_finds_the_gate_shut_and_the_first_that_does_not() -> None:
    week = Week()
    for number, asked in enumerate((FAILED, FAILED, SHUT, SHUT, FINE)):
        week.note(FAULT_AT, at(FAULT_AT + number / 60), asked)
    for hour in week.hours:
        hour.gate = {"default_strategy": "hybrid_graph"}
    report = report_of(week)
    assert report["blocking"] == {
        "at": "2026-03-04T10:02:00.000Z", "minutes": 2.0, "requests": 2, "errors": 2,
        "reason_codes": ["GRAPH_ERROR_RATE_REGRESSION"],
    }  # fmt: skip
    assert report["blocked"] == {"hours": 0.0, "times": 1, "shadow_runs": 2, "failed_shadow_runs": 2}
    assert report["healing"]["at"] == "2026-03-04T10:04:00.000Z"


def test_a_week_without_a_block_says_so() -> None:
    week = Week()
    for hour in week.hours:
        hour.gate = {"default_strategy": "hybrid_graph"}
    told = rollout.table({"memories": 0, "seconds": 0.0, **report_of(week)})
    assert told.endswith("the gate never blocked")

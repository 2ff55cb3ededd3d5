"""The scripted week as a picture: what was asked, what failed, what the gate did about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew.bench.plot import (
    BOTTOM,
    GAP,
    TOP,
    Axis,
    Panel,
    band,
    bars,
    day_names,
    document,
    frame,
    legend,
    limit,
    line,
    shade,
)
from clew.model.times import parse_time

BAND = 26  # height of a band
MAX_ERRORS, MAX_FALLBACKS = 5, 15  # per cent: the gate's limits
STATES = {"pass": ("pass", "open"), "warn": ("pass", "open"), "insufficient_data": ("wait", "too few")}
BLOCKED = ("fail", "blocked")
DEFAULTS = {"hybrid_graph": ("pass", "the graph"), "baseline": ("wait", "the baseline")}


def week_svg(report: Mapping[str, Any]) -> str:
    hours: Sequence[Mapping[str, Any]] = report["hours"]
    start = parse_time(report["from"])
    axis = Axis(len(hours), _day_names(report, len(hours) // 24))
    since, until = ((parse_time(report["fault"][end]) - start).total_seconds() / 3600 for end in ("from", "until"))
    requests, errors, gate, default = panels(max(hour["requests"] for hour in hours))
    parts = [shade(since, until, panel, axis) for panel in (requests, errors)]
    parts += [frame(panel, axis) for panel in (requests, errors, gate, default)]
    parts += [*_requests(hours, requests, axis), *_errors(hours, errors, axis)]
    parts.append(band(spans([_state(hour) for hour in hours]), gate, axis))
    parts.append(band(spans([DEFAULTS[hour["default_strategy"]] for hour in hours]), default, axis))
    parts += [day_names(default, axis), legend(LEGEND, default.bottom + 44)]
    return document(
        f"A week of {report['requests']:,} requests with a fault in the graph",
        "By the hour: requests and how many got the graph; graph errors with their limits; the gate; the default.",
        parts,
        height=default.bottom + BOTTOM,
    )


LEGEND = (
    ("bar", "requests"),
    ("line", "got the graph"),
    ("err", "failed in this hour"),
    ("rate", "failed in 24 h, as the gate counts"),
    ("limit", "limit"),
    ("fault", "fault"),
)


def panels(most: int) -> tuple[Panel, Panel, Panel, Panel]:
    """`most`: the requests of the busiest hour."""
    step = next(size for size in (5, 10, 15, 25, 50, 75, 125, 250, 500, 1_000, 5_000, 10**9) if most <= 4 * size)
    ticks = tuple(float(step * tick) for tick in range(5))
    first = Panel("requests per hour, and how many of them got the graph", TOP, 130, 4.0 * step, ticks)
    rates = (0.0, 25.0, 50.0, 75.0, 100.0)
    title = "graph errors: share of the walks of an hour, and of the last 24 hours"
    second = Panel(title, first.bottom + GAP, 150, 100.0, rates, " %")
    third = Panel("quality gate", second.bottom + GAP, BAND)
    return first, second, third, Panel("what a request without a strategy gets", third.bottom + GAP, BAND)


def _requests(hours: Sequence[Mapping[str, Any]], panel: Panel, axis: Axis) -> Iterator[str]:
    yield bars([hour["requests"] for hour in hours], panel, axis, "bar")
    yield line([hour["applied"] for hour in hours], panel, axis, "line")


def _errors(hours: Sequence[Mapping[str, Any]], panel: Panel, axis: Axis) -> Iterator[str]:
    shares = [100 * hour["errors"] / hour["requests"] if hour["requests"] else 0.0 for hour in hours]
    yield bars(shares, panel, axis, "err")
    yield line([100 * hour["error_rate"] for hour in hours], panel, axis, "rate")
    yield limit(MAX_ERRORS, f"errors {MAX_ERRORS} %", panel, axis)
    yield limit(MAX_FALLBACKS, f"fallbacks {MAX_FALLBACKS} %", panel, axis)


def _state(hour: Mapping[str, Any]) -> tuple[str, str]:
    return BLOCKED if hour["is_blocked"] else STATES[hour["status"]]


def spans(states: Sequence[tuple[str, str]]) -> list[tuple[float, float, str, str]]:
    """Hours in a row with the same kind and word, as one: from, until, kind, word."""
    found: list[tuple[float, float, str, str]] = []
    for number, state in enumerate(states):
        if found and found[-1][2:] == state:
            found[-1] = (found[-1][0], number + 1.0, *state)
        else:
            found.append((float(number), number + 1.0, *state))
    return found


def _day_names(report: Mapping[str, Any], days: int) -> tuple[str, ...]:
    first = parse_time(report["from"]).weekday()
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return tuple(names[(first + day) % 7] for day in range(days))

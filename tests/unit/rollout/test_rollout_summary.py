"""The summary of what was measured, and the alarms: each at its limit, and which one silences another."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from measured import add, measured

from clew.model.rollout import RequestCounts
from clew.ports import Store
from clew.rollout.gate import Gate, Reason, quality_gate
from clew.rollout.summary import Summary, alarms, read_summary
from clew.rollout.windows import Window
from counted import ERROR, NOON, applied, failed, shadowed, unused

EARLIER = NOON - timedelta(hours=1)
EMPTY = Window(start_at=NOON - timedelta(days=1), end_at=NOON)
QUIET = quality_gate(EMPTY, EMPTY, now=NOON, window_hours=24)


def raised(counts: dict[str, int] | None = None, gate: Gate | None = QUIET) -> list[tuple[str, str]]:
    found = alarms(Summary(24, RequestCounts(**counts or {})), gate, now=NOON)
    return [(alarm.code, alarm.severity) for alarm in found]


def a_reason(code: str, *, blocking: bool = True) -> Reason:
    return Reason(code, "critical", "fallback_rate", 0.2, 0.0, 0.15, "", blocking)


def test_t45_four_errors_in_twenty_requests_raise_three_alarms(store: Store) -> None:
    add(store, [failed(EARLIER) if n < 4 else applied(EARLIER) for n in range(20)])
    summary, gate = measured(store, NOON)
    assert summary.fallback_rate == 0.2
    codes = [alarm.code for alarm in alarms(summary, gate, now=NOON)]
    assert codes == ["HIGH_FALLBACK_RATE", "GRAPH_EXPANSION_ERRORS", "CANARY_QUALITY_GATE_BLOCKED"]


@pytest.mark.parametrize(
    ("total", "fallbacks", "expected"),
    [
        (20, 3, [("HIGH_FALLBACK_RATE", "critical")]),
        (20, 2, [("ELEVATED_FALLBACK_RATE", "warning")]),
        (19, 19, [("ELEVATED_FALLBACK_RATE", "warning")]),
        (10, 1, [("ELEVATED_FALLBACK_RATE", "warning")]),
        (9, 9, []),
        (21, 1, []),
    ],
)
def test_one_of_two_alarms_tells_of_fallbacks(total: int, fallbacks: int, expected: list[Any]) -> None:
    assert raised({"total_requests": total, "unplanned_fallbacks": fallbacks}) == expected


def test_d6_three_errors_are_an_alarm_and_two_are_not() -> None:
    assert raised({"graph_errors": 3}) == [("GRAPH_EXPANSION_ERRORS", "critical")]
    assert raised({"graph_errors": 2}) == []


def test_w2_errors_of_the_shadow_alone_are_an_alarm(store: Store) -> None:
    add(store, [shadowed(EARLIER, error=ERROR) for _ in range(3)])
    found = alarms(*measured(store, NOON), now=NOON)
    assert [alarm.as_json() for alarm in found] == [
        {
            "code": "GRAPH_EXPANSION_ERRORS",
            "severity": "critical",
            "message": "The graph failed 3 times, 3 of them in the shadow.",
            "triggeredAt": "2026-03-01T12:00:00.000Z",
        }
    ]


@pytest.mark.parametrize("reason", ["shadow_mode", "rollout_off", "feature_flag_disabled", "rollout_guardrail"])
def test_w1_what_somebody_chose_is_no_alarm(store: Store, reason: str) -> None:
    add(store, [unused(EARLIER, reason, eligible=False) for _ in range(30)])
    summary, gate = measured(store, NOON)
    assert summary.fallback_rate == 1.0
    assert alarms(summary, gate, now=NOON) == []


def test_a_gate_that_blocks_is_named_with_its_first_three_reasons() -> None:
    gate = QUIET._replace(reasons=tuple(a_reason(code) for code in "ABCD"), status="fail")
    [alarm] = alarms(Summary(24, RequestCounts()), gate, now=NOON)
    assert (alarm.code, alarm.severity) == ("CANARY_QUALITY_GATE_BLOCKED", "critical")
    assert alarm.message == "The quality gate blocks the canary: A, B, C."


def test_a_gate_that_only_warns_is_a_warning() -> None:
    gate = QUIET._replace(reasons=(a_reason("A", blocking=False),), status="warn")
    assert raised(gate=gate) == [("CANARY_QUALITY_GATE_WARNING", "warning")]


def test_a_gate_that_could_not_be_evaluated_raises_nothing() -> None:
    assert raised(gate=None) == []


def test_the_payload_has_the_documented_fields(store: Store) -> None:
    add(store, [applied(EARLIER, expanded=2), applied(EARLIER), failed(NOON - timedelta(minutes=1))])
    with store.read() as tx:
        payload = read_summary(tx.rollout, "local", now=NOON, window_hours=24).as_json()
    assert payload == {
        "windowHours": 24, "totalRequests": 3, "hybridRequested": 3, "canaryApplied": 2, "shadowExecutions": 0,
        "fallbackCount": 1, "fallbackRate": 1 / 3, "unplannedFallbacks": 1, "graphErrorFallbacks": 1,
        "graphErrors": 1, "shadowGraphErrors": 0, "avgGraphCandidates": 2.0, "avgGraphExpandedCount": 1.0,
        "lastFallbackAt": "2026-03-01T11:59:00.000Z", "lastFallbackReason": "graph_expansion_error",
    }  # fmt: skip


def test_nothing_measured_is_told_as_nothing(store: Store) -> None:
    summary, _ = measured(store, NOON)
    payload = summary.as_json()
    assert (payload["fallbackRate"], payload["lastFallbackAt"], payload["lastFallbackReason"]) == (0, None, None)


@pytest.mark.parametrize(("asked", "used"), [(0.5, 1), (24, 24), (9999, 720)])
def test_a_summary_looks_back_an_hour_at_least_and_a_month_at_most(store: Store, asked: float, used: float) -> None:
    with store.read() as tx:
        assert read_summary(tx.rollout, "local", now=NOON, window_hours=asked).window_hours == used

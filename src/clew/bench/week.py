"""What happened in the scripted week, by the hour and by its turning points. Pure: requests in, a report out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from clew.model.times import to_rfc3339
from clew.values import dataclass

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DAYS = 7
FAULT_AT, FAULT_HOURS = 58, 6  # hours after the start: Wednesday, 10 to 16 o'clock
REPAIRED_AT = FAULT_AT + FAULT_HOURS


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


class Asked(NamedTuple):
    """What became of one request. `reason`: why it wanted the graph and did not get it."""

    wanted: bool
    applied: bool
    failed: bool
    blocked: bool
    reason: str
    codes: tuple[str, ...] = ()  # what the gate gives as its reasons


@dataclass(slots=True)
class Hour:
    """What happened in one hour, and what the gate said at its end."""

    requests: int = 0
    wanted: int = 0
    applied: int = 0
    errors: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    gate: dict[str, Any] = field(default_factory=dict)

    def note(self, asked: Asked) -> None:
        self.requests += 1
        self.wanted += asked.wanted
        self.applied += asked.applied
        self.errors += asked.failed
        if asked.reason:
            self.reasons[asked.reason] += 1

    def as_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("requests", "wanted", "applied", "errors")}
        return counts | {"fallback_reasons": dict(sorted(self.reasons.items()))} | self.gate


@dataclass(slots=True)
class Week:
    """The requests so far, and when the gate shut and opened again."""

    hours: list[Hour] = field(default_factory=lambda: [Hour() for _ in range(24 * DAYS)])
    blocked_at: datetime | None = None  # the first request that found it shut
    requests_to_block: int = 0  # from the fault on
    errors_to_block: int = 0
    shadow_runs: int = 0  # while it was shut
    failed_shadow_runs: int = 0
    times_blocked: int = 0
    codes: tuple[str, ...] = ()  # why it shut
    healed_at: datetime | None = None  # the first request after that

    def note(self, hour: int, moment: datetime, asked: Asked) -> None:
        self.hours[hour].note(asked)
        if asked.blocked:
            self._shut(moment, asked)
        elif self.blocked_at is not None and self.healed_at is None:
            self.healed_at = moment
        elif self.blocked_at is None and moment >= at(FAULT_AT):
            self.requests_to_block += 1
            self.errors_to_block += asked.failed

    def _shut(self, moment: datetime, asked: Asked) -> None:
        if self.blocked_at is None or self.healed_at is not None:
            self.times_blocked += 1
        self.blocked_at, self.healed_at = self.blocked_at or moment, None
        self.codes = self.codes or asked.codes
        self.shadow_runs += 1
        self.failed_shadow_runs += asked.failed


def report_of(week: Week) -> dict[str, Any]:
    until = week.healed_at or at(24 * DAYS)
    return {
        "from": to_rfc3339(START),
        "days": DAYS,
        "requests": sum(hour.requests for hour in week.hours),
        "fault": {"from": to_rfc3339(at(FAULT_AT)), "until": to_rfc3339(at(REPAIRED_AT)),
                  "requests": sum(hour.requests for hour in week.hours[FAULT_AT:REPAIRED_AT]),
                  "errors": sum(hour.errors for hour in week.hours)},
        "blocking": {"at": _told(week.blocked_at), "minutes": _minutes(week.blocked_at, FAULT_AT),
                     "requests": week.requests_to_block, "errors": week.errors_to_block,
                     "reason_codes": list(week.codes)},
        "blocked": {"hours": _hours(until, week.blocked_at), "times": week.times_blocked,
                    "shadow_runs": week.shadow_runs, "failed_shadow_runs": week.failed_shadow_runs},
        "healing": {"at": _told(week.healed_at), "hours_after_repair": _hours(week.healed_at, at(REPAIRED_AT))},
        "applied_share": {
            "before": _share(week.hours[:FAULT_AT]),
            "blocked": _share(_between(week, week.blocked_at, until)),
            "after": _share(_between(week, until, at(24 * DAYS))),
        },
        "default_strategy": _defaults(week),
        "hours": [hour.as_json() for hour in week.hours],
    }  # fmt: skip


def _between(week: Week, since: datetime | None, until: datetime) -> list[Hour]:
    """Whole hours."""
    if since is None:
        return []
    first, last = math.ceil((since - START) / timedelta(hours=1)), (until - START) // timedelta(hours=1)
    return week.hours[first:last]


def _share(hours: Sequence[Hour]) -> float | None:
    """Of the requests that wanted the graph, how many got it."""
    wanted, applied = (sum(getattr(hour, name) for hour in hours) for name in ("wanted", "applied"))
    return round(applied / wanted, 4) if wanted else None


def _defaults(week: Week) -> list[dict[str, str]]:
    """What a request without a strategy got, from when on."""
    seen: list[dict[str, str]] = []
    for number, hour in enumerate(week.hours):
        strategy = hour.gate["default_strategy"]
        if not seen or seen[-1]["strategy"] != strategy:
            seen.append({"strategy": strategy, "from": to_rfc3339(at(number))})
    return seen


def _told(moment: datetime | None) -> str | None:
    return to_rfc3339(moment) if moment else None


def _minutes(moment: datetime | None, since_hour: int) -> float | None:
    return round((moment - at(since_hour)) / timedelta(minutes=1), 1) if moment else None


def _hours(moment: datetime | None, since: datetime | None) -> float | None:
    return round((moment - since) / timedelta(hours=1), 1) if moment and since else None

"""What a language model answered, and what asking it costs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from clew.values import dataclass

PAIRS, SEMANTICS = "classification", "semantic_extraction"  # what a model is asked for; also stages of an issue

# Codes that say more than that it failed: the text was not to its liking, or nobody knows what it cost.
REFUSED, TRUNCATED, TIMEOUT, BROKE_OFF = "LLM_REFUSED", "LLM_TRUNCATED", "LLM_TIMEOUT", "LLM_BROKE_OFF"
EXTRA_MISSING, ODD_ANSWER = "LLM_EXTRA_MISSING", "LLM_ODD_ANSWER"


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer: JSON as it came, not yet checked against anything."""

    data: Any
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What was asked of one model for one task on one day (UTC). `withheld` texts were too secret to be sent."""

    day: str
    model: str
    task: str
    calls: int = 0
    failures: int = 0
    withheld: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    last_failure: str = ""

    def as_json(self) -> dict[str, Any]:
        apart = ("cost_micros", "last_failure")
        counted = {name: getattr(self, name) for name in self.__slots__ if name not in apart}
        failure = {"last_failure": self.last_failure} if self.last_failure else {}
        return counted | {"cost": self.cost_micros / 1e6} | failure


@dataclass(frozen=True, slots=True)
class Spent:
    """The readout: every row of an org since a day, newest day first, and what today leaves."""

    org: str
    since: date
    enabled: bool
    rows: Sequence[Usage]
    used_today: int
    daily_tokens: int

    @property
    def left_today(self) -> int:
        return max(0, self.daily_tokens - self.used_today)

    @property
    def total(self) -> Usage:
        names = ("calls", "failures", "withheld", "input_tokens", "output_tokens", "cost_micros")
        return Usage("", "", "", **{name: sum(getattr(row, name) for row in self.rows) for name in names})

    def as_json(self) -> dict[str, Any]:
        total = {
            name: value for name, value in self.total.as_json().items() if name not in ("day", "model", "task")
        }
        today = {"used": self.used_today, "limit": self.daily_tokens, "left": self.left_today}
        about = {"org": self.org, "since": self.since.isoformat(), "enabled": self.enabled}
        return about | {"today": today, "total": total, "rows": [row.as_json() for row in self.rows]}

"""What Clew did in a span of time, in numbers: nothing here quotes a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, ClassVar

from clew.model.times import to_rfc3339
from clew.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """`pushes`: blocks put before agents, at the start and in between (hints). `receipts`: how far those came.
    `looked`: what came of each look for something to say. `None` where the asker may not see the whole org; what
    was denied is known of the whole org alone."""

    since: datetime
    until: datetime
    project: str | None = None
    user: str | None = None  # set: only what is this user's
    sessions: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)  # accepted, rework, rejected
    pushes: Mapping[str, int] = field(default_factory=dict)  # start, hints
    delivered: int = 0
    receipts: Mapping[str, int] = field(default_factory=dict)
    given_up: int = 0
    tokens: int = 0
    looked: Mapping[str, int] = field(default_factory=dict)
    captured: Mapping[str, int] = field(default_factory=dict)
    hooks: Mapping[str, int] | None = None  # "host event"
    denied: int | None = None
    quarantined: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Absent figures are left out; times are RFC 3339."""
        fields = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: _plain(value) for name, value in fields if value is not None}

    header: ClassVar[tuple[str, ...]] = ("figure", "value")

    def as_rows(self) -> list[dict[str, Any]]:
        """One figure each, those of a group under the name of their group."""
        rows: list[dict[str, Any]] = []
        for name, value in self.as_json().items():
            parts = value.items() if isinstance(value, dict) else [("", value)]
            rows += [{"figure": f"{name}.{part}" if part else name, "value": one} for part, one in parts]
        return rows


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_rfc3339(value)
    return dict(value) if isinstance(value, Mapping) else value

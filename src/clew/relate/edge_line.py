"""One line of a file of edges, read with suspicion: fields in, an edge out. Pure.

Whatever is wrong with a line is an `InvalidInput` whose code goes into the import's report. Two forms are read:
ours, and Engram's, which has `ts` for both times, calls the second one `lastReinforcedAt`, and knows neither
projects nor witnesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clew.errors import InvalidInput
from clew.model.graph import MAX_LABEL
from clew.model.times import parse_time
from clew.remember.link import checked_relation
from clew.remember.redact import redact
from clew.remember.word import MAX_KEY
from clew.values import dataclass

MAX_NAME = MAX_KEY + 40  # a type, a colon, a key
MAX_WEIGHT = 1_000.0


@dataclass(frozen=True, slots=True)
class EdgeLine:
    source: str
    target: str
    type: str
    created_at: datetime
    reinforced_at: datetime
    weight: float = 1.0
    confidence: float = 1.0
    label: str = ""
    project: str = ""
    source_project: str = ""
    target_project: str = ""
    is_users: bool = False
    witnesses: tuple[str, ...] = ()
    is_plain: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """What two lines about the same edge have in common."""
        return self.source, self.source_project, self.target, self.target_project, self.type, self.project


def edge_of(fields: Mapping[str, Any], *, now: datetime) -> EdgeLine:
    is_plain = "ts" in fields
    created_at = _time(fields, "ts" if is_plain else "created_at") or now
    reinforced_at = _time(fields, "lastReinforcedAt" if is_plain else "last_reinforced_at") or created_at
    return EdgeLine(
        source=_name(fields, "from"),
        target=_name(fields, "to"),
        type=checked_relation(_text(fields, "type")),
        created_at=created_at,
        reinforced_at=reinforced_at,
        weight=_number(fields, "weight", MAX_WEIGHT),
        confidence=_number(fields, "confidence", 1.0),
        label=redact(_text(fields, "label")).text[:MAX_LABEL],
        project=_text(fields, "project"),
        source_project=_text(fields, "from_project"),
        target_project=_text(fields, "to_project"),
        is_users=fields.get("user") is True,
        witnesses=_ids(fields),
        is_plain=is_plain,
    )


def _name(fields: Mapping[str, Any], name: str) -> str:
    text = _text(fields, name).strip()
    if not text or len(text) > MAX_NAME or not text.isprintable():
        raise _invalid(f"'{name}' names nothing", "EDGE_END_INVALID")
    return text


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise _invalid(f"{name} is not text", "EDGE_FIELD_INVALID")
    return value


def _number(fields: Mapping[str, Any], name: str, most: float) -> float:
    value = fields.get(name, 1.0)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise _invalid(f"{name} is no number from 0 to {most:g}", "EDGE_NUMBER_INVALID")  # as is NaN
    return float(value)


def _time(fields: Mapping[str, Any], name: str) -> datetime | None:
    text = _text(fields, name)
    return parse_time(text) if text else None


def _ids(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("witnesses", [])
    if not isinstance(value, list) or not all(isinstance(id, str) for id in value):
        raise _invalid("witnesses is not a list of ids", "EDGE_FIELD_INVALID")
    return tuple(dict.fromkeys(value))


def _invalid(message: str, code: str) -> InvalidInput:
    return InvalidInput(message, code=code)

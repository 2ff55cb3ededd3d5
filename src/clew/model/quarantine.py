"""A text that waits for a judgement: kept apart from memories, so nothing can recall it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clew.model.memory import Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Quarantined:
    """`memory` is what it will be once released: masked and classified, with the trust of where it came from."""

    memory: Memory
    reasons: tuple[str, ...]
    at: datetime
    expires_at: datetime

    @property
    def id(self) -> str:
        return self.memory.id

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "reasons": list(self.reasons),
            "at": to_rfc3339(self.at),
            "expires_at": to_rfc3339(self.expires_at),
            "memory": self.memory.as_json(),
        }

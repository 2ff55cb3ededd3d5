"""Values of transfer and retention: who granted what, what a project is built with, how long what is kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from clew.model.memory import Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Grant:
    """Memories of `source` may be shown in `dest`; not the other way round."""

    source: str
    dest: str
    granted_by: str
    granted_at: datetime
    revoked_at: datetime | None = None

    @property
    def is_in_force(self) -> bool:
        return self.revoked_at is None

    def as_json(self) -> dict[str, Any]:
        answer = {"source": self.source, "dest": self.dest, "granted_by": self.granted_by}
        answer["granted_at"] = to_rfc3339(self.granted_at)
        return answer | ({"revoked_at": to_rfc3339(self.revoked_at)} if self.revoked_at else {})


@dataclass(frozen=True, slots=True)
class StoredFingerprint:
    """What a project is built with, as it was last read from its manifests."""

    project: str
    components: frozenset[str]
    manifest_hash: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What is left None holds for all."""

    id: str
    ttl_days: float
    action: str = "soft"  # soft | hard
    project: str | None = None
    classification: str | None = None
    type: str | None = None
    created_by: str = ""
    created_at: datetime | None = None

    @property
    def ttl(self) -> timedelta:
        return timedelta(days=self.ttl_days)

    def covers(self, memory: Memory) -> bool:
        named = (self.project, self.classification, self.type)
        own = (memory.project, memory.classification, memory.type)
        return all(wanted is None or wanted == has for wanted, has in zip(named, own, strict=True))

    def as_json(self) -> dict[str, Any]:
        told = {name: value for name in self.__slots__ if (value := getattr(self, name)) not in (None, "")}
        return told | ({"created_at": to_rfc3339(self.created_at)} if self.created_at else {})

"""A session: one agent run, claimed by a worker that holds its lock; and what is queued for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clew.model.times import to_rfc3339

STATES = ("queued", "running", "finalizing", "completed", "failed", "stopped")
ENDED = frozenset(("completed", "failed", "stopped"))
OUTCOMES = ("accepted", "rework", "rejected")
RECEIPTS = ("printed", "consumed", "recorded", "confirmed")  # each says more than the one before


@dataclass(frozen=True, slots=True)
class AgentSession:
    id: str
    org: str
    project: str | None
    user: str | None
    agent: str | None  # None: a stage that dispatches itself, for which nothing is injected on tool calls
    work_type: str | None
    issue: str | None  # PROJ-123
    issue_id: str | None  # the tracker's own id
    title: str | None
    description: str | None
    state: str
    worker: str | None
    provider_session: str | None
    fencing_token: int
    stop_requested: bool
    outcome: str | None
    created_at: datetime
    claimed_at: datetime | None
    ended_at: datetime | None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    def as_json(self) -> dict[str, Any]:
        return _present(self)


@dataclass(frozen=True, slots=True)
class Inject:
    """One queued block, as its row says."""

    delivery_id: str
    org: str
    session: str
    agent: str | None
    kind: str  # memory | user
    phase: str  # start | in_session
    text: str
    content_hash: str
    observation_ids: tuple[str, ...]
    node_ids: tuple[str, ...]
    state: str  # pending | delivered | acked | dead | cancelled
    receipt: str | None
    attempts: int
    fencing_token: int
    reason: str | None
    enqueued_at: datetime
    first_delivered_at: datetime | None
    last_delivered_at: datetime | None
    ended_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        return _present(self)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a worker is handed: to be given to the agent, then acknowledged by its id."""

    delivery_id: str
    text: str
    kind: str = "memory"
    attempts: int = 1

    def as_json(self) -> dict[str, Any]:
        return {"delivery_id": self.delivery_id, "text": self.text}


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a lock refresh. Not refreshed: the lock is lost, stop at once."""

    refreshed: bool
    stop: bool = False
    inject: Delivery | None = None

    def as_json(self) -> dict[str, Any]:
        inject = self.inject.as_json() if self.inject else None
        return {"refreshed": self.refreshed, "stop": self.stop, "inject": inject}


def _present(value: Any) -> dict[str, Any]:
    """Absent fields are left out; times are RFC 3339; tuples are lists."""
    fields = ((name, getattr(value, name)) for name in value.__slots__)
    return {name: _plain(field) for name, field in fields if field is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_rfc3339(value)
    return list(value) if isinstance(value, tuple) else value

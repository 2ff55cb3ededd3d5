"""A session: one agent run, claimed by a worker that holds its lock; and what is queued for it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clew.errors import Conflict, InvalidInput
from clew.model.scope import Reach
from clew.model.times import to_rfc3339
from clew.values import dataclass

STATES = ("queued", "running", "finalizing", "completed", "failed", "stopped")
ENDED = frozenset(("completed", "failed", "stopped"))
OUTCOMES = ("accepted", "rework", "rejected")
KINDS = ("memory", "user")
PHASES = ("start", "in_session")
INJECT_STATES = ("pending", "delivered", "acked", "dead", "cancelled")
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
class SessionReport:
    """What a worker tells of a session that ended: for its summary and for what is learnt from it."""

    summary: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # {"tool", "file"?, "success"}
    files_modified: tuple[str, ...] = ()
    errors: tuple[Mapping[str, Any], ...] = ()  # {"message", "tool", "recoverable"}


@dataclass(frozen=True, slots=True)
class Lock:
    """What a worker shows with every call: who it is, and the token it was given with the session."""

    reach: Reach
    session: str
    worker: str
    token: int


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
    source_ids: tuple[str, ...]  # every memory and summary it rests on, those shown among them
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
class InjectDraft:
    """A text for an agent, before it is put on the queue."""

    session: str
    text: str
    kind: str = "memory"
    phase: str = "in_session"
    agent: str | None = None
    observation_ids: tuple[str, ...] = ()
    node_ids: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()  # memories it rests on besides those it shows, and summaries
    is_rendered: bool = False  # from memories of this store; ids that others name may be of a store of theirs


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of a draft: a new inject; nothing, because the same text was there before (`known`); or nothing,
    for a reason."""

    inject: Inject | None = None
    known: Inject | None = None
    reason: str | None = None

    @property
    def deduplicated(self) -> bool:
        return self.known is not None

    def as_json(self) -> dict[str, Any]:
        row = self.inject or self.known
        answer: dict[str, Any] = {"delivery_id": row.delivery_id, "state": row.state} if row else {}
        answer |= {"enqueued": self.inject is not None, "deduplicated": self.deduplicated}
        return answer | ({"reason": self.reason} if self.reason else {})


class Head(NamedTuple):
    """What the store knows when a worker asks for the next inject of a session."""

    project: str
    user: str
    state: str
    stop_requested: int
    is_holder: int
    is_enabled: int
    is_suspended: int  # the session's agent
    seq: int | None  # None: nothing in flight, nothing waits
    delivery_id: str
    text: str
    kind: str
    attempts: int
    source_ids: str  # JSON
    enqueued_at: int


class ReceiptTarget(NamedTuple):
    """What the store knows when a worker acknowledges a delivery."""

    project: str
    user: str
    worker: str  # the last that claimed the session, and its token
    fencing_token: int
    ended_at: int | None
    is_holder: int
    seq: int | None  # None: the session has no such delivery
    state: str
    receipt: str


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


def refused(session: str, reason: str) -> InvalidInput | Conflict:
    """Why a text was not put in, for whoever has to be told. What the limits are, only the store's side knows."""
    match reason:
        case "text_too_long":
            message = "the text is longer than deliver.max_text_bytes allows"
            return InvalidInput(message, code="INJECT_TOO_LONG", next="shorten it, or raise deliver.max_text_bytes")
        case "queue_full":
            message = f"as many injects wait in session {session} as deliver.max_pending allows"
            return Conflict(message, code="QUEUE_FULL", next="wait until its worker has taken some")
        case "given_up_before":
            message = f"the same text was given up in session {session} before"
            return Conflict(message, code="INJECT_GIVEN_UP", next=f"see: clew queue list {session} --state dead")
        case _:
            return Conflict(f"session {session} has ended", code="SESSION_ENDED", next="start a new one")

"""What a session starts and ends with: the report about its start block, and the summary of how it went."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from clew.model.access import Resource
from clew.model.inject import Block
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a session was about and how it ended, in a few lines."""

    id: str
    org: str
    session: str
    project: str | None
    user: str | None
    agent: str | None
    work_type: str | None
    issue: str | None
    outcome: str | None
    goal: str
    text: str
    files: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    classification: str = "internal"
    trust: str = "agent"
    weight: float = 1.0
    created_at: datetime | None = None

    @property
    def resource(self) -> Resource:
        return Resource("memory", self.id, self.org, self.project, self.user, classification=self.classification)


@dataclass(frozen=True, slots=True)
class Held:
    """What an agent has before it when its session starts: a transcript that goes on, or an earlier block. `lines`
    are those of facts; `sessions` those whose own memories it has, because it was there. `goes_on`: it has its
    block, and is told only what that would say today and did not."""

    ids: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class InjectReport:
    """What became of the block at a session's start. `error` names what failed; nothing is ever raised."""

    block: Block = field(default_factory=Block)
    log_id: str | None = None
    delivery_id: str | None = None
    delivered: bool = False
    deduplicated: bool = False  # the same block was there before
    reason: str = ""
    error: str | None = None

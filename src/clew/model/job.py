"""Jobs: work that a write asks for and does not wait for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.model.times import to_rfc3339
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.model.relation import Issue

RELATE = "relate"  # vectors, similarity, contradictions, relations a model finds
STATES = ("queued", "leased", "dead")
EDIT, NEIGHBOUR, BACKFILL = "edit", "neighbour", "backfill"
# neighbour: a memory it spoke of has changed. backfill: its texts are known, its vector or its place here is new
OUTCOMES = ("success", "retry", "dead_letter", "skipped")

# Failure codes of the queue itself; those of the work are in `relation` and with the providers.
JOB_FAILED = "JOB_FAILED"  # a handler raised what it should not
WORKER_LOST = "JOB_WORKER_LOST"  # whoever worked on it ended without a word
KIND_UNKNOWN = "JOB_KIND_UNKNOWN"
ASKED_AGAIN = "JOB_ASKED_AGAIN"  # the memory changed while its job was worked on


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it stands in the queue; `token` is that of the lease, 0 when nobody holds it.

    `subject` is the memory's id. Of an org there is at most one job per kind and subject."""

    org: str
    kind: str
    subject: str
    operation: str
    state: str
    generation: int
    attempts: int
    due_at: datetime
    code: str
    message: str
    created_at: datetime
    updated_at: datetime
    token: int = 0

    @property
    def id(self) -> str:
        """A memory has one job of a kind, so its id is that of the memory in other words."""
        return "job_" + self.subject.removeprefix("mem_")

    def as_json(self) -> dict[str, Any]:
        told = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "token"}
        return _plain({"id": self.id} | told)


@dataclass(frozen=True, slots=True)
class JobRun:
    """One attempt, as it ended."""

    org: str
    id: str
    kind: str
    subject: str
    operation: str
    attempt: int
    outcome: str
    code: str
    message: str
    ms: float
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return _plain({entry.name: getattr(self, entry.name) for entry in fields(self)})


@dataclass(frozen=True, slots=True)
class Done:
    """What a handler made of a job. `save` runs in the transaction that finishes the job, or not at all; `issues`
    are parts that were left out. `skipped` says that there was nothing to do, and why."""

    save: Callable[[Any], None] | None = None  # takes the Tx
    issues: tuple[Issue, ...] = ()
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a handler could not do a job. The message names no text of a memory and no secret."""

    code: str
    message: str = ""
    retryable: bool = True


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of jobs came to. `degraded` are among the successes, `lost` were taken over by somebody else
    meanwhile; `left` are still to be done, now or later."""

    processed: int = 0
    success: int = 0
    retries: int = 0
    dead_letters: int = 0
    skipped: int = 0
    degraded: int = 0
    lost: int = 0
    left: int = 0

    def __add__(self, other: Ran) -> Ran:
        """`left` is what the later one found."""
        added = {name: getattr(self, name) + getattr(other, name) for name in self.__slots__ if name != "left"}
        return Ran(**added, left=other.left)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class JobHealth:
    """How the queue of an org is doing; ages in seconds, by the database's clock."""

    org: str
    queued: int = 0
    leased: int = 0
    dead: int = 0
    oldest_s: float | None = None  # since when the oldest job waits that is not dead, or no longer
    last_success: datetime | None = None
    failures_last_hour: int = 0  # attempts that failed, whatever came of the job; not those asked for again
    last_day: Mapping[str, int] = field(default_factory=dict)  # attempts by how they ended
    codes: Mapping[str, int] = field(default_factory=dict)  # and by the code they left

    @property
    def backlog(self) -> int:
        return self.queued + self.leased

    def as_json(self) -> dict[str, Any]:
        told = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return _plain({"org": self.org, "backlog": self.backlog} | told)


@dataclass(frozen=True, slots=True)
class BackfillState:
    """How far the vectors of a space are made up for. `remaining` is counted, the time follows from the rate."""

    space: str
    status: str  # idle | running | paused | completed
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    remaining: int = 0
    started_at: datetime | None = None
    last_run_at: datetime | None = None
    completed_at: datetime | None = None
    last_error: str = ""

    @property
    def remaining_s(self) -> float | None:
        """None while nothing was measured."""
        if not self.remaining:
            return 0.0
        return self.remaining * self.seconds / self.done if self.done else None

    def as_json(self) -> dict[str, Any]:
        told = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return _plain(told | {"remaining_s": None if self.remaining_s is None else round(self.remaining_s, 1)})


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Times as text, and nothing that is absent."""
    present = {name: value for name, value in values.items() if value is not None and value != ""}
    times = {name: to_rfc3339(value) for name, value in present.items() if isinstance(value, datetime)}
    return present | times

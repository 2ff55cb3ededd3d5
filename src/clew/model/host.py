"""What the hooks of an agent's host tell, in one form for every host, and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from clew.values import dataclass

# What an event is to Clew, whatever its host calls it.
KINDS = (
    "session_start", "prompt", "tool_start", "tool_end", "tool_failure", "tool_batch", "agent_start", "agent_stop",
    "stop", "compact", "session_end", "other",
)  # fmt: skip
STATED = ("rule", "decision", "fact")  # what is captured of a prompt beside its task
ASKED = "The user asked: "  # what a task begins with that was captured
SOURCES = ("startup", "resume", "clear", "compact", "fork")
NO_LIMIT = 1_000_000_000
NOT_KEPT = "EVENT_NOT_KEPT"  # code of an error: it is about this event and no other


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event of a host, normalised. `kind` is one of KINDS, `event` what the host calls it. Texts are as they
    came, cut to what may be looked at; nothing is masked yet."""

    host: str
    kind: str
    event: str
    host_session: str
    event_id: str  # ours: the same event told twice has it twice
    agent_id: str | None = None  # set: of a subagent
    agent_type: str | None = None
    source: str | None = None  # of a session_start: one of SOURCES
    cwd: str | None = None
    transcript: str | None = None
    prompt: str | None = None
    tool: str | None = None
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_output: Any = None
    tool_use_id: str | None = None
    calls: tuple[Mapping[str, Any], ...] = ()  # of a tool_batch: tool, tool_input, tool_output, tool_use_id
    error: str | None = None
    message: str | None = None  # the last one of the agent, at a stop
    reason: str | None = None  # of a session_end
    is_interrupted: bool = False  # of a tool_failure: the user stopped it
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the project's file leaves of what is injected on tool calls; as here, everything. Settings of `inject`
    have the same names."""

    floor: float = 0.0
    latency_ms: int = NO_LIMIT
    budget_tokens: int = NO_LIMIT
    max_suggestions: int = NO_LIMIT


@dataclass(frozen=True, slots=True)
class Around:
    """What the machine of the host knows besides: looked up where the event happened, which may not be where the
    store is. `held`: ids of memories that the transcript holds already, and lines of facts."""

    project: str | None = None
    branch: str | None = None
    root: str | None = None  # of the repository; paths are told from here
    linked: str | None = None  # the same as the host spells it, where it came there through a link
    is_off: bool = False  # `clew off`: neither answered nor kept
    inject: bool = True  # what the project's file leaves on
    capture: bool = True
    looks: bool = True  # for something to inject in the middle of a session
    skipped: tuple[str, ...] = ()  # tools at which it does not
    limits: Limits = Limits()
    ignored: tuple[str, ...] = ()  # patterns of .clewignore
    held: tuple[str, ...] = ()
    held_lines: tuple[str, ...] = ()
    saw_transcript: bool = False  # False: nobody could look, and `held` tells nothing
    is_known: bool = True  # False: nobody could look at all; what the session knows stands


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """`text` is printed as it is: what the host accepts, or nothing. `delivery_id`: what it delivers. `kind`: of
    the event, one of KINDS."""

    text: str = ""
    delivery_id: str | None = None
    kind: str = "other"


@dataclass(frozen=True, slots=True)
class HostSession:
    """The session of a host and the session of ours that serves it now."""

    host: str
    host_session: str
    session_id: str
    token: int
    created_at: datetime
    updated_at: datetime
    agent_id: str | None = None
    source: str | None = None
    project: str | None = None
    user: str | None = None
    branch: str | None = None
    printed: str | None = None
    printed_event: str | None = None
    printed_kind: str | None = None
    printed_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HookFired:
    """When a hook last fired."""

    host: str
    event: str
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class StoredFact:
    """An event as it is kept. `facts`: JSON of what it says, '' for nothing. `session`, `project` and `user` are
    those of the session of ours that it belongs to; `ends`: the sessions of ours that it ended; `teller` and
    `roles`: the agent and the roles of the credential that told it."""

    org: str
    event_id: str
    host: str
    host_session: str
    agent_id: str | None
    facts: str
    at: datetime
    event: str = ""
    kind: str = "other"
    session: str | None = None
    project: str | None = None
    user: str | None = None
    ends: tuple[str, ...] = ()
    teller: str | None = None
    roles: tuple[str, ...] = ()

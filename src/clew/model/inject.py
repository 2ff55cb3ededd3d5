"""Values of injection: what is seen of a tool call, what is found for it, and the block that reaches a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from os import PathLike, fspath
from typing import Any

from clew.errors import InvalidInput
from clew.model.choice import name_one_as_many
from clew.model.learning import RankedCandidate
from clew.model.memory import Memory
from clew.model.times import parse_time, to_rfc3339
from clew.values import dataclass

PHASES = ("pre", "post", "failure")
MEMORY_SCOPES = ("project", "org", "session")
OUTCOMES = ("injected", "queued", "no-match", "skipped", "budget-exceeded", "disabled", "suppressed")
DENIED = "denied"  # by a policy: the owner may know, an agent may not
_NAMES = ("session", "tool", "event_id", "agent", "project", "memory_namespace")
MAX_QUERY_BYTES = 4_096  # cut before any regular expression or tokeniser sees it


@dataclass(frozen=True, slots=True)
class Observation:
    """A memory as a candidate for a block. Relevance is absolute; weight is what outcomes made of it."""

    memory: Memory
    relevance: float
    weight: float
    heard: bool = False  # a rule or decision that a user said in a prompt of this project
    led_by: str | None = None  # the memory from which one step of the graph led to it
    transferred_from: str | None = None  # the project it was taken over from
    retired: bool = False  # outcomes made it worthless: no longer injected
    background: float = 0.0  # what the question finds anyway, where the store tells
    disputed_by: tuple[str, ...] = ()  # memories that contradict it; whether they may be named is asked later
    overtaken_by: tuple[str, ...] = ()  # those of them in which the user has ended since what it says
    withheld: str = ""  # why it may not be told to whoever asks, where the store was told whom to ask

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def text(self) -> str:
        """What an agent reads of it, before it is cut and neutralised."""
        title, content = self.memory.title, self.memory.content
        return content if not title or title.casefold() in content.casefold() else f"{title}: {content}"


@dataclass(frozen=True, slots=True)
class EdgeKey:
    """What names an edge in logs: the ids of its nodes and its relation."""

    source_id: str
    target_id: str
    relationship_name: str

    def as_json(self) -> dict[str, str]:
        return {
            "sourceId": self.source_id,
            "targetId": self.target_id,
            "relationshipName": self.relationship_name,
        }


@dataclass(frozen=True, slots=True)
class Triplet:
    """A fact of the graph as an agent sees it. `relevance_score` is documented so: the lower, the better."""

    source_entity: str
    relationship: str
    target_entity: str
    importance: float
    source_node_id: str
    target_node_id: str
    confidence: float = 1.0
    observation_id: str | None = None
    session_id: str | None = None
    timestamp: datetime | None = None

    @property
    def relevance_score(self) -> float:
        return 1 - self.importance

    @property
    def key(self) -> EdgeKey:
        return EdgeKey(self.source_node_id, self.target_node_id, self.relationship)

    def as_json(self) -> dict[str, Any]:
        return {
            "sourceEntity": self.source_entity,
            "relationship": self.relationship,
            "targetEntity": self.target_entity,
            "relevanceScore": round(self.relevance_score, 6),
            "sourceNodeId": self.source_node_id,
            "targetNodeId": self.target_node_id,
            "provenance": {
                "observationId": self.observation_id,
                "sessionId": self.session_id,
                "timestamp": to_rfc3339(self.timestamp) if self.timestamp else None,
            },
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was a candidate and is not in the text, and why."""

    id: str
    # over_budget | denied | below_floor | retired | too_many_rules | too_many_observed | seen | held
    # | said_by_another
    # or why not trusted
    reason: str

    def as_json(self) -> dict[str, str]:
        return {"id": self.id, "reason": self.reason}


def memories_denied(skipped: Iterable[Skipped]) -> tuple[str, ...]:
    """Of facts only their ends have ids: they are named by three words."""
    return tuple(dict.fromkeys(one.id for one in skipped if one.reason == DENIED and " " not in one.id))


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate of one retrieval with both of its ranks, and whether it got into the text."""

    ranked: RankedCandidate
    injected: bool = False
    explored: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Rendered text within a budget. The documented names of its parts are properties."""

    text: str = ""
    tokens: int = 0
    budget_tokens: int = 0
    memory_ids: tuple[str, ...] = ()
    graph_node_ids: tuple[str, ...] = ()
    graph_edge_keys: tuple[EdgeKey, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    session_summary_ids: tuple[str, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    graph_budget_tokens: int = 0
    observation_tokens: int = 0
    graph_tokens: int = 0
    graph_status: str = "no_engine"
    source_ids: tuple[str, ...] = ()  # the memories on which the triplets rest, and those named as in conflict
    candidates: tuple[Considered, ...] = field(default=(), compare=False)
    sections: tuple[str, ...] = field(default=(), compare=False, repr=False)  # before the graph's part joins them

    @property
    def block(self) -> str:
        return self.text

    @property
    def observation_ids(self) -> tuple[str, ...]:
        return self.memory_ids

    @property
    def actual_tokens(self) -> int:
        return self.tokens

    @property
    def denied(self) -> int:
        """How many candidates policies kept out of it."""
        return sum(one.reason == DENIED for one in self.skipped)

    @property
    def denied_ids(self) -> tuple[str, ...]:
        return memories_denied(self.skipped)

    def for_agents(self) -> Block:
        """Without a word about what policies kept out of it: that something is there would be told, too."""
        status = "no_match" if self.graph_status == "all_denied" else self.graph_status
        return replace(self, graph_status=status, skipped=_not_denied(self.skipped))

    def as_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget_tokens": self.budget_tokens,
            "memory_ids": list(self.memory_ids),
            "graph_node_ids": list(self.graph_node_ids),
            "graph_edge_keys": [key.as_json() for key in self.graph_edge_keys],
            "skipped": [one.as_json() for one in self.skipped],
            "session_summary_ids": list(self.session_summary_ids),
            "graph_budget_tokens": self.graph_budget_tokens,
            "graph_status": self.graph_status,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInjectionLog:
    """One row of context_injection_logs. `id` and `timestamp` are set when it is written. `delivered`: it was put
    on the queue, and not given up; the queue knows whether it was handed over."""

    session_id: str
    org_id: str = "local"
    project_id: str | None = None
    agent_id: str | None = None
    phase: str = "start"
    event_id: str | None = None
    work_type: str | None = None
    budget_tokens: int = 0
    graph_budget_tokens: int = 0
    actual_tokens: int = 0
    actual_observation_tokens: int = 0
    actual_graph_tokens: int = 0
    observation_ids: tuple[str, ...] = ()
    session_summary_ids: tuple[str, ...] = ()
    graph_node_ids: tuple[str, ...] = ()
    graph_edge_keys: tuple[EdgeKey, ...] = ()
    query_text: str = ""
    graph_status: str = ""
    outcome: str = ""
    delivered: bool = False
    delivery_id: str | None = None
    denied_ids: tuple[str, ...] = ()  # of memories that policies kept out of it
    ms: float = 0.0
    id: str | None = None
    timestamp: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        answer = {name: _plain(getattr(self, name)) for name in self.__slots__}
        return {name: value for name, value in answer.items() if value is not None}

    @property
    def shown(self) -> tuple[object, ...]:
        """What makes two computations for one session the same."""
        return (
            self.query_text, self.work_type, self.budget_tokens, self.graph_budget_tokens, self.actual_tokens,
            self.observation_ids, self.session_summary_ids, self.graph_node_ids, self.graph_edge_keys,
            self.graph_status, self.denied_ids,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbEvent:
    """One tool call as seen by the injector."""

    session: str
    tool: str
    phase: str = "pre"
    event_id: str = ""
    agent: str | None = None
    project: str | None = None
    paths: tuple[str, ...] = ()
    query: str | None = None
    ok: bool | None = None
    memory_scope: str | None = None
    memory_namespace: str | None = None
    at: datetime | None = None
    v: int = 1

    def __post_init__(self) -> None:
        """JSON may hold half a character, a database may not. Spelt out, so that two ids stay two."""
        name_one_as_many(self, "paths")
        object.__setattr__(self, "paths", _paths(self.paths))
        if not isinstance(self.query, str | None):
            raise _bad("query is no text")
        for name in _NAMES:
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise _bad(f"{name} is no text")
            if text and not text.isascii():
                object.__setattr__(self, name, text.encode("utf-8", "backslashreplace").decode())

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, session: str | None = None) -> VerbEvent:
        """Refuses what it cannot read; a field it does not know is ignored, for hosts of tomorrow."""
        if not isinstance(document, Mapping):
            raise _bad("it is no JSON object")
        if document.get("v", 1) != 1:
            raise _bad(f"version {document.get('v')!r} is not known")
        named = document.get("session") or session
        if session is not None and named != session:
            raise _bad("it names another session than the command")
        paths = document.get("paths") or []
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise _bad("paths is no list of texts")
        at = document.get("at")
        return cls(
            session=_text("session", named, required=True) or "",
            tool=_text("tool", document.get("tool"), required=True) or "",
            phase=_one_of("phase", document.get("phase") or "pre", PHASES),
            event_id=_text("event_id", document.get("event_id")) or "",
            agent=_text("agent", document.get("agent")),
            project=_text("project", document.get("project")),
            paths=tuple(path[:1_000] for path in paths[:32]),
            query=_text("query", document.get("query"), limit=None),
            ok=document.get("ok") if isinstance(document.get("ok"), bool) else None,
            memory_scope=_one_of(
                "memory_scope", _text("memory_scope", document.get("memory_scope")), MEMORY_SCOPES
            ),
            memory_namespace=_text("memory_namespace", document.get("memory_namespace")),
            at=_moment(at) if isinstance(at, str) else None,
        )


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """Exactly one per event."""

    outcome: str
    block: str | None = None
    tokens: int = 0
    memory_ids: tuple[str, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    delivery_id: str | None = None
    deduplicated: bool = False
    ms: float = 0.0
    reason: str | None = None
    error: str | None = None
    skipped: tuple[Skipped, ...] = field(default=(), compare=False)

    def for_agents(self) -> InjectionResult:
        """Without a word about what policies kept out of it."""
        reason = "nothing_found" if self.reason == DENIED else self.reason
        return replace(self, reason=reason, skipped=_not_denied(self.skipped))

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"outcome": self.outcome}
        if self.block:
            answer["block"] = self.block
        answer |= {
            "tokens": self.tokens,
            "memory_ids": list(self.memory_ids),
            "triplets": [triplet.as_json() for triplet in self.triplets],
        }
        if self.delivery_id:
            answer["delivery_id"] = self.delivery_id
        answer |= {"deduplicated": self.deduplicated, "ms": round(self.ms, 3)}
        return answer | {name: value for name in ("reason", "error") if (value := getattr(self, name)) is not None}


def _not_denied(skipped: tuple[Skipped, ...]) -> tuple[Skipped, ...]:
    return tuple(one for one in skipped if one.reason != DENIED)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_rfc3339(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.as_json() if isinstance(value, EdgeKey) else value


def _text(name: str, value: Any, *, required: bool = False, limit: int | None = 1_000) -> str | None:
    if value is None or value == "":
        if required:
            raise _bad(f"{name} is missing")
        return None
    if not isinstance(value, str):
        raise _bad(f"{name} is no text")
    return value if limit is None else value[:limit]


def _moment(text: str) -> datetime:
    try:
        return parse_time(text)
    except InvalidInput:
        raise _bad("at is no time") from None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> Any:
    if value is not None and value not in known:
        raise _bad(f"{name} is none of {', '.join(known)}")
    return value


def _paths(given: Any) -> tuple[str, ...]:
    given = given if isinstance(given, tuple) else (None,)
    paths = tuple(fspath(path) if isinstance(path, PathLike) else path for path in given)
    if not all(isinstance(path, str) for path in paths):
        raise _bad("paths is no list of texts")
    return paths


def _bad(why: str) -> InvalidInput:
    return InvalidInput(
        f"the event cannot be read: {why}",
        code="EVENT_INVALID",
        next='send one JSON object such as {"v": 1, "session": "ses_...", "phase": "pre", "tool": "Edit"}',
    )

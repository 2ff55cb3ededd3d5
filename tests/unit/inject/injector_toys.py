"""What the injector's tests need besides a real store: ports of its that answer as told, hang or fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.clew import Clew
from clew.inject.candidates import RetrievalQuery
from clew.inject.injector import InSessionMemoryInjector
from clew.model.access import Decision, Resource
from clew.model.inject import ContextInjectionLog, InjectionResult, Observation, VerbEvent
from clew.model.memory import Memory
from clew.model.scope import Identity, Scope
from clew.model.session import AgentSession
from toys import START

SHOP = Scope(project="shop")
BOB = Identity(agent="bob", roles=())
MEMORY = Memory(
    id="mem_1", org="local", project="shop", user=None, agent=None, session=None, namespace=None, type="note",
    layer="long_term", title=None, content="rounding", tags=(), category=None, paths=(), author=None, thread=None,
    at=START, origin="user", tool_call=None, parents=(), trust="user", classification="internal", confidence=1.0,
    weight=1.0, upsert_key=None, content_hash="", valid_at=START, invalid_at=None, superseded_by=None,
    expires_at=None, created_at=START, updated_at=START, deleted_at=None, version=1, metadata={},
)  # fmt: skip
HANG_S = 30.0  # longer than any test waits; every hang is released at the end of its test


def found(clew: Clew, text: str, relevance: float, *, weight: float = 1.0, **fields: Any) -> Observation:
    """A memory of the real store as a candidate of a given relevance."""
    memory = clew.remember(text, scope=fields.pop("scope", SHOP), **fields).memory
    return Observation(memory, relevance, weight)


@dataclass
class Told:
    """A MemoryStore that answers as told, whatever is asked; by the text of the question where it says so."""

    always: Sequence[Observation] = ()
    by_text: dict[str, Sequence[Observation]] = field(default_factory=dict)
    asked: list[RetrievalQuery] = field(default_factory=list)

    def retrieve(self, _scope: Scope, query: RetrievalQuery) -> list[Observation]:
        self.asked.append(query)
        return list(self.by_text.get(query.text, self.always))


@dataclass
class Agent:
    """An agent that can be spoken to, or not."""

    supports_message_injection: bool = True
    error: Exception | None = None
    heard: list[tuple[str, str]] = field(default_factory=list)

    def inject_message(self, session_id: str, text: str) -> None:
        if self.error:
            raise self.error
        self.heard.append((session_id, text))


class Everything:
    """A policy enforcement point that lets everything through; Cedar has its own tests."""

    def decide(self, _who: Identity, _action: str, rows: Sequence[Resource], *_: Any, **__: Any) -> list[Decision]:
        return [Decision(True) for _row in rows]


class Gate:
    """Makes whoever passes wait until it is opened."""

    def __init__(self) -> None:
        self.reached, self._opened = threading.Event(), threading.Event()

    def open(self) -> None:
        self._opened.set()

    def wait(self) -> None:
        self.reached.set()
        self._opened.wait(HANG_S)


def injector(store: Any, capability: Any = None, config: Any = None, **parts: Any) -> InSessionMemoryInjector:
    """With time enough for a busy machine, unless the configuration says how long."""
    config = {"latencyBudgetMs": 10_000} | (config or {})
    parts = {"pep": Everything(), "identity": BOB, **parts}
    return InSessionMemoryInjector(store, capability or Agent(), config, **parts)


def event(session: str = "ses_1", **fields: Any) -> VerbEvent:
    return VerbEvent(**{"session": session, "tool": "Edit", "agent": "bob", "project": "shop"} | fields)


def running(clew: Clew, *, project: str = "shop", **fields: Any) -> AgentSession:
    """A session that a worker has claimed."""
    session = clew.sessions.start(project=project, **{"agent": "bob"} | fields)
    clew.sessions.claim(session.id, "w1")
    return session


def said(clew: Clew, session: AgentSession, **fields: Any) -> InjectionResult:
    return clew.inject.event(VerbEvent(**{"session": session.id, "tool": "Edit"} | fields))


def logged(clew: Clew, session: AgentSession) -> list[ContextInjectionLog]:
    """What the log says of a session's tool calls."""
    return [row for row in clew.inject.log(session.id) if row.phase == "in_session"]


def ranked(clew: Clew, retrieval: str | None) -> list[tuple[str, bool, int]]:
    """Which memories a row of the log was chosen from, whether each was said, and where it stood by weight."""
    query = "SELECT observation_id, injected, weighted_rank FROM retrieval_ab_logs WHERE retrieval_id = ?"
    with clew.store.engine.read() as session:  # type: ignore[attr-defined]
        return [(id, bool(is_said), rank) for id, is_said, rank in session.connection.execute(query, (retrieval,))]


def quickest(call: Callable[[], object], *, times: int = 5) -> float:
    """Seconds of the quickest of several calls: a busy machine may hold up some of them, a missing limit all."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        took.append(time.perf_counter() - started)
    return min(took)


def wait_for(claim: Callable[[], bool], *, timeout_s: float = 10.0) -> bool:
    """Until something that happens on another thread has happened."""
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.005)):
        if claim():
            return True
        pause.wait(0.005)
    return claim()

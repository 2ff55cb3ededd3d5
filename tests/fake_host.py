"""A host of agents as far as its hooks go: recorded events, told to an open Clew one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.clew import Clew
from clew.model.host import Around
from clew.model.scope import Identity
from clew.model.session import AgentSession, Inject

FIXTURES = Path(__file__).parent / "surfaces" / "hosts" / "fixtures"
PROJECT = "shop"
AROUND = Around(project=PROJECT, branch="fix/SHOP-31-retry-charge", root="/home/dev/shop")
ABOUT_RETRY = "src/pay/retry.py must not retry a charge without an idempotency key"


def recorded(host: str, name: str) -> dict[str, Any]:
    """One fixture: PostToolUse, SessionStart.resume."""
    raw: dict[str, Any] = json.loads(_text(host, name))
    return raw


@cache
def _text(host: str, name: str) -> str:
    return (FIXTURES / host / f"{name}.json").read_text(encoding="utf-8")


def all_recorded() -> list[tuple[str, str]]:
    return sorted((file.parent.name, file.name.removesuffix(".json")) for file in FIXTURES.glob("*/*.json"))


@dataclass
class FakeHost:
    """Tells the fixtures of one host as one session. What it is answered is what the agent reads."""

    clew: Clew
    name: str = "claude-code"
    session: str = field(default_factory=lambda: str(uuid4()))
    around: Around = AROUND
    identity: Identity | None = None
    sees: bool = True  # says that it has printed what it was answered

    def tell(self, fixture: str, *, event_id: str | None = None, replayed: bool = False, **changes: Any) -> str:
        """What the agent is shown; '' for nothing."""
        return shown(self.printed(fixture, event_id=event_id, replayed=replayed, **changes))

    def printed(self, fixture: str, *, event_id: str | None = None, replayed: bool = False, **changes: Any) -> str:
        around = changes.pop("around", self.around)
        id = event_id or uuid4().hex
        raw = recorded(self.name, fixture) | {"session_id": self.session} | changes
        answer = self.clew.hosts.event(
            self.name,
            json.dumps(raw).encode(),
            event_id=id,
            around=around,
            replayed=replayed,
            identity=self.identity,
        )
        if answer.text and self.sees:
            self.clew.hosts.seen(id, identity=self.identity)
        return answer.text

    # -- what Clew makes of it -----------------------------------------------------------------------

    def ours(self, agent_id: str | None = None) -> AgentSession:
        """The session of ours that serves it now."""
        org = (self.identity or Identity()).org
        with self.clew.store.read() as tx:
            row = tx.hosts.session(org, self.name, self.session, agent_id)
        assert row is not None
        return self.clew.sessions.show(row.session_id, identity=self.identity)

    def queue(self, agent_id: str | None = None) -> list[Inject]:
        return list(self.clew.queue.list(self.ours(agent_id).id, identity=self.identity))

    def states(self, agent_id: str | None = None) -> list[str]:
        return [inject.state for inject in self.queue(agent_id)]

    def say(self, text: str) -> None:
        """A text on the queue of the main thread."""
        assert self.clew.queue.enqueue(self.ours().id, text, identity=self.identity)


def shown(printed: str) -> str:
    """What a host takes from what was printed. It accepts these fields and no other."""
    if not printed:
        return ""
    answer: Mapping[str, Any] = json.loads(printed)
    assert list(answer) == ["hookSpecificOutput"]
    output = answer["hookSpecificOutput"]
    assert sorted(output) == ["additionalContext", "hookEventName"]
    text: str = output["additionalContext"]
    assert 0 < len(text) <= 10_000
    return text

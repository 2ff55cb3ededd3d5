"""What surrounds an injector: what is known of a session, where a block goes, where it is noted.

`Alone` knows nothing but the event, for whoever uses the injector as a library; `live.InStore` knows sessions.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import Protocol

from clew.inject.access import Asker, Decider, readers_of
from clew.inject.budget import ContextBudgetConfig
from clew.inject.config import InSessionConfig
from clew.inject.deadline import Ticket
from clew.inject.match import Matched, Situation
from clew.model.host import Limits
from clew.model.ids import new_id
from clew.model.inject import InjectionResult, VerbEvent
from clew.model.scope import Identity, Scope
from clew.values import dataclass


@dataclass(slots=True)
class Asked:
    """An event, and how far the work on it got: for the log of one that came too late, too."""

    event: VerbEvent
    identity: Identity | None
    started: float = field(default_factory=time.perf_counter)
    limits: Limits = Limits()
    situation: Situation | None = None
    matched: Matched = field(default_factory=Matched)
    log_id: str = field(default_factory=lambda: new_id("log"))  # whoever logs it: an event has one row

    @property
    def ms(self) -> float:
        """How long it has been."""
        return (time.perf_counter() - self.started) * 1_000


class Surroundings(Protocol):
    def situation(self, event: VerbEvent, identity: Identity | None, /) -> Situation:
        """NotFound when there is no such session."""
        ...

    def shown(self, session: Hashable, /) -> Iterable[str]:
        """What a session, as (org, id), was shown before: by another process, or at its start."""
        ...

    def push(self, asked: Asked, situation: Situation, ticket: Ticket, /) -> InjectionResult | None:
        """Hand what was matched over for good, before the time is up. None when there is no such way. Of what was
        said before, nothing is: the answer is no-match, `seen`, and `skipped` names it."""
        ...

    def at_one_moment(self) -> AbstractContextManager[None]:
        """While an event is looked at: whether anything has changed is asked once, and not by every question."""
        ...

    def note(self, asked: Asked, result: InjectionResult, /) -> None:
        """Log an answer that `push` has not logged. Does not wait."""
        ...


class Alone:
    """Nothing but the event, and the identity it comes with."""

    def __init__(self, config: InSessionConfig, pep: Decider | None, *, has_graph: bool) -> None:
        self._config, self._pep, self._has_graph = config, pep, has_graph

    def situation(self, event: VerbEvent, identity: Identity | None) -> Situation:
        given = identity or Identity(roles=())
        agent = event.agent or given.agent
        scope = Scope(given.org, event.project, given.user, agent, event.session)
        work_type = self._config.work_type
        return Situation(
            scope=scope,
            asker=asker_for(scope, event, self._pep, by=identity, deadline_s=self._config.latency_ms / 1_000),
            budget_tokens=self._config.budget_tokens or ContextBudgetConfig().resolve(scope.org, work_type),
            work_type=work_type,
            skip=None if agent else "no_agent",
            graph_status="ok" if self._has_graph else "no_engine",
        )

    def shown(self, _session: Hashable, /) -> Iterable[str]:
        return ()

    def push(self, _asked: Asked, _situation: Situation, _ticket: Ticket, /) -> None:
        return None

    def at_one_moment(self) -> AbstractContextManager[None]:
        return nullcontext()

    def note(self, _asked: Asked, _result: InjectionResult, /) -> None:
        return None


def asker_for(
    scope: Scope, event: VerbEvent, pep: Decider | None, *, by: Identity | None, deadline_s: float
) -> Asker:
    """The session's agent. Memory scope `org` asks without a project, which policies take for the whole org."""
    identity = Identity(scope.org, scope.user, scope.agent, ())
    asker = replace(Asker.of(identity, scope, pep=pep), readers=readers_of(scope, by), deadline_s=deadline_s)
    return asker.in_whole_org() if event.memory_scope == "org" else asker

"""Who may be shown what in a prompt: trust first, then Cedar's `inject`, once per distinct row.

Whatever comes from another org is dropped before anybody is asked (rensei.md FC-8): no policy can let it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from clew.guard.trust import why_not_injected
from clew.model.access import AccessContext, Decision, Resource
from clew.model.config import AgentRights
from clew.model.inject import DENIED
from clew.model.memory import Memory
from clew.model.scope import Identity, Scope
from clew.values import dataclass

FOREIGN = "other_org"


class Decider(Protocol):
    """The policy enforcement point: one decision per resource, in their order."""

    def decide(
        self,
        identity: Identity,
        action: str,
        resources: Sequence[Resource | None],
        context: AccessContext,
        *,
        rights: AgentRights | None = ...,
        grants: Sequence[str] = ...,
        readers: Sequence[Identity] = ...,
        deadline_s: float | None = ...,
    ) -> list[Decision]: ...


@dataclass(frozen=True, slots=True)
class LateDecider:
    """The policy enforcement point, made when it is first asked: one that cannot be fails that question alone."""

    get: Callable[[], Decider]

    def decide(self, *question: Any, **options: Any) -> list[Decision]:
        return self.get().decide(*question, **options)


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent of a session, as policies see it, the users who get to see what it is told, and whom to ask."""

    identity: Identity
    context: AccessContext
    pep: Decider
    rights: AgentRights | None = None  # None: as the policy enforcement point knows them
    readers: tuple[Identity, ...] = ()
    deadline_s: float | None = None

    @classmethod
    def of(cls, identity: Identity, scope: Scope, *, pep: Decider | None = None) -> Asker:
        """Project, session and user come from the scope (rensei.md C-16); else the shipped policies decide."""
        context = AccessContext(scope.org, scope.project, scope.session, scope.user)
        return cls(identity, context, pep or shipped_pep())

    @property
    def org(self) -> str:
        return self.identity.org

    def in_whole_org(self) -> Asker:
        """For rows of other projects whose transfer was decided: everything but the project still counts."""
        return replace(self, context=replace(self.context, project=None))

    def refused(self, memories: Iterable[Memory]) -> dict[str, str]:
        """Why single memories may not be injected; the others may."""
        distinct = {memory.id: memory for memory in memories}
        reasons = {id: reason for id, memory in distinct.items() if (reason := self._untrusted(memory))}
        asked = [memory for id, memory in distinct.items() if id not in reasons]
        allowed = self.may([Resource.of_memory(memory) for memory in asked])
        return reasons | {memory.id: DENIED for memory, may in zip(asked, allowed, strict=True) if not may}

    def may(self, resources: Sequence[Resource]) -> list[bool]:
        """Whether each may be injected; any mismatch in the answer is a no for all."""
        own = [resource for resource in resources if resource.org == self.org]
        if not own:
            return [False] * len(resources)
        decisions = self.pep.decide(
            self.identity, "inject", own, self.context,
            rights=self.rights, readers=self.readers, deadline_s=self.deadline_s,
        )  # fmt: skip
        if len(decisions) != len(own):
            return [False] * len(resources)
        answers = iter(decisions)
        return [resource.org == self.org and next(answers).allowed for resource in resources]

    def _untrusted(self, memory: Memory) -> str | None:
        return FOREIGN if memory.org != self.org else why_not_injected(memory)


def readers_of(scope: Scope, asking: Identity | None) -> tuple[Identity, ...]:
    """The user whose session it is, and the one by whose credential it is asked for, whose roles are known."""
    given = (asking,) if asking and asking.user and asking.org == scope.org else ()
    if scope.user is None or any(one.user == scope.user for one in given):
        return given
    return (*given, Identity(scope.org, scope.user, roles=()))


@cache
def shipped_pep() -> Decider:
    from clew.guard.pep import Pep  # brings Cedar along

    return Pep()

"""Who calls a tool, and where: from the credential and the arguments of this one call, never from a connection."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.model.scope import Identity, Scope
from clew.values import dataclass
from clew.wire.client import RemoteClew

if TYPE_CHECKING:
    from clew import Clew

AGENT = "mcp"  # the name of an agent whose credential has none
_NAME_CHARS = 120
_ODD = re.compile(r"[^\w.:@/ -]")


@dataclass(frozen=True, slots=True)
class Caller:
    """`identity` is an agent's, whatever the credential: what comes through here was said by a model. `client` is
    what the client calls itself: it is noted with what it writes and gives no right. `project` is that of calls
    which name none."""

    clew: Clew
    identity: Identity
    client: str | None = None
    project: str | None = None
    answer_tokens: int = 2_000

    def __post_init__(self) -> None:
        if not self.identity.agent:
            object.__setattr__(self, "identity", replace(self.identity, agent=AGENT))
        object.__setattr__(self, "client", _clean(self.client))

    @property
    def who(self) -> Identity | None:
        """Who is named to the verbs; a Clew that is elsewhere is told by the token, and that an agent asks."""
        return None if isinstance(self.clew, RemoteClew) else self.identity

    def scope(self, project: str | None) -> Scope:
        """Where a call looks. '' is no project, nothing said the one that is set up."""
        named = self.project if project is None else project or None
        return Scope(org=self.identity.org, project=named, user=self.identity.user)

    def scope_of_id(self, project: str | None) -> Scope | None:
        """An id is looked up everywhere unless a project is named."""
        return None if project is None else self.scope(project)

    def place(self, project: str | None, session: str | None) -> Scope:
        """Where something is written, and by whom: the credential's agent, else what the client calls itself. What
        an agent learns is for all who work on the project, whoever's agent it is."""
        agent = self.identity.agent if self.identity.agent != AGENT else self.client or AGENT
        return replace(self.scope(project), user=None, agent=agent, session=session or None)

    def size(self, max_tokens: int | None) -> int:
        return max_tokens or self.answer_tokens


def _clean(client: str | None) -> str | None:
    return _ODD.sub("_", client or "").strip()[:_NAME_CHARS] or None

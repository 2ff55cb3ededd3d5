"""Who may see and steer a session. The only place that decides it; verbs of sessions, queue, injection and learning
all ask here.

- The owner of the org: every session, with its texts.
- An admin, who looks after the org, and an operator, who runs workers: every session, to list, claim, keep, stop
  and end it. Its texts (title, description, queue, block, what was asked) only where it has no private user or is
  their own: a block quotes memories of that user, which nobody else may read. Who may not read them puts none in.
  What a worker is handed for its agent is the exception: it holds the lock.
- A user: their own sessions, and those without a user.
- An agent by itself (no user, none of these roles): sessions without a user whose agent it is. It starts them as
  itself, where it may write.
- A suspended agent, whatever else its credential says: none; it is told so. To all others a session that they may
  not see is not there.

Most who ask are decided by the session's user alone, which every query looks at anyway; the others cost one look at
the session, in the transaction of what they want to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from clew.deliver.queue import session_not_found
from clew.errors import Denied
from clew.guard.entities import POWERS
from clew.model.scope import Identity, Reach, Scope, is_encodable
from clew.model.session import AgentSession
from clew.ports import Tx
from clew.values import dataclass

T = TypeVar("T")
PRIVATE = "[private]"  # in the place of a text


@dataclass(frozen=True, slots=True)
class SessionRights:
    """`reach`: whose sessions are seen and steered. `texts`: whose words are read. `agent`: only its own."""

    reach: Reach
    texts: Reach
    agent: str | None = None

    def must_see(self, tx: Tx, id: str) -> AgentSession:
        session = tx.sessions.get(self.reach, id) if is_encodable(id) else None
        if session is None or (self.agent is not None and session.agent != self.agent):
            raise session_not_found(id)
        return session

    def must_read(self, tx: Tx, id: str) -> AgentSession:
        session = self.must_see(tx, id)
        if not self.reads(session):
            raise Denied(
                f"session {id} is private, and so are its texts",
                code="SESSION_TEXT_DENIED",
                next="ask its user, or an owner of the org",
            )
        return session

    def reads(self, session: AgentSession) -> bool:
        return self.texts.sees(session.project, session.user)

    def guarded(self, step: Callable[[Tx], T], id: str, *, text: bool = False) -> Callable[[Tx], T]:
        """The step, behind a look at the session where its user alone does not decide."""
        if self.agent is None and (not text or self.texts == self.reach):
            return step
        must = self.must_read if text else self.must_see

        def looked(tx: Tx) -> T:
            must(tx, id)
            return step(tx)

        return looked

    def shown(self, session: AgentSession) -> AgentSession:
        """Without its texts to those who may not read them."""
        if self.reads(session):
            return session
        title, description = (text and PRIVATE for text in (session.title, session.description))
        return replace(session, title=title, description=description)

    def agent_named(self, agent: str | None, *, default: str) -> str | None:
        """As whom a session is started. An agent by itself is nobody else; it need not say its name."""
        if self.agent is None:
            return agent
        if agent not in (self.agent, default):
            raise Denied(
                f"agent '{self.agent}' may not start a session as another",
                code="SESSION_AGENT_DENIED",
                next=f"start it as '{self.agent}'",
            )
        return self.agent


@lru_cache(maxsize=1_024)  # every beat of every worker asks
def rights_of(identity: Identity) -> SessionRights:
    """By the credential alone; whether its agent is suspended is for the caller to look at."""
    powers = POWERS.intersection(identity.roles)
    own = Reach.across_projects(Scope(org=identity.org, user=identity.user))
    if powers:
        everything = Reach.everything(identity.org)
        return SessionRights(everything, everything if "owner" in powers else own)
    if not identity.user and not identity.agent:
        raise Denied(
            "sessions are not for those without a name",
            code="SESSION_DENIED",
            next="use a credential with a user or an agent",
        )
    return SessionRights(own, own, None if identity.user else identity.agent)


def suspended(identity: Identity) -> Denied:
    return Denied(
        f"agent '{identity.agent}' is suspended",
        code="AGENT_SUSPENDED",
        next="ask an owner or admin of the org: clew policy agent",
    )

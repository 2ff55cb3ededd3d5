"""Sessions and injects for contract tests."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from memories import NOW

from clew.deliver.sessions import WorkItem, new_session
from clew.model.ids import new_id
from clew.model.scope import Reach, Scope
from clew.model.session import AgentSession, Inject, InjectDraft, Lock
from clew.ports import Store

EVERYTHING = Reach.everything("local")
HOUR = 3600.0


def a_session(**fields: Any) -> AgentSession:
    scope = Scope(org=fields.pop("org", "local"), project=fields.pop("project", "p"), user=fields.pop("user", None))
    return replace(new_session(scope, WorkItem(), agent="a", now=NOW), **fields)


def started(store: Store, *, holder: str | None = "w", ttl_s: float = HOUR, **fields: Any) -> Lock:
    """A session in the store and the lock on it; without a holder, a lock that nobody has."""
    session = a_session(**fields)
    store.write(lambda tx: tx.sessions.insert(session))
    token = 0
    if holder is not None:
        token = claimed(store, session, holder, ttl_s=ttl_s)
    return Lock(Reach.everything(session.org), session.id, holder or "", token)


def claimed(store: Store, session: AgentSession, holder: str, *, ttl_s: float = HOUR) -> int:
    key = f"session:{session.id}"
    token = store.write(lambda tx: tx.leases.claim(session.org, key, holder=holder, ttl_s=ttl_s))
    assert token is not None
    store.write(lambda tx: tx.sessions.claim(session, worker=holder, token=token, provider="", now=NOW))
    return token


def put(store: Store, lock: Lock, text: str, **fields: Any) -> Inject | None:
    draft = InjectDraft(lock.session, text, **fields)
    digest = sha256(text.encode()).hexdigest()
    id = new_id("inj")
    return store.write(lambda tx: tx.injects.insert(lock.reach.org, id, draft, content_hash=digest, now=NOW))

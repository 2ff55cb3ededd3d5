"""The documented functions of the queue (rensei.md 4), over an open Clew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from clew.model.scope import Identity
from clew.model.session import Delivery, Inject


class Queue(Protocol):
    def enqueue(
        self, session: str, text: str, *, identity: Identity | None = None, **fields: Any
    ) -> Inject | None: ...
    def claim(
        self, session: str, worker: str, token: int, *, identity: Identity | None = None
    ) -> Delivery | None: ...
    def ack(
        self, session: str, delivery: str, worker: str, token: int, *, identity: Identity | None = None
    ) -> bool: ...


class OpenClew(Protocol):
    @property
    def queue(self) -> Queue: ...


def enqueue_memory_inject(
    clew: OpenClew,
    *,
    org_id: str,
    session_id: str,
    text: str,
    agent_id: str | None = None,
    observation_ids: Iterable[str] = (),
) -> Inject | None:
    """None when the session has this text already, and nothing is put in (R-122)."""
    fields = {"agent": agent_id, "observation_ids": tuple(observation_ids)}
    return clew.queue.enqueue(session_id, text, identity=Identity(org=org_id), **fields)


def claim_pending_inject_for_session(
    clew: OpenClew, session_id: str, *, worker_id: str, fencing_token: int, org_id: str = "local"
) -> Delivery | None:
    """What is next for the agent; None for whoever does not hold the session (C-12)."""
    return clew.queue.claim(session_id, worker_id, fencing_token, identity=Identity(org=org_id))


def ack_memory_inject(
    clew: OpenClew,
    session_id: str,
    delivery_id: str,
    *,
    worker_id: str,
    fencing_token: int,
    org_id: str = "local",
) -> bool:
    """Whether the delivery counts as acknowledged."""
    return clew.queue.ack(session_id, delivery_id, worker_id, fencing_token, identity=Identity(org=org_id))

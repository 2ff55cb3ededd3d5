"""A desk: one session, and what its workers do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.clew import Clew
from clew.model.session import AgentSession, Delivery
from lease_clock import LeaseClock


@dataclass
class Desk:
    """A Clew with one session, and what its workers do."""

    clew: Clew
    leases: LeaseClock
    session: AgentSession

    @property
    def id(self) -> str:
        return self.session.id

    def claim_session(self, worker: str = "w1", **options: Any) -> int:
        return self.clew.sessions.claim(self.id, worker, **options)

    def put(self, *texts: str, **fields: Any) -> list[str]:
        injects = [self.clew.queue.enqueue(self.id, text, **fields) for text in texts]
        return [inject.delivery_id for inject in injects if inject]

    def claim(self, token: int, worker: str = "w1") -> Delivery | None:
        return self.clew.queue.claim(self.id, worker, token)

    def ack(self, delivery: str, token: int, worker: str = "w1", **options: Any) -> bool:
        return self.clew.queue.ack(self.id, delivery, worker, token, **options)

    def states(self) -> list[str]:
        return [inject.state for inject in self.clew.queue.list(self.id)]

    def reasons(self) -> list[str | None]:
        return [inject.reason for inject in self.clew.queue.list(self.id)]

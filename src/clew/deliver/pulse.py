"""Pure: what a worker knows between two beats of a session, and what each answer makes of it.

At most one delivery is held. It is given to the agent at a turn boundary and acknowledged with the next beat, never
before the agent has it; so a worker that dies in between gets it again, and one that lives gives nothing twice: it
knows what the agent has. An answer without the held delivery means that it was revoked: it is dropped, and held
again if a later answer brings it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from clew.model.session import Beat, Delivery
from clew.values import dataclass

MAX_FAILED = 3  # beats in a row after which the lock has run out (rensei.md 2.9)
MAX_DEAD = 128  # dead letters that wait for a beat; more than that is a broken agent


class NotReady(Exception):
    """Raised by a handle in the middle of a turn: ask again at its end. Not an error."""


@dataclass(slots=True)
class Pulse:
    """Changes only through its methods; does nothing but remember."""

    held: Delivery | None = None
    given: list[str] = field(default_factory=list)  # every delivery the agent has, in order
    dead: dict[str, str] = field(default_factory=dict)  # every one it could not be given, and why
    beats: int = 0
    ended: str = ""  # "" while it beats; then done, stopped or lost
    _to_ack: list[str] = field(default_factory=list)
    _to_bury: dict[str, str] = field(default_factory=dict)
    _failed: int = 0

    @property
    def acked(self) -> tuple[str, ...]:
        """What the next beat acknowledges."""
        return tuple(self._to_ack)

    @property
    def buried(self) -> Mapping[str, str]:
        """The dead letters that the next beat carries."""
        return dict(self._to_bury)

    def answered(self, beat: Beat, *, acked: tuple[str, ...], buried: Mapping[str, str]) -> None:
        """A beat that carried these was answered."""
        self.beats += 1
        self._failed = 0
        if not beat.refreshed or beat.stop:  # neither may be given anything any more, whatever the answer holds
            self.ended, self.held = "lost" if not beat.refreshed else "stopped", None
            return
        self._to_ack = [id for id in self._to_ack if id not in acked]
        self._to_bury = {id: reason for id, reason in self._to_bury.items() if id not in buried}
        self._take(beat.inject)

    def failed(self) -> None:
        """A beat was not answered, however often it was tried."""
        self._failed += 1
        if self._failed >= MAX_FAILED:
            self.ended, self.held = "lost", None

    def give(self, inject: Callable[[str], None]) -> None:
        """Let `inject` give the held delivery to the agent, if there is one and the agent is ready for it."""
        if self.held is None:
            return
        delivery = self.held
        try:
            if delivery.text.strip():
                inject(delivery.text)
        except NotReady:
            return  # still held
        except Exception as error:  # whatever a runner's handle raises: the queue goes on behind it
            self._bury(delivery.delivery_id, type(error).__name__)
        else:
            self._to_ack.append(delivery.delivery_id)
            self.given.append(delivery.delivery_id)
        self.held = None

    def _take(self, delivery: Delivery | None) -> None:
        id = delivery.delivery_id if delivery else ""
        self.held = None
        if id in self.dead:
            self._bury(id, self.dead[id])
        elif id not in self.given:
            self.held = delivery
        elif id not in self._to_ack:
            self._to_ack.append(id)  # the acknowledgement got lost: say so again

    def _bury(self, delivery_id: str, reason: str) -> None:
        self.dead[delivery_id] = self._to_bury[delivery_id] = reason
        while len(self._to_bury) > MAX_DEAD:
            del self._to_bury[next(iter(self._to_bury))]

"""The reference worker loop: `run_beats(handle, clew=..., session_id=..., worker_id=...)`.

In: a handle on a running agent. Out: why it ended and what the agent was given. It claims the session, has the
start block made, and beats until the agent is done, someone stops the session, or the lock is lost. Each beat keeps
the lock, acknowledges what the agent was given since the last one, and brings at most one inject. Nothing is lost
if the process dies at any moment: whoever claims the session next is handed what was not acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from clew.deliver.pulse import Pulse
from clew.deliver.report import attempt
from clew.errors import Conflict, Denied, NotFound
from clew.model.session import Beat
from clew.values import dataclass

BACK_OFF_S = (1.0, 2.0)  # between the three tries of one beat (rensei.md 2.9)


class AgentHandle(Protocol):
    """What a runner has to offer."""

    def inject(self, text: str) -> None:
        """Give the agent a text at a turn boundary. Must not wait for one: raise `NotReady` in the middle of a
        turn, and it is asked again. Any other exception makes the delivery a dead letter."""
        ...

    def wait(self, seconds: float) -> bool:
        """Return after so many seconds, or earlier when a turn has ended or the agent is done: True when it is."""
        ...


class Sessions(Protocol):
    def claim(self, id: str, worker: str, *, provider_session: str | None = None) -> int: ...
    def refresh(
        self,
        id: str,
        worker: str,
        token: int,
        *,
        acked: Collection[str] = (),
        dead: Mapping[str, str] | None = None,
        held: str | None = None,
        take: bool = True,
    ) -> Beat: ...


class OpenClew(Protocol):
    """As much of a Clew as the loop needs."""

    @property
    def sessions(self) -> Sessions: ...
    @property
    def inject(self) -> Any: ...
    @property
    def settings(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class BeatsReport:
    """`ended`: done (the agent is), stopped (someone asked for it: stop the agent), lost (another worker may have
    the session: stop the agent and touch nothing)."""

    ended: str
    token: int
    beats: int
    given: tuple[str, ...]
    dead: Mapping[str, str]


def run_beats(
    handle: AgentHandle,
    *,
    clew: OpenClew,
    session_id: str,
    worker_id: str,
    provider_session: str | None = None,
    beat_s: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> BeatsReport:
    """Claim the session and serve it until it ends. Ending it in Clew, with an outcome, is left to the caller."""
    every = clew.settings.deliver.beat_s if beat_s is None else beat_s
    token = clew.sessions.claim(session_id, worker_id, provider_session=provider_session)
    attempt("start injection", lambda: clew.inject.start(session_id))
    pulse = Pulse()

    def refresh(*, take: bool = True) -> Beat:
        held = pulse.held.delivery_id if pulse.held else None
        return clew.sessions.refresh(
            session_id, worker_id, token, acked=pulse.acked, dead=pulse.buried, held=held, take=take
        )

    next_beat = clock()
    while not pulse.ended:
        if clock() >= next_beat:
            next_beat = clock() + every
            _beat(pulse, refresh, sleep)
        if not pulse.ended:
            pulse.give(handle.inject)
            pulse.ended = "done" if handle.wait(max(0.0, next_beat - clock())) else ""
    if pulse.ended != "lost" and (pulse.acked or pulse.buried):
        attempt("the last beat", lambda: refresh(take=False))  # nobody is left to be given anything
    return BeatsReport(pulse.ended, token, pulse.beats, tuple(pulse.given), dict(pulse.dead))


def _beat(pulse: Pulse, refresh: Callable[[], Beat], sleep: Callable[[float], None]) -> None:
    """One beat, tried three times."""
    acked, buried = pulse.acked, pulse.buried
    for pause in (*BACK_OFF_S, None):
        try:
            beat = refresh()
        except (Conflict, Denied, NotFound):  # trying again changes nothing: the session is not ours
            beat = Beat(refreshed=False)
        except Exception:  # a store that cannot be reached: the worker loop outlives every failure of it
            if pause is not None:
                sleep(pause)
            continue
        pulse.answered(beat, acked=acked, buried=buried)
        return
    pulse.failed()

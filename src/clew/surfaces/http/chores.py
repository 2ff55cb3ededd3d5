"""What the daemon does beside answering: events from the spool, capture, clearing up. Each is a watched thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.hosts.aside import Aside
from clew.surfaces.hooks.spool import Record, Spool
from clew.surfaces.hooks.telling import tell
from clew.surfaces.http.watch import Watched
from clew.verbs.serving import Serving

if TYPE_CHECKING:
    from clew import Clew

PORTION = 64  # events looked at by one step of the capture
SWEEP_S = 3_600.0
LOOK_S = 1.0
BEAT_S = 5.0
FIRST_S = 0.35  # of a hook's time, for what was told before it
STUCK_S = 30.0  # for one event of the spool


def chores(clew: Clew, spool: Spool) -> list[Watched]:
    return [
        Watched("spool", partial(ingest, clew, spool), every_s=LOOK_S),
        Watched("capture", lambda: clew.hosts.capture_waiting(limit=PORTION) > 0, every_s=LOOK_S),
        Watched("sweep", _sweep_step(Serving(clew)), every_s=BEAT_S),
    ]


def ingest(clew: Clew, spool: Spool) -> bool:
    """What hooks told while nobody answered is handed over once. Cheap when there is nothing. An event in which
    everything hangs is set aside in the end, like one that fails."""

    def handle(record: Record) -> None:
        say = partial(tell, clew, record.host, record.body, event_id=record.event_id, replayed=True)
        if _events().within(STUCK_S, record.event_id, partial(say, received_at=record.at)) is None:
            raise TimeoutError

    if not spool.is_empty():
        spool.ingest(handle)
    return False


def before_hook(clew: Clew, spool: Spool) -> None:
    """What was told before an event is known before it is answered, if that is quick; trouble with it, and a long
    file, are not the event's."""
    if not spool.is_empty():
        with suppress(ClewError):
            _first().within(FIRST_S, str(spool.home), partial(ingest, clew, spool))


@cache
def _events() -> Aside:
    return Aside(8)


@cache
def _first() -> Aside:
    return Aside(1)


def _sweep_step(serving: Serving) -> Callable[[], bool]:
    """Answers that are older than a day go, once an hour."""
    next_at = 0.0

    def step() -> bool:
        nonlocal next_at
        if monotonic() >= next_at:
            serving.sweep()
            next_at = monotonic() + SWEEP_S
        return False

    return step

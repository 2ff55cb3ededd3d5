"""Changes of the graph as server-sent events: ids and kinds, never texts.

`id:` is the number of the change; a client that comes back says it as `Last-Event-ID` (or `after`) and goes on from
there; without one it hears of what comes. `event:` is `memory`, `node` or `reset`: then what changed is no longer
known in detail, and the client looks at everything again.

Who may hear of what is asked anew at every look: of a memory that may be read, of a node that may be seen, of a
forgotten memory that could be read before. That a memory was erased only the owner hears, who could read all: of
others nobody can say any more. What may not be heard of leaves a gap in the numbers and nothing else.

A stream ends within two seconds when its credential is revoked or expires, and after some minutes in any case;
clients of server-sent events come back by themselves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any

from clew.errors import ClewError, Denied, InvalidInput
from clew.model.listed import GraphChange, GraphChanges
from clew.surfaces.http.route import EVENTS, Call, Route, Stream
from clew.surfaces.http.shapes.common import OfProject, Seq, narrowed
from clew.surfaces.http.shapes.graph import ChangeEvent
from clew.surfaces.http.streams import Streams

LOOK_S = 0.25  # between two looks at the change log: one lookup by key when nothing changed
KEEP_ALIVE_S = 15.0  # well below the minute after which proxies close a silent connection
WELCOME_S = 1.0  # between two looks whether the credential is still valid
LIFE_S = 300.0
RETRY_MS = 1_000

Look = Callable[[int | None], GraphChanges]


class EventsWanted(OfProject, frozen=True, kw_only=True):
    after: Seq | None = None


def events(call: Call) -> Any:
    streams, scope = call.streams or Streams(), narrowed(call, call.query)

    checked = monotonic()

    def look(after: int | None) -> GraphChanges:
        nonlocal checked
        if monotonic() - checked >= WELCOME_S:
            checked = monotonic()
            _check_welcome(call)
        return call.clew.graph.changes(after, scope=scope, identity=call.identity)

    streams.check_room(call.key)
    begun = look(_after(call))  # what is refused is refused before the stream begins
    return Stream(frames(look, begun, streams, call.key))


async def frames(look: Look, begun: GraphChanges, streams: Streams, who: str = "") -> AsyncIterator[bytes]:
    with streams.entered(who) as ended:
        yield b"retry: %d\n: %d\n\n" % (RETRY_MS, begun.next)
        until, told, found = monotonic() + LIFE_S, monotonic(), begun
        while not ended.is_set() and monotonic() < until:
            for change in found.changes:
                yield _frame(change)
            if found.changes or monotonic() - told >= KEEP_ALIVE_S:
                told = monotonic()
                # The number goes along, so that who comes back need not hear of what it was not told.
                yield b"id: %d\n: still here\n\n" % found.next
            if not found.more:
                await _either(ended, LOOK_S)
            try:
                found = await asyncio.to_thread(look, found.next)
            except ClewError:  # who comes back is told why, with a status
                return


def _check_welcome(call: Call) -> None:
    if not call.is_welcome():
        raise Denied("the credential is not valid any more", code="UNAUTHENTICATED", next="use another one")


def _frame(change: GraphChange) -> bytes:
    data = json.dumps(change.as_json(), separators=(",", ":"))
    return f"id: {change.seq}\nevent: {change.kind}\ndata: {data}\n\n".encode()


async def _either(ended: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return


def _after(call: Call) -> int | None:
    told = call.last_event
    if told is None or call.query.after is not None:
        return call.query.after  # type: ignore[no-any-return]
    if not (told.isascii() and told.isdigit() and len(told) <= 15):
        raise InvalidInput(
            f"'{told[:20]}' is no number of a change",
            code="LAST_EVENT_INVALID",
            next="send the last id that the stream gave, or none",
        )
    return int(told)


ROUTES = (
    Route("GET", "/v1/graph/events", "graph.changes", "Changes of the graph as they happen, as server-sent events.",
          events, ChangeEvent, query=EventsWanted, produces=EVENTS, also=(503,)),
)  # fmt: skip

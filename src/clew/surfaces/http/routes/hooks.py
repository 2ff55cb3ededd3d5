"""What hooks of agents tell, over HTTP. The answer is text that the hook prints as it is; mostly there is none."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from clew.errors import InvalidInput, NotFound
from clew.hosts.around import around_of
from clew.hosts.events import MAX_BYTES
from clew.hosts.table import HOSTS
from clew.model.host import HookAnswer
from clew.model.scope import Identity
from clew.surfaces.hooks.telling import tell
from clew.surfaces.http.request import Request
from clew.surfaces.http.response import Response
from clew.surfaces.http.route import Answer, Call, Route

if TYPE_CHECKING:
    from clew import Clew

TEXT = "text/plain; charset=utf-8"
EVENT_ID = "clew-event-id"
MAX_SEEN = 100
MAX_AGE_S = 1e8  # three years: what is older is no older than that
_ID = re.compile(r"[0-9a-f]{32}")


class Forwarded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event that another machine looked around for. `around`: the fields of Around."""

    event: dict[str, Any]
    event_id: str
    around: dict[str, Any] = {}
    replayed: bool = False
    seen: list[str] = []  # earlier events whose answers were printed there
    age_s: Annotated[float, msgspec.Meta(ge=0, le=MAX_AGE_S)] = (
        0.0  # since its hook told it, by that machine's clock
    )


def event(call: Call) -> Answer:
    began, host, id = perf_counter(), _host(call), _event_id(call.headers.get(EVENT_ID))
    answer = tell(call.clew, host, call.body, event_id=id, identity=call.identity)
    _count(call, answer, began)
    if not answer.text:
        return Answer("", headers={"connection": "close"})
    # The connection stays for one word: that it was printed. A hook that its host has stopped does not say it.
    return Answer(answer.text, gone=partial(call.clew.hosts.unseen, id))


async def seen(clew: Clew, identity: Identity, request: Request, *_rest: object) -> Response:
    """On the event loop, so that no event that comes later overtakes it."""
    clew.hosts.seen(_event_id(request.headers.get(EVENT_ID)), identity=identity)
    return Response(200, b"", TEXT, {"connection": "close"})


def forwarded(call: Call) -> str:
    """No file of this machine is looked at: what surrounds the event is what its own machine said."""
    began, told = perf_counter(), call.body
    for id in told.seen[:MAX_SEEN]:
        call.clew.hosts.seen(_event_id(id), identity=call.identity)
    answer = call.clew.hosts.event(
        _host(call),
        told.event,
        event_id=_event_id(told.event_id),
        around=around_of(told.around),
        received_at=call.clew.now() - timedelta(seconds=told.age_s) if told.age_s else None,
        replayed=told.replayed,
        identity=call.identity,
    )
    _count(call, answer, began)
    return answer.text


def _host(call: Call) -> str:
    host = call.path["host"]
    if host not in HOSTS:
        raise NotFound(f"host '{host[:40]}' is not known", code="HOST_UNKNOWN", next=f"one of {', '.join(HOSTS)}")
    return host


def _event_id(given: str | None) -> str:
    if given is None or not _ID.fullmatch(given):
        raise InvalidInput(
            "an event needs an id of its own",
            code="EVENT_ID_INVALID",
            next="send 32 hexadecimal digits: Clew-Event-Id",
        )
    return given


def _count(call: Call, answer: HookAnswer, began: float) -> None:
    if call.server is not None:
        seconds = perf_counter() - began
        call.server.tally.hook(call.path["host"], answer.kind, seconds, tokens=-(-len(answer.text) // 4))


def _nothing(_call: Call) -> str:
    return ""


ROUTES = (
    Route(
        "POST",
        "/v1/hooks/{host}",
        "hooks.event",
        "An event of a host on this machine; answers what its hook prints.",
        event,
        answer=str,
        body=bytes,
        produces=TEXT,
        max_body_kb=(MAX_BYTES >> 10) + 1,
        needs_header=("Clew-Event-Id", "^[0-9a-f]{32}$"),
        only_local=True,
        also=(404,),
    ),
    Route(
        "POST",
        "/v1/hooks/{host}/seen",
        "hooks.seen",
        "What an event on this machine was answered with is printed.",
        _nothing,
        answer=str,
        produces=TEXT,
        needs_header=("Clew-Event-Id", "^[0-9a-f]{32}$"),
        only_local=True,
        on_loop=seen,
    ),
    Route(
        "POST",
        "/v1/hooks/{host}/forwarded",
        "hooks.forwarded",
        "An event of a host on another machine, with what that machine knows around it.",
        forwarded,
        answer=str,
        body=Forwarded,
        produces=TEXT,
        max_body_kb=(MAX_BYTES >> 10) + 1_024,
        also=(404,),
    ),
)

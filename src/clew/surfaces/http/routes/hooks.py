"""What hooks of agents tell, over HTTP. The answer is text that the hook prints as it is; mostly there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import msgspec

from clew.errors import ClewError, InvalidInput, NotFound
from clew.hosts.around import around_of
from clew.hosts.events import MAX_BYTES
from clew.hosts.table import HOSTS
from clew.model.host import HookAnswer
from clew.surfaces.hooks.telling import tell
from clew.surfaces.http.route import Answer, Call, Route

TEXT = "text/plain; charset=utf-8"
EVENT_ID = "clew-event-id"
_ID = re.compile(r"[0-9a-f]{32}")


class Forwarded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event that another machine looked around for. `around`: the fields of Around."""

    event: dict[str, Any]
    event_id: str
    around: dict[str, Any] = {}
    replayed: bool = False


def event(call: Call) -> Answer:
    began, host = perf_counter(), _host(call)
    say = partial(
        tell, call.clew, host, call.body, event_id=_event_id(call.headers.get(EVENT_ID)), identity=call.identity
    )
    # A hook that its host has stopped prints nothing: told again, the event says so.
    return _answered(call, say(), began, unsent=partial(say, replayed=True))


def forwarded(call: Call) -> Answer:
    """No file of this machine is looked at: what surrounds the event is what its own machine said."""
    began, told = perf_counter(), call.body
    say = partial(
        call.clew.hosts.event,
        _host(call),
        told.event,
        event_id=_event_id(told.event_id),
        around=around_of(told.around),
        identity=call.identity,
    )
    return _answered(call, say(replayed=told.replayed), began, unsent=partial(say, replayed=True))


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


def _answered(call: Call, answer: HookAnswer, began: float, *, unsent: Callable[[], object]) -> Answer:
    if call.server is not None:
        seconds = perf_counter() - began
        call.server.tally.hook(call.path["host"], answer.kind, seconds, tokens=-(-len(answer.text) // 4))
    unprinted = partial(_unprinted, unsent) if answer.delivery_id else None
    return Answer(answer.text, headers={"connection": "close"}, unsent=unprinted)


def _unprinted(tell_again: Callable[[], object]) -> None:
    with suppress(ClewError):  # nobody is there to be told
        tell_again()


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

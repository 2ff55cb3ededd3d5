"""Injection over HTTP: the block at a session's start, and what a tool call makes worth saying."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from clew.model.inject import VerbEvent
from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import sessions as shapes
from clew.surfaces.http.shapes.common import OfProject, Shape

_Text = Annotated[str, Meta(max_length=200_000)]


class StartWanted(Shape, frozen=True, kw_only=True):
    """`dry_run`: look ahead; nothing is queued or logged."""

    dry_run: bool = False


class BlockWanted(OfProject, frozen=True, kw_only=True):
    """Without a question: the rules, and what is newest."""

    query: Annotated[str, Meta(max_length=4_000)] = ""
    budget_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 1_000


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call. A field that nobody knows is ignored, for hosts of tomorrow."""

    tool: Annotated[str, Meta(min_length=1, max_length=1_000)]
    v: Literal[1] = 1
    event_id: _Text | None = None
    session: _Text | None = None  # if given, that of the path
    agent: _Text | None = None
    project: _Text | None = None
    phase: Literal["pre", "post", "failure"] | None = None
    paths: Annotated[list[str], Meta(max_length=10_000)] | None = None
    query: _Text | None = None
    ok: bool | None = None
    memory_scope: Literal["project", "org", "session"] | None = None
    memory_namespace: _Text | None = None
    at: Annotated[str, Meta(max_length=40)] | None = None


def start(call: Call) -> Any:
    return call.clew.inject.start(call.path["id"], dry_run=call.body.dry_run, identity=call.identity).as_json()


def block(call: Call) -> Any:
    asked = call.body
    found = call.clew.inject.block(
        asked.query, budget_tokens=asked.budget_tokens, scope=call.scope(asked), identity=call.identity
    )
    return found.as_json()


def event(call: Call) -> Any:
    told = VerbEvent.from_json(msgspec.to_builtins(call.body), session=call.path["id"])
    return call.clew.inject.event(told, identity=call.identity).as_json()


def log(call: Call) -> Any:
    return {"log": [entry.as_json() for entry in call.clew.inject.log(call.path["id"], identity=call.identity)]}


_INJECT = "/v1/sessions/{id}/inject"

ROUTES = (
    Route(
        "POST", "/v1/inject/block", "inject.block", "What an agent may be told about a question, within a budget.",
        block, shapes.BlockShown, body=BlockWanted, reads_only=True,
    ),
    Route(
        "POST", f"{_INJECT}/start", "inject.start", "The block of a claimed session: computed, logged and queued.",
        start, shapes.BlockShown, body=StartWanted, also=(404, 409),
    ),
    Route(
        "POST", f"{_INJECT}/event", "inject.event", "What a tool call makes worth saying, in time or not at all.",
        event, shapes.InjectionShown, body=Event, also=(404,),
    ),
    Route(
        "GET", f"{_INJECT}/log", "inject.log", "What was shown in a session, oldest first.", log,
        shapes.InjectionLog, also=(404,),
    ),
)  # fmt: skip

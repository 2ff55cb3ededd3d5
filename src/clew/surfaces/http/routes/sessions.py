"""Sessions over HTTP: one agent run each, started, claimed, kept alive by beats, ended."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import sessions as shapes
from clew.surfaces.http.shapes.common import Id, Limited, Line, Name, OfProject, Shape, Text, Token

_Worker = Annotated[str, Meta(min_length=1, max_length=200)]
_Entries = Annotated[tuple[dict[str, Any], ...], Meta(max_length=10_000)]


class SessionWanted(OfProject, frozen=True, kw_only=True):
    """The work item as the tracker says. `agent` null: a stage without one; left out: not named."""

    work_type: Name | None = None
    issue: Name | None = None
    issue_id: Name | None = None
    title: Text | None = None
    description: Text | None = None
    agent: Name | None = "agent"


class SessionsWanted(Limited, frozen=True, kw_only=True):
    project: Name | None = None
    state: shapes.State | None = None


class ClaimWanted(Shape, frozen=True, kw_only=True):
    worker: _Worker
    provider_session: Name | None = None


class Held(Shape, frozen=True, kw_only=True):
    """What a worker shows with every call."""

    worker: _Worker
    token: Token


class BeatWanted(Held, frozen=True, kw_only=True):
    """`acked`: deliveries that reached the agent; `dead`: those that cannot, and why; `held`: the one that waits
    for the end of a turn; `take` false for a last beat."""

    acked: Annotated[tuple[Id, ...], Meta(max_length=1_000)] = ()
    dead: Annotated[dict[str, Line], Meta(max_length=1_000)] = msgspec.field(default_factory=dict)
    held: Id | None = None
    take: bool = True


class EndWanted(Shape, frozen=True, kw_only=True):
    """Without an outcome nothing is learnt until somebody says one. A worker gives its token, too."""

    outcome: shapes.Outcome | None = None
    state: Literal["completed", "failed"] = "completed"
    worker: _Worker | None = None
    token: Token | None = None
    summary: Text | None = None
    tool_calls: _Entries = ()
    files_modified: Annotated[tuple[str, ...], Meta(max_length=10_000)] = ()
    errors: _Entries = ()


def start(call: Call) -> Any:
    wanted = call.body
    names = ("work_type", "issue", "issue_id", "title", "description", "agent")
    item = {name: getattr(wanted, name) for name in names}
    return call.clew.sessions.start(**item, scope=call.scope(wanted), identity=call.identity).as_json()


def list_sessions(call: Call) -> Any:
    found = call.clew.sessions.list(
        project=call.query.project, state=call.query.state, limit=call.query.limit, identity=call.identity
    )
    return {"sessions": [session.as_json() for session in found]}


def show(call: Call) -> Any:
    return call.clew.sessions.show(call.path["id"], identity=call.identity).as_json()


def claim(call: Call) -> Any:
    token = call.clew.sessions.claim(
        call.path["id"],
        call.body.worker,
        provider_session=call.body.provider_session,
        identity=call.identity,
    )
    return {"fencing_token": token}


def refresh(call: Call) -> Any:
    beat = call.body
    return call.clew.sessions.refresh(
        call.path["id"],
        beat.worker,
        beat.token,
        acked=beat.acked,
        dead=beat.dead,
        held=beat.held,
        take=beat.take,
        identity=call.identity,
    ).as_json()


def finalize(call: Call) -> Any:
    held = call.body
    return call.clew.sessions.finalize(call.path["id"], held.worker, held.token, identity=call.identity).as_json()


def end(call: Call) -> Any:
    told = call.body
    names = ("state", "worker", "token", "summary", "tool_calls", "files_modified", "errors")
    about = {name: getattr(told, name) for name in names}
    return call.clew.sessions.end(call.path["id"], told.outcome, **about, identity=call.identity).as_json()


def stop(call: Call) -> Any:
    return call.clew.sessions.stop(call.path["id"], identity=call.identity).as_json()


_ONE = "/v1/sessions/{id}"
_SHOWN = shapes.SessionShown

ROUTES = (
    Route(
        "POST", "/v1/sessions", "sessions.start", "Start a session with its work item; it waits for a worker.",
        start, _SHOWN, body=SessionWanted, status=201, is_idempotent=True,
    ),
    Route(
        "GET", "/v1/sessions", "sessions.list", "Sessions, newest first.", list_sessions, shapes.SessionsShown,
        query=SessionsWanted,
    ),
    Route("GET", _ONE, "sessions.show", "One session.", show, _SHOWN, also=(404,)),
    Route(
        "POST", f"{_ONE}/claim", "sessions.claim", "Make a worker the holder of a session.", claim, shapes.Claimed,
        body=ClaimWanted, also=(404, 409),
    ),
    Route(
        "POST", f"{_ONE}/refresh", "sessions.refresh",
        "One beat of the worker: keep the lock, acknowledge, take the next inject.",
        refresh, shapes.BeatShown, body=BeatWanted, also=(404, 409),
    ),
    Route(
        "POST", f"{_ONE}/finalize", "sessions.finalize", "The agent is done, its worker not yet.", finalize, _SHOWN,
        body=Held, also=(404, 409),
    ),
    Route(
        "POST", f"{_ONE}/end", "sessions.end", "The session is over, and how it went.", end, _SHOWN,
        body=EndWanted, also=(404, 409), is_idempotent=True,
    ),
    Route(
        "POST", f"{_ONE}/stop", "sessions.stop", "Ask the worker to stop; one that nobody holds stops at once.",
        stop, _SHOWN, also=(404, 409),
    ),
)  # fmt: skip

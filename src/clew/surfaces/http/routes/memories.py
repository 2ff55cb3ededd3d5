"""Memories over HTTP: remember, look at, change, forget, connect."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET

from clew.model.memory import Draft, Filter, Memory
from clew.model.scope import AcrossProjects, Scope
from clew.model.tool_call import ToolCall
from clew.surfaces.http.route import Answer, Call, InScope, Route
from clew.surfaces.http.shapes import memories as shapes
from clew.surfaces.http.shapes.memory import MemoryShown, RememberedShown

_PLACE = frozenset(("project", "user", "agent", "session", "namespace"))


def remember(call: Call) -> Any:
    stored = call.clew.remember(_draft(call.body), scope=_place(call), identity=call.identity)
    return Answer(stored.as_json(), 200 if stored.deduplicated else 201, _etag(stored.memory))


def remember_many(call: Call) -> Any:
    drafts = [_draft(one) for one in call.body.memories]
    stored = call.clew.remember_many(drafts, scope=_place(call), identity=call.identity)
    return {"results": [one.as_json() for one in stored]}


def observe(call: Call) -> Any:
    seen = {name: _plain(getattr(call.body, name)) for name in ToolCall.__slots__}
    stored = call.clew.observe(ToolCall(**seen), scope=_place(call), identity=call.identity)
    return Answer(stored.as_json(), 200 if stored.deduplicated else 201, _etag(stored.memory))


def list_memories(call: Call) -> Any:
    asked = call.query
    found = call.clew.list(
        _filter(asked),
        scope=call.scope(asked),
        identity=call.identity,
        all_projects=asked.all_projects,
        limit=asked.limit + 1,  # one more tells whether there is more
        cursor=asked.cursor,
    )
    page = found[: asked.limit]
    more = {"next_cursor": page[-1].id} if len(found) > asked.limit else {}
    return {"memories": [memory.as_json() for memory in page]} | more


def show(call: Call) -> Any:
    return _told(call.clew.show(call.path["id"], scope=_narrowed(call), identity=call.identity))


def edit(call: Call) -> Any:
    given = {name: getattr(call.body, name) for name in call.body.__struct_fields__}
    changes = {name: _plain(value) for name, value in given.items() if value is not UNSET}
    edited = call.clew.edit(
        call.path["id"],
        scope=_narrowed(call),
        identity=call.identity,
        expected_version=call.if_match,
        **changes,
    )
    return _told(edited)


def forget(call: Call) -> Any:
    receipt = call.clew.forget(
        call.path["id"],
        hard=call.query.hard,
        scope=_narrowed(call),
        identity=call.identity,
        expected_version=call.if_match,
    )
    return receipt.as_json()


def forget_many(call: Call) -> Any:
    wanted = call.body
    done = call.clew.forget_many(
        _filter(wanted),
        everything=wanted.everything,
        hard=wanted.hard,
        dry_run=wanted.dry_run,
        scope=call.place(wanted),
        identity=call.identity,
        all_projects=wanted.all_projects,
    )
    return done.as_json()


def history(call: Call) -> Any:
    versions = call.clew.history(call.path["id"], scope=_narrowed(call), identity=call.identity)
    return {"id": versions[-1].memory.id, "versions": [one.as_json() for one in versions]}


def revert(call: Call) -> Any:
    now = call.clew.revert(
        call.path["id"],
        call.body.version,
        scope=_narrowed(call),
        identity=call.identity,
        expected_version=call.if_match,
    )
    return _told(now)


def link(call: Call) -> Any:
    asked, scope = call.body, _linked_in(call)
    return call.clew.link(asked.source, asked.relation, asked.target, scope=scope, identity=call.identity).as_json()


def unlink(call: Call) -> Any:
    asked, scope = call.body, _linked_in(call)
    return call.clew.unlink(
        asked.source, asked.relation, asked.target, scope=scope, identity=call.identity
    ).as_json()


# -- parts -----------------------------------------------------------------------------------------------


def _draft(given: shapes.MemoryGiven) -> Draft:
    fields = {name: getattr(given, name) for name in given.__struct_fields__ if name not in _PLACE}
    return Draft(**{name: _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    return shapes.utc(value) if isinstance(value, datetime) else value


def _place(call: Call) -> Scope:
    """Where what is remembered belongs: the agent of the credential is not for others to name."""
    given = call.body
    agent = call.identity.agent or given.agent
    return Scope(call.identity.org, given.project, given.user, agent, given.session, given.namespace)


def _narrowed(call: Call) -> Scope | None:
    """An id is looked up everywhere unless a scope is asked for."""
    asked = call.query
    if asked.project is None and asked.user is not None:
        return AcrossProjects(org=call.identity.org, user=asked.user)
    return None if asked.project is None else call.scope(asked)


def _linked_in(call: Call) -> Scope | None:
    """What is linked is looked for everywhere as well, unless a place is named; then just there."""
    asked = call.body
    if asked.project is None and asked.user is not None:
        return AcrossProjects(org=call.identity.org, user=asked.user)
    return None if asked.project is None else call.place(asked)


def _filter(asked: shapes.Narrowed) -> Filter:
    return Filter(
        types=asked.type,
        tags=asked.tag,
        layer=asked.layer,
        namespace=asked.namespace,
        agent=asked.agent,
        session=asked.session,
        pattern=asked.pattern,
        before=shapes.utc(asked.before),
        deleted=asked.deleted,
        superseded=asked.superseded,
    )


def _told(memory: Memory) -> Answer:
    return Answer(memory.as_json(), headers=_etag(memory))


def _etag(memory: Memory) -> Mapping[str, str]:
    return {"ETag": f'"{memory.version}"'}


_ONE = "/v1/memories/{id}"
ROUTES = (
    Route(
        "POST", "/v1/memories", "remember", "Remember something; durable when it is answered.", remember,
        answer=RememberedShown, body=shapes.RememberWanted, status=201, also=(200, 404, 409), is_idempotent=True,
    ),
    Route(
        "POST", "/v1/memories/batch", "memories.batch", "Remember several things of one place.", remember_many,
        answer=shapes.BatchShown, body=shapes.BatchWanted, status=201, also=(404, 409), is_idempotent=True,
    ),
    Route(
        "POST", "/v1/observations", "observe", "Record a call of a local tool, in our own words.", observe,
        answer=RememberedShown, body=shapes.CallSeen, status=201, also=(200, 409), is_idempotent=True,
    ),
    Route(
        "GET", "/v1/memories", "memories.list", "Memories, newest first.", list_memories,
        answer=shapes.ListShown, query=shapes.ListWanted, also=(404,),
    ),
    Route(
        "POST", "/v1/memories/forget", "memories.forget", "Forget what matches, or tell what that would be.",
        forget_many, answer=shapes.ForgottenShown | shapes.PreviewShown, body=shapes.ForgetWanted, also=(409,),
    ),
    Route(
        "GET", _ONE, "show", "One memory.", show, answer=MemoryShown, query=InScope, also=(404,)
    ),
    Route(
        "PATCH", _ONE, "edit", "Change a memory; the state before becomes history.", edit,
        answer=MemoryShown, query=InScope, body=shapes.Changes, also=(404, 409), takes_if_match=True,
    ),
    Route(
        "DELETE", _ONE, "forget", "Forget a memory; with `hard`, leave no trace of its text.", forget,
        answer=shapes.ForgottenShown, query=shapes.ForgetOne, also=(404, 409), takes_if_match=True,
    ),
    Route(
        "GET", f"{_ONE}/history", "history", "Every state of a memory, oldest first.", history,
        answer=shapes.HistoryShown, query=InScope, also=(404,),
    ),
    Route(
        "POST", f"{_ONE}/revert", "revert", "Make an earlier state the present one.", revert,
        answer=MemoryShown, query=InScope, body=shapes.RevertWanted, also=(404, 409), takes_if_match=True,
    ),
    Route(
        "POST", "/v1/link", "link", "State an edge between memories and things.", link,
        answer=shapes.LinkedShown, body=shapes.LinkWanted, also=(404, 409),
    ),
    Route(
        "POST", "/v1/unlink", "unlink", "Take back what was linked.", unlink,
        answer=shapes.LinkedShown, body=shapes.LinkWanted, also=(404, 409),
    ),
)  # fmt: skip

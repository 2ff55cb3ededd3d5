"""The same call by the same identity means the same in the library, over /v1, over /v1/call and over MCP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from api_driver import Asked, Got
from test_api_auth import key_of

from clew.clew import Clew
from clew.errors import NotFound
from clew.model.memory import Draft
from clew.model.scope import Identity, Scope
from clew.surfaces.http.routes import all_routes
from clew.surfaces.mcp.route import ROUTES as MCP
from clew.wire.calls import call as call_verb

ANN = Identity(user="ann", roles=("member",))
AGENT = Identity(user="ann", agent="mcp", roles=("member",))
BOB = Identity(user="bob", roles=("member",))
AS_AGENT = {"clew_agent": "mcp"}
Write = Callable[[Asked, str, str | None], str]  # its token, the user that is named; the id of what was stored


def by_library(asked: Asked, token: str, user: str | None) -> str:
    draft, scope = Draft(content="by the library"), Scope(project="web", user=user, agent="mcp")
    return asked.clew.remember(draft, scope=scope, identity=AGENT).id


def over_v1(asked: Asked, token: str, user: str | None) -> str:
    body = {"content": "over v1", "project": "web"} | ({"user": user} if user else {})
    return str(asked.post("/v1/memories", body, token=token, **AS_AGENT).json["id"])


def in_a_batch(asked: Asked, token: str, user: str | None) -> str:
    body = {"memories": [{"content": "in a batch"}], "project": "web"} | ({"user": user} if user else {})
    got = asked.post("/v1/memories/batch", body, token=token, **AS_AGENT)
    return str(got.json["results"][0]["id"])


def over_the_wire(asked: Asked, token: str, user: str | None) -> str:
    scope = {"org": "local", "project": "web", "agent": "mcp"} | ({"user": user} if user else {})
    got = wire(asked, "remember", token, content="over the wire", scope=scope)
    return str(got.json["memory"]["id"])


def wire(asked: Asked, verb: str, token: str, **arguments: Any) -> Got:
    return asked.post(f"/v1/call/{verb}", arguments, token=token, **AS_AGENT)


def over_mcp(asked: Asked, token: str, **arguments: Any) -> str:
    asks = {"name": "memory_remember", "arguments": {"content": "over mcp", "project": "web", **arguments}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asks}
    told = {"accept": "application/json, text/event-stream", "mcp_protocol_version": "2025-06-18"}
    got = asked.post("/mcp", message, token=token, **told)
    assert got.status == 200, got.json
    return str(json.loads(got.json["result"]["content"][0]["text"])["id"])


@pytest.fixture
def asked(memory: Clew) -> Iterator[Asked]:
    """With the tools for agents."""
    asked = Asked(memory, (*all_routes(), *MCP))
    yield asked
    asked.close()


@pytest.mark.parametrize("user", [None, "ann"])
@pytest.mark.parametrize("write", [by_library, over_v1, in_a_batch, over_the_wire])
def test_what_names_no_user_is_shared_and_what_names_one_is_private(
    asked: Asked, memory: Clew, write: Write, user: str | None
) -> None:
    stored = memory.show(write(asked, key_of(memory), user))
    assert (stored.org, stored.project, stored.user, stored.agent) == ("local", "web", user, "mcp")
    assert (stored.trust, stored.author) == ("agent", "ann" if user is None else None)


def test_an_agent_keeps_what_it_learns_for_the_whole_project(asked: Asked, memory: Clew) -> None:
    stored = memory.show(over_mcp(asked, key_of(memory)))
    assert (stored.project, stored.user, stored.trust, stored.author) == ("web", None, "agent", "ann")
    assert memory.show(stored.id, identity=BOB) == stored


def test_whoever_names_no_user_reads_their_own_and_what_is_shared(asked: Asked, memory: Clew) -> None:
    token = key_of(memory)
    own, shared = (
        memory.remember(f"tea, {user}", scope=Scope(project="web", user=user)).id for user in ("ann", None)
    )
    memory.remember("tea, bob", scope=Scope(project="web", user="bob"))
    v1 = asked.get("/v1/memories?project=web", token=token).json["memories"]
    far = wire(asked, "list", token, scope={"org": "local", "project": "web"}).json
    assert [one["id"] for one in v1] == [one["id"] for one in far] == [shared, own]


def test_a_memory_is_found_by_its_id_in_its_project_also_to_change_it(asked: Asked, memory: Clew) -> None:
    token = key_of(memory)
    own = memory.remember("private", scope=Scope(project="web", user="ann")).id
    assert asked("PATCH", f"/v1/memories/{own}?project=web", {"title": "a"}, token=token).status == 200
    assert wire(asked, "edit", token, id=own, title="b", scope={"project": "web"}).status == 200


def test_forgetting_in_bulk_means_the_place_that_is_named(asked: Asked, memory: Clew) -> None:
    token = key_of(memory)
    own = memory.remember("private", scope=Scope(project="web", user="ann")).id
    everything = {"everything": True, "project": "web"}
    assert asked.post("/v1/memories/forget", everything, token=token).json["forgotten"] == 0
    assert asked.post("/v1/memories/forget", everything | {"user": "ann"}, token=token).json["ids"] == [own]


def test_another_org_that_is_named_is_not_found_anywhere(memory: Clew) -> None:
    acme = Identity(org="acme", user="ann", roles=("member",))
    with pytest.raises(NotFound):
        memory.recall("x", scope=Scope(org="local"), identity=acme)
    with pytest.raises(NotFound):
        call_verb(memory, "recall", {"query": b'"x"', "scope": b'{"org": "local"}'}, identity=acme)

"""Who sees what: by the credential and the arguments of one call, never by what came before on a connection."""

from __future__ import annotations

import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp_driver import LEGACY, MODERN, Agent, over_http

from clew import Clew, Identity, Scope

ACME = Identity(org="acme", user="ann", roles=("admin",))
RIVAL = Identity(org="rival", user="rob", roles=("owner",))
KEYS = {"acme-key": ACME, "rival-key": RIVAL}


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_two_projects_on_one_connection_do_not_leak_into_each_other(memory: Clew, mode: str) -> None:
    with over_http(memory, Identity(), mode=mode) as agent:
        agent("memory_remember", content="the canary of project one", project="one")
        agent("memory_recall", query="canary", project="one")
        assert agent("memory_recall", query="canary", project="two")["results"] == []
        assert agent("memory_recall", query="canary")["results"] == []
        assert agent("memory_timeline", project="two")["entries"] == []
        assert agent("memory_context", query="canary", project="two")["memory_ids"] == []
        assert len(agent("memory_recall", query="canary", project="one")["results"]) == 1


def test_two_sessions_on_one_connection_do_not_leak_into_each_other(agent: Agent) -> None:
    for session in ("ses_a", "ses_b"):
        agent("memory_remember", content=f"the canary of {session}", session=session)
    [found] = agent("memory_recall", query="canary", session="ses_a")["results"]
    assert found["session"] == "ses_a"
    [entry] = agent("memory_timeline", session="ses_b")["entries"]
    assert entry["content"] == "the canary of ses_b"


def probes(id: str, session: str) -> list[tuple[str, dict[str, object]]]:
    held = {"session": session, "worker": "w", "token": 1}
    return [
        ("memory_show", {"ids": [id]}),
        ("memory_edit", {"id": id, "content": "taken over"}),
        ("memory_forget", {"id": id}),
        ("memory_timeline", {"id": id}),
        ("memory_remember", {"content": "newer", "supersedes": id}),
        ("graph_query", {"kind": "neighbors", "node": id}),
        ("graph_query", {"kind": "path", "node": "AuthService", "to": id}),
        ("memory_context", {"session": session}),
        ("queue_ack", held | {"delivery_id": "inj_x"}),
    ]


def test_another_orgs_id_looks_like_one_that_never_was(memory: Clew) -> None:
    place = Scope(org="acme", project="p")
    id = memory.remember("AuthService holds the canary", scope=place, identity=ACME).id
    session = memory.sessions.start(project="p", scope=Scope(org="acme"), identity=ACME)
    with over_http(memory, KEYS, token="rival-key") as agent:
        for (tool, asked), (_tool, unknown) in zip(
            probes(id, session.id), probes("mem_" + "0" * 26, "ses_" + "0" * 26), strict=True
        ):
            told, expected = agent.raw(tool, **asked), agent.raw(tool, **unknown)
            there, not_there = told.content[0].text, expected.content[0].text
            blank = there.replace(id, "ID").replace(session.id, "ID")
            assert blank == not_there.replace("mem_" + "0" * 26, "ID").replace("ses_" + "0" * 26, "ID"), tool
            assert told.is_error == expected.is_error
            assert "canary" not in there


@pytest.mark.parametrize(("token", "is_told"), [("rival-key", False), ("acme-key", True)])
def test_an_orgs_memories_are_in_its_own_answers_and_in_no_others(memory: Clew, token: str, is_told: bool) -> None:
    for project in ("p", None):
        place = Scope(org="acme", project=project)
        memory.remember("AuthService uses CanaryService", scope=place, identity=ACME)
    with over_http(memory, KEYS, token=token) as agent:
        answers = [
            agent("memory_recall", query="CanaryService", project="p"),
            agent("memory_timeline", project="p"),
            agent("memory_context", query="CanaryService", project="p"),
            agent("memory_context", project="p"),
            agent("graph_query", kind="triplets", project="p"),
        ]
        texts = [json.dumps(answer) for answer in answers]
        texts += [agent.read("memory://project/p/context"), agent.read("memory://knowledge-graph")]
        assert ["AuthService" in text for text in texts] == [is_told] * len(texts)


def test_a_memory_resource_of_another_org_is_not_there(memory: Clew) -> None:
    id = memory.remember("canary", scope=Scope(org="acme"), identity=ACME).id
    with over_http(memory, KEYS, token="rival-key") as agent, pytest.raises(MCPError) as caught:
        agent.read(f"memory://memory/{id}")
    assert caught.value.error.data["error"]["code"] == "MEMORY_NOT_FOUND"


def test_another_users_private_memory_is_not_there(memory: Clew) -> None:
    id = memory.remember("ann's canary", scope=Scope(org="acme", user="ann"), identity=ACME).id
    bob = Identity(org="acme", user="bob", roles=("member",))
    with over_http(memory, bob) as agent:
        assert agent.refused("memory_show", ids=[id])["code"] == "MEMORY_NOT_FOUND"
        assert agent("memory_recall", query="canary")["results"] == []


def test_what_an_agent_writes_has_an_agents_trust_whatever_the_credential(memory: Clew) -> None:
    with over_http(memory, Identity()) as agent:
        ids = [
            agent("memory_remember", content=f"said by {origin}", origin=origin)["id"]
            for origin in ("agent", "user", "tool_output:local", "web", "mcp")
        ]
    assert [memory.show(id).trust for id in ids] == ["agent", "agent", "tool", "untrusted", "untrusted"]


def test_an_edit_by_an_agent_takes_the_users_trust_away(memory: Clew) -> None:
    id = memory.remember("the user's own words").id
    assert memory.show(id).trust == "user"
    with over_http(memory, Identity()) as agent:
        agent("memory_edit", id=id, content="the agent's words")
    assert memory.show(id).trust == "agent"


def test_the_clients_name_is_noted_and_gives_no_right(memory: Clew) -> None:
    """A suspended agent stays suspended, whatever its client calls itself."""
    with over_http(memory, Identity()) as agent:
        id = agent("memory_remember", content="who wrote this?")["id"]
    assert memory.show(id).agent == "test-client"
    memory.policies.agent("bot", suspended=True)
    with over_http(memory, Identity(agent="bot", roles=())) as agent:
        assert agent.refused("memory_show", ids=[id])["code"] == "MEMORY_NOT_FOUND"


def test_a_credentials_agent_is_noted_instead_of_the_clients_name(memory: Clew) -> None:
    with over_http(memory, Identity(agent="reviewer-bot", roles=())) as agent:
        id = agent("memory_remember", content="written by a bot")["id"]
    assert memory.show(id).agent == "reviewer-bot"

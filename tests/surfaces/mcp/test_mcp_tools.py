"""Each tool, called by a real client over HTTP in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_driver import Agent, over_http

from clew import Clew, Identity
from clew.surfaces.mcp.answers import tokens
from toys import ToldClock

TEN = [
    "memory_recall", "memory_show", "memory_remember", "memory_edit", "memory_forget", "memory_timeline",
    "memory_context", "graph_query", "queue_claim", "queue_ack",
]  # fmt: skip


def test_the_ten_tools_are_listed_in_the_same_order_every_time(of_any_era: Agent) -> None:
    assert [tool.name for tool in of_any_era.tools] == TEN == [tool.name for tool in of_any_era.tools]


def test_the_list_of_tools_costs_at_most_2500_tokens(agent: Agent) -> None:
    listed = [tool.model_dump(by_alias=True, exclude_none=True) for tool in agent.tools]
    assert tokens(json.dumps(listed, ensure_ascii=False)) <= 2_500


def test_every_tool_sets_all_four_hints_and_none_is_open_world(agent: Agent) -> None:
    hints = {tool.name: tool.annotations.model_dump(exclude={"title"}) for tool in agent.tools}
    assert all(None not in given.values() for given in hints.values())
    assert not any(given["open_world_hint"] for given in hints.values())
    assert {name for name, given in hints.items() if given["destructive_hint"]} == {"memory_edit", "memory_forget"}
    writing = {name for name, given in hints.items() if not given["read_only_hint"]}
    assert writing == {"memory_remember", "memory_edit", "memory_forget", "queue_claim", "queue_ack"}


def test_every_tool_says_what_it_takes_and_answers(agent: Agent) -> None:
    for tool in agent.tools:
        assert tool.title
        assert len(tool.description) > 40
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert tool.output_schema["required"]


def test_lists_may_be_kept_for_an_hour_and_what_is_read_not_at_all(agent: Agent) -> None:
    for ask in (agent.client.list_tools, agent.client.list_prompts, agent.client.list_resources):
        answer = agent.portal.call(ask)
        assert (answer.ttl_ms, answer.cache_scope) == (3_600_000, "public")
    read = agent.portal.call(agent.client.read_resource, "memory://knowledge-graph")
    assert (read.ttl_ms, read.cache_scope) == (0, "private")


def test_what_is_remembered_is_recalled_with_its_provenance(of_any_era: Agent) -> None:
    agent = of_any_era
    id = agent("memory_remember", content="We chose SQLite for its simplicity", type="decision", project="p")["id"]
    [found] = agent("memory_recall", query="why SQLite", project="p")["results"]
    assert (found["id"], found["type"], found["content"]) == (id, "decision", "We chose SQLite for its simplicity")
    assert (found["origin"], found["trust"], found["project"]) == ("agent", "agent", "p")
    assert found["at"].endswith("Z")
    assert (found["rank"], found["layer"]) == (1, "long_term")
    assert "lexical" in found["why"]


def test_an_agent_is_told_why_what_it_remembers_is_labelled_more_strictly(agent: Agent) -> None:
    assert agent("memory_remember", content="PCI scope: keep 5432 closed")["label_because"] == "it speaks of pci"
    assert "label_because" not in agent("memory_remember", content="We use tabs")


def test_recall_explains_itself_when_asked(agent: Agent) -> None:
    agent("memory_remember", content="The cache is flushed at midnight")
    plain, explained = (agent("memory_recall", query="cache flush", explain=one) for one in (False, True))
    assert "explain" not in plain
    assert {"gather", "rank"} <= {stage["name"] for stage in explained["explain"]["stages"]}
    assert {"source", "rank", "relevance"} <= set(explained["results"][0]["why"][0])


def test_recall_can_be_narrowed_to_types_and_tags(agent: Agent) -> None:
    agent("memory_remember", content="deploy on Mondays", type="rule", tags=["ops"])
    agent("memory_remember", content="deploy took an hour", type="note")
    narrow = agent("memory_recall", query="deploy", types=["note"])["results"]
    assert [one["type"] for one in narrow] == ["note"]
    assert [one["tags"] for one in agent("memory_recall", query="deploy", tags=["ops"])["results"]] == [["ops"]]


def test_show_tells_what_it_found_and_what_not(agent: Agent) -> None:
    id = agent("memory_remember", content="first line\n    indented line", title="Two lines")["id"]
    answer = agent("memory_show", ids=[id, "mem_unknown"])
    [shown] = answer["memories"]
    assert (shown["content"], shown["title"], shown["version"]) == ("first line\n    indented line", "Two lines", 1)
    assert answer["not_found"] == ["mem_unknown"]


def test_show_of_nothing_that_is_there_names_all_that_were_asked_for(agent: Agent) -> None:
    error = agent.refused("memory_show", ids=["mem_unknown", "mem_missing"])
    assert error["code"] == "MEMORY_NOT_FOUND"
    assert "mem_unknown" in error["message"] and "mem_missing" in error["message"]
    assert agent.refused("memory_show", ids=["mem_unknown"])["code"] == "MEMORY_NOT_FOUND"


def test_an_edit_keeps_the_history_and_needs_the_version_it_expects(agent: Agent) -> None:
    id = agent("memory_remember", content="the port is 8000")["id"]
    assert agent("memory_edit", id=id, content="the port is 9000", expected_version=1)["version"] == 2
    assert agent.refused("memory_edit", id=id, content="7000", expected_version=1)["code"] == "MEMORY_CHANGED"
    history = agent("memory_timeline", id=id)["entries"]
    assert [(one["change"], one["content"]) for one in history] == [
        ("edited", "the port is 9000"), ("created", "the port is 8000"),
    ]  # fmt: skip


def test_forgetting_is_soft(agent: Agent, memory: Clew) -> None:
    id = agent("memory_remember", content="a thing to forget")["id"]
    assert agent("memory_forget", id=id)["forgotten"] == [id]
    assert agent("memory_recall", query="thing to forget")["results"] == []
    assert memory.revert(id, 1).content == "a thing to forget"


def test_the_timeline_is_read_page_by_page(agent: Agent) -> None:
    ids = [agent("memory_remember", content=f"event number {number}")["id"] for number in range(5)]
    first = agent("memory_timeline", limit=3)
    second = agent("memory_timeline", limit=3, cursor=first["cursor"])
    assert agent.refused("memory_timeline", cursor="zzz")["code"] == "CURSOR_INVALID"
    assert [one["id"] for one in (*first["entries"], *second["entries"])] == ids[::-1]
    assert "cursor" not in second


def test_context_is_a_block_within_its_budget(agent: Agent) -> None:
    id = agent("memory_remember", content="Always run the migrations before a deploy", type="rule")["id"]
    block = agent("memory_context", query="deploy the service", max_tokens=300)
    assert f"- [{id}] Always run the migrations before a deploy" in block["text"]
    assert block["memory_ids"] == [id]
    assert block["tokens"] == tokens(block["text"]) <= 300


def test_context_without_a_task_is_the_rules_and_what_is_newest(agent: Agent) -> None:
    rule = agent("memory_remember", content="Never push on Fridays", type="rule", project="p")["id"]
    note = agent("memory_remember", content="the build takes an hour", project="p")["id"]
    assert agent("memory_context", project="p")["memory_ids"] == [rule, note]


def test_context_of_a_session_is_its_start_block(agent: Agent, memory: Clew) -> None:
    id = agent("memory_remember", content="Logins are rate limited by AuthService", project="p")["id"]
    session = memory.sessions.start(project="p", title="rate limit the logins")
    assert agent("memory_context", session=session.id)["memory_ids"] == [id]
    assert agent.refused("memory_context", session="ses_unknown")["code"] == "SESSION_NOT_FOUND"


def test_the_graph_is_asked_in_three_ways(agent: Agent) -> None:
    content = "AuthService uses PostgreSQL. PostgreSQL depends on DiskService."
    id = agent("memory_remember", content=content)["id"]
    [edge] = agent("graph_query", kind="neighbors", node="AuthService")["edges"]
    assert (edge["relation"], edge["target"]["label"], edge["evidence"]) == ("uses", "PostgreSQL", [id])
    path = agent("graph_query", kind="path", node="AuthService", to="DiskService")["edges"]
    assert [step["relation"] for step in path] == ["uses", "depends_on"]
    assert len(agent("graph_query", kind="triplets", query="PostgreSQL")["edges"]) == 2


def test_a_message_is_claimed_until_it_is_acknowledged(agent: Agent, memory: Clew) -> None:
    session = memory.sessions.start()
    held = {"session": session.id, "worker": "w", "token": memory.sessions.claim(session.id, "w")}
    memory.queue.enqueue(session.id, "Read the plan first")
    taken = agent("queue_claim", **held)
    assert taken["text"] == "Read the plan first"
    assert agent("queue_claim", **held)["delivery_id"] == taken["delivery_id"]
    assert agent("queue_ack", **held, delivery_id=taken["delivery_id"]) == {"acked": True}
    assert agent("queue_claim", **held)["delivery_id"] is None
    assert memory.queue.list(session.id)[0].receipt == "confirmed"


def test_a_worker_that_lost_the_session_gets_nothing(agent: Agent, memory: Clew) -> None:
    session = memory.sessions.start()
    token = memory.sessions.claim(session.id, "w")
    memory.queue.enqueue(session.id, "secret of the session")
    assert agent("queue_claim", session=session.id, worker="w", token=token - 1)["delivery_id"] is None
    assert agent("queue_claim", session=session.id, worker="other", token=token)["text"] == ""


# -- resources and prompts -----------------------------------------------------------------------------


def test_resources_show_a_project_a_memory_and_the_graph(of_any_era: Agent) -> None:
    agent = of_any_era
    id = agent("memory_remember", content="AuthService uses Redis", project="github.com/acme/web")["id"]
    agent("memory_remember", content="MailService uses Postfix")
    assert f"- [{id}] AuthService uses Redis" in agent.read("memory://project/github.com%2Facme%2Fweb/context")
    assert json.loads(agent.read(f"memory://memory/{id}"))["memories"][0]["content"] == "AuthService uses Redis"
    [relation] = json.loads(agent.read("memory://knowledge-graph"))["relations"]
    assert relation["from"] == "service:mailservice"


@pytest.mark.parametrize("uri", ["memory://memory/mem_unknown", "memory://other", "file:///etc/passwd"])
def test_a_resource_that_is_not_there_is_an_error_of_the_client(agent: Agent, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        agent.read(uri)
    assert caught.value.error.code == -32602
    assert "∶" not in caught.value.error.data["error"]["next"]


def test_prompts_say_what_to_do_with_the_tools(agent: Agent) -> None:
    agent("memory_remember", content="Releases are signed with the team key", type="rule")
    assert "Releases are signed" in agent.prompt("recall", topic="releases")
    assert "memory_remember" in agent.prompt("remember", what="the new port")
    assert "session ses_1" in agent.prompt("handoff", session="ses_1")
    with pytest.raises(MCPError):
        agent.prompt("unknown")


@pytest.mark.parametrize("given", [{}, {"topic": " "}])
def test_a_prompt_without_what_it_needs_is_refused(agent: Agent, given: dict[str, str]) -> None:
    with pytest.raises(MCPError, match="`topic` is missing") as caught:
        agent.prompt("recall", **given)
    assert caught.value.error.code == -32602


# -- errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_recall", {}),
        ("memory_recall", {"query": 7}),
        ("memory_recall", {"query": "x", "limit": 1_000}),
        ("memory_recall", {"query": "x", "org": "acme"}),
        ("memory_recall", {"query": "x", "identity": {"roles": ["owner"]}}),
        ("memory_remember", {"content": "x", "type": "poem"}),
        ("graph_query", {"kind": "neighbors"}),
        ("queue_claim", {"session": "s", "worker": "w"}),
    ],
)
def test_wrong_arguments_come_back_as_an_error_that_names_the_next_move(
    agent: Agent, tool: str, arguments: dict[str, object]
) -> None:
    error = agent.refused(tool, **arguments)
    assert error["code"] == "ARGUMENTS_INVALID"
    assert error["next"]


def test_an_unknown_tool_is_an_error_of_the_protocol(agent: Agent) -> None:
    with pytest.raises(MCPError):
        agent.raw("memory_erase_everything")


def test_an_edit_that_changes_nothing_is_refused(agent: Agent) -> None:
    id = agent("memory_remember", content="stays as it is")["id"]
    assert agent.refused("memory_edit", id=id)["code"] == "EDIT_EMPTY"


class BrokenClock(ToldClock):
    def now(self) -> datetime:
        raise ValueError("a text that quotes a memory")


def test_what_nobody_foresaw_is_told_by_its_kind_alone(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    with over_http(clew_at(tmp_path, clock=BrokenClock()), Identity()) as agent:
        error = agent.refused("memory_recall", query="anything")
    assert error["code"] == "INTERNAL"
    assert "ValueError" in error["message"]
    assert "quotes" not in error["message"]

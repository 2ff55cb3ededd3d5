"""What is refused at POST /mcp before the protocol's library looks at it, and what ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp_driver import Agent
from test_mcp_http import DISCOVER, Server

from clew import Clew, Unavailable
from clew.surfaces.http.request import LOOPBACK
from clew.surfaces.mcp import route


@pytest.fixture
def server(memory: Clew) -> Iterator[Server]:
    with ThreadPoolExecutor(2) as pool:
        yield Server(memory, pool, LOOPBACK)


def test_no_stream_is_opened(server: Server) -> None:
    """The library would listen for the client to leave, for ever."""
    answer = server.post(body={**DISCOVER, "method": "subscriptions/listen"}, Mcp_Method="subscriptions/listen")
    assert (answer.status_code, answer.json()["id"]) == (404, 1)
    assert answer.json()["error"]["code"] == -32601


@pytest.mark.parametrize(
    "body",
    [[DISCOVER, DISCOVER], [], "canary", 7, None, {"hello": "canary"}, {**DISCOVER, "method": ["canary"]},
     {**DISCOVER, "params": "canary"}, {**DISCOVER, "jsonrpc": "canary"}, {**DISCOVER, "id": None},
     {"jsonrpc": "2.0", "id": 1, "result": {}}],
)  # fmt: skip
def test_what_is_no_single_message_is_refused_with_one_sentence(server: Server, body: Any) -> None:
    answer = server.post(body=body)
    assert answer.status_code == 400 and "canary" not in answer.text
    assert answer.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "the body must be one JSON-RPC request or notification"},
    }


def test_after_the_body_only_the_end_of_the_connection_is_heard() -> None:
    left = asyncio.Event()

    async def connection() -> dict[str, Any]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def listen() -> list[str]:
        receive = route._receiving(b"{}", connection)
        heard = [(await receive())["type"]]
        waiting = asyncio.ensure_future(receive())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        left.set()
        return [*heard, (await waiting)["type"]]

    assert asyncio.run(listen()) == ["http.request", "http.disconnect"]


def test_a_call_that_does_not_end_is_ended(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_given: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(route, "DEADLINE_S", 0.05)
    monkeypatch.setattr(route, "_app", _Made(never))
    answer = server.post()
    assert (answer.status_code, answer.json()["code"]) == (503, "MCP_TIMEOUT")


class _Made:
    """An application that is there already."""

    currsize = 1

    def __init__(self, app: Any) -> None:
        self._app = app

    def __call__(self) -> Any:
        return self._app

    def cache_info(self) -> _Made:
        return self


def test_memories_of_which_none_is_there_are_not_found(agent: Agent) -> None:
    never = [f"mem_{number:026}" for number in (1, 2)]
    assert agent.refused("memory_show", ids=never)["code"] == "MEMORY_NOT_FOUND"
    known = agent("memory_remember", content="there")["id"]
    assert agent("memory_show", ids=[known, *never])["not_found"] == never


def test_a_whole_number_may_be_written_with_a_point(agent: Agent) -> None:
    """JSON Schema's integer admits 5.0, and some clients write it."""
    for content in ("one", "two"):
        agent("memory_remember", content=content)
    assert len(agent("memory_timeline", limit=1.0)["entries"]) == 1
    for limit in (1.5, 1e300, True):
        assert agent.refused("memory_timeline", limit=limit)["code"] == "ARGUMENTS_INVALID"


@pytest.mark.parametrize("token", [-1, 2**53 + 1, 2**63, 10**40])
def test_a_number_that_no_store_can_hold_is_a_wrong_argument(agent: Agent, token: int) -> None:
    error = agent.refused("queue_claim", session="s", worker="w", token=token)
    assert error["code"] == "ARGUMENTS_INVALID"
    assert agent.refused("memory_show", ids=["mem_1"], offset=token)["code"] == "ARGUMENTS_INVALID"
    assert agent.refused("memory_edit", id="mem_1", expected_version=token)["code"] == "ARGUMENTS_INVALID"


def test_nobody_is_told_where_the_server_keeps_its_files(
    agent: Agent, memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: Any, **_named: Any) -> None:
        raise Unavailable(f"no space left to write {memory.home / 'clew.db'}", code="DISK_FULL", next="free some")

    monkeypatch.setattr(Clew, "forget", full)
    error = agent.refused("memory_forget", id="mem_1")
    assert (error["code"], error["message"]) == ("DISK_FULL", "no space left to write clew.db")

"""POST /mcp of the server: the checks of host, origin and credential that all routes have come first."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp_driver import LEGACY, MODERN, URL, Agent, connected

from clew import Clew, Identity
from clew.surfaces.http import listen
from clew.surfaces.http.app import make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.request import LOOPBACK, SOCKET
from clew.surfaces.http.routes import memories
from clew.surfaces.mcp import route
from toys import open_toy

TOKEN = "clew_local_" + "t" * 43
DISCOVER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "server/discover",
}


class Server:
    """The server's application as it is reached over loopback or over its socket."""

    def __init__(self, clew: Clew, pool: ThreadPoolExecutor, via: str) -> None:
        authenticate = Authenticator(clew, local_token=TOKEN)
        self._app = make_app(clew, (*route.ROUTES, *memories.ROUTES), authenticate, pool)
        self._via = via

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app({**scope, "state": {"via": self._via}}, receive, send)

    def client(self, **headers: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self), headers=headers)

    def post(self, *, url: str = URL, body: Any = DISCOVER, **changed: str | None) -> httpx2.Response:
        given = {**HEADERS, **{name.replace("_", "-"): value for name, value in changed.items()}}
        headers = {name: value for name, value in given.items() if value is not None}

        async def ask() -> httpx2.Response:
            async with self.client() as client:
                return await client.post(url, content=json.dumps(body), headers=headers)

        return asyncio.run(ask())

    @contextmanager
    def agent(self, *, mode: str = MODERN, **headers: str) -> Iterator[Agent]:
        http = self.client(**headers)
        with connected(lambda: streamable_http_client(URL, http_client=http), mode) as agent:
            yield agent
            agent.portal.call(http.aclose)


@pytest.fixture
def server(memory: Clew) -> Iterator[Server]:
    with ThreadPoolExecutor(2) as pool:
        yield Server(memory, pool, LOOPBACK)


def test_the_new_era_is_discovered_without_a_handshake(server: Server) -> None:
    answer = server.post()
    assert answer.status_code == 200
    assert MODERN in answer.json()["result"]["supportedVersions"]
    assert "mcp-session-id" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_both_eras_are_served_with_the_token_of_the_installation(server: Server, mode: str) -> None:
    with server.agent(mode=mode, Authorization=f"Bearer {TOKEN}") as agent:
        id = agent("memory_remember", content="written over HTTP")["id"]
        [found] = agent("memory_recall", query="written")["results"]
    assert (found["id"], found["trust"]) == (id, "agent")


@pytest.mark.parametrize("token", [None, "Bearer wrong", "Bearer clew_local_" + "x" * 43, "Basic YTpi"])
def test_without_a_valid_credential_nothing_is_answered(server: Server, token: str | None) -> None:
    answer = server.post(Authorization=token)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_another_host_or_a_page_is_refused(server: Server) -> None:
    assert server.post(url="http://evil.example/mcp").status_code == 421
    assert server.post(Origin="http://localhost").status_code == 403
    assert server.post(Origin="https://evil.example").status_code == 403
    assert server.post(Sec_Fetch_Site="cross-site").status_code == 403


def test_what_is_no_message_is_refused(server: Server) -> None:
    assert server.post(Content_Type="text/plain").status_code == 415
    assert server.post(body={"hello": "world"}).status_code == 400
    assert server.post(body={**DISCOVER, "x": "y" * 2_000_000}).status_code == 413
    assert server.post(MCP_Protocol_Version="2099-01-01").status_code == 400
    assert server.post(Mcp_Method="tools/list").status_code == 400


def test_a_message_may_be_as_long_as_any_other_body(tmp_path: Path) -> None:
    memory = open_toy(tmp_path / "clew.db", serve={"max_body_kb": 4_096})
    with closing(memory), ThreadPoolExecutor(2) as pool:
        server = Server(memory, pool, LOOPBACK)
        lengths = (2_000_000, 5_000_000)
        told = [server.post(body={**DISCOVER, "x": "y" * length}).status_code for length in lengths]
    assert told == [200, 413]


def test_a_session_id_that_somebody_sends_means_nothing(server: Server) -> None:
    assert server.post(Mcp_Session_Id="guessed").status_code == 200


def test_each_key_sees_its_own_org(server: Server, memory: Clew) -> None:
    tokens = {
        org: memory.keys.create("ci", org=org, user="ann", roles=("owner",), identity=Identity(org=org)).token
        for org in ("acme", "rival")
    }
    with server.agent(Authorization=f"Bearer {tokens['acme']}") as agent:
        id = agent("memory_remember", content="the canary of acme")["id"]
    with server.agent(Authorization=f"Bearer {tokens['rival']}") as agent:
        assert agent.refused("memory_show", ids=[id])["code"] == "MEMORY_NOT_FOUND"
        assert agent("memory_recall", query="canary")["results"] == []


def test_one_connection_may_carry_several_credentials_and_none_leaks(server: Server, memory: Clew) -> None:
    """Requests stand for themselves: the second is answered for whoever asked the second."""
    key = memory.keys.create("ci", org="acme", user="ann", roles=("owner",), identity=Identity(org="acme"))
    memory.remember("the canary of local")
    ask = {**DISCOVER, "method": "tools/call"}
    ask["params"] = {**DISCOVER["params"], "name": "memory_recall", "arguments": {"query": "canary"}}  # type: ignore[dict-item]
    named = {"Mcp_Method": "tools/call", "Mcp_Name": "memory_recall"}
    mine = server.post(body=ask, **named)
    theirs = server.post(body=ask, Authorization=f"Bearer {key.token}", **named)
    assert "canary of local" in mine.text
    assert "canary of local" not in theirs.text


def test_an_agent_behind_the_socket_is_an_agent_when_it_says_so(memory: Clew) -> None:
    """A process on this machine that only carries an agent's words, as `clew mcp` does."""
    with ThreadPoolExecutor(2) as pool:
        server = Server(memory, pool, SOCKET)

        async def ask(**headers: str) -> str:
            async with server.client(**headers) as client:
                body = {"content": f"said with {sorted(headers)}"}
                answer = await client.post("http://localhost/v1/memories", json=body)
                return str(answer.json()["id"])

        by_user, by_agent = asyncio.run(ask()), asyncio.run(ask(**{"Clew-Agent": "helper"}))
    assert (memory.show(by_user).trust, memory.show(by_agent).trust) == ("user", "agent")


def test_small_answers_are_sent_at_once() -> None:
    """A socket of no named protocol is left to Nagle's algorithm: 44 ms for each answer, measured on loopback."""
    with listen.tcp_socket(listen.Place("127.0.0.1", 0)) as waiting:
        assert waiting.proto == socket.IPPROTO_TCP

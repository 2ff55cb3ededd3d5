"""`clew mcp` as a process: both eras, nothing but protocol on stdout, a clean end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from cli_driver import Cli
from mcp.shared.message import SessionMessage
from mcp_driver import LEGACY, MODERN, Agent, connected, over_stdio
from wire_server import daemon

import clew
from clew import Clew, Identity
from clew.compose import compose
from clew.settings import load_settings
from clew.surfaces.cli.context import opened
from clew.surfaces.mcp.caller import Caller
from clew.surfaces.mcp.held import Held
from clew.surfaces.mcp.server import make_server
from clew.surfaces.mcp.stdio import Answers
from clew.wire.client import RemoteClew
from clew.wire.transport import Transport

HANDSHAKE = b"""\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},\
"clientInfo":{"name":"raw","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}\
""".splitlines()
ASKED = b"""\
%s
this is no JSON
%s
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_remember","arguments":{"content":"by hand"}}}
""" % (*HANDSHAKE,)


@contextmanager
def over_server(held: Held) -> Iterator[Agent]:
    """The server of `clew mcp` without its process."""
    server = make_server(lambda _context: Caller(held.clew, Identity()), reopened=held.reopened)
    with connected(lambda: server, MODERN) as agent:
        yield agent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=[MODERN, LEGACY])
def agent(home: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    with over_stdio(home, "--project", "demo", mode=request.param) as connected:
        yield connected


def test_a_process_serves_both_eras(agent: Agent) -> None:
    assert [tool.name for tool in agent.tools][:2] == ["memory_recall", "memory_show"]
    assert agent.client.protocol_version >= "2025-11-25"


def test_calls_without_a_project_are_about_the_one_it_was_started_for(agent: Agent) -> None:
    id = agent("memory_remember", content=f"the build server is called {agent.client.mode}")["id"]
    [shown] = agent("memory_show", ids=[id])["memories"]
    assert (shown["project"], shown["trust"], shown["agent"]) == ("demo", "agent", "test-client")
    assert id in [one["id"] for one in agent("memory_recall", query="build server")["results"]]
    assert agent("memory_recall", query="build server", project="")["results"] == []
    assert agent("memory_recall", query="build server", project="other")["results"] == []


def test_every_tool_answers_over_stdio(agent: Agent) -> None:
    agent("memory_remember", content="AuthService uses PostgreSQL", type="rule")
    id = agent("memory_timeline")["entries"][0]["id"]
    assert agent("memory_context", query="AuthService")["text"]
    assert agent("graph_query", kind="triplets")["edges"]
    assert agent("memory_edit", id=id, title="of services")["version"] >= 2
    assert agent.refused("queue_ack", session="s", delivery_id="d", worker="w", token=1)["code"]
    assert agent.refused("queue_claim", session="s", worker="w", token=1)["code"] == "SESSION_NOT_FOUND"
    assert agent("memory_forget", id=id)["forgotten"] == [id]


def test_what_it_wrote_is_in_the_store_of_the_home(agent: Agent, home: Path) -> None:
    id = agent("memory_remember", content=f"durable before it is answered, {agent.client.mode}")["id"]
    with clew.open(home=home, embed={"provider": "none"}) as memory:
        assert memory.show(id, identity=Identity()).trust == "agent"


def test_stdout_carries_nothing_but_the_protocol_and_eof_ends_it(tmp_path: Path) -> None:
    environment = {**os.environ, "CLEW_HOME": str(tmp_path), "CLEW_EMBED__PROVIDER": "none"}
    words, pipe = [sys.executable, "-m", "clew", "mcp"], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=tmp_path) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(ASKED)
        process.stdin.flush()
        answers = []
        while not any(answer.get("id") == 2 for answer in answers):
            answers.append(json.loads(process.stdout.readline()))
        rest, told = process.communicate(timeout=30)  # closes stdin
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert (rest, process.returncode) == (b"", 0)
    assert b"Traceback" not in told


@pytest.mark.parametrize("more", [b"", HANDSHAKE[-1] + b"\n"], ids=["silent", "talking"])
def test_an_interrupt_ends_it_whatever_its_client_does(tmp_path: Path, more: bytes) -> None:
    environment = {**os.environ, "CLEW_HOME": str(tmp_path), "CLEW_EMBED__PROVIDER": "none"}
    words, pipe = [sys.executable, "-m", "clew", "mcp"], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=tmp_path) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n".join([*HANDSHAKE, more * 800]))
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
        assert process.stderr
        assert process.stderr.read() == b"clew: interrupted\n"


def test_a_client_that_is_gone_is_no_news(tmp_path: Path) -> None:
    environment = {**os.environ, "CLEW_HOME": str(tmp_path), "CLEW_EMBED__PROVIDER": "none"}
    reading, writing = os.pipe()
    os.close(reading)
    words, pipe = [sys.executable, "-m", "clew", "mcp"], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=writing, stderr=pipe, env=environment, cwd=tmp_path) as process:
        os.close(writing)
        _nothing, told = process.communicate(b"\n".join([*HANDSHAKE, b""]), timeout=60)
    assert (process.returncode, told) == (1, b"")


def test_what_was_asked_before_stdin_ended_is_answered(tmp_path: Path) -> None:
    environment = {**os.environ, "CLEW_HOME": str(tmp_path), "CLEW_EMBED__PROVIDER": "none"}
    asked = b"\n".join([ASKED.strip(), *(recall(b"%d" % id, b"by hand") for id in range(3, 20))])
    words = [sys.executable, "-m", "clew", "mcp"]
    done = subprocess.run(words, input=asked, capture_output=True, env=environment, cwd=tmp_path, timeout=60)
    answered = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert (done.returncode, sorted(id for id in answered if id)) == (0, list(range(1, 20)))


def test_what_was_taken_back_is_not_waited_for_when_stdin_ends() -> None:
    async def wait() -> list[bool]:
        writes, reads = anyio.create_memory_object_stream[SessionMessage](1)
        async with writes, reads:
            waiting, waited = Answers(writes), []
            request = types.JSONRPCRequest(jsonrpc="2.0", id=2, method="ping")
            method, params = "notifications/cancelled", {"requestId": 2}
            for message in (request, types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)):
                waiting.expect(message)
                with anyio.move_on_after(0.05) as given:
                    await waiting.given()
                waited.append(given.cancelled_caught)
            return waited

    assert anyio.run(wait) == [True, False]


def answers(home: Path, *lines: bytes) -> list[dict[str, Any]]:
    """What comes back for lines that a client sends after the handshake."""
    environment = {**os.environ, "CLEW_HOME": str(home), "CLEW_EMBED__PROVIDER": "none"}
    last = b'{"jsonrpc":"2.0","id":99,"method":"ping"}'
    words, pipe = [sys.executable, "-m", "clew", "mcp"], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=home) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n".join([*HANDSHAKE, *lines, last, b""]))
        process.stdin.flush()
        found: list[dict[str, Any]] = []
        while len(found) < len(lines) + 2:
            found.append(json.loads(process.stdout.readline()))
        process.communicate(timeout=30)
    return [answer for answer in found if answer["id"] not in (1, 99)]


def recall(id: bytes, query: bytes) -> bytes:
    params = b'{"name":"memory_recall","arguments":{"query":"%s"}}' % query
    return b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}' % (id, params)


def test_whatever_a_client_sends_is_answered(tmp_path: Path) -> None:
    sent: list[tuple[bytes, int | None, int]] = [
        (b"this is no JSON", None, -32700),
        (b"\xff\xfe\x00", None, -32700),
        (b"[" * 100_000, None, -32700),
        (recall(b"1.5", b"x"), None, -32600),
        (recall(b"true", b"x"), None, -32600),
        (recall(b"null", b"x"), None, -32600),
        (b"[" + recall(b"3", b"x") + b"]", None, -32600),
        (b"7", None, -32600),
        (b'{"id":4,"method":"ping"}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":["ping"]}', 5, -32600),
    ]
    found = answers(tmp_path, *(line for line, _id, _code in sent))
    assert [(one["id"], one["error"]["code"]) for one in found] == [(id, code) for _line, id, code in sent]
    assert all(one["error"]["message"] for one in found)


def test_half_an_emoji_a_byte_order_mark_and_blank_lines_are_no_trouble(tmp_path: Path) -> None:
    half, whole = recall(b"7", rb"cut emoji \ud83d"), b"\xef\xbb\xbf" + recall(b"8", rb"emoji \ud83d\ude00")
    found = sorted(answers(tmp_path, half + b"\n\n \r", whole + b"\r"), key=lambda answer: int(answer["id"]))
    assert [one["id"] for one in found] == [7, 8]
    assert all(one["result"]["structuredContent"]["results"] == [] for one in found)


def test_without_the_extra_the_next_move_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.surfaces.cli.commands.mcp.find_spec", lambda name: None)
    outcome = cli("mcp")
    assert outcome.code == 2
    assert "clew[mcp]" in outcome.err
    assert outcome.out == ""


def test_a_daemon_of_the_home_does_the_work_and_knows_that_an_agent_asks(tmp_path: Path) -> None:
    """With the daemon's own store elsewhere, what was written shows who wrote it."""
    settings = load_settings(home=tmp_path, environ={"CLEW_EMBED__PROVIDER": "none"})
    asked: list[str] = []
    with compose(settings, tmp_path / "elsewhere.db") as memory, daemon(memory, asked=asked):
        said = memory.remember("the user's own words").id
        with over_stdio(tmp_path, "--agent", "helper") as agent:
            id = agent("memory_remember", content="kept by the daemon")["id"]
            assert asked, "the daemon was not asked"
            assert agent("memory_recall", query="kept by the daemon")["results"][0]["id"] == id
            assert agent("memory_context", query="kept by the daemon")["memory_ids"] == [id]
            agent("memory_edit", id=said, content="the agent's words")
        assert [memory.show(one).trust for one in (id, said)] == ["agent", "agent"]
    assert not (tmp_path / "clew.db").exists()


def test_a_process_that_lives_on_waits_for_a_daemon_that_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command opens the store itself; a process beside it for hours had better not."""
    monkeypatch.setattr(Transport, "is_answering", lambda _self, *, within_s: within_s > 1)  # it needs a second
    settings = load_settings(home=tmp_path, environ={"CLEW_EMBED__PROVIDER": "none"})
    with compose(settings, tmp_path / "clew.db", in_background=False) as memory, daemon(memory):
        with opened(settings) as found:
            assert not isinstance(found, RemoteClew)
        with opened(settings, stays=True) as found:
            assert isinstance(found, RemoteClew)


def test_a_daemon_that_stops_is_not_missed(tmp_path: Path) -> None:
    """As `clew mcp` holds it; what was asked goes to the file then."""
    settings = load_settings(home=tmp_path, environ={"CLEW_EMBED__PROVIDER": "none"})
    with ExitStack() as running:
        memory = running.enter_context(compose(settings, tmp_path / "clew.db", in_background=False))
        running.enter_context(daemon(memory))
        with Held(partial(opened, settings, stays=True)) as held, over_server(held) as agent:
            assert isinstance(held.clew, RemoteClew)
            agent("memory_remember", content="while the daemon ran")
            running.close()
            assert len(agent("memory_timeline")["entries"]) == 1
            assert agent("memory_remember", content="after it had stopped")["trust"] == "agent"
            assert isinstance(held.clew, Clew)
            assert not isinstance(held.clew, RemoteClew)

"""What pages of a browser and programs that mean no good can send to loopback, byte for byte, to a real process.

Limits there are: 32 KiB of head that has 20 s to come, 30 s between two pieces of a body, its length as the route
says, 256 connections to each listener, and 75 s for one that says nothing between two requests.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import pytest
import uvicorn
from api_driver import TOKEN, Asked, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback_driver import WAIT_S, connected, on_loopback, rest_of
from test_daemon import Daemon

from clew.surfaces.http import bodies, protocol
from clew.surfaces.http.crowd import MAX_CONNECTIONS
from toys import open_toy

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets")
CROWD = 3 * MAX_CONNECTIONS
SECRET = "the harbour master keeps the key"


class Loopback(Daemon):
    """A daemon on TCP that remembers one thing."""

    @property
    def token(self) -> str:
        return (self.home / "run" / "token").read_text().strip()

    def send(self, data: bytes) -> bytes:
        """What comes back until the server hangs up, which it does within the time of a test."""
        with self.linked() as link:
            with suppress(ConnectionError):
                link.sendall(data)
            return rest_of(link)

    def linked(self) -> socket.socket:
        host, port = self.started["tcp"].rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=WAIT_S)

    def memories(self) -> int:
        return int(self.ask("GET", "/v1/stats")[1]["memories"])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    found = Loopback(tmp_path_factory.mktemp("raw") / "home")
    before = os.umask(0)
    try:
        with open_toy(found.home / "clew.db") as memory:
            memory.remember(SECRET)
        found.started = found.start("--tcp", "127.0.0.1:0")
    finally:
        os.umask(before)
    yield found
    assert found.process is not None and found.process.poll() is None, "it died"
    found.process.terminate()
    _out, told = found.process.communicate(timeout=WAIT_S)
    assert found.process.returncode == 0 and "Traceback" not in told, told


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else 0


def request(method: str, path: str, *headers: str, host: str = "127.0.0.1", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


# -- a page in a browser -----------------------------------------------------------------------------

WRITE = b'{"content": "written by a page"}'
ASK = b'{"query": "harbour master"}'
EVIL = "https://evil.example"
CROSS = "Sec-Fetch-Site: cross-site"
BEARER = "Authorization: Bearer {token}"
PAGES = {
    "a form": ("POST", "/v1/memories", ["Content-Type: application/x-www-form-urlencoded"], b"content=x"),
    "a form with its origin": ("POST", "/v1/memories", [f"Origin: {EVIL}", "Content-Type: text/plain"], WRITE),
    "a form of an opaque page": ("POST", "/v1/memories", ["Origin: null", "Content-Type: text/plain"], WRITE),
    "no-cors": ("POST", "/v1/memories", [f"Origin: {EVIL}", CROSS, "Sec-Fetch-Mode: no-cors"], WRITE),
    "no-cors as json": ("POST", "/v1/memories", [f"Origin: {EVIL}", "Content-Type: application/json"], WRITE),
    "a beacon": ("POST", "/v1/recall", [f"Origin: {EVIL}", "Content-Type: text/plain;charset=UTF-8"], ASK),
    "with cookies": ("GET", "/v1/memories", ["Cookie: session=1", f"Origin: {EVIL}"], b""),
    "an image": ("GET", "/v1/memories", [CROSS, "Sec-Fetch-Dest: image"], b""),
    "a script": ("GET", "/v1/export", [CROSS, "Sec-Fetch-Dest: script"], b""),
    "a frame": ("GET", "/v1/memories", [CROSS, "Sec-Fetch-Dest: iframe", "Sec-Fetch-Mode: navigate"], b""),
    "a neighbour": ("GET", "/v1/memories", ["Sec-Fetch-Site: same-site", "Origin: http://localhost:3000"], b""),
    "its own address": ("GET", "/v1/memories", ["Origin: http://127.0.0.1:7433"], b""),
    "events": ("GET", "/v1/graph/events", [f"Origin: {EVIL}", "Accept: text/event-stream"], b""),
    "a token in the address": ("GET", "/v1/memories?token={token}", [], b""),
    "a key in the address": ("GET", "/v1/memories?api_key=1", [BEARER], b""),
    "a preflight": ("OPTIONS", "/v1/recall", [f"Origin: {EVIL}", "Access-Control-Request-Method: POST"], b""),
    "a private network preflight": ("OPTIONS", "/v1/recall", ["Access-Control-Request-Private-Network: true"], b""),
    "a web socket": (
        "GET", "/v1/graph/events",
        ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="], b"",
    ),
    "an old web socket with a token": ("GET", "/mcp", ["Upgrade: websocket", BEARER, f"Origin: {EVIL}"], b""),
    "mcp": ("POST", "/mcp", [f"Origin: {EVIL}", "Content-Type: application/json"], b'{"jsonrpc": "2.0"}'),
    "a hook": ("POST", "/v1/hooks/claude-code", [CROSS, "Content-Type: application/json"], b"{}"),
    "a page that knows the token": ("GET", "/v1/memories", [BEARER, f"Origin: {EVIL}"], b""),
    "nothing at all": ("GET", "/v1/memories", [], b""),
    "basic": ("GET", "/v1/memories", ["Authorization: Basic bG9jYWw6"], b""),
    "somebody behind a proxy": ("GET", "/v1/memories", ["X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1"], b""),
    "a method that is another": ("POST", "/v1/memories", ["X-HTTP-Method-Override: GET", CROSS], b"x=1"),
}  # fmt: skip


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_an_offer_of_another_protocol_is_passed_over(daemon: Loopback, framing: str, pieces: int) -> None:
    """As Java's client makes it on cleartext. What follows is the body, and then the next request."""
    body = b'{"query": "harbour"}'
    length = f"Content-Length: {len(body)}" if framing == "length" else "Transfer-Encoding: chunked"
    sent = body if framing == "length" else b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    offer = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"]
    lines = ["POST /v1/recall HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {daemon.token}",
             "Content-Type: application/json", *offer, length]  # fmt: skip
    data = "\r\n".join(lines).encode() + b"\r\n\r\n" + sent + request("GET", "/healthz")
    with daemon.linked() as link:
        for start in range(0, len(data), pieces):
            link.sendall(data[start : start + pieces])
        answer = b"".join(iter(lambda: link.recv(65_536), b""))
    assert answer.count(b"HTTP/1.1 200 OK") == 2 and SECRET.encode() in answer


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_nothing_and_changes_nothing(daemon: Loopback, name: str) -> None:
    method, path, headers, body = PAGES[name]
    told = [header.format(token=daemon.token) for header in headers]
    answer = daemon.send(request(method, path.format(token=daemon.token), *told, body=body))
    assert status_of(answer) in (400, 401, 403, 404, 405, 415), answer
    assert SECRET.encode() not in answer and b"access-control" not in answer.lower()
    assert b"set-cookie" not in answer.lower() and daemon.memories() == 1


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "0.0.0.0",
     "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost.", "\xff", "a b", "127.0.0.1, evil.example", ""],
)  # fmt: skip
def test_a_name_that_was_bound_to_loopback_is_not_answered(daemon: Loopback, host: str) -> None:
    """DNS rebinding: also with the token, should a page have learnt it."""
    answer = daemon.send(request("GET", "/v1/memories", BEARER.format(token=daemon.token), host=host))
    assert status_of(answer) in (400, 421) and SECRET.encode() not in answer


def test_an_address_that_names_another_host_is_judged_by_the_host(daemon: Loopback) -> None:
    answer = daemon.send(request("GET", "http://127.0.0.1/v1/memories", host="evil.example"))
    assert status_of(answer) in (400, 421)


@pytest.mark.parametrize(
    "framing",
    [
        ["Content-Length: 4", "Content-Length: 40"],
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: xchunked"],
        ["Content-Length: -1"],
        ["Content-Length: 4 4"],
        ["Content-Length: 99999999999999999999999"],
        ["Content-Length : 4"],
        ["Host: 127.0.0.1"],
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_refused(daemon: Loopback, framing: list[str]) -> None:
    """Whatever is hidden behind it is not run as a second request."""
    hidden = request("GET", "/healthz")
    told = [BEARER.format(token=daemon.token), "Content-Type: application/json", *framing]
    answer = daemon.send(request("POST", "/v1/recall", *told) + b"0\r\n\r\n" + hidden)
    assert status_of(answer) in (400, 413) and answer.count(b"HTTP/1.1 ") == 1, answer


# -- anything ----------------------------------------------------------------------------------------

NAMES = (
    "Host", "Origin", "Authorization", "Content-Type", "Sec-Fetch-Site", "If-Match", "Idempotency-Key", "Accept",
    "Clew-Agent", "Clew-Event-Id", "Last-Event-ID", "Cookie", "Expect", "Upgrade", "Connection", "X",
)  # fmt: skip
PATHS = (
    "/",
    "/healthz",
    "/v1/memories",
    "/v1/recall",
    "/v1/memories/%00",
    "/v1/%ff",
    "/mcp",
    "/v1/export?project=a",
)
field = st.binary(max_size=40).map(lambda value: value.replace(b"\n", b"").replace(b"\r", b""))
header = st.tuples(st.sampled_from(NAMES).map(str.encode), field)
target = st.sampled_from(PATHS).map(str.encode) | st.binary(min_size=1, max_size=30).map(
    lambda value: b"/" + re.sub(rb"[\s\x00]", b"", value)
)
method = st.sampled_from((b"GET", b"POST", b"DELETE", b"PATCH", b"OPTIONS", b"HEAD", b"TRACE", b"PURGE", b"get"))
one = st.tuples(method, target, st.lists(header, max_size=6), st.booleans())
Fuzzed = tuple[bytes, bytes, list[tuple[bytes, bytes]], bool]


def check_answered(daemon: Loopback, given: Fuzzed) -> None:
    """An answer that is none of our mistakes, or the end of the connection; within the time a socket waits."""
    verb, path, headers, with_token = given
    lines = [verb + b" " + path + b" HTTP/1.1", b"Connection: close"]
    lines += [b"Host: 127.0.0.1", BEARER.format(token=daemon.token).encode()] if with_token else []
    answer = daemon.send(b"\r\n".join([*lines, *(b": ".join(one) for one in headers)]) + b"\r\n\r\n")
    assert not answer or status_of(answer) in {200, 202, 400, 401, 403, 404, 405, 406, 415, 421, 429}, answer
    assert b"Traceback" not in answer and (with_token or SECRET.encode() not in answer)


ANYTHING = settings(
    database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def test_whatever_comes_is_answered_or_ended(daemon: Loopback) -> None:
    settings(ANYTHING, max_examples=80, derandomize=True)(given(one)(lambda some: check_answered(daemon, some)))()


@pytest.mark.torture
def test_whatever_comes_is_answered_or_ended_at_length(daemon: Loopback) -> None:
    settings(ANYTHING, max_examples=5_000)(given(one)(lambda some: check_answered(daemon, some)))()


@pytest.mark.torture
def test_bytes_that_are_no_request_are_refused_or_ended(daemon: Loopback) -> None:
    def check(data: bytes) -> None:
        answer = daemon.send(data + b"\r\n\r\n\r\n\r\n")
        assert not answer or status_of(answer) in (400, 421, 431), answer

    data = st.binary(max_size=300).filter(lambda data: b"HTTP" not in data)
    settings(ANYTHING, max_examples=3_000)(given(data)(check))()


# -- those who take their time -----------------------------------------------------------------------


@pytest.fixture
def served(asked: Asked) -> Iterator[uvicorn.Server]:
    """The same protocol and application, in a thread: its limits can be made shorter."""
    with on_loopback(asked) as server:
        yield server


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\nX: ", b"\r\n", b"POST /v1/rec"])
def test_a_head_that_does_not_come_is_not_waited_for(
    served: uvicorn.Server, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "FIRST_S", 0.1)
    with closing(connected(served)) as link:
        with suppress(ConnectionError):  # a busy machine may be too late even for this
            link.sendall(head)
        assert rest_of(link) == b""


def test_a_second_head_is_not_waited_for_either(served: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(connected(served)) as link:
        assert until(lambda: bool(served.server_state.connections))
        monkeypatch.setattr(protocol, "HEAD_S", 0.1)
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea")
        assert rest_of(link).count(b"HTTP/1.1 ") == 1


def test_a_body_that_does_not_come_is_not_waited_for(
    served: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.1)
    told = [BEARER.format(token=TOKEN), "Content-Type: application/json", "Content-Length: 100"]
    with closing(connected(served)) as link:
        link.sendall(request("POST", "/v1/recall", *told) + b'{"query":')
        answer = rest_of(link)
    assert status_of(answer) == 408 and b"BODY_TIMEOUT" in answer


# -- those who are many --------------------------------------------------------------------------------


def test_a_crowd_on_loopback_does_not_keep_the_owner_out(daemon: Loopback) -> None:
    """Anybody on this machine can connect there, and need not say anything."""
    host, port = daemon.started["tcp"].rsplit(":", 1)
    with ExitStack() as crowd:
        for _ in range(CROWD):
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=WAIT_S))
        response, _told = daemon.ask("GET", "/v1/stats")
        assert response.status == 200
        assert status_of(daemon.send(request("GET", "/healthz"))) == 200  # nor others from loopback
        kept = len(os.listdir(f"/proc/{daemon.started['pid']}/fd")) if sys.platform == "linux" else 0
    assert kept < MAX_CONNECTIONS + 100


# -- files -------------------------------------------------------------------------------------------


def test_nothing_of_it_is_for_others_though_the_umask_would_allow_it(daemon: Loopback) -> None:
    found = {path.name: path.lstat().st_mode & 0o077 for path in (daemon.home / "run").iterdir()}
    assert {"clew.sock", "token", "tcp", "daemon.json", "daemon.lock"} <= set(found)
    assert not any(found.values()) and (daemon.home / "run").stat().st_mode & 0o077 == 0

"""Connections that send too much, or nothing, or take nothing: each one ends, and none takes much room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
import uvicorn
from api_driver import Asked, until
from loopback_driver import connected, on_loopback, rest_of

from clew.surfaces.http import protocol

WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
UNWANTED = (
    b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
)
BEGUN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
IN_PIECES = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def served(asked: Asked) -> Iterator[uvicorn.Server]:
    with on_loopback(asked) as server:
        yield server


@pytest.mark.parametrize(
    "begin",
    [BEGUN + b"X: ", BEGUN + b"X", b"GET /", IN_PIECES + b"1;", IN_PIECES + b"0\r\nX: "],
    ids=["a value", "a name", "an address", "an extension", "a trailer"],
)
def test_what_does_not_end_is_not_kept(served: uvicorn.Server, begin: bytes) -> None:
    """The parser keeps what it cannot hand over yet."""
    sent = 0
    with closing(connected(served)) as link:
        with suppress(ConnectionError):
            link.sendall(begin)
            while sent < 16 << 20:
                sent += link.send(b"a" * 65_536)
        answer = rest_of(link)
    assert sent < 16 << 20
    assert not answer or b"HTTP/1.1 431 " in answer or b"HTTP/1.1 40" in answer


@pytest.mark.parametrize("count", [protocol.MAX_HEADERS, 20_000])
def test_a_head_has_at_most_a_hundred_headers(served: uvicorn.Server, count: int) -> None:
    with closing(connected(served)) as link:
        with suppress(ConnectionError):
            link.sendall(BEGUN + b"a:\r\n" * count + b"\r\n")
        answer = rest_of(link)
    assert not answer or b"HEAD_TOO_LARGE" in answer


def test_as_many_headers_as_programs_send_are_fine(served: uvicorn.Server) -> None:
    with closing(connected(served)) as link:
        link.sendall(BEGUN + b"a: 1\r\n" * 98 + b"Connection: close\r\n\r\n")
        assert rest_of(link).startswith(b"HTTP/1.1 200 ")


def test_a_long_body_behind_a_short_head_is_no_long_head(served: uvicorn.Server) -> None:
    body = b'{"query": "' + b"a" * 500_000 + b'"}'
    head = b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    with closing(connected(served)) as link:
        with suppress(ConnectionError):
            link.sendall(head % len(body) + body)
        answer = rest_of(link)
    assert b"431" not in answer[:15]


@pytest.mark.parametrize("more", [WHOLE + b"\r\n", UNWANTED + b"1"], ids=["an empty line", "part of a body"])
def test_a_connection_that_says_next_to_nothing_ends(
    served: uvicorn.Server, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte after an answer stops the clock for the next request: another one has to run."""
    with closing(connected(served)) as link:
        link.sendall(more[:-1])
        assert link.recv(65_536)
        monkeypatch.setattr(protocol, "HEAD_S", 0.1)  # now: a busy machine needs longer for what comes before
        link.sendall(more[-1:])
        rest_of(link)
    assert until(lambda: not served.server_state.connections)


def test_an_answer_that_nobody_takes_is_not_kept(served: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "TAKE_S", 0.1)
    ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with closing(connected(served)) as link:
        link.sendall(ask * 200)
        assert link.recv(1)  # it began
        assert until(lambda: not served.server_state.connections)

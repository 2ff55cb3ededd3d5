"""Those who connect from the network and are not encrypted yet: they are counted, and not waited for."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from api_driver import Asked, until
from loopback_driver import WAIT_S, connected, on_loopback, rest_of
from test_daemon import Daemon, certificate, daemon, over_tls

from clew.surfaces.http import protocol
from clew.surfaces.http.crowd import MAX_CONNECTIONS
from clew.surfaces.http.handshake import Handshake

__all__ = ["daemon"]
pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets")
ASK = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.fixture
def served(asked: Asked, tmp_path: Path) -> Iterator[uvicorn.Server]:
    """The handshake, the protocol and the application, in a thread."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    with on_loopback(asked, http=partial(Handshake, context)) as server:
        yield server


@pytest.mark.parametrize("begin", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "a beginning"])
def test_a_handshake_that_does_not_come_is_not_waited_for(
    served: uvicorn.Server, begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "FIRST_S", 0.1)
    with closing(connected(served)) as link:
        link.sendall(begin)
        assert rest_of(link) == b""
    assert until(lambda: not served.server_state.connections)


def test_plain_http_where_tls_is_spoken_ends_the_connection(served: uvicorn.Server) -> None:
    with closing(connected(served)) as link:
        link.sendall(ASK)
        assert b"HTTP/" not in rest_of(link)


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(served: uvicorn.Server) -> None:
    """In one piece, as programs that save a round trip send it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(came, goes)
    with closing(connected(served)) as link:
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                link.sendall(goes.read())
                came.write(link.recv(65_536))
        client.write(ASK)
        link.sendall(goes.read())
        answer = b""
        while b"\r\n" not in answer:  # not until the end: for the goodbye of a client half a minute is waited
            came.write(link.recv(65_536))
            with suppress(ssl.SSLWantReadError):
                answer += client.read(65_536)
    assert answer.startswith(b"HTTP/1.1 421 ")  # this one knows no name of its own


def test_a_server_that_stops_does_not_wait_for_handshakes(served: uvicorn.Server) -> None:
    with closing(connected(served)) as link:
        assert until(lambda: bool(served.server_state.connections))
        served.should_exit = True
        assert rest_of(link) == b""


def test_a_crowd_on_the_network_that_says_nothing_is_not_kept(daemon: Daemon) -> None:
    host, port = daemon.started["network"].rsplit(":", 1)
    with ExitStack() as crowd:
        for _ in range(3 * MAX_CONNECTIONS):
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=WAIT_S))
        assert daemon.ask("GET", "/v1/stats")[0].status == 200
        assert over_tls(daemon, Authorization=f"Bearer {daemon.key}") == 200
        kept = len(os.listdir(f"/proc/{daemon.started['pid']}/fd")) if sys.platform == "linux" else 0
    assert kept < MAX_CONNECTIONS + 100

"""The application behind the real protocol, in a thread of this process, for bytes that no client would send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from api_driver import Asked
from wire_server import listening

from clew.surfaces.http.protocol import Protocol

WAIT_S = 30.0


@contextmanager
def on_loopback(asked: Asked, *, http: Any = Protocol) -> Iterator[uvicorn.Server]:
    with listening(asked.app, port=0, http=http, ws="none", log_config=None, proxy_headers=False) as server:
        yield server


def connected(server: uvicorn.Server) -> socket.socket:
    return socket.create_connection(server.servers[0].sockets[0].getsockname(), timeout=WAIT_S)


def rest_of(link: socket.socket) -> bytes:
    """What comes until the other end hangs up."""
    answer = b""
    with suppress(ConnectionError):
        while piece := link.recv(65_536):
            answer += piece
    return answer

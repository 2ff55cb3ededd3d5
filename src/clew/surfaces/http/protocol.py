"""HTTP on one connection: uvicorn's protocol, which also knows who is at the other end and how long heads may be.

What cannot be read as HTTP, or has too long a head, is answered with a problem document and ends the connection. So
does a head that does not come.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clew.surfaces.http.problems import Refusal, problem_of
from clew.surfaces.http.request import LOOPBACK, NETWORK, SOCKET

MAX_HEAD = 32 << 10  # bytes of the address and all headers
HEAD_S = 20.0  # how long a head may take to arrive
_LOCAL_PEERCRED = 1  # macOS, at the level of the socket's own protocol


class Protocol(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, **_other_end(transport, is_tls=self.scheme == "https")}
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        self._wait_for_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_is_here()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says it
        """Also for what a callback above refused: the parser passes on only that something did."""
        self._head_is_here()
        response = problem_of(_head_too_long() if self._head_bytes > MAX_HEAD else _not_http())
        start = response.start(length=len(response.body))
        lines = [b"HTTP/1.1 %d %s" % (response.status, b"Refused"), b"connection: close"]
        lines += [name + b": " + value for name, value in start["headers"]]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + response.body)
        self.transport.close()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD:
            raise ValueError("the head is too long")

    def _wait_for_head(self) -> None:
        self._head_is_here()
        self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _head_is_here(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _other_end(transport: asyncio.Transport, *, is_tls: bool) -> dict[str, Any]:
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family == getattr(socket, "AF_UNIX", None):
        return {"via": SOCKET, "peer_uid": peer_uid(connection)}
    return {"via": NETWORK if is_tls else LOOPBACK}


def peer_uid(connection: Any) -> int | None:
    """The user at the other end of a unix socket; None where the system does not tell."""
    platform: str = sys.platform
    if platform == "linux":
        _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(uid)
    if platform == "darwin":
        _version, uid = struct.unpack_from("2I", connection.getsockopt(0, _LOCAL_PEERCRED, 76))
        return int(uid)
    return None


def _not_http() -> Refusal:
    return Refusal(400, "the request is not valid HTTP", code="REQUEST_INVALID", next="use an HTTP client")


def _head_too_long() -> Refusal:
    return Refusal(
        431, f"the head is longer than {MAX_HEAD:,} bytes", code="HEAD_TOO_LARGE", next="send fewer headers"
    )

"""HTTP on one connection: uvicorn's protocol, which also knows who is at the other end and how long heads may be.

What cannot be read as HTTP, or has too long a head, is answered with a problem document and ends the connection. So
does a head that does not come, and a client that does not take its answer. At any time one of these is waited for:
the rest of a head, the application (which waits for bodies), or the next request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clew.surfaces.http.problems import Refusal, problem_of
from clew.surfaces.http.request import LOOPBACK, NETWORK, SOCKET

MAX_HEAD = 32 << 10  # bytes of the address and all headers
MAX_CONNECTIONS = 256  # of one listener at once: with three of them, below what a process may open on most systems
MAX_HEADERS = 100
HEAD_S = 20.0  # how long a head may take to arrive
TAKE_S = 60.0  # how long a client may leave an answer lying
_LOCAL_PEERCRED = 1  # macOS, at the level of the socket's own protocol


class Protocol(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0
    _unread = 0  # bytes since the parser last handed something over: it keeps them
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _is_gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:  # most of them say nothing: who came first is waited for
            transport.abort()
            return
        self._at_the_end: list[Callable[[], object]] = []
        told = {**_other_end(transport, is_tls=self.scheme == "https"), "when_gone": self._when_gone}
        self.app_state = {**self.app_state, **told}
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        self._is_taken()
        super().connection_lost(exc)
        self._is_gone = True
        for call in getattr(self, "_at_the_end", ()):
            call()

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unread > MAX_HEAD:
            self._head_bytes = self._unread
            self.send_400_response("")
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._wait_for_head()  # empty lines, or what is left of a body that nobody wants

    def _when_gone(self, call: Callable[[], object]) -> None:
        """Once the other end has left, or at once if it has. On the event loop: it must be quick."""
        if self._is_gone:
            call()
        else:
            self._at_the_end.append(call)

    def on_message_begin(self) -> None:
        self._head_bytes = self._unread = 0
        self._wait_for_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)  # and what stands around them
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self._head_bytes = MAX_HEAD + 1
            raise ValueError("there are too many headers")

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        self._unread = 0
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
        self._wait_until_taken()
        self.transport.close()

    def on_response_complete(self) -> None:
        if self.transport.get_write_buffer_size():
            self._wait_until_taken()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._wait_until_taken()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._is_taken()
        super().resume_writing()

    def _wait_until_taken(self) -> None:
        self._is_taken()
        left = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(TAKE_S, self._look_again, left)

    def _look_again(self, before: int) -> None:
        """A transport that is closed still waits for the client to take the rest."""
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.transport.abort()
        elif left:
            self._wait_until_taken()

    def _is_taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _count(self, size: int) -> None:
        self._unread = 0
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
        431,
        f"the head is longer than {MAX_HEAD:,} bytes or {MAX_HEADERS} headers",
        code="HEAD_TOO_LARGE",
        next="send fewer headers",
    )

"""HTTP on one connection: uvicorn's protocol, which also knows who is at the other end and how long heads may be.

What cannot be read as HTTP, or has too long a head, is answered with a problem document and ends the connection. So
does a head that does not come, and a client that does not take its answer. At any time one of these is waited for:
the rest of a head, the application (which waits for bodies), or the next request.

Most requests are small and have a whole answer. Those need no task of the event loop: the head is looked at as it
arrives, a worker gets the body as soon as it is there, and what it answers is written in one piece.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from clew.surfaces.http.app import App, Sent
from clew.surfaces.http.asked import Asked
from clew.surfaces.http.crowd import OF_ONE, peer_of, who_leaves
from clew.surfaces.http.problems import Refusal, problem_of
from clew.surfaces.http.request import LOOPBACK, NETWORK, SOCKET
from clew.surfaces.http.response import Response

MAX_HEAD = 32 << 10  # bytes of the address and all headers
MAX_HEADERS = 100
FIRST_S = 5.0  # how long a handshake may take, and then the first head: nobody has shown a credential yet
HEAD_S = 20.0  # how long a later head may take to arrive
TAKE_S = 60.0  # how long a client may leave an answer lying
SMALL = 32 << 10  # bytes of a body that is collected here; the application waits for larger ones,
SOON_S = 0.05  # and for those that take longer
_LENGTHS = (b"content-length", b"transfer-encoding")
_LOCAL_PEERCRED = 1  # macOS, at the level of the socket's own protocol


class Protocol(HttpToolsProtocol):
    """One connection."""

    peer = ""
    came = 0.0  # when it connected, encrypted or not
    is_heard = False  # a whole head has come, and with it a credential or a refusal
    _head_bytes = 0
    _unread = 0  # bytes since the parser last handed something over: it keeps them
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _is_gone = False
    _is_head_due = False
    _awaited: tuple[RequestResponseCycle, Asked] | None = None  # a request of which only the body is missing
    _late: asyncio.TimerHandle | None = None
    _is_head_known = False  # the parser is told again how long a body is

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.parser = _Parser(self)
        self.peer = peer_of(transport.get_extra_info("peername"))
        self.came = self.came or self.loop.time()
        if not make_room(self, self.connections, self.app):
            return
        self._at_the_end: list[Callable[[], object]] = []
        told = {**_other_end(transport, is_tls=self.scheme == "https"), "when_gone": self._when_gone}
        self.app_state = {**self.app_state, **told}
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        self._is_taken()
        super().connection_lost(exc)
        self._wait_in_the_application()
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
        elif self._awaited and self._late is None:
            self._late = self.loop.call_later(SOON_S, self._wait_in_the_application)
        elif self._timer is None and (self._is_head_due or self.cycle is None or self.cycle.response_complete):
            self._wait_for_head()  # the rest of it; or empty lines, or what is left of a body that nobody wants

    def _when_gone(self, call: Callable[[], object]) -> None:
        """Once the other end has left, or at once if it has. On the event loop: it must be quick."""
        if self._is_gone:
            call()
        else:
            self._at_the_end.append(call)

    def go_on_without_upgrade(self, rest: bytes) -> None:
        """The parser has stopped behind a head that offers another protocol, as Java's client does with HTTP/2.
        We speak none, so what follows is the body, and then the next request."""
        if self.scope["method"] == "CONNECT":  # it was refused; what follows is not for us
            return
        if self._has_body_after_offer:
            self.parser, self._is_head_known = _Parser(self), True
            lines = [b"%b: %b\r\n" % line for line in self.headers if line[0] in _LENGTHS]
            self.parser.feed_data(b"".join((b"POST / HTTP/1.1\r\n", *lines, b"\r\n")))
            self._is_head_known = False
        if rest:
            self.parser.feed_data(rest)

    @property
    def _has_body_after_offer(self) -> bool:
        return self.parser.should_upgrade() and any(name in _LENGTHS for name, _value in self.headers)

    def on_message_begin(self) -> None:
        if self._is_head_known:
            return
        self._head_bytes = self._unread = 0
        self._head_is_here()
        self._is_head_due = True  # most heads are here at once: no need for a timer
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_head_known:
            self._count(len(url))
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head_known:
            return
        self._count(len(name) + len(value) + 4)  # and what stands around them
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self._head_bytes = MAX_HEAD + 1
            raise ValueError("there are too many headers")

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)
        if self._awaited and len(self._awaited[0].body) > SMALL:
            self._wait_in_the_application()

    def on_message_complete(self) -> None:
        self._unread = 0
        if self._has_body_after_offer:
            return
        super().on_message_complete()
        if awaited := self._no_longer_awaited():
            self._hand_over(*awaited)

    def on_headers_complete(self) -> None:
        if self._is_head_known:
            return
        self._unread = 0
        self._head_is_here()
        self.is_heard = True
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Called with each request when those before it on this connection are answered."""
        if not isinstance(app, App) or cycle.waiting_for_100_continue:
            super()._start_asgi_task(cycle, app)
            return
        asked = app.begin(cycle.scope)
        if not asked.needs_only_its_body:
            self._go_on(cycle, asked)
        elif cycle.more_body and asked.the_route.has_body:
            self._awaited = cycle, asked
        else:
            self._hand_over(cycle, asked)

    def _go_on(self, cycle: RequestResponseCycle, asked: Asked) -> None:
        async def rest(_scope: Any, receive: Any, send: Any) -> None:
            await self._app.go_on(asked, receive, send)

        super()._start_asgi_task(cycle, rest)

    def _wait_in_the_application(self) -> None:
        if awaited := self._no_longer_awaited():
            self._go_on(*awaited)

    def _no_longer_awaited(self) -> tuple[RequestResponseCycle, Asked] | None:
        awaited, self._awaited = self._awaited, None
        if self._late is not None:
            self._late.cancel()
            self._late = None
        return awaited

    def _hand_over(self, cycle: RequestResponseCycle, asked: Asked) -> None:
        def answered(sent: Sent) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._answered, cycle, asked, sent)

        body = bytes(cycle.body) if asked.the_route.has_body else b""
        self._app.hand_over(asked, body, answered)

    def _answered(self, cycle: RequestResponseCycle, asked: Asked, sent: Sent) -> None:
        if not isinstance(sent, Response) or (self.flow.write_paused and not cycle.disconnected):
            self._send_rest(cycle, asked, sent)
            return
        asked.note_leaving()
        if not cycle.disconnected:
            self._write(cycle, sent)
        self._app.is_answered(asked, sent.status)

    def _send_rest(self, cycle: RequestResponseCycle, asked: Asked, sent: Sent) -> None:
        """What is sent in pieces, or waits for a client to take what came before."""

        async def rest(_scope: Any, receive: Any, send: Any) -> None:
            await self._app.send(asked, sent, receive, send)

        super()._start_asgi_task(cycle, rest)

    def _write(self, cycle: RequestResponseCycle, response: Response) -> None:
        """A whole answer at once, as the cycle would write it in two pieces."""
        pieces = [STATUS_LINE[response.status]]
        pieces += [b"%b: %b\r\n" % line for line in cycle.default_headers]
        pieces.append(response.header_lines())
        if response.is_last:
            cycle.keep_alive = False
        elif not cycle.keep_alive:
            pieces.append(b"connection: close\r\n")
        pieces += (b"\r\n", response.body if cycle.scope["method"] != "HEAD" else b"")
        self.transport.write(b"".join(pieces))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        cycle.on_response = _nothing  # it holds this connection, which holds the cycle

    def leave(self) -> None:
        """For one that comes, or because there is no place: at once, so that it is not counted any more."""
        self.connections.discard(self)
        self.transport.abort()

    @property
    def _app(self) -> App:
        assert isinstance(self.app, App)
        return self.app

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
        self._timer = self.loop.call_later(HEAD_S if self.is_heard else FIRST_S, self.transport.close)

    def _head_is_here(self) -> None:
        self._is_head_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def make_room(newcomer: Any, connections: set[Any], app: Any) -> bool:
    """Whether the newcomer, who is one of the connections, may stay."""
    of_one = app.of_one_address if isinstance(app, App) else OF_ONE
    leaves = who_leaves(newcomer, connections, of_one=of_one)
    if leaves is not None:
        leaves.leave()
    return leaves is not newcomer


class _Parser(HttpRequestParser):
    """Goes on where the other end offers another protocol."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._protocol = protocol

    def feed_data(self, data: Any) -> None:
        try:
            super().feed_data(data)
        except HttpParserUpgrade as offer:
            self._protocol.go_on_without_upgrade(bytes(data[offer.args[0] :]))


def _nothing() -> None:
    """Nobody waits for the end of this answer any more."""


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

"""A connection from the network until it is encrypted.

The event loop would do this by itself, but not count it: whoever connects and says nothing holds a file and 256 KB
for a minute, and thousands of them keep the owner of the machine out, too. Here such a connection is one of those
its listener may have, has as long as a first head, and leaves before others when there is no room.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from clew.surfaces.http import protocol
from clew.surfaces.http.crowd import peer_of


class Handshake(asyncio.Protocol):
    """Made by uvicorn in place of the protocol, which takes over when the handshake is done."""

    is_heard = False

    def __init__(self, context: ssl.SSLContext, *, server_state: Any, **named: Any) -> None:
        self._context = context
        self._connections: set[Any] = server_state.connections
        self._next = protocol.Protocol(server_state=server_state, **named)
        self._early: list[bytes] = []
        self._is_gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self.peer = peer_of(transport.get_extra_info("peername"))
        self.came = self._next.came = asyncio.get_running_loop().time()
        self._connections.add(self)
        if not protocol.make_room(self, self._connections, self._next.app):
            return
        transport.pause_reading()  # what comes is for the handshake
        self._task = asyncio.get_running_loop().create_task(self._shake_hands())

    async def _shake_hands(self) -> None:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                self._transport, self, self._context, server_side=True, ssl_handshake_timeout=protocol.FIRST_S
            )
        except OSError:  # no TLS, or none that both speak; too slow; gone
            self._transport.abort()
            return
        finally:
            self._connections.discard(self)
        if encrypted is not None and not self._is_gone:
            self._hand_over(encrypted)

    def _hand_over(self, encrypted: asyncio.Transport) -> None:
        encrypted.set_protocol(self._next)
        self._next.connection_made(encrypted)
        for data in self._early:
            self._next.data_received(data)

    def data_received(self, data: bytes) -> None:
        """What came together with the end of the handshake."""
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whatever the reason
        self._is_gone = True

    def leave(self) -> None:
        self._connections.discard(self)
        self._transport.abort()

    shutdown = leave  # for uvicorn, when it stops

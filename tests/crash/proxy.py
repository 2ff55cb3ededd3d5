"""What goes wrong between Clew and PostgreSQL: a line that stalls, breaks, or swallows the answer to a COMMIT."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal, Self

from psycopg.conninfo import conninfo_to_dict

Fault = Literal["", "unsent", "unanswered", "delayed", "hidden"]
_COMMIT = b"\0commit\0"  # what binds the statement of that name begins so; what was sent before it has arrived
_START = 3  # the major version that a startup message names; other codes ask for encryption or cancel something
DELAY_S = 0.3


class Proxy:
    """Listens on a port of its own; passes everything on until told otherwise.

    `at_commit` is asked at every COMMIT what should happen to it. "unsent": the line breaks before it.
    "unanswered": the server has done it, the line breaks before the answer. "delayed": our side of the line breaks,
    it arrives a little later all the same. "hidden": our side breaks, it never arrives, the server is not told.
    """

    def __init__(self, url: str) -> None:
        told = conninfo_to_dict(url)
        self._server = f"{told['host']}/.s.PGSQL.{told.get('port') or 5432}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._user, self._database = told.get("user") or "postgres", told["dbname"]
        self._stalled_until = 0.0
        self._wires: list[Wire] = []
        self.is_refusing = False
        self.at_commit: Callable[[], Fault] = lambda: ""
        self.made = 0  # connections
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    @property
    def url(self) -> str:
        port = self._listener.getsockname()[1]
        return f"postgresql://{self._user}@127.0.0.1:{port}/{self._database}?sslmode=disable"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listening.join(10)  # a line that it was just making is closed with the others
        self._listener.close()
        for wire in self._wires:
            wire.close()

    def once(self, fault: Fault) -> None:
        """At the next COMMIT only."""
        faults = iter([fault])
        self.at_commit = lambda: next(faults, "")

    def stall(self, seconds: float) -> None:
        """Nothing gets through in either direction for so long."""
        self._stalled_until = time.monotonic() + seconds

    def drop(self) -> None:
        """Break every line now."""
        for wire in list(self._wires):
            wire.cut()

    def hide(self) -> None:
        """Break our side of every line; the server is not told."""
        for wire in list(self._wires):
            wire.cut_client()

    def wait_out_stall(self) -> None:
        while (left := self._stalled_until - time.monotonic()) > 0:
            time.sleep(left)

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_refusing:
                    client.close()
                    continue
                self.made += 1
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._server)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # the one is down, or the other gone again
            server.close()
            client.close()
            return
        self._wires.append(Wire(self, client, server))


class Wire:
    """One connection: two threads, one for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._swallows = self._keeps_server = False
        self._threads = [threading.Thread(target=pump, daemon=True) for pump in (self._forth, self._back)]
        for thread in self._threads:
            thread.start()

    def cut(self) -> None:
        _shut(self._client)
        _shut(self._server)

    def cut_client(self) -> None:
        self._keeps_server = True
        _shut(self._client)

    def close(self) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(10)
        self._client.close()
        self._server.close()

    def _forth(self) -> None:
        with suppress(OSError):
            messages = _messages(self._client)
            for message in messages:
                self._proxy.wait_out_stall()
                is_commit = message[:1] == b"B" and message[5:].startswith(_COMMIT)
                fault = self._proxy.at_commit() if is_commit else ""
                if is_commit:
                    message += b"".join(_up_to_mark(messages))
                if fault in ("unsent", "hidden"):
                    self.cut_client() if fault == "hidden" else self.cut()
                    return
                if fault == "delayed":
                    self.cut_client()
                    time.sleep(DELAY_S)
                self._swallows = fault == "unanswered"
                self._server.sendall(message)
        if not self._keeps_server:
            _shut(self._server)

    def _back(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(65_536):
                self._proxy.wait_out_stall()
                if self._swallows:
                    break
                self._client.sendall(data)
        _shut(self._client)
        if self._swallows:
            _shut(self._server)


def _messages(client: socket.socket) -> Iterator[bytes]:
    """What a client sends, message by message. The first have no letter in front of their length."""
    is_started = False
    while True:
        head = _exactly(client, 5 if is_started else 4)
        if not head:
            return
        (length,) = struct.unpack("!i", head[-4:])
        body = _exactly(client, length - 4)
        yield head + body
        is_started = is_started or struct.unpack("!h", body[:2])[0] == _START


def _up_to_mark(messages: Iterator[bytes]) -> Iterator[bytes]:
    """After which the server answers."""
    for message in messages:
        yield message
        if message[:1] == b"S":
            return


def _exactly(client: socket.socket, size: int) -> bytes:
    """Nothing at the end of the line."""
    data = bytearray()
    while len(data) < size:
        if not (part := client.recv(size - len(data))):
            return b""
        data += part
    return bytes(data)


def _shut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)

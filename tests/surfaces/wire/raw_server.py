"""A server that answers every connection as it is told, byte by byte: what no real one does, but networks do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

Behave = Callable[[socket.socket], None]
HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"


@contextmanager
def answering(path: Path, behaviours: Sequence[Behave]) -> Iterator[list[int]]:
    """Yields a list with a number for each connection that came; the last behaviour is that of all further ones."""
    came: list[int] = []
    current: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                came.append(len(came))
                current[:] = [connection]
                with connection, suppress(OSError):  # the client may leave at any point
                    behaviours[min(len(came), len(behaviours)) - 1](connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield came
        finally:
            for open_socket in (listener, *current):
                with suppress(OSError):
                    open_socket.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def request_of(connection: socket.socket) -> bytes:
    """One request with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    ]
    while lengths and len(body) < int(lengths[0]):
        body += received(connection)
    return head + b"\r\n\r\n" + body


def received(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("the client has left")
    return data


def dies(connection: socket.socket) -> None:
    """Takes the request and is gone."""
    request_of(connection)


def says(answer: bytes, *, times: int = 1) -> Behave:
    def behave(connection: socket.socket) -> None:
        for _ in range(times):
            request_of(connection)
            connection.sendall(answer)

    return behave


def drips(answer: bytes, *, each_s: float) -> Behave:
    """Byte by byte, until the client leaves."""

    def behave(connection: socket.socket) -> None:
        request_of(connection)
        connection.settimeout(each_s)
        for byte in answer:
            connection.sendall(bytes([byte]))
            with suppress(TimeoutError):
                received(connection)

    return behave


def reply(status: str, body: bytes = b"{}", *, kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body

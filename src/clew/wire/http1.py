"""As much HTTP/1.1 as a client of ours needs: one request, one answer, on a socket that is kept.

The standard library's client brings the parser of mail along, which costs a command more than its whole question.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_LINE = 65_536
MAX_HEADERS = 200
MAX_ANSWER = 1 << 28
_NO_BODY = (204, 304)


class NotHttp(Exception):
    """What came is no answer, or ended too soon."""


class Reply(NamedTuple):
    """`kind` is the media type. `is_kept`: another request may follow on the same connection."""

    status: int
    kind: str
    body: bytes
    is_kept: bool = False


class _Received(io.RawIOBase):
    """What comes on a socket until a moment: the timeout of a socket begins anew with every byte."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.until = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._sock.recv_into(buffer)


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._received = _Received(sock)
        self._file = io.BufferedReader(self._received)

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes, *, within_s: float) -> Reply:
        """Raises OSError or NotHttp when there is no whole answer by then."""
        self._received.until = time.monotonic() + within_s
        self._sock.settimeout(within_s)
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
        is_sent = self._is_sent(head.encode("latin-1") + body)
        reply = self._answer()
        return reply if is_sent else reply._replace(is_kept=False)

    def _is_sent(self, request: bytes) -> bool:
        """Who refuses a request for its length says so and ends the connection before all of it is taken."""
        try:
            self._sock.sendall(request)
        except TimeoutError:
            raise
        except OSError:
            return False
        return True

    def _answer(self) -> Reply:
        status, version = self._status()
        found = self._headers()
        while 100 <= status < 200:
            status, version = self._status()
            found = self._headers()
        return self._reply(status, version, found)

    def close(self) -> None:
        self._file.close()
        self._sock.close()

    def _reply(self, status: int, version: str, headers: Mapping[str, str]) -> Reply:
        is_kept = version == "HTTP/1.1" and "close" not in headers.get("connection", "").lower()
        if status in _NO_BODY:
            body = b""
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._chunks()
        elif "content-length" in headers:
            body = self._exactly(_length(headers["content-length"], base=10))
        else:
            body, is_kept = self._exactly(None), False
        return Reply(status, headers.get("content-type", "").partition(";")[0].strip().lower(), body, is_kept)

    def _status(self) -> tuple[int, str]:
        version, _, rest = self._line().partition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0") or not rest[:3].isdigit():
            raise NotHttp
        return int(rest[:3]), version

    def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for _ in range(MAX_HEADERS):
            line = self._line()
            if not line:
                return found
            name, separator, value = line.partition(":")
            if not separator:
                raise NotHttp
            found[name.lower()] = value.strip()
        raise NotHttp

    def _chunks(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while length := _length(self._line().partition(";")[0].strip(), base=16):
            size += length
            if size > MAX_ANSWER:
                raise NotHttp
            pieces.append(self._exactly(length))
            if self._line():
                raise NotHttp
        self._headers()  # what follows the last piece
        return b"".join(pieces)

    def _exactly(self, length: int | None) -> bytes:
        data = self._file.read(MAX_ANSWER + 1 if length is None else length)
        if len(data) > MAX_ANSWER or (length is not None and len(data) < length):
            raise NotHttp
        return data

    def _line(self) -> str:
        line = self._file.readline(MAX_LINE)
        if not line.endswith(b"\n"):
            raise NotHttp
        return line.rstrip(b"\r\n").decode("latin-1")


def _length(text: str, *, base: int) -> int:
    try:
        length = int(text, base) if text.isalnum() and text.isascii() else -1
    except ValueError:
        length = -1
    if not 0 <= length <= MAX_ANSWER:
        raise NotHttp
    return length

"""An answer as it is sent: status, headers and bytes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
AsgiSend = Callable[[Message], Awaitable[None]]
AsgiReceive = Callable[[], Awaitable[Message]]

# Nothing here is a page: no browser may guess at types, and no cache may keep what somebody remembers.
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_ALWAYS_LINES = b"".join(b"%b: %b\r\n" % line for line in ALWAYS)
_BREAKS_OUT = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


class Response:
    """`body` is sent at once. Of what is sent in pieces, only the beginning is told here."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self, status: int, body: bytes = b"", media_type: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.body = body
        self.media_type = media_type
        self.headers: dict[str, str] = dict(headers or {})
        if any(map(_BREAKS_OUT.search, self.headers.values())):
            raise ValueError("a header has a value that ends its line")

    @property
    def is_last(self) -> bool:
        """Whether the connection ends with it."""
        return any(name.lower() == "connection" and value == "close" for name, value in self.headers.items())

    def start(self, *, length: int | None) -> Message:
        headers = list(ALWAYS)
        if self.media_type:
            headers.append((b"content-type", self.media_type.encode("latin-1")))
        if length is not None:
            headers.append((b"content-length", b"%d" % length))
        headers += [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()
        ]
        return {"type": "http.response.start", "status": self.status, "headers": headers}

    async def send(self, send: AsgiSend) -> None:
        await send(self.start(length=len(self.body)))
        await send({"type": "http.response.body", "body": self.body})

    def header_lines(self) -> bytes:
        """All headers of a whole answer as they are written."""
        named = {"content-type": self.media_type} if self.media_type else {}
        lines = "".join([f"{name.lower()}: {value}\r\n" for name, value in (named | self.headers).items()])
        return b"%bcontent-length: %d\r\n%b" % (_ALWAYS_LINES, len(self.body), lines.encode("latin-1"))

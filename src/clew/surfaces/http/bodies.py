"""Bodies, up to their limit: into memory, or into a file that is gone when the call is over."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.surfaces.http.gate import too_large
from clew.surfaces.http.names import INCOMING
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import Request
from clew.surfaces.http.response import AsgiReceive, Message

PATIENCE_S = 30.0  # between two pieces of a body
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


async def read(receive: AsgiReceive, max_bytes: int) -> bytes:
    pieces = [piece async for piece in _pieces(receive, max_bytes)]
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def read_to(file: Path, receive: AsgiReceive, max_bytes: int) -> None:
    with file.open("wb") as target:
        async for piece in _pieces(receive, max_bytes):
            target.write(piece)


async def _pieces(receive: AsgiReceive, max_bytes: int) -> AsyncIterator[bytes]:
    size, more = 0, True
    while more:
        message = await _next(receive)
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size > max_bytes:
            raise too_large(max_bytes)
        if piece:
            yield piece


async def _next(receive: AsgiReceive) -> Message:
    try:
        async with asyncio.timeout(PATIENCE_S):
            message = await receive()
    except TimeoutError:
        raise Refusal(
            408,
            "the body does not come",
            code="BODY_TIMEOUT",
            next="send it again",
            headers={"Connection": "close"},
        ) from None
    if message["type"] == "http.disconnect":
        raise Refusal(400, "the body ended early", code="BODY_INCOMPLETE", next="send it again")
    return message


@contextmanager
def received_file(home: Path, request: Request) -> Iterator[Path]:
    """Readable for its owner alone. It is named as the query says, since notes are told apart by their names."""
    name = next((value for key, value in request.parameters if key == "name"), "")
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=INCOMING, dir=folder) as inside:
        yield Path(inside) / (name if _NAME.fullmatch(name) else "import")

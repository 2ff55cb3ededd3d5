"""Bodies, up to their limit: into memory, or into a file that is gone when the call is over."""

from __future__ import annotations

import asyncio
import errno
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from clew.errors import Unavailable
from clew.surfaces.http.gate import too_large
from clew.surfaces.http.names import INCOMING
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import Request
from clew.surfaces.http.response import AsgiReceive, Message
from clew.surfaces.http.route import JSON_LINES

PATIENCE_S = 30.0  # between two pieces of a body
Run = Callable[[Callable[[], Any]], Awaitable[Any]]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


async def read(receive: AsgiReceive, max_bytes: int) -> bytes:
    pieces = [piece async for piece in _pieces(receive, max_bytes)]
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@asynccontextmanager
async def received(
    home: Path, request: Request, receive: AsgiReceive, *, max_bytes: int, run: Run
) -> AsyncIterator[Path]:
    """A body as a file. `run` does in a worker thread what may wait for the disk."""
    inside = await run(partial(_folder, home))
    try:
        file = inside / _name(request)
        await run(partial(_append, file, b""))  # an empty one is one, too
        async for piece in _pieces(receive, max_bytes):
            await run(partial(_append, file, piece))
        yield file
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise Unavailable("no space left for the body", code="DISK_FULL", next="free some disk space") from error
    finally:
        shutil.rmtree(inside, ignore_errors=True)


def _folder(home: Path) -> Path:
    """Readable for its owner alone."""
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=INCOMING, dir=folder))


def _name(request: Request) -> str:
    """As the query says, since notes are told apart by their names; else as the kind of the body does."""
    name = next((value for key, value in request.parameters if key == "name"), "")
    if _NAME.fullmatch(name):
        return name
    return "import.jsonl" if request.content_type == JSON_LINES else "import"


def _append(file: Path, piece: bytes) -> None:
    with file.open("ab") as target:
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

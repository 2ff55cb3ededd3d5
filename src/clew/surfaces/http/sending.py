"""Answers that are sent while they are made: events from the event loop, exports from a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from clew.errors import Unavailable
from clew.surfaces.http.response import AsgiReceive, AsgiSend, Response
from clew.surfaces.http.route import ClientGone, Stream, Written

MAX_EXPORTS = 8  # at once; each is a thread and a reader of the store
OF_ONE = 2  # at once of one credential
AHEAD = 8  # pieces made before the client has taken them
PIECE = 64 << 10  # bytes: what is written in small bits is sent in pieces of this size
PATIENCE_S = 60.0  # how long a client may leave a piece lying


async def send_stream(
    begin: Response, stream: Stream, receive: AsgiReceive, send: AsgiSend, *, is_head: bool = False
) -> int:
    """Until the stream ends, the client leaves, or the server stops. `is_head`: only how it would begin."""
    if is_head:
        await send(begin.start(length=None))
        await send({"type": "http.response.body", "body": b""})
        return begin.status
    gone = asyncio.ensure_future(_left(receive))
    under_way: list[asyncio.Future[bytes | None]] = []  # the next frame
    try:
        await send(begin.start(length=None))
        while not gone.done():
            frame = asyncio.ensure_future(anext(stream.frames, None))
            under_way = [frame]
            await asyncio.wait((frame, gone), return_when=asyncio.FIRST_COMPLETED)
            if not frame.done():
                break
            piece = frame.result()
            if piece is None:
                await send({"type": "http.response.body", "body": b""})
                break
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        await _end(gone, *under_way)  # nobody may close frames while one is being made
        close = getattr(stream.frames, "aclose", None)
        if close is not None:
            await close()
    return begin.status


async def _end(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _left(receive: AsgiReceive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Exports:
    """Counts what is being written, as long as it is: also when the client has left. From any thread."""

    def __init__(self, limit: int = MAX_EXPORTS, of_one: int = OF_ONE) -> None:
        self._limit, self._of_one = limit, of_one
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return self._taken.total()

    def take(self, who: str) -> Callable[[], None]:
        """What it returns is called at the end."""
        with self._lock:
            if self.count >= self._limit or self._taken[who] >= self._of_one:
                raise Unavailable(
                    "too many exports are under way", code="EXPORTS_FULL", next="try again when one has ended"
                )
            self._taken[who] += 1
        return lambda: self._leave(who)

    def _leave(self, who: str) -> None:
        with self._lock:
            self._taken[who] -= 1
            self._taken += Counter()  # forgets who has none


async def send_written(
    begin: Response,
    written: Written,
    send: AsgiSend,
    *,
    failed: Callable[[BaseException], Response],
    take: Callable[[], Callable[[], None]],
    is_head: bool = False,
) -> int:
    """An error before the first piece is an answer of its own. Later, the connection breaks off: what was sent can
    no longer be called back, and nobody must take it for the whole. `is_head`: only how it would begin."""
    try:
        writer = _Writer(asyncio.get_running_loop(), written, take())
    except Unavailable as error:
        return await _refused(failed(error), send)
    try:
        piece = await writer.next()
        if isinstance(piece, Exception):
            return await _refused(failed(piece), send)
        await send(begin.start(length=None))
        if is_head:
            piece = None
        while isinstance(piece, bytes):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await writer.next()
        if isinstance(piece, Exception):
            if not isinstance(piece, ClientGone):
                failed(piece)  # for the log
            raise ConnectionAbortedError("the answer broke off") from None
        await send({"type": "http.response.body", "body": b""})
        return begin.status
    finally:
        writer.gone.set()
        writer.room.release()


async def _refused(response: Response, send: AsgiSend) -> int:
    await response.send(send)
    return response.status


class _Writer:
    """Runs what writes on a thread of its own, a few pieces ahead of the client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, written: Written, done: Callable[[], None]) -> None:
        self._loop = loop
        self._done = done
        self._written = written
        self._pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self._waiting: list[bytes] = []
        self._size = 0
        self.room = threading.Semaphore(AHEAD)
        self.gone = threading.Event()
        try:
            threading.Thread(target=self._run, name="clew-export", daemon=True).start()
        except RuntimeError:
            done()
            raise Unavailable(
                "no thread is to be had for an export", code="EXPORTS_FULL", next="try again in a moment"
            ) from None

    async def next(self) -> bytes | Exception | None:
        """None: that was all."""
        piece = await self._pieces.get()
        self.room.release()
        return piece

    def _run(self) -> None:
        end: Exception | None = None
        try:
            self._written.write(self._take)
            self._flush()
        except Exception as error:  # goes to whoever sends, who may still wait where the client was too slow
            end = error
        finally:
            self._done()
        self._tell(end)

    def _take(self, piece: bytes) -> None:
        self._waiting.append(piece)
        self._size += len(piece)
        if self._size >= PIECE:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._hand(b"".join(self._waiting))
            self._waiting, self._size = [], 0

    def _hand(self, piece: bytes) -> None:
        if not self.room.acquire(timeout=PATIENCE_S) or self.gone.is_set():
            raise ClientGone
        self._tell(piece)

    def _tell(self, piece: bytes | Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

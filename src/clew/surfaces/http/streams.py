"""Answers that go on: how many there may be at once, and how they end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import Unavailable

MAX_STREAMS = 64  # at once; each is a connection and a short look at the store now and then


class Streams:
    """Counts streams and ends them. Whoever stops the server calls `close` first: a stream never ends by itself,
    so a server that waits for its connections would wait for ever."""

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._open: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    @property
    def count(self) -> int:
        return len(self._open)

    def check_room(self) -> None:
        """Refuse one too many, before it begins."""
        if self.is_closed or self.count >= self._limit:
            raise Unavailable(
                "the server is stopping" if self.is_closed else f"{self._limit} streams are open already",
                code="STREAMS_FULL",
                next="close one, or try again later",
            )

    @contextmanager
    def entered(self) -> Iterator[asyncio.Event]:
        """On the event loop: the event is set when the stream has to end, which may be at once."""
        ended = asyncio.Event()
        with self._lock:
            if self.is_closed or self.count >= self._limit:
                ended.set()
            self._open[ended] = asyncio.get_running_loop()
        try:
            yield ended
        finally:
            with self._lock:
                del self._open[ended]

    def close(self) -> None:
        """End all of them and open no more; from any thread."""
        with self._lock:
            self.is_closed, waiting = True, dict(self._open)
        for ended, loop in waiting.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended.set)

"""Answers that go on: how many there may be at once, and how they end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import Unavailable

MAX_STREAMS = 64  # at once; each is a connection and a short look at the store now and then
OF_ONE = 8  # at once of one credential


class Streams:
    """Counts streams and ends them. Whoever stops the server calls `close` first: a stream never ends by itself,
    so a server that waits for its connections would wait for ever."""

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._open: dict[asyncio.Event, tuple[asyncio.AbstractEventLoop, str]] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    @property
    def count(self) -> int:
        return len(self._open)

    def check_room(self, who: str = "") -> None:
        """Refuse one too many, before it begins. `who` is the credential that asks."""
        with self._lock:
            full = self._full(who)
        if full:
            raise Unavailable(full, code="STREAMS_FULL", next="close one, or try again later")

    def _full(self, who: str) -> str:
        if self.is_closed:
            return "the server is stopping"
        if self.count >= self._limit:
            return f"{self._limit} streams are open already"
        own = sum(one == who for _loop, one in self._open.values())
        return f"{own} streams of yours are open already" if own >= OF_ONE else ""

    @contextmanager
    def entered(self, who: str = "") -> Iterator[asyncio.Event]:
        """On the event loop: the event is set when the stream has to end, which may be at once."""
        ended = asyncio.Event()
        with self._lock:
            if self._full(who):
                ended.set()
            self._open[ended] = asyncio.get_running_loop(), who
        try:
            yield ended
        finally:
            with self._lock:
                del self._open[ended]

    def close(self) -> None:
        """End all of them and open no more; from any thread."""
        with self._lock:
            self.is_closed, waiting = True, dict(self._open)
        for ended, (loop, _who) in waiting.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended.set)

"""Work that a hook waits for only so long: files of a directory may lie on a disk that does not answer.

A thread that hangs in the kernel cannot be ended, only left. Whatever hung under a name is not tried again under it
until it has come back, so that one bad directory costs one thread and not all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from clew.inject.deadline import AllBusy, Late, Ticket, Workers

T = TypeVar("T")


class Aside:
    """Thread-safe. At most so many pieces of work at a time."""

    def __init__(self, threads: int) -> None:
        self._workers = Workers(threads)
        self._lock = threading.Lock()
        self._hanging: set[str] = set()

    def within(self, limit_s: float, name: str, work: Callable[[], T]) -> T | None:
        """What `work` gives, or None when that takes too long; it is then done to its end, and nobody hears of it.
        Raises what it raises."""
        if name in self._hanging:
            return None
        is_over = threading.Event()

        def do(_ticket: Ticket) -> T:
            try:
                return work()
            finally:
                with self._lock:
                    is_over.set()
                    self._hanging.discard(name)

        try:
            return self._workers.run(do, ticket=Ticket(limit_s))
        except AllBusy:
            return None
        except Late:
            with self._lock:
                if not is_over.is_set():
                    self._hanging.add(name)
            return None

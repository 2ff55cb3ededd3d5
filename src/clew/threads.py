"""A few threads that wait for work.

Whoever was idle last works first: each thread has its own connection to the store, and that of the last is warm.
Work that is stuck cannot keep the process from ending: unlike with the pool of the standard library, whoever has
waited long enough for these may go.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic

Work = Callable[[], Callable[[], None]]  # answers what tells whoever waits
_Own = SimpleQueue[Work | None]


class Threads:
    """At most so many, started when first needed."""

    def __init__(self, count: int, *, name: str) -> None:
        self._count = count
        self._name = name
        self._threads: list[threading.Thread] = []
        self._idle: list[_Own] = []  # of threads that wait; the last to come is the first to go
        self._waiting: deque[Work] = deque()  # while all are at work
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self, work: Work, *, waits: bool) -> bool:
        """False when nobody will do it: they are closed, no thread is to be had, or all are at work and this does
        not wait for them."""
        with self._lock:
            if self._is_closed:
                return False
            if self._idle:
                self._idle.pop().put(work)
                return True
            if self._starts_with(work):
                return True
            if not waits or not self._threads:
                return False
            self._waiting.append(work)
            return True

    def _starts_with(self, work: Work) -> bool:
        if len(self._threads) == self._count:
            return False
        own: _Own = SimpleQueue()
        own.put(work)
        name = f"{self._name}-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._run, args=(own,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread to be had: the next work tries again
            return False
        self._threads.append(thread)
        return True

    def _run(self, own: _Own) -> None:
        while (work := own.get()) is not None:
            tell = work()
            self._go_on(own)  # before the answer: whoever gets it may come back at once
            tell()
            del work, tell  # an idle thread must not hold the last answer

    def _go_on(self, own: _Own) -> None:
        with self._lock:
            if self._waiting:
                own.put(self._waiting.popleft())
            elif self._is_closed:
                own.put(None)
            else:
                self._idle.append(own)

    def close(self) -> None:
        """They take nothing more, do what they took, and end."""
        with self._lock:
            self._is_closed = True
            while self._idle:
                self._idle.pop().put(None)

    def join(self, patience_s: float | None) -> bool:
        """Whether all have ended, after waiting for so long."""
        until = None if patience_s is None else monotonic() + patience_s
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

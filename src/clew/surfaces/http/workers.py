"""Worker threads of the server.

A request that is stuck cannot keep the process from ending: unlike with those of the standard library, whoever has
waited long enough for them may go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[Future[Any], Callable[[], Any]] | None


class Workers(Executor):
    """So many threads, started when first needed."""

    def __init__(self, count: int, *, name: str = "clew-worker") -> None:
        self._count = count
        self._name = name
        self._work: SimpleQueue[_Work] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the server stops")
            self._work.put((future, lambda: fn(*args, **kwargs)))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._count:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            future, do = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(do())
                except BaseException as error:  # belongs to whoever waits for it
                    future.set_exception(error)
            del work, future, do  # an idle thread must not hold the last answer
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the name is given
        self.close(None if wait else 0.0)

    def close(self, patience_s: float | None) -> bool:
        """Takes nothing more, does what was handed over; False when that took too long."""
        with self._lock:
            self._is_closed = True
            for _thread in self._threads:
                self._work.put(None)
        until = None if patience_s is None else monotonic() + patience_s
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

"""Worker threads of the server.

Whoever was idle last works first: each thread has its own connection to the store, and that of the last is warm. A
request that is stuck cannot keep the process from ending: unlike with those of the standard library, whoever has
waited long enough for them may go.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")
_Work = Callable[[], Callable[[], None]]  # answers what tells whoever waits
_Own = SimpleQueue[_Work | None]


async def in_thread(pool: Executor, work: Callable[[], T]) -> T:
    """What `work` gives, done in a thread. Fewer steps on the way back than with `run_in_executor`."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()

    def tell(done: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, waiting, done)

    pool.submit(work).add_done_callback(tell)
    return await waiting


def _settle(waiting: asyncio.Future[T], done: Future[T]) -> None:
    if waiting.done():  # whoever waited was told to stop
        return
    if (error := done.exception()) is None:
        waiting.set_result(done.result())
    else:
        waiting.set_exception(error)


class Workers(Executor):
    """So many threads, started when first needed."""

    def __init__(self, count: int, *, name: str = "clew-worker") -> None:
        self._count = count
        self._name = name
        self._threads: list[threading.Thread] = []
        self._idle: list[_Own] = []  # of threads that wait; the last to come is the first to go
        self._waiting: deque[_Work] = deque()  # while all are at work
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        self._hand_over(lambda: _done(future, lambda: fn(*args, **kwargs)))
        return future

    def _hand_over(self, work: _Work) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the server stops")
            if self._idle:
                self._idle.pop().put(work)
            elif len(self._threads) < self._count:
                name = f"{self._name}-{len(self._threads)}"
                own: _Own = SimpleQueue()
                own.put(work)
                thread = threading.Thread(target=self._run, args=(own,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._waiting.append(work)

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

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the name is given
        self.close(None if wait else 0.0)

    def close(self, patience_s: float | None) -> bool:
        """Takes nothing more, does what was handed over; False when that took too long."""
        with self._lock:
            self._is_closed = True
            while self._idle:
                self._idle.pop().put(None)
        until = None if patience_s is None else monotonic() + patience_s
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def _done(future: Future[T], work: Callable[[], T]) -> Callable[[], None]:
    """What tells how it went."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, work())
    except BaseException as error:  # belongs to whoever waits for it
        return partial(future.set_exception, error)

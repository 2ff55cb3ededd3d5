"""Worker threads of the server, and the way from the event loop into one and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from clew.errors import Unavailable
from clew.threads import Threads

T = TypeVar("T")


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


class NoThread(Unavailable, RuntimeError):
    """What an executor raises that takes nothing more, as whoever asked is told it."""

    def __init__(self) -> None:
        super().__init__("no thread is to be had for this", code="NO_THREAD", next="try again in a moment")


class Workers(Executor):
    """So many threads at most; while all are at work, more of it waits in its order."""

    def __init__(self, count: int, *, name: str = "clew-worker") -> None:
        self._threads = Threads(count, name=name)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        if not self._threads.take(lambda: done(future, lambda: fn(*args, **kwargs)), waits=True):
            raise NoThread  # the server stops, or gets none
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the name is given
        self.close(None if wait else 0.0)

    def close(self, patience_s: float | None) -> bool:
        """Takes nothing more, does what was handed over; False when that took too long."""
        self._threads.close()
        return self._threads.join(patience_s)


def done(future: Future[T], work: Callable[[], T]) -> Callable[[], None]:
    """What tells how it went."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, work())
    except BaseException as error:  # belongs to whoever waits for it
        return partial(future.set_exception, error)

"""What was handed over to be written: of each org one after another, in the order in which it came.

SQLite has one writer, so whatever is handed over is written before what is written later. Here that holds for each
org: one that is held up by another process does not keep those of other orgs waiting.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

THREADS = 4


class HandedOver:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}  # the first may be under way
        self._due: deque[str] = deque()  # orgs that wait for a thread
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="clew-writer")
        self._own = threading.local()

    def add(self, org: str, write: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            waiting = self._waiting.setdefault(org, deque())
            waiting.append((future, write))
            if len(waiting) == 1:
                try:
                    self._call_thread(org)
                except RuntimeError:
                    del self._waiting[org]
                    raise
        return future

    def _call_thread(self, org: str) -> None:
        """For whoever has the lock. RuntimeError when none is to be had."""
        self._due.append(org)
        try:
            self._threads.submit(self._next)
        except RuntimeError:  # the pool may call `_next` all the same, later
            self._due.pop()
            raise

    def last(self, org: str) -> Future[Any] | None:
        """The last of an org that is not done. None for one of those themselves: they are behind nobody."""
        if not self._waiting or getattr(self._own, "is_one", False):
            return None
        with self._lock:
            waiting = reversed(self._waiting.get(org, ()))
            return next((future for future, _write in waiting if not future.done()), None)

    def close(self) -> None:
        """When all are done."""
        with self._lock:
            futures = [future for waiting in self._waiting.values() for future, _write in waiting]
        wait(futures)
        self._threads.shutdown(wait=True)

    def _next(self) -> None:
        """One only: then it is another org's turn."""
        with self._lock:
            if not self._due:
                return
            org = self._due.popleft()
        self._own.is_one = True
        while self._run_first(org):
            with suppress(RuntimeError), self._lock:  # no thread is started any more, as when the process ends
                self._call_thread(org)
                return

    def _run_first(self, org: str) -> bool:
        """Whether there are more."""
        future, write = self._waiting[org][0]
        if future.set_running_or_notify_cancel():
            _fulfil(future, write)
        with self._lock:
            self._waiting[org].popleft()
            if not self._waiting[org]:
                del self._waiting[org]
            return org in self._waiting


def _fulfil(future: Future[T], write: Callable[[], T]) -> None:
    try:
        result = write()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)

"""How many threads one credential may keep busy: the rest of what it asks waits until one of its own is done.

It is not refused: programs ask several things at once, and most are done in a moment. What waits is bounded by the
connections that wait for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Shares:
    """Of the threads of a pool, so many for each."""

    def __init__(self, pool: Executor, of_one: int) -> None:
        self._pool = pool
        self._of_one = of_one
        self._lock = Lock()
        self._busy: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[Callable[[], None]]] = defaultdict(deque)

    def of(self, who: str) -> Executor:
        """The pool as one credential has it."""
        return _Share(partial(self._submit, who))

    def _submit(self, who: str, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        begin = partial(self._begin, who, future, work)
        with self._lock:
            if self._busy[who] >= self._of_one:
                self._waiting[who].append(begin)
                return future
            self._busy[who] += 1
        begin()
        return future

    def _begin(self, who: str, future: Future[T], work: Callable[[], T]) -> None:
        try:
            self._pool.submit(self._run, who, future, work)
        except RuntimeError as stopped:  # the server stops
            future.set_exception(stopped)
            self._leave(who)

    def _run(self, who: str, future: Future[T], work: Callable[[], T]) -> None:
        try:
            result = work()
        except BaseException as error:  # belongs to whoever waits for it
            self._leave(who)
            future.set_exception(error)
        else:
            self._leave(who)  # before the answer: whoever gets it may come back at once
            future.set_result(result)

    def _leave(self, who: str) -> None:
        with self._lock:
            waiting = self._waiting.get(who)
            begin = waiting.popleft() if waiting else None
            if not waiting:
                self._waiting.pop(who, None)
            if begin is None:
                self._busy[who] -= 1
                if not self._busy[who]:
                    del self._busy[who]
        if begin is not None:
            begin()


class _Share(Executor):
    def __init__(self, submit: Callable[[Callable[[], Any]], Future[Any]]) -> None:
        self._submit = submit

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return self._submit(partial(fn, *args, **kwargs))

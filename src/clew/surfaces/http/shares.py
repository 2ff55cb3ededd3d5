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

from clew.surfaces.http.workers import done

T = TypeVar("T")
_Work = tuple[Future[Any], Callable[[], Any]]


class Shares:
    """Of the threads of a pool, so many for each."""

    def __init__(self, pool: Executor, of_one: int) -> None:
        self._pool = pool
        self._of_one = of_one
        self._lock = Lock()
        self._busy: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[_Work]] = defaultdict(deque)

    def of(self, who: str) -> Executor:
        """The pool as one credential has it."""
        return _Share(partial(self._submit, who))

    def _submit(self, who: str, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._busy[who] >= self._of_one:
                self._waiting[who].append((future, work))
                return future
            self._busy[who] += 1
        try:
            self._pool.submit(self._run, who, future, work)
        except BaseException:
            self._leave(who)
            raise
        return future

    def _run(self, who: str, future: Future[T], work: Callable[[], T]) -> None:
        tell = done(future, work)
        try:
            self._leave(who)  # before the answer: whoever gets it may come back at once
        finally:
            tell()

    def _leave(self, who: str) -> None:
        """The place goes to who has waited longest. Whom the pool refuses is told so, and then the next has it."""
        while (first := self._next(who)) is not None:
            future, work = first
            try:
                self._pool.submit(self._run, who, future, work)
            except Exception as refused:  # the server stops
                done(future, partial(_fail, refused))()
            else:
                return

    def _next(self, who: str) -> _Work | None:
        with self._lock:
            if waiting := self._waiting.get(who):
                return waiting.popleft()
            self._waiting.pop(who, None)
            self._busy[who] -= 1
            if not self._busy[who]:
                del self._busy[who]
            return None


def _fail(error: Exception) -> None:
    raise error


class _Share(Executor):
    def __init__(self, submit: Callable[[Callable[[], Any]], Future[Any]]) -> None:
        self._submit = submit

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return self._submit(partial(fn, *args, **kwargs))

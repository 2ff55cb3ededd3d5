"""What a writer answers: to itself, to whoever waits, and to a crowd.

A thread that is told goes on only when it has the interpreter. A hundred told at once wake up, find it taken and
sleep again: two changes of threads and more for each instead of one, which was a quarter of what the queue cost. So
of a crowd only the first is told, and each tells the next when it wakes up. A few are told at once: beside a thread
that computes, each turn of the interpreter takes five milliseconds, and the fewer turns the better.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

CROWD = 16  # more than so many writes in one of the last commits
LASTS = 0.9  # what remains of a crowd with each commit: the threads of one come in turns


class Outcome:
    """Of a write on the thread of its caller: nobody waits for it."""

    __slots__ = ("_error", "_is_done", "_value")

    def __init__(self) -> None:
        self._is_done = False
        self._error: BaseException | None = None
        self._value: Any = None

    def result(self) -> Any:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # or the error would hold its own traceback for good
        return self._value

    def set_result(self, value: Any) -> None:
        self._value, self._is_done = value, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._is_done = error, True

    def set_running_or_notify_cancel(self) -> bool:
        return True  # whoever waits at once does not give up

    def done(self) -> bool:
        return self._is_done


class Answer(Outcome):
    """What a caller that waits at once gets instead of a future: a third of its cost, which a queue feels."""

    __slots__ = ("_has_left", "_is_told", "_next", "_ready")

    def __init__(self) -> None:
        super().__init__()
        self._ready = threading.Lock()
        self._ready.acquire()
        self._next: Answer | None = None
        self._is_told = self._has_left = False

    def result(self) -> Any:
        try:
            self._ready.acquire()
            self._tell_next()
        except BaseException:  # interrupted: the others are told all the same, by whoever comes to know of it last
            self._has_left = True
            if self._is_told:
                self._tell_next()
            raise
        return super().result()

    def set_result(self, value: Any) -> None:
        super().set_result(value)
        self.tell()

    def set_exception(self, error: BaseException) -> None:
        super().set_exception(error)
        self.tell()

    def settle(self, value: Any, *, then: Answer | None) -> None:
        """The result, before anybody is told; `then` is told after this."""
        super().set_result(value)
        self._next = then

    def tell(self) -> None:
        """Twice is as good as once: whoever waits waits once."""
        self._is_told = True
        try:
            self._ready.release()
        except RuntimeError:  # told before, and not awake yet
            return
        if self._has_left:
            self._tell_next()

    def _tell_next(self) -> None:
        if self._next is not None:
            self._next.tell()


class Teller:
    """For whoever has the turn to write."""

    def __init__(self) -> None:
        self._crowd = 0.0

    def tell(self, done: Sequence[tuple[Future[Any] | Outcome, Any]]) -> None:
        """Those whose writes one commit has made durable, each with its result."""
        self._crowd = max(len(done), LASTS * self._crowd)
        then: Answer | None = None
        for waiting, result in reversed(done):
            if self._crowd > CROWD and isinstance(waiting, Answer):
                waiting.settle(result, then=then)
                then = waiting
            else:
                waiting.set_result(result)
        if then is not None:
            then.tell()

"""A hard limit on how long a caller waits: the work runs on a few threads of its own that can be left behind.

A thread cannot be stopped, only abandoned. So their number is bounded, an abandoned one counts as busy until what
it hangs in lets go of it, and with none left the answer comes at once. A `Ticket` tells the work whether anyone
still waits for it: whoever is late hands nothing over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from clew.threads import Threads
from clew.values import dataclass

T = TypeVar("T")

GRACE_S = 0.005  # for what is settled already and only has to be handed back


class Late(Exception):
    """The time is up."""


class AllBusy(Exception):
    """Every thread is at work, or stuck, or there is none to be had."""


class Ticket:
    """Who waits for a piece of work, and until when."""

    __slots__ = ("_left", "_lock", "_settled", "deadline", "started")

    def __init__(self, timeout_s: float) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + timeout_s
        self._lock = threading.Lock()
        self._left = False
        self._settled = False

    @property
    def ms(self) -> float:
        """How long it has been."""
        return (time.perf_counter() - self.started) * 1_000

    @property
    def remaining_s(self) -> float:
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def is_late(self) -> bool:
        return self._left or time.perf_counter() >= self.deadline

    def check(self) -> None:
        """Raises when nobody waits any more."""
        if self.is_late:
            raise Late

    def leave(self) -> bool:
        """Wait no longer: nothing can be settled from now on. False: it is settled, and the answer on its way."""
        with self._lock:
            self._left = not self._settled
            return self._left

    def settle(self, action: Callable[[], None]) -> bool:
        """Do what may only happen if the answer arrives: all of it, or nothing when the caller has left. Must be
        quick, for whoever leaves waits for it."""
        with self._lock:
            if not self._left:
                action()
                self._settled = True
            return self._settled


@dataclass(slots=True, eq=False)
class _Task(Generic[T]):
    work: Callable[[Ticket], T]
    ticket: Ticket
    done: threading.Event
    after_s: float = 0.0
    value: T | None = None
    error: BaseException | None = None

    def run(self) -> Callable[[], None]:
        """What tells whoever waits."""
        if self.after_s:
            time.sleep(self.after_s)
        try:
            self.value = self.work(self.ticket)
        except BaseException as error:  # whatever it is belongs to whoever asked
            self.error = error
        return self.done.set

    def answer(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class Workers:
    """At most `threads` daemon threads; who finds none is told so at once."""

    def __init__(self, threads: int) -> None:
        self._threads = Threads(threads, name="clew-inject")

    def run(self, work: Callable[[Ticket], T], *, ticket: Ticket) -> T:
        """The value of `work(ticket)`. Raises what it raises, Late when the time is up, AllBusy at once."""
        task = _Task(work, ticket, threading.Event())
        self._hand_over(task)
        if not task.done.wait(ticket.remaining_s) and (ticket.leave() or not task.done.wait(GRACE_S)):
            raise Late
        return task.answer()

    def start(self, work: Callable[[Ticket], object], *, ticket: Ticket, after_s: float = 0.0) -> threading.Event:
        """The same without waiting: tells when it is done, not how it went. AllBusy at once. `after_s`: not before
        so long, in which whoever starts it can give an answer of their own; all threads share one interpreter."""
        task = _Task(work, ticket, threading.Event(), after_s)
        self._hand_over(task)
        return task.done

    def _hand_over(self, task: _Task[Any]) -> None:
        if not self._threads.take(task.run, waits=False):
            raise AllBusy

    def close(self) -> None:
        """Let the threads go; one that hangs goes when it can."""
        self._threads.close()

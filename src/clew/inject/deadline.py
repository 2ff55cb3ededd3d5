"""A hard limit on how long a caller waits: the work runs on a few threads of its own that can be left behind.

A thread cannot be stopped, only abandoned. So their number is bounded, an abandoned one counts as busy until what
it hangs in lets go of it, and with none left the answer comes at once. A `Ticket` tells the work whether anyone
still waits for it: whoever is late hands nothing over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from clew.values import dataclass

T = TypeVar("T")

GRACE_S = 0.005  # for what is settled already and only has to be handed back


class Late(Exception):
    """The time is up."""


class AllBusy(Exception):
    """Every thread is at work, or stuck."""


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

    def run(self) -> None:
        if self.after_s:
            time.sleep(self.after_s)
        try:
            self.value = self.work(self.ticket)
        except BaseException as error:  # whatever it is belongs to whoever asked
            self.error = error

    def answer(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


_Own = SimpleQueue[_Task[Any] | None]


class Workers:
    """At most `threads` daemon threads, started when first needed. Whoever was idle last works first: each has its
    own connection to the store, and that of the last is warm."""

    def __init__(self, threads: int) -> None:
        self._lock = threading.Lock()
        self._free = threads  # tasks that may still be taken on
        self._idle: list[_Own] = []  # of threads that wait; the last to come is the first to go
        self._started = 0
        self._closed = False

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
        with self._lock:
            if self._closed or not self._free:
                raise AllBusy
            try:
                own = self._idle.pop() if self._idle else self._start_one()
            except RuntimeError:  # no thread to be had
                raise AllBusy from None
            self._free -= 1
            own.put(task)

    def _start_one(self) -> _Own:
        own: _Own = SimpleQueue()
        self._started += 1
        threading.Thread(target=self._loop, args=(own,), name=f"clew-inject-{self._started}", daemon=True).start()
        return own

    def _loop(self, own: _Own) -> None:
        while (task := own.get()) is not None:
            task.run()
            with self._lock:  # before the answer: whoever gets it may come back at once
                self._free += 1
                self._idle.append(own)
                if self._closed:
                    own.put(None)
            task.done.set()
            del task  # its answer may be large, and this thread may sleep for long

    def close(self) -> None:
        """Let the threads go; one that hangs goes when it can."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for own in self._idle:
                own.put(None)

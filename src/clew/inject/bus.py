"""The verb bus: every tool call, told to whoever wants to know.

Subscribers are called in the order in which they came, one after the other; one that fails does not keep the event
from the next. An event that comes again (hosts repeat and reorder them) is told once. `emit` returns when all were
told; `post` returns at once, and a thread of the bus tells them.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from queue import Empty, Full, Queue
from types import TracebackType
from typing import Any

from clew.inject.hooks import event_of_hook
from clew.model.inject import VerbEvent
from clew.values import dataclass

Handler = Callable[[VerbEvent], object]
REMEMBERED_EVENTS = 4_096
MAX_POSTED = 1_024  # what waits beyond this is dropped and counted: no tool call ever waits for the bus

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbFilter:
    """Which events a subscriber wants. Empty means any."""

    phases: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def lets_through(self, event: VerbEvent) -> bool:
        wanted = (self.phases, event.phase), (self.tools, event.tool), (self.sessions, event.session)
        return all(not some or one in some for some, one in (*wanted, (self.agents, event.agent)))


class Subscription:
    """Until `unsubscribe()`, or the end of a `with` block."""

    __slots__ = ("_bus", "filter", "handler")

    def __init__(self, bus: VerbBus, handler: Handler, filter: VerbFilter) -> None:
        self._bus = bus
        self.handler = handler
        self.filter = filter

    def unsubscribe(self) -> None:
        self._bus._drop(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unsubscribe()


class VerbBus:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._told = Recent(REMEMBERED_EVENTS)
        self._posted: Queue[VerbEvent | None] = Queue(MAX_POSTED)  # None: no more will come
        self._teller: threading.Thread | None = None
        self._closed = False
        self.dropped = 0

    @property
    def subscriber_count(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, handler: Handler, filter: VerbFilter | None = None) -> Subscription:
        subscription = Subscription(self, handler, filter or VerbFilter())
        with self._lock:
            self._subscriptions += (subscription,)
        return subscription

    def clear(self) -> None:
        with self._lock:
            self._subscriptions = ()

    def emit(self, event: VerbEvent) -> int:
        """How many were told; never raises. 0 for an event that was told before."""
        if event.event_id and not self._told.is_new((event.session, event.event_id, event.phase)):
            return 0
        told = 0
        for subscription in self._subscriptions:
            if subscription in self._subscriptions and subscription.filter.lets_through(event):
                self._tell(subscription, event)
                told += 1
        return told

    def emit_hook(self, hook: Mapping[str, Any]) -> int:
        """The same for what a host's hook says, such as {"kind": "pre-tool-use", "sessionId": ...}."""
        event = event_of_hook(hook)
        return 0 if event is None else self.emit(event)

    def post(self, event: VerbEvent) -> bool:
        """Hand over and go on at once. False when too much waits, nobody can tell it, or the bus is closed."""
        with self._lock:
            if self._closed:
                return False
            try:
                self._start_telling()
                self._posted.put_nowait(event)
            except (Full, RuntimeError):  # no thread to be had: the next event tries again
                self.dropped += 1
                return False
        return True

    def _start_telling(self) -> None:
        if self._teller is None:
            teller = threading.Thread(target=self._tell_posted, name="clew-verb-bus", daemon=True)
            teller.start()
            self._teller = teller

    def wait(self) -> None:
        """Until everything that was posted is told."""
        self._posted.join()

    def close(self) -> None:
        """Let the thread go. What still waits is dropped and counted; what is being told is told to the end."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with suppress(Empty):
                while True:
                    self._posted.get_nowait()
                    self._posted.task_done()
                    self.dropped += 1
            if self._teller is not None:
                self._posted.put_nowait(None)

    def _tell_posted(self) -> None:
        while (event := self._posted.get()) is not None:
            self.emit(event)
            self._posted.task_done()
        self._posted.task_done()

    @staticmethod
    def _tell(subscription: Subscription, event: VerbEvent) -> None:
        try:
            subscription.handler(event)
        except Exception as error:  # a plug-in: its failure is its own
            _log.warning("a subscriber of the verb bus failed: %s", type(error).__name__)

    def _drop(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)


class Recent:
    """The last so many keys. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._keys: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, key: Hashable) -> bool:
        """Whether it was not there; it is from now on."""
        with self._lock:
            known = key in self._keys
            self._keys[key] = None
            self._keys.move_to_end(key)
            while len(self._keys) > self._size:
                self._keys.popitem(last=False)
            return not known

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._keys

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._keys.pop(key, None)

"""What waits for the next turn of an agent that cannot be spoken to in the middle of one.

In this process only: what must survive it goes on the durable queue.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable

from clew.values import dataclass

MAX_SESSIONS = 1_024  # the session that was silent for longest goes first
MAX_PER_SESSION = 32  # as many as may wait on the durable queue (rensei.md 2.10); beyond that the oldest goes


@dataclass(frozen=True, slots=True)
class PendingInjection:
    session_id: str
    block: str
    memory_ids: tuple[str, ...] = ()
    event_id: str = ""


class Pending:
    """Blocks per session, first in, first out. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, deque[PendingInjection]] = OrderedDict()

    def keep(self, session: Hashable, injection: PendingInjection) -> None:
        with self._lock:
            self._waiting.setdefault(session, deque(maxlen=MAX_PER_SESSION)).append(injection)
            self._waiting.move_to_end(session)
            while len(self._waiting) > MAX_SESSIONS:
                self._waiting.popitem(last=False)

    def drain(self, session: Hashable) -> list[PendingInjection]:
        with self._lock:
            return list(self._waiting.pop(session, ()))

"""What an agent was shown in its session, so that it is not shown again.

Per process and session (rensei.md R-083). A session met for the first time starts with what the injection log and
the queue say it was shown before: at its start, or by another process (C-11).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager

MAX_SESSIONS = 1_024  # one that is dropped is seeded again when it comes back


class Seen:
    """Ids per session. Thread-safe; the seed is read outside the lock, so a store that hangs stops nobody else."""

    def __init__(self, seed: Callable[[Hashable], Iterable[str]] | None = None) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._sessions: OrderedDict[Hashable, set[str]] = OrderedDict()
        self._being_said: set[tuple[Hashable, str]] = set()

    def of(self, session: Hashable) -> frozenset[str]:
        with self._lock:
            known = self._sessions.get(session)
            if known is not None:
                self._sessions.move_to_end(session)
                return frozenset(known)
        return self._begin(session, set(self._seed(session)) if self._seed else set())

    def add(self, session: Hashable, ids: Iterable[str]) -> None:
        with self._lock:
            if self._seed is None or session in self._sessions:  # otherwise its seed, read later, has them
                self._sessions.setdefault(session, set()).update(ids)

    @contextmanager
    def saying(self, session: Hashable, ids: Collection[str]) -> Iterator[bool]:
        """Whether nobody else is about to say one of these; as long as it lasts, nobody else may. For tools that an
        agent calls at the same time."""
        mine = {(session, id) for id in ids}
        with self._lock:
            is_free = self._being_said.isdisjoint(mine)
            if is_free:
                self._being_said |= mine
        try:
            yield is_free
        finally:
            if is_free:
                with self._lock:
                    self._being_said -= mine

    def forget(self, session: Hashable) -> None:
        with self._lock:
            self._sessions.pop(session, None)

    def _begin(self, session: Hashable, seed: set[str]) -> frozenset[str]:
        with self._lock:
            known = self._sessions.setdefault(session, set())
            known.update(seed)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return frozenset(known)

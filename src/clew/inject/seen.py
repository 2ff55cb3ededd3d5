"""What an agent was shown in its session, so that it is not shown again.

Per process and session (rensei.md R-083). A session met for the first time starts with what the injection log and
the queue say it was shown before: at its start, or by another process (C-11). What is said later by someone else is
met when it would be said again: whoever hands it over looks at the queue in the same transaction.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from clew.values import dataclass

MAX_SESSIONS = 1_024  # one that is dropped is seeded again when it comes back


@dataclass(slots=True)
class _Shown:
    """`stored` is what the seed said and what was stored since; `told` is known to nobody but us."""

    version: Hashable = None
    stored: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self.stored | self.told)


class Seen:
    """Ids per session. Thread-safe; the seed is read outside the lock, so a store that hangs stops nobody else."""

    def __init__(self, seed: Callable[[Hashable], Iterable[str]] | None = None) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._sessions: OrderedDict[Hashable, _Shown] = OrderedDict()
        self._being_said: set[tuple[Hashable, str]] = set()

    def of(self, session: Hashable, *, version: Hashable = None) -> frozenset[str]:
        """`version` is another one whenever something that was shown no longer counts: the seed is read again."""
        with self._lock:
            known = self._sessions.get(session)
            if known is not None and known.version == version:
                self._sessions.move_to_end(session)
                return known.ids
        return self._begin(session, set(self._seed(session)) if self._seed else set(), version)

    def add(self, session: Hashable, ids: Iterable[str], *, stored: bool = False) -> None:
        """`stored`: the store has them, and a later seed decides whether they still count."""
        with self._lock:
            if self._seed is None or session in self._sessions:  # otherwise its seed, read later, has them
                shown = self._sessions.setdefault(session, _Shown())
                (shown.stored if stored else shown.told).update(ids)

    @contextmanager
    def saying(self, session: Hashable, ids: Collection[str]) -> Iterator[bool]:
        """Whether nobody has said one of these meanwhile, nor is about to; as long as it lasts, nobody else may.
        For tools that an agent calls at the same time."""
        mine = {(session, id) for id in ids}
        with self._lock:
            shown = self._sessions.get(session)
            is_free = self._being_said.isdisjoint(mine) and (shown is None or shown.ids.isdisjoint(ids))
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

    def _begin(self, session: Hashable, seed: set[str], version: Hashable) -> frozenset[str]:
        with self._lock:
            known = self._sessions.setdefault(session, _Shown())
            known.version, known.stored = version, seed
            self._sessions.move_to_end(session)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return known.ids

"""What is looked for behind answers: a host need not wait where nothing can be said anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clew.inject.deadline import Ticket, Workers

MAX_WAITED = 8  # looks of one session that somebody may wait for
ANSWER_FIRST_S = 0.002


class Looking:
    """Looks that are under way, by session. Thread-safe."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._begun: dict[str, list[threading.Event]] = {}

    def begin(self, session: str, look: Callable[[], object], *, limit_s: float, waits: bool) -> None:
        """Hand over and go on. Raises AllBusy when there are too many. Where nobody waits, the answer goes first: a
        look that takes the interpreter would hold it up."""
        after_s = 0.0 if waits else ANSWER_FIRST_S
        done = self._workers.start(lambda _ticket: look(), ticket=Ticket(limit_s), after_s=after_s)
        with self._lock:
            begun = self._begun | {session: [*self._begun.get(session, ()), done]}
            left = {one: [look for look in looks if not look.is_set()] for one, looks in begun.items()}
            # Of every session: one whose agent was never answered again would be kept for good.
            self._begun = {one: looks[-MAX_WAITED:] for one, looks in left.items() if looks}

    def wait(self, session: str, ticket: Ticket) -> None:
        """For what was begun before, as long as the ticket allows."""
        with self._lock:
            begun = self._begun.pop(session, [])
        for done in begun:
            done.wait(ticket.remaining_s)

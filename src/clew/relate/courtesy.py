"""Work in the background stands back while somebody asks: both would share one interpreter, and a question takes
twice as long beside a thread that computes. Nobody is starved: whoever worked for a while waits for a bounded
multiple of that, then goes on.
"""

from __future__ import annotations

from time import monotonic, sleep

QUIET_S = 0.02  # after a question: an agent that asks often asks again within this time
PATIENCE = 8.0  # times as long as it worked: beside questions without end, work gets a ninth of the time
MOST_S = 1.0


class Courtesy:
    """One for all threads of a process: those who ask say so, those who work ask it now and then."""

    def __init__(self) -> None:
        self._asked_at = -QUIET_S
        self.went_on_at = monotonic()  # whoever works: there is one worker

    def asked(self) -> None:
        """Somebody asks something now."""
        self._asked_at = monotonic()

    def rest_s(self) -> float:
        """How long until nobody has asked anything for a moment, if nobody does."""
        return self._asked_at + QUIET_S - monotonic()

    def stand_back(self) -> None:
        """Between two pieces of work: wait until nobody has asked anything for a moment."""
        now = monotonic()
        until = now + min(MOST_S, PATIENCE * (now - self.went_on_at))
        while (rest := min(until, self._asked_at + QUIET_S) - now) > 0:
            sleep(rest)
            now = monotonic()
        self.went_on_at = now

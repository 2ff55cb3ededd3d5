"""A failing endpoint is not hammered: after some failures in a row it is left alone for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock

from clew.errors import Unavailable

PAUSED = "LLM_PAUSED"
IN_A_ROW = 3
PAUSE_S, LONGEST_PAUSE_S = 60.0, 900.0  # doubled after each further failure


class Breaker:
    """Closed while things work. Once the pause is over one more failure opens it again, one success closes it."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = Lock()
        self._failures = 0
        self._until: datetime | None = None

    def check(self) -> None:
        """Refuse while the pause lasts."""
        with self._lock:
            if self._until and self._now() < self._until:
                raise Unavailable(
                    f"the language model failed {self._failures} times in a row and is left alone until "
                    f"{self._until:%H:%M:%S} UTC",
                    code=PAUSED,
                    next="see why it failed: clew jobs spend",
                )

    def worked(self) -> None:
        with self._lock:
            self._failures, self._until = 0, None

    def failed(self, *, asked_to_wait_s: float = 0.0) -> None:
        """`asked_to_wait_s`: what the endpoint itself wants; it is kept to at once, within reason."""
        with self._lock:
            self._failures += 1
            pause = pause_s(self._failures)
            pause = max(pause, min(asked_to_wait_s, LONGEST_PAUSE_S))
            if pause:
                self._until = self._now() + timedelta(seconds=pause)


def pause_s(failures: int) -> float:
    """How long to wait after so many failures in a row."""
    if failures < IN_A_ROW:
        return 0.0
    return float(min(LONGEST_PAUSE_S, PAUSE_S * 2.0 ** min(failures - IN_A_ROW, 10)))

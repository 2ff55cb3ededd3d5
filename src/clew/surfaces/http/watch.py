"""Threads of the server that do one thing again and again, and can be seen to be alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic

logger = logging.getLogger(__name__)

GRACE_S = 5.0  # how long a stop waits for the step at hand


class Watched:
    """`step` does a portion and says whether there is more; then the next follows at once, otherwise after a pause.
    What it did is in the store, so stopping it loses nothing."""

    def __init__(self, name: str, step: Callable[[], bool], *, every_s: float = 1.0) -> None:
        self.name = name
        self._step = step
        self._every_s = every_s
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"clew-{name}", daemon=True)
        self._beat_at = monotonic()
        self._failing_since: float | None = None
        self.failed = ""  # the code of what goes wrong, as long as it does

    def start(self) -> None:
        self._beat_at = monotonic()
        self._thread.start()

    def nudge(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(GRACE_S)

    @property
    def silent_s(self) -> float:
        """For how long nothing was heard of it."""
        return monotonic() - self._beat_at

    @property
    def failing_s(self) -> float:
        """For how long every step has failed."""
        since = self._failing_since
        return 0.0 if since is None else monotonic() - since

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            has_more = self._do()
            self._beat_at = monotonic()
            if not has_more:
                self._wake.wait(self._every_s)

    def _do(self) -> bool:
        try:
            has_more = self._step()
        except Exception as error:  # the loop outlives a store that is busy or full; `/readyz` tells
            self._note(getattr(error, "code", type(error).__name__))
            return False
        self.failed, self._failing_since = "", None
        return has_more

    def _note(self, code: str) -> None:
        if code != self.failed:
            logger.warning("%s fails: %s", self.name, code)
        self.failed = code
        self._failing_since = self._failing_since or monotonic()

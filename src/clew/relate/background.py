"""Work in the background of a process that lives long enough: vectors after a switch of model, the graph."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from clew.ports import Embedder, Store
from clew.relate.embed import BackfillPolicy, embed_missing

logger = logging.getLogger(__name__)

PAUSE_S = 60.0
REST_S = 1.0
PATIENCE_S = 10.0


class Background:
    """At most one thread. What it did is in the store, so stopping it loses nothing."""

    name = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._not_before = 0.0
        self.failed = ""  # the code of the error that ended the last pass

    def _work(self) -> None:
        raise NotImplementedError

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Nothing happens while a pass runs, for a minute after one failed, or once stopped."""
        with self._lock:
            if self.is_running or self._stopping.is_set() or time.monotonic() < self._not_before:
                return
            thread = threading.Thread(target=self._run, name=f"clew-{self.name}", daemon=True)
            with suppress(RuntimeError):  # no thread to be had, or the process ends: what waits is in the store
                thread.start()
                self._thread = thread

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """Waits for the batch at hand, but not for ever: one may hang on a network."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        try:
            self._work()
            self.failed = ""
        except Exception as error:  # a plug-in and an extra: recall goes on with words; `clew doctor` tells
            self.failed = getattr(error, "code", type(error).__name__)
            self._not_before = time.monotonic() + PAUSE_S
            logger.warning("work in the background (%s) stopped: %s", self.name, self.failed)


class BackgroundEmbedding(Background):
    """Fills in missing vectors; `done` of `total` tells how far it is."""

    name = "embed"

    def __init__(self, store: Store, embedder: Embedder, policy: BackfillPolicy) -> None:
        super().__init__()
        self._store = store
        self._embedder = embedder
        self._policy = policy
        self.done = 0
        self.total = 0

    def _work(self) -> None:
        embed_missing(
            self._store,
            self._embedder,
            policy=self._policy,
            progress=self._note,
            should_stop=self._stopping.is_set,
            rest=self._stopping.wait,
        )
        self._not_before = time.monotonic() + REST_S  # it may be paused: no look before every answer

    def _note(self, done: int, total: int) -> None:
        self.done, self.total = done, total


class BackgroundUpkeep(Background):
    """Portion after portion until nothing is left to do."""

    name = "upkeep"

    def __init__(self, portion: Callable[[], bool]) -> None:
        super().__init__()
        self._portion = portion

    def _work(self) -> None:
        while not self._stopping.is_set() and self._portion():
            pass

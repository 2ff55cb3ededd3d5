"""Counting requests without slowing them: rows wait in a buffer and are written in batches, behind the answer.

Nothing here waits for the store or takes its write lock: batches are handed to the writer. What finds no room while
one is being written, and what cannot be written, is dropped and counted. A process writes the rest when it closes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clew.model.rollout import Metric
    from clew.ports import Store, Tx

BATCH = 128  # each one that is written makes every reader look for changes
ROOM = 1_024
CLOSING_MS = 100
AGE = timedelta(seconds=30)  # of the oldest that waits, when the next one comes

_log = logging.getLogger(__name__)


class Meter:
    """Thread-safe. `look_after` is called for each org of a batch, in its transaction."""

    def __init__(
        self,
        store: Store,
        look_after: Callable[[Tx, str, datetime], None],
        *,
        batch: int = BATCH,
        room: int = ROOM,
    ) -> None:
        self._store, self._look_after = store, look_after
        self._batch, self._room = batch, room
        self._lock = threading.Lock()
        self._waiting: list[Metric] = []
        self._writing: Future[None] | None = None
        self.dropped = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def count(self, metric: Metric) -> None:
        """Never raises and never waits."""
        with self._lock:
            if len(self._waiting) >= self._room:
                self.dropped += 1
                return
            self._waiting.append(metric)
            is_due = len(self._waiting) >= self._batch or metric.created_at - self._waiting[0].created_at >= AGE
        if is_due:
            self.flush()

    def flush(self, *, wait: bool = False) -> None:
        """Hand over what waits, unless a batch is still being written; `wait` until it is stored."""
        with self._lock:
            if wait or self._writing is None or self._writing.done():
                self._hand_over()
            writing = self._writing
        if wait and writing is not None:
            writing.exception()  # waits, and tells nobody

    def close(self) -> None:
        """Write what waits, unless the store is busy: a question is not to wait for another process's import."""
        with self._lock:
            rows, self._waiting = self._waiting, []
        if not rows:
            return
        try:
            write = partial(_write, rows=rows, look_after=self._look_after)
            self._store.write_unless_busy(write, wait_ms=CLOSING_MS)
        except Exception as error:  # nobody who asked is to hear of it
            self._lose(len(rows), error)

    def _hand_over(self) -> None:
        if not self._waiting:
            return
        rows, self._waiting = self._waiting, []
        try:
            self._writing = self._store.submit(
                partial(_write, rows=rows, look_after=self._look_after), durable=False
            )
        except Exception as error:  # a store that is closed, or that nobody may write to
            self._lose(len(rows), error)
        else:
            self._writing.add_done_callback(partial(self._written, len(rows)))

    def _written(self, rows: int, future: Future[None]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._lose(rows, error)

    def _lose(self, rows: int, error: BaseException) -> None:
        self.dropped += rows
        _log.info("%d requests were not counted: %s", rows, getattr(error, "code", type(error).__name__))


def _write(tx: Tx, *, rows: Sequence[Metric], look_after: Callable[[Tx, str, datetime], None]) -> None:
    tx.rollout.add(rows)
    newest = {row.org: row.created_at for row in rows}
    for org, now in newest.items():
        try:
            with tx.savepoint():
                look_after(tx, org, now)
        except Exception as error:  # what was counted is kept whatever follows from it
            _log.warning("the rollout could not be judged: %s", getattr(error, "code", type(error).__name__))

"""Counting requests without slowing them: rows wait in a buffer and are written in batches, behind the answer.

Nobody waits for it, nor does a close: a batch is written on a thread and a connection of its own, in a moment in
which nobody asks if there is one soon, and gives up after a while if another process holds the lock. What could not
be written for that reason waits for the next time; what finds no room, or fails otherwise, is dropped and counted.
A process writes the rest when it closes.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.lazy import LazyModule

if TYPE_CHECKING:
    import logging

    from clew.model.rollout import Metric
    from clew.ports import Store, Tx
    from clew.remember import redact
else:
    redact = LazyModule("clew.remember.redact")
    logging = LazyModule("logging")  # a process that asks once has nothing to complain of

BATCH = 128  # each one that is written makes every reader look for changes
ROOM = 1_024
WAIT_MS = 100  # for the lock
PAUSE_S = 5.0  # after the store was busy
AGE = timedelta(seconds=30)  # of the oldest that waits, when the next one comes
# A name of which no part could be a key, as that of most repositories. To import the rules takes 20 ms.
_PLAIN = re.compile(r"(?:(?:[A-Za-z]{1,24}|[A-Za-z0-9]{1,11})(?![A-Za-z0-9])[./_-]{0,3})*+")
MOST_REST_S = 0.5  # that a batch stands back for those who ask: it would share the interpreter with them


class Meter:
    """Thread-safe. `look_after` is called for each org of a batch, in its transaction; `rest_s` says how long it is
    until nobody has asked anything for a moment."""

    def __init__(
        self,
        store: Store,
        look_after: Callable[[Tx, str, datetime], None],
        *,
        rest_s: Callable[[], float] = lambda: 0.0,
        batch: int = BATCH,
        room: int = ROOM,
    ) -> None:
        self._store, self._look_after, self._rest_s = store, look_after, rest_s
        self._batch, self._room = batch, room
        self._hurry = threading.Event()  # somebody waits
        self._lock = threading.Lock()
        self._waiting: list[Metric] = []
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self._dropped: Counter[str] = Counter()

    def waiting(self, org: str) -> int:
        """Of one org: how much another asks is not for it to know."""
        with self._lock:
            return sum(row.org == org for row in self._waiting)

    def dropped(self, org: str) -> int:
        return self._dropped[org]

    def count(self, metric: Metric) -> None:
        """Never raises and never waits."""
        with self._lock:
            if len(self._waiting) >= self._room:
                self._dropped[metric.org] += 1
            else:
                self._waiting.append(metric)
            is_due = len(self._waiting) >= self._batch or metric.created_at - self._waiting[0].created_at >= AGE
        if is_due and time.monotonic() >= self._not_before:
            self._begin()

    def flush(self) -> None:
        """Store what waits now; returns when that is done, or given up."""
        self._hurry.set()
        for _ in range(2):  # one that runs may have begun before the last was counted
            thread = self._begin()
            if thread is not None:
                thread.join()
        self._hurry.clear()

    def close(self) -> None:
        """Write what waits, unless the store is busy: a question is not to wait for another process's import."""
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()
        self._write(is_last=True)

    def _begin(self) -> threading.Thread | None:
        """The thread that writes; none is needed where nothing waits."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                if not self._waiting:
                    return None
                thread = threading.Thread(target=self._write_quietly, name="clew-meter", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no thread to be had: the next that is counted tries again
                    return None
                self._thread = thread
            return self._thread

    def _write_quietly(self) -> None:
        until = time.monotonic() + MOST_REST_S
        while (rest := min(self._rest_s(), until - time.monotonic())) > 0 and not self._hurry.wait(rest):
            pass
        self._write()

    def _write(self, *, is_last: bool = False) -> None:
        with self._lock:
            rows, self._waiting = self._waiting, []
        for org in dict.fromkeys(row.org for row in rows):
            self._write_org([row for row in rows if row.org == org], is_last=is_last)

    def _write_org(self, rows: list[Metric], *, is_last: bool) -> None:
        try:
            self._store.write_unless_busy(partial(_write, rows=rows, look_after=self._look_after), wait_ms=WAIT_MS)
        except Exception as error:  # nobody who asked is to hear of it
            is_busy = isinstance(error, ClewError) and error.code == "STORE_BUSY"
            self._keep(rows) if is_busy and not is_last else self._lose(rows, error)

    def _keep(self, rows: list[Metric]) -> None:
        """Until the store is free; what finds no room meanwhile is lost."""
        with self._lock:
            self._not_before = time.monotonic() + PAUSE_S
            kept = rows + self._waiting
            self._waiting = kept[: self._room]
            self._dropped.update(row.org for row in kept[self._room :])

    def _lose(self, rows: list[Metric], error: BaseException) -> None:
        with self._lock:
            self._dropped.update(row.org for row in rows)
        _log().info("%d requests were not counted: %s", len(rows), getattr(error, "code", type(error).__name__))


def _write(tx: Tx, *, rows: Sequence[Metric], look_after: Callable[[Tx, str, datetime], None]) -> None:
    """Rows of one org."""
    tx.rollout.add([row._replace(project=_masked(row.project), user=_masked(row.user)) for row in rows])
    try:
        with tx.savepoint():
            look_after(tx, rows[-1].org, rows[-1].created_at)
    except Exception as error:  # what was counted is kept whatever follows from it
        _log().warning("the rollout could not be judged: %s", getattr(error, "code", type(error).__name__))


def _masked(name: str | None) -> str | None:
    """Whoever asks may name any place, so nobody has looked at it yet."""
    return name if name is None or _PLAIN.fullmatch(name) else redact.redact(name).text


def _log() -> logging.Logger:
    return logging.getLogger(__name__)

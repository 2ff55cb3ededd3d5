"""The log of a SQLite store goes into its file beside the writer, so that nobody who commits waits for it.

SQLite would do it at the end of the commit with which the log reaches 1,000 pages: one tool call in a hundred and
sixty waited 5 to 50 ms for that, and single writes spent a tenth of their processor time on it. Twice as many pages
halve that; four times as many made commits dearer again, since a log that grows costs more than one that is written
anew (docs/performance.md). Here a thread does it, on a connection of its own; what is committed meanwhile joins the
log and waits for the next time. The writer starts the log anew once all of it is in the file. Where that never
happens, because commits come without a pause, the writer does it itself before the log grows too large.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

import apsw

from clew.errors import ClewError

DUE = 2_000  # pages: 8 MB; a single write adds some 33
MOST = 3 * DUE
THREAD = "clew-log"

Beside = Callable[[], AbstractContextManager[apsw.Connection]]  # a connection for as long as the block lasts


class Log:
    """Of one store. `watch` is for the connection of its writer, and for no other."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._thread: threading.Thread | None = None
        self._due = DUE

    def watch(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._committed)  # in place of what SQLite does by itself

    def close(self) -> None:
        """Wait for what is under way."""
        if self._thread is not None:
            self._thread.join()

    def _committed(self, connection: apsw.Connection, _name: str, pages: int) -> int:
        """Called by SQLite after each commit of the writer, with what is in the log by now."""
        if pages < DUE:
            self._due = DUE
        elif pages >= MOST:
            with suppress(apsw.Error):  # the commit is done; the next one tries again
                connection.wal_checkpoint()
        elif pages >= self._due and (self._thread is None or not self._thread.is_alive()):
            self._due = pages + DUE
            thread = threading.Thread(target=self._empty, name=THREAD, daemon=True)
            with suppress(RuntimeError):  # no thread to be had: the commit is done, and a later one tries again
                thread.start()
                self._thread = thread
        return apsw.SQLITE_OK

    def _empty(self) -> None:
        """As much as readers let; nobody waits for it, and it waits for nobody."""
        with suppress(apsw.Error, ClewError), self._beside() as connection:
            connection.wal_checkpoint()

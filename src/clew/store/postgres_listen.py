"""Hears what the server tells its listeners, on a connection of its own.

An extra: whoever listens also looks from time to time. So nothing depends on it when the connection is lost, when a
pooler in between does not pass on what is told, or when the server is away. It connects again and tells once then,
since something may have come meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import psycopg
from psycopg import sql

from clew.store.postgres_pool import conninfo

logger = logging.getLogger(__name__)

LOOK_S = 0.5  # how soon it notices that it is to stop
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 30.0


class Listener:
    """One thread, from when it is made until it is stopped."""

    def __init__(self, url: str, channel: str, told: Callable[[], object]) -> None:
        self._url = url
        self._channel = channel
        self._told = told
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"clew-{channel}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Without waiting for it: it tells nothing from now on."""
        self._stopping.set()

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            try:
                with self._connected() as connection:
                    pause_s = FIRST_PAUSE_S
                    self._listen(connection)
            except psycopg.Error as error:
                logger.info("nothing is heard of %s for now: %s", self._channel, type(error).__name__)
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(conninfo(self._url, application_name="clew listening"), autocommit=True)

    def _listen(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        is_told = True
        while not self._stopping.is_set():
            if is_told:
                self._told()
            is_told = any(True for _ in connection.notifies(timeout=LOOK_S, stop_after=1))

"""What a server looks at in the whole store: whether it may be reached, how much waits. Counts, never content."""

from __future__ import annotations

from datetime import datetime

from clew.model.kept import Counted, Waiting
from clew.model.times import to_micros
from clew.store import queries
from clew.store.session import Session


class ServingTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def has_keys(self, now: datetime) -> bool:
        """Whether anybody could show a key that is valid."""
        return bool(self._session.value("serving_has_keys", now=to_micros(now)))

    def schema(self) -> tuple[int, int]:
        """The one of the store, and the one this Clew knows."""
        return self._session.schema(), queries.newest_migration()

    def counted(self, now: datetime, *, next_due_s: float | None) -> Counted:
        """`next_due_s`: as the jobs tell it, less than 0 when one is late."""
        dead = Waiting(int(self._session.value("serving_dead")))
        return Counted(
            jobs=dict(self._session.all("serving_jobs")),
            oldest_due_s=max(0.0, -(next_due_s or 0.0)),
            injects={
                "pending": self._waiting("serving_pending", now),
                "delivered": self._waiting("serving_delivered", now),
                "dead": dead,
            },
            events=self._waiting("serving_host_events", now),
        )

    def _waiting(self, query: str, now: datetime) -> Waiting:
        count, oldest = self._session.one(query) or (0, None)
        return Waiting(count, 0.0 if oldest is None else max(0.0, (to_micros(now) - oldest) / 1e6))

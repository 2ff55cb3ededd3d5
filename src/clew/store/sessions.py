"""The table of sessions."""

from __future__ import annotations

from clew.store.sqlite import Session


class SessionTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

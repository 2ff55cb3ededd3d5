"""What was shown to whom: the injection log, the ranks behind it, session summaries."""

from __future__ import annotations

from clew.store.sqlite import Session


class InjectionTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

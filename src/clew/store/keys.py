"""Keys of the API, and answers kept for repeated requests. Rows to values and back."""

from __future__ import annotations

from clew.store.sqlite import Session


class KeyTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session


class ReplayTable:
    """Answers to requests that named an idempotency key. Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

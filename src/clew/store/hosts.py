"""Sessions and events of hosts. Rows to values and back."""

from __future__ import annotations

from clew.store.sqlite import Session


class HostTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

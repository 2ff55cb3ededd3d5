"""Weights and what moved them: ledger, history, diagnostics."""

from __future__ import annotations

from clew.store.sqlite import Session


class LearningTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

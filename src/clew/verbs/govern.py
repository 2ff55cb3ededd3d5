"""Transfer between projects, retention and the audit log: `clew.transfer`, `clew.retention`, `clew.audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Transfer:
    """Memories of one project for another."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class AuditLog:
    """Who did what; each entry sealed by the next."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class Retention:
    """How long what is kept."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

"""Policies and quarantine: `clew.policies.load(...)`, `clew.quarantine.release(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Policies:
    """The Cedar policies in force."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class Quarantine:
    """Text that waits for a judgement."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

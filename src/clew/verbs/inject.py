"""The verbs of injection: `clew.inject.start(...)`, `clew.inject.event(...)`, `clew.inject.log(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Injection:
    """Blocks for a session: at its start and on its tool calls."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

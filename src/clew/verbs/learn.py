"""The verbs of learning: `clew.learn.feedback(...)` and the analytics over the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Learning:
    """What outcomes teach."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

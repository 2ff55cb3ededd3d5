"""The switches that live in the store: `clew.projects`, `clew.matrix`, `clew.orgs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Projects:
    """What a project has switched on."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class Matrix:
    """What each work type gets: the recall matrix."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class Orgs:
    """What an org has."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

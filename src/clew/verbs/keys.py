"""The verbs about keys of the API: `clew.keys.create(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Keys:
    """Who may ask over the network."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

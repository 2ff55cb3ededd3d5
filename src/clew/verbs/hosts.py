"""The verbs about the hosts of agents: `clew.hosts.event(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Hosts:
    """What the hooks of agents tell, and what they are answered."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

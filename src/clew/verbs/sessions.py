"""The verbs about sessions and their queue: `clew.sessions.claim(...)`, `clew.queue.ack(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.clew import Clew


class Sessions:
    """One agent run each: started, claimed, kept alive by beats, ended."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew


class Queue:
    """What waits to be handed to the agent of a session."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

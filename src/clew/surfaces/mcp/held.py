"""The Clew of a process that lives on. Its daemon may stop or start anew meanwhile; the agent need not notice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import Lock
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.surfaces.mcp.caller import AGENT
from clew.wire.client import RemoteClew

if TYPE_CHECKING:
    from types import TracebackType

    from clew import Clew

UNREACHABLE = "SERVER_UNREACHABLE"  # nothing was sent, so that anything may be asked again


class Held:
    """`open` gives the daemon if one answers, else the store itself. `agent` is who asks there."""

    def __init__(self, open: Callable[[], AbstractContextManager[Clew]], *, agent: str | None = None) -> None:
        self._open, self._agent = open, agent or AGENT
        self._opening = Lock()
        self._opened = ExitStack()
        self.clew = self._entered()

    def reopened(self, error: ClewError, used: Clew) -> bool:
        """Whether it is worth asking again, after an error of the Clew that was `used`."""
        if error.code != UNREACHABLE:
            return False
        with self._opening:
            if self.clew is used:
                self._opened.close()
                self.clew = self._entered()
        return True

    def _entered(self) -> Clew:
        clew = self._opened.enter_context(self._open())
        return clew.acting_as(self._agent) if isinstance(clew, RemoteClew) else clew

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

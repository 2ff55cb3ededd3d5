"""One look whether anything has changed, for as long as a block lasts, per thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Version = tuple[int, int]


class Moment(threading.local):
    _lasts = False
    _seen: Version | None = None

    @contextmanager
    def lasts(self) -> Iterator[None]:
        if self._lasts:
            yield
            return
        self._lasts, self._seen = True, None
        try:
            yield
        finally:
            self._lasts = False

    @property
    def is_under_way(self) -> bool:
        return self._lasts

    def version(self, look: Callable[[], Version]) -> Version:
        """What is seen now, or was when the block first asked."""
        if not self._lasts:
            return look()
        if self._seen is None:
            self._seen = look()
        return self._seen

"""A progress bar on stderr, drawn only for people: silent when stderr is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 30
REDRAW_S = 0.05
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A callable (done, total) to report to; the line is gone afterwards."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    try:
        yield _drawer(label)
    finally:
        print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def _drawer(label: str) -> Callable[[int, int], None]:
    drawn_at = 0.0

    def draw(done: int, total: int) -> None:
        nonlocal drawn_at
        now = time.monotonic()
        if now - drawn_at >= REDRAW_S or done >= total > 0:
            drawn_at = now
            print(_CLEAR_LINE + bar(label, done, total), end="", file=sys.stderr, flush=True)

    return draw


def bar(label: str, done: int, total: int) -> str:
    if total <= 0:
        return f"{label} {done:,}"
    share = min(1.0, done / total)
    filled = "#" * round(WIDTH * share)
    return f"{label} [{filled:<{WIDTH}}] {share:4.0%} {done:,}/{total:,}"

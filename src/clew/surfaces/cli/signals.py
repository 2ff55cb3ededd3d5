"""What ends a command from outside, as one thing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminate_like_interrupt() -> Iterator[None]:
    """A service manager, or `kill`, ends us with SIGTERM: what is held is given back then as on Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

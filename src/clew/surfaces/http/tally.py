"""What a server counts while it answers. Labels are names of ours, never of orgs, users, sessions or memories.

Kept as plain numbers: an answer pays a microsecond for it, and the library that writes them down for Prometheus is
imported when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from threading import Lock

from clew.model.host import KINDS

BUCKETS_S = (0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.5, 10.0)
HOSTS = ("claude-code", "codex")
OTHER = "other"


class Durations:
    """A histogram."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += seconds


class Tally:
    def __init__(self) -> None:
        self._lock = Lock()  # requests are counted on the event loop, hooks in workers
        self.requests: dict[tuple[str, str], Durations] = defaultdict(Durations)  # route, status
        self.hooks: dict[tuple[str, str], Durations] = defaultdict(Durations)  # host, kind of event
        self.refusals: dict[str, int] = defaultdict(int)  # by code
        self.injected_tokens = 0

    def request(self, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self.requests[route, str(status)].add(seconds)

    def hook(self, host: str, kind: str, seconds: float, *, tokens: int = 0) -> None:
        """An event of a host was answered, with so many tokens of memory."""
        host, kind = host if host in HOSTS else OTHER, kind if kind in KINDS else OTHER
        with self._lock:
            self.hooks[host, kind].add(seconds)
            self.injected_tokens += tokens

    def refused(self, code: str) -> None:
        with self._lock:
            self.refusals[code] += 1

"""How often: requests per credential, and wrong credentials per client. Pure but for the time they are told."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil
from threading import Lock
from time import monotonic

from clew.surfaces.http.problems import Refusal

MAX_KNOWN = 10_000  # callers remembered at once: whoever was not seen for longest is forgotten first
MAX_FAILURES = 10
WINDOW_S = 60.0


class Rates:
    """A bucket per credential: `burst` requests at once, and `rate` more each second."""

    def __init__(self, rate: float, burst: int, *, now: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        now = self._now()
        left, at = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        is_allowed = left >= 1
        self._buckets[key] = (left - 1 if is_allowed else left, now)
        if len(self._buckets) > MAX_KNOWN:
            self._buckets.popitem(last=False)
        if not is_allowed:
            raise too_many("there are too many requests", (1 - left) / self._rate)


class Failures:
    """Wrong credentials of a client: ten in a minute, then it is no longer told that they are wrong. Right ones are
    let in all the same: others may have the same address."""

    def __init__(self, *, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._lock = Lock()  # workers look at it, too
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, client: str) -> None:
        with self._lock:
            times = self._recent(client)
            if len(times) >= MAX_FAILURES:
                raise too_many("there were too many wrong credentials", times[0] + WINDOW_S - self._now())
            times.append(self._now())
            self._times[client] = times
            self._times.move_to_end(client)
            if len(self._times) > MAX_KNOWN:
                self._times.popitem(last=False)

    def _recent(self, client: str) -> deque[float]:
        times = self._times.get(client) or deque()
        while times and times[0] <= self._now() - WINDOW_S:
            times.popleft()
        return times


def too_many(message: str, wait_s: float) -> Refusal:
    wait = max(1, ceil(wait_s))
    return Refusal(
        429, message, code="TOO_MANY_REQUESTS", next=f"wait {wait} s", headers={"Retry-After": str(wait)}
    )

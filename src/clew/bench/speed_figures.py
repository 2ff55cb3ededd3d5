"""What one measurement of `clew bench speed` looks like: times by the wall and by the processor, memory, growth.

Nothing heavy is imported here: a process that is to be measured cold imports it, too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from clew.bench.metrics import percentile

T = TypeVar("T")

MANY = 100  # runs from which a 99th percentile says more than the greatest of them
STATUS = Path("/proc/self/status")


class Taken(NamedTuple):
    """Seconds. `cpu_s` is that of every thread; None where the platform does not tell."""

    wall_s: float
    cpu_s: float | None


def timed(action: Callable[[], object]) -> Taken:
    return answered(action)[1]


def answered(action: Callable[[], T]) -> tuple[T, Taken]:
    """What it answers, and what that took."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = action()
    return answer, Taken(time.perf_counter() - wall, time.process_time() - cpu)


def timed_process(command: Sequence[str], *, env: Mapping[str, str] | None = None, input: bytes = b"") -> Taken:
    """From its start until it has ended. Its answer is not looked at; that it fails is an error."""
    cpu, wall = _children_cpu_s(), time.perf_counter()
    subprocess.run(command, env=env, input=input, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - wall
    after = _children_cpu_s()
    return Taken(wall, None if cpu is None or after is None else after - cpu)


def _children_cpu_s() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def figure(taken: Sequence[Taken]) -> dict[str, Any]:
    """Median and the high end, by the wall and by the processor: p99, or p95 of few runs."""
    told: dict[str, Any] = {"runs": len(taken), "ms": spread([one.wall_s for one in taken])}
    cpu = [one.cpu_s for one in taken if one.cpu_s is not None]
    return told | ({"cpu_ms": spread(cpu)} if len(cpu) == len(taken) else {})


def spread(seconds: Sequence[float]) -> dict[str, float]:
    shares = (50, 99) if len(seconds) >= MANY else (50, 95)
    return {f"p{share}": round(percentile(seconds, share / 100) * 1_000, 4) for share in shares}


def high(spread: Mapping[str, float]) -> tuple[str, float]:
    """The name and the value of the high end of a spread."""
    return next((name, spread[name]) for name in ("p99", "p95") if name in spread)


def times(ours: Mapping[str, Any], bare: Mapping[str, Any]) -> dict[str, float]:
    """How many times a bare part's figure ours is, share by share."""
    return {
        share: round(value / max(1e-9, bare["ms"][share]), 2)
        for share, value in ours["ms"].items()
        if share in bare["ms"]
    }


# -- memory ------------------------------------------------------------------------------------------


def resident_mb() -> float | None:
    """What this process holds now; None where the platform does not tell."""
    return _status("VmRSS:")


def peak_memory_mb() -> float | None:
    """The most that this process ever held. Linux is asked for that of this program alone: what getrusage says
    there includes the process that started it. None where the platform does not tell."""
    peak = _status("VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def _status(name: str) -> float | None:
    if not STATUS.exists():
        return None
    found = (line.split()[1] for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return next((round(int(kilobytes) / 1024, 1) for kilobytes in found), None)


# -- growth ------------------------------------------------------------------------------------------


def figures(row: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every figure of a size with the names that lead to it."""
    for name, value in row.items():
        if isinstance(value, dict) and "ms" in value:
            yield (*path, name), value
        elif isinstance(value, dict):
            yield from figures(value, (*path, name))


def growth(stores: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How many times the median of the size before each figure takes, and how much more memory."""
    found: list[dict[str, Any]] = []
    sizes = list(stores)
    for one, other in pairwise(sizes):
        pair = {"from": int(one), "to": int(other)} | _asked(stores[one], stores[other])
        before, after = dict(figures(stores[one])), dict(figures(stores[other]))
        for path in before.keys() & after.keys():
            factors = _factors(before[path], after[path])
            found.append({"step": " ".join(path), **pair, **factors})
        small, large = (stores[size]["memory"].get("peak_mb") for size in (one, other))
        if small and large:
            found.append({"step": "memory peak", **pair, "mb": round(large / small, 2)})
    return sorted(found, key=lambda row: (row["from"], row["step"]))


def _asked(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """How many memories the project sees that is asked: where they differ, its steps grow by that."""
    return {"in_project": [before["in_project"], after["in_project"]]}


def _factors(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    named = {"wall": "ms", "cpu": "cpu_ms"}
    return {
        name: round(after[key]["p50"] / before[key]["p50"], 2)
        for name, key in named.items()
        if before.get(key, {}).get("p50") and "p50" in after.get(key, {})
    }

"""One size of `clew bench speed` in a process of its own: a store is filled once, and every step is done on it.

`python -m clew.bench.speed_store`, told what to do in JSON, tells how far it is line by line, and then its row.
What it holds in memory is its own: no other size, and nothing of the program that started it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import clew
from clew.bench import speed_steps as steps
from clew.bench import speed_writes
from clew.bench.speed_cold import ONE_SCOPE, PROJECT, opened
from clew.bench.speed_figures import Taken, figure, peak_memory_mb, resident_mb
from clew.values import dataclass

FILL, STEPS = 10, 27  # of a size; filling the store counts as many as it takes long
COMMAND = (sys.executable, "-P", "-m", "clew.bench.speed_store")
Told = Callable[[int], object]  # how many of these are done


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often each thing is done: often enough for a steady median, or just to see that it works."""

    ingest: int = 20_000  # memories of the imports beside bare parts; in the first of them all words are new
    writes: int = 300
    asks: int = 500
    walks: int = 300
    calls: int = 500
    cycles: int = 500
    processes: int = 100  # that are as short as a hook
    starts: int = 9  # that open a store


QUICK = Rounds(ingest=1_000, writes=30, asks=50, walks=30, calls=50, cycles=50, processes=5, starts=2)


def in_process(size: int, rounds: Rounds, told: Told) -> dict[str, Any]:
    """`measure` in a new process."""
    with speed_writes.folder() as home:
        asked = json.dumps({"size": size, "home": str(home), "rounds": asdict(rounds)})
        # In a session of its own: Ctrl-C is said to us alone, and what it has started ends with it.
        pipe = subprocess.PIPE
        with subprocess.Popen([*COMMAND, asked], stdout=pipe, text=True, start_new_session=True) as process:
            row = _listen(process, told)
        if process.returncode or row is None:
            raise RuntimeError(f"the process that measures {size:,} memories ended with {process.returncode}")
    return row


def _listen(process: subprocess.Popen[str], told: Told) -> dict[str, Any] | None:
    row = None
    assert process.stdout
    try:
        for line in process.stdout:
            heard = json.loads(line)
            if isinstance(heard, dict):
                row = heard
            else:
                told(heard)
    except BaseException:  # nobody waits for the row any more
        _end(process)
        raise
    return row


def _end(process: subprocess.Popen[str]) -> None:
    """At once, with all that it has started: what they write is in `home`, which goes with them."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def measure(size: int, home: Path, rounds: Rounds, told: Told) -> dict[str, Any]:
    """Every step on a store of so many memories, which is made in `home`."""
    row: dict[str, Any] = {"memories": size, "in_project": steps.in_project(size), "memory": {}}
    for done, (path, value) in enumerate(_in_order(size, home, rounds, row["memory"], told), FILL):
        _put(row, path, value)
        told(done)
    return row


def _put(row: dict[str, Any], path: tuple[str, ...], value: dict[str, Any]) -> None:
    for name in path:
        row = row.setdefault(name, {})
    row.update(value)


Step = tuple[tuple[str, ...], dict[str, Any]]  # where it stands in the row, and what was measured


def _in_order(size: int, home: Path, rounds: Rounds, held: dict[str, Any], told: Told) -> Iterator[Step]:
    with opened(home) as memory:
        memory.remember("warm up", scope=PROJECT)
        held["before_fill_mb"] = resident_mb()
        filled = steps.fill(memory, size, home, told=lambda written: told((FILL - 1) * written // size))
        _note(held, "after_fill")
        edges = memory.graph.status().counts["edges"]
    yield ("ingest", "warm"), filled | {"bytes_per_memory": speed_writes.size_of(home) // size}
    with opened(home) as memory:
        yield from _warm(memory, size, home, rounds, held)
        colds = steps.colds(home, memory, size, rounds.starts)
    yield ("graph",), {"edges": edges}
    openings: list[Taken] = []
    for path, measured in colds:
        value, opening = measured()
        openings += opening
        yield path, value
    yield ("startup", "open"), figure(openings)
    yield ("startup",), steps.start_up(home, rounds.starts)
    yield (), steps.plugged_in(home, asks=rounds.asks, runs=rounds.processes, starts=rounds.starts)


def _warm(memory: clew.Clew, size: int, home: Path, rounds: Rounds, held: dict[str, Any]) -> Iterator[Step]:
    """The smaller scope first: what it makes the process hold is told apart from what the whole does."""
    memory.recall("the first", scope=PROJECT)
    _note(held, "after_first_recall")
    yield ("recall", "in_project", "warm"), steps.recall(memory, PROJECT, size, rounds.asks)
    yield ("recall", "in_project", "plain"), steps.plain_recall(home, rounds.asks)
    yield ("recall", "in_project", "after_write"), steps.recall_after_writes(memory, max(1, rounds.asks // 5))
    memory.recall("the first", scope=ONE_SCOPE)
    _note(held, "after_first_recall_in_one_scope")
    yield ("recall", "in_one_scope", "warm"), steps.recall(memory, ONE_SCOPE, size, rounds.asks)
    yield ("graph", "warm"), steps.walks(memory, size, rounds.walks)
    yield ("event", "warm"), steps.events(memory, size, rounds.calls)
    yield ("cycle", "warm"), steps.cycles(memory, rounds.cycles, home)
    _note(held, "after_all")


def _note(held: dict[str, Any], when: str) -> None:
    """What is resident now, how much more than before the store was filled, and the most it ever was."""
    gc.collect()
    held[f"{when}_mb"], held["peak_mb"] = resident_mb(), peak_memory_mb()
    if held[f"{when}_mb"] is not None:
        held[f"grown_{when}_mb"] = round(held[f"{when}_mb"] - held["before_fill_mb"], 1)


def _tell(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    _tell(measure(given["size"], Path(given["home"]), Rounds(**given["rounds"]), _tell))

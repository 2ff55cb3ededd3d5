"""One step of `clew bench speed`, for the first time in a process: the process (`python -m clew.bench.speed_cold`)
and what starts it.

The clock begins before the store is opened, so that everything that is imported, loaded and read for the step
counts. The file itself is in the cache of the operating system by then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import clew
from clew.bench.speed_figures import Taken, answered, figure, peak_memory_mb, timed

# A memory without a project is seen from every project: so one store answers both from a project that sees a few
# of its memories and from one that sees them all.
PROJECT, ONE_SCOPE = clew.Scope(project="bench"), clew.Scope(project="large")
QUESTION = "government water service"
STEPS = ("write", "recall in_project", "recall in_one_scope", "graph", "event", "cycle")


def opened(home: Path, **settings: Any) -> clew.Clew:
    """The store of the bench. Without jobs in the background: they would be measured along."""
    deliver = {"max_pending": 10_000, "lease_s": 3_600.0}
    return clew.open(home / "clew.db", home=home, relate={"in_process": False}, deliver=deliver, **settings)


def environment(home: Path) -> dict[str, str]:
    """For processes that are to use this store and no other, and no module of the directory they start in."""
    at = {"CLEW_HOME": str(home), "CLEW_URL": str(home / "clew.db"), "CLEW_RELATE__IN_PROCESS": "false"}
    kept = {name: value for name, value in os.environ.items() if name != "CLEW_PROJECT"}
    return kept | at | {"PYTHONSAFEPATH": "1"}


def cold(home: Path, step: str, asked: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[Taken]]:
    """Opening and one step, in a process for each that is asked, one after another; and what each opening took."""
    told = [_process(home, {"step": step, **one}) for one in asked]
    both = [Taken(*map(sum, zip(one["open"], one["first"], strict=True))) for one in told]
    row = figure(both) | {"peak_mb": max(one["peak_mb"] or 0 for one in told)}
    return row, [Taken(*one["open"]) for one in told]


def _process(home: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "clew.bench.speed_cold", json.dumps({"home": str(home), **asked})]
    done = subprocess.run(command, env=environment(home), check=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def first(home: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What `cold` reads from each process."""
    memory, opening = answered(lambda: opened(home))
    with memory:
        taken = timed(_step(memory, asked))
    return {"open": opening, "first": taken, "peak_mb": peak_memory_mb()}


def _step(memory: clew.Clew, asked: Mapping[str, Any]) -> Callable[[], object]:
    match asked["step"]:
        case "write":
            return partial(memory.remember, f"the first write of process {os.getpid()}", scope=PROJECT)
        case "recall in_project":
            return partial(memory.recall, QUESTION, scope=PROJECT)
        case "recall in_one_scope":
            return partial(memory.recall, QUESTION, scope=ONE_SCOPE)
        case "graph":
            walk = partial(memory.recall, plan="graph_mode", retrieval="lexical", counted=False)
            return partial(walk, asked["query"], scope=ONE_SCOPE)
        case "event":
            return partial(_event, memory, asked["event"])
        case "cycle":
            return partial(_cycle, memory, asked["session"], asked["worker"], asked["token"])
        case unknown:
            raise ValueError(f"{unknown} is none of {STEPS}")


def _event(memory: clew.Clew, event: dict[str, Any]) -> None:
    """With the injector made first: an agent does not wait for that, it is told that nothing is ready yet."""
    memory.inject.warm()
    memory.inject.event(event)


def _cycle(memory: clew.Clew, session: str, worker: str, token: int) -> None:
    delivery = memory.queue.claim(session, worker, token)
    if delivery is None or not memory.queue.ack(session, delivery.delivery_id, worker, token):
        raise RuntimeError("nothing was claimed although something waited")


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(first(Path(given.pop("home")), given)))

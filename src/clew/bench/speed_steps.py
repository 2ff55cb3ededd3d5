"""The steps of `clew bench speed`, each on a store that is there: filled once, then asked in every way.

Warm is what a process takes that has done the same before; cold is the first time in a process, opening included.
Each answers figures: see `speed_figures`.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import clew
from clew.bench import graph, inject, queue, speed_bare, speed_writes, surfaces
from clew.bench.speed_cold import ONE_SCOPE, PROJECT, QUESTION, cold, environment, opened
from clew.bench.speed_figures import Taken, figure, spread, timed, timed_process, times
from clew.bench.texts import questions, texts

PROJECT_SIZE = 5_000
NAMING = 5  # one memory in so many names services, which is what the graph grows by
CHARS = 250


# -- a store of one size -----------------------------------------------------------------------------


def drafts(first: int, last: int, size: int) -> Iterator[clew.Draft]:
    """Memories by their numbers. Some name services, most name a file, all have words of a vocabulary."""
    rng = random.Random(first + 10)
    for number, text in enumerate(texts(last - first, chars=CHARS, seed=first + 10), first):
        named = f" {graph.services(rng, size)}" if number % NAMING == 0 else ""
        yield clew.Draft(content=text + named, paths=inject.files_of(number))


def fill(memory: clew.Clew, size: int, home: Path, *, told: Callable[[int], object]) -> dict[str, Any]:
    """The first 5,000 belong to no project, and so are seen from each; the rest to one large project, which thus
    sees them all. `told` how many there are after each batch."""
    written: list[speed_writes.Batch] = []
    path = home / "bare.db"
    with closing(speed_bare.full_text_table(path)) as bare:
        for scope, first, last in ((clew.Scope(), 0, in_project(size)), (ONE_SCOPE, in_project(size), size)):
            for batch in speed_writes.batches(drafts(first, last, size)):
                written.append(speed_writes.write_batch(memory, batch, scope, bare))
                told(sum(batch.many for batch in written))
    path.unlink()
    return speed_writes.ingest_row(written)


def in_project(size: int) -> int:
    """How many of so many memories the project sees that is asked."""
    return min(size, PROJECT_SIZE)


# -- warm --------------------------------------------------------------------------------------------


def recall(memory: clew.Clew, scope: clew.Scope, size: int, asks: int) -> dict[str, Any]:
    """One question after another, each another, once the graph is loaded, which happens behind the first. A scope
    too large to be kept is searched where it lies."""
    notes = memory.recall("warm up", scope=scope).trace.notes
    loading = graph.wait_for_arrays(memory, size, scope=scope)
    taken = [timed(partial(memory.recall, text, scope=scope)) for text in questions(asks)]
    return figure(taken) | {"is_kept": "read_model" not in notes, "graph_loading_s": round(loading, 2)}


def plain_recall(home: Path, asks: int) -> dict[str, Any]:
    """The same without the graph and the last look: what words and meaning alone take."""
    with opened(home, rank={"refine": False}) as memory:
        ask = partial(memory.recall, scope=PROJECT, graph=False)
        ask("warm up")
        return figure([timed(partial(ask, text)) for text in questions(asks)])


def recall_after_writes(memory: clew.Clew, asks: int) -> dict[str, Any]:
    """Each recall has to take in one memory more than the one before it."""
    taken = []
    for content, text in zip(texts(asks, chars=CHARS, seed=4), questions(asks), strict=True):
        memory.remember(content, scope=PROJECT)
        taken.append(timed(partial(memory.recall, text, scope=PROJECT)))
    return figure(taken)


def walks(memory: clew.Clew, size: int, asks: int) -> dict[str, Any]:
    """Recalls by words that walk the graph of everything; and the stage of the walk alone."""
    graph.wait_for_arrays(memory, size, scope=ONE_SCOPE)
    walked = graph.walked(memory, graph.questions(asks, size), scope=ONE_SCOPE)
    ways = Counter(one.way for one in walked)
    return figure([one.taken for one in walked]) | {
        "walk_ms": spread([one.walk_ms / 1_000 for one in walked]),
        "ways": dict(ways),
    }


def events(memory: clew.Clew, size: int, calls: int) -> dict[str, Any]:
    """Tool calls through the injector; one in five is about a file that a memory names."""
    memory.inject.warm()
    inject.called(memory, max(1, calls // 25), files=in_project(size), seed=3)
    answers = inject.called(memory, calls, files=in_project(size))
    ours, recalls = figure([call.taken for call in answers]), figure([call.recall for call in answers])
    return ours | {
        "outcomes": dict(Counter(call.outcome for call in answers)),
        "tokens": max(call.tokens for call in answers),
        "budget_tokens": memory.settings.inject.budget_tokens,
        "times_recall": times(ours, recalls),
    }


def cycles(memory: clew.Clew, count: int, home: Path) -> dict[str, Any]:
    """A claim and its acknowledgement, in turns with a bare FULL commit of the same text."""
    bare: list[Taken] = []
    with closing(speed_bare.full_table(home / "bare.db")) as table:
        commit = partial(speed_bare.commit_one, table, queue.TEXT)
        taken = queue.claim_cycles(memory, count, between=lambda: bare.append(timed(commit)))
    ours, theirs = figure(taken), figure(bare)
    return ours | {"bare_full_ms": theirs["ms"], "times_bare_full_commit": times(ours, theirs)}


# -- cold, and processes -----------------------------------------------------------------------------


Cold = tuple[tuple[str, ...], Callable[[], tuple[dict[str, Any], list[Taken]]]]


def colds(home: Path, memory: clew.Clew, size: int, starts: int) -> list[Cold]:
    """(where it stands in the row, what measures it) for each step, for when this process has let go of the store.
    What the step itself does not do, such as opening a session, is done now."""
    jobs = [queue.held_session(memory, number) for number in range(2 * starts)]
    for job in jobs[:starts]:
        memory.queue.enqueue(job.id, queue.TEXT)
    cycle = [{"session": job.id, "worker": job.worker, "token": job.token} for job in jobs[:starts]]
    event = [
        {"event": inject.event(job.id, 0, QUESTION, files=in_project(size))}  # 0: about a file that is known
        for job in jobs[starts:]
    ]
    plain: list[dict[str, Any]] = [{} for _ in range(starts)]
    walk = [{"query": text} for text in graph.questions(starts, size)]
    asked = {
        "write": plain, "recall in_project": plain, "recall in_one_scope": plain, "graph": walk, "event": event,
        "cycle": cycle,
    }  # fmt: skip
    return [((*_part(step), "cold"), partial(cold, home, step, each)) for step, each in asked.items()]


def _part(step: str) -> tuple[str, ...]:
    return ("ingest",) if step == "write" else tuple(step.split())


def start_up(home: Path, runs: int) -> dict[str, Any]:
    """Whole processes in turns: an interpreter that does nothing, one that imports numpy, ours that only tells what
    it can, and ours that recalls once."""
    clew_ = [sys.executable, "-m", "clew"]
    commands = {
        "bare_python": [sys.executable, "-I", "-S", "-c", "pass"],
        "import_numpy": [sys.executable, "-c", "import numpy"],
        "help": [*clew_, "--help"],
        "recall": [*clew_, "recall", QUESTION, "--project", str(PROJECT.project), "--json"],
    }
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(timed_process(command, env=environment(home)))
    told = {name: figure(each) for name, each in taken.items()}
    told["help"]["times_bare_python"] = times(told["help"], told["bare_python"])
    told["recall"]["times_import_numpy"] = times(told["recall"], told["import_numpy"])
    return told


def plugged_in(home: Path, *, asks: int, runs: int, starts: int) -> dict[str, Any]:
    """A daemon with hooks that tell it; MCP; and last, hooks without one: a daemon would take in their spool."""
    if not surfaces.CAN_SERVE:
        return {}
    told = surfaces.with_daemon(home, asks=asks, runs=runs, starts=starts)
    if mcp := surfaces.mcp_call(home, calls=runs):
        told["mcp"] = {"recall": mcp}
    told["hook"]["without_daemon"] = surfaces.without_daemon(home, runs=runs)
    return told

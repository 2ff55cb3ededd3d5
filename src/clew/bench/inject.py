"""`clew bench inject`: what a tool call waits for the injector, in a large store and without faults.

Made-up memories about made-up files, 5,000 of them in the project that is asked. Of the calls, some are about
nothing, some are about a file that memories name: these are pushed onto the durable queue, which costs a synced
commit. A call asks two questions; so a plain recall and a bare commit are made after each and told beside it: a
machine or a disk that is busy hits all alike.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw

import clew
from clew.bench.graph import wait_for_arrays
from clew.bench.metrics import percentile
from clew.bench.speed_bare import commit_one, full_table
from clew.bench.speed_figures import Taken, answered, timed
from clew.bench.texts import questions, texts
from clew.model.progress import Progress, no_progress

PROJECT = "bench"
PROJECT_SIZE = 5_000
CALLS_PER_SESSION = 50
PUSHING = 5  # one call in so many is about a file that a memory names
GOAL_P99_MS = 8.0
WAIT_S = 30.0
CALM, CALM_S = 300, 0.01  # a disk is calm when so many commits in a row took less than that


class Call(NamedTuple):
    """A tool call as the injector answered it, a plain recall right after it, and a bare commit."""

    outcome: str
    taken: Taken
    tokens: int  # of what was found for it
    recall: Taken
    commit: Taken


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(args.memories, calls=args.calls, in_project=args.in_project, progress=progress)


def run(
    memories: int,
    *,
    calls: int = 1_000,
    in_project: int = PROJECT_SIZE,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Progress is told in memories written, then in calls."""
    in_project = min(memories, in_project)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with _opened(Path(folder)) as memory:
            _fill(memory, memories, in_project, lambda done: progress(done, memories + calls))
        with _opened(Path(folder)) as memory, closing(full_table(Path(folder) / "bare.db")) as bare:
            memory.inject.warm()
            called(memory, 20, files=in_project, seed=3, bare=bare)  # loads the project's arrays
            wait_for_arrays(memory, memories, scope=clew.Scope(project=PROJECT))
            _wait_for_disk(bare)
            answers = called(memory, calls, files=in_project, seed=7, bare=bare)
            progress(memories + calls, memories + calls)
    return _report(memories, in_project, answers)


def _opened(folder: Path) -> clew.Clew:
    alone = {"in_process": False}  # jobs that the memories leave behind would be measured along
    return clew.open(folder / "clew.db", home=folder, deliver={"max_pending": 10_000}, relate=alone)


def _wait_for_disk(bare: apsw.Connection) -> None:
    """Until what was written before is on the disk, and what was freed before has been given back: until then it
    answers some commits after 50 or 100 ms, bare ones as well."""
    if hasattr(os, "sync"):
        os.sync()
    until, calm = time.monotonic() + WAIT_S, 0
    while calm < CALM and time.monotonic() < until:
        calm = calm + 1 if _commit(bare).wall_s < CALM_S else 0


def _report(memories: int, in_project: int, answers: list[Call]) -> dict[str, Any]:
    report: dict[str, Any] = {
        "memories": memories,
        "in_project": in_project,
        "calls": len(answers),
        "outcomes": dict(Counter(call.outcome for call in answers)),
        "ms": _spread([call.taken for call in answers]),
        "recall_ms": _spread([call.recall for call in answers]),
        "goal_p99_ms": GOAL_P99_MS,
        "bare_full_commit_ms": _spread([call.commit for call in answers]),
    }
    for outcome in ("queued", "no-match"):
        report[f"{outcome}_ms"] = _spread([call.taken for call in answers if call.outcome == outcome])
    return report


def _spread(taken: list[Taken]) -> dict[str, float]:
    ms = [one.wall_s * 1_000 for one in taken]
    return {name: round(percentile(ms, share), 3) for name, share in (("p50", 0.5), ("p99", 0.99))}


def _fill(memory: clew.Clew, size: int, in_project: int, progress: Any) -> None:
    for start in range(0, size, in_project):
        project = PROJECT if start == 0 else f"other-{start}"
        drafts = _drafts(min(in_project, size - start), seed=start + 10)
        for _ in memory.remember_many(drafts, scope=clew.Scope(project=project)):
            pass
        progress(min(size, start + in_project))


def _drafts(count: int, *, seed: int) -> Iterator[clew.Draft]:
    for number, text in enumerate(texts(count, chars=250, seed=seed)):
        yield clew.Draft(content=text, paths=files_of(number))


def files_of(number: int) -> tuple[str, ...]:
    """What the memory of that number is about: two in three name a file of their own."""
    return (_file(number),) if number % 3 else ()


def _file(number: int) -> str:
    return f"src/part{number % 97}/module{number}.py"


def called(
    memory: clew.Clew, calls: int, *, files: int, seed: int = 7, bare: apsw.Connection | None = None
) -> list[Call]:
    """One call after another over a store that is there, in sessions as long as an agent's, each followed by a
    plain recall in the same project, and a commit of `bare` if there is one. `files`: of so many memories."""
    answers: list[Call] = []
    session = ""
    pairs = zip(questions(calls, seed=seed), questions(calls, seed=seed + 1), strict=True)
    for number, (text, other) in enumerate(pairs):
        if number % CALLS_PER_SESSION == 0:
            session = memory.sessions.start(project=PROJECT, agent="bench").id
            memory.sessions.claim(session, "bench")
        told = event(session, number, text, files=files)
        result, taken = answered(partial(memory.inject.event, told))
        ask = partial(memory.recall, other, scope=clew.Scope(project=PROJECT), counted=False)
        commit = _commit(bare) if bare else Taken(0, 0)
        answers.append(Call(result.outcome, taken, result.tokens, timed(ask), commit))
    return answers


def _commit(bare: apsw.Connection) -> Taken:
    """One synced insert, as the queue needs at the least."""
    return timed(partial(commit_one, bare, "x" * 250))


def event(session: str, number: int, text: str, *, files: int) -> dict[str, Any]:
    """A tool call. One in five is about a file that one of the first so many memories names."""
    told: dict[str, Any] = {"v": 1, "session": session, "event_id": f"e{number}", "tool": "Edit", "query": text}
    known = _file(3 * (number % max(1, (files - 1) // 3)) + 1)
    return told | {"paths": [known if number % PUSHING == 0 else f"docs/page{number}.md"]}


def table(report: dict[str, Any]) -> str:
    lines = [f"{report['memories']:,} memories, {report['in_project']:,} in the project, {report['calls']:,} calls"]
    for name, title in (
        ("ms", "a call"),
        ("queued_ms", "  that is pushed"),
        ("no-match_ms", "  that is not"),
        ("recall_ms", "a plain recall"),
        ("bare_full_commit_ms", "a bare synced commit"),
    ):
        lines.append(f"{title:<22} p50 {report[name]['p50']:>8.2f} ms   p99 {report[name]['p99']:>8.2f} ms")
    outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in sorted(report["outcomes"].items()))
    return "\n".join([*lines, f"goal: p99 below {report['goal_p99_ms']:g} ms; outcomes: {outcomes}"])

"""`clew bench inject`: what a tool call waits for the injector, in a large store and without faults.

Made-up memories about made-up files, 5,000 of them in the project that is asked. Of the calls, some are about
nothing, some are about a file that memories name: these are pushed onto the durable queue, which costs a synced
commit. A call asks two questions; so a plain recall and a bare commit of the same run are told beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

import clew
from clew.bench.metrics import percentile
from clew.bench.texts import questions, texts
from clew.model.progress import Progress, no_progress

PROJECT = "bench"
PROJECT_SIZE = 5_000
CALLS_PER_SESSION = 50
PUSHING = 5  # one call in so many is about a file that a memory names
GOAL_P99_MS = 8.0


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
        path = Path(folder) / "clew.db"
        with clew.open(path, home=Path(folder), deliver={"max_pending": 10_000}) as memory:
            _fill(memory, memories, in_project, lambda done: progress(done, memories + calls))
            memory.inject.warm()
            _called(memory, 20, seed=3)  # loads the project's arrays
            answers, recalls = _called(memory, calls, seed=7)
            progress(memories + calls, memories + calls)
        commits = _bare_commits(Path(folder) / "bare.db", max(20, calls // PUSHING))
    report = _report(memories, in_project, answers, commits)
    return report | {"recall_ms": _spread(recalls)}


def _report(
    memories: int, in_project: int, answers: list[tuple[str, float]], commits: list[float]
) -> dict[str, Any]:
    every = [ms for _outcome, ms in answers]
    report: dict[str, Any] = {
        "memories": memories,
        "in_project": in_project,
        "calls": len(answers),
        "outcomes": dict(Counter(outcome for outcome, _ms in answers)),
        "ms": _spread(every),
        "goal_p99_ms": GOAL_P99_MS,
        "bare_full_commit_ms": _spread(commits),
    }
    for outcome in ("queued", "no-match"):
        report[f"{outcome}_ms"] = _spread([ms for told, ms in answers if told == outcome])
    return report


def _spread(values: list[float]) -> dict[str, float]:
    return {name: round(percentile(values, share), 3) for name, share in (("p50", 0.5), ("p99", 0.99))}


def _fill(memory: clew.Clew, size: int, in_project: int, progress: Any) -> None:
    for start in range(0, size, in_project):
        project = PROJECT if start == 0 else f"other-{start}"
        drafts = _drafts(min(in_project, size - start), seed=start + 10)
        for _ in memory.remember_many(drafts, scope=clew.Scope(project=project)):
            pass
        progress(min(size, start + in_project))


def _drafts(count: int, *, seed: int) -> Iterator[clew.Draft]:
    for number, text in enumerate(texts(count, chars=250, seed=seed)):
        yield clew.Draft(content=text, paths=(_file(number),) if number % 3 else ())


def _file(number: int) -> str:
    return f"src/part{number % 97}/module{number}.py"


def _called(memory: clew.Clew, calls: int, *, seed: int) -> tuple[list[tuple[str, float]], list[float]]:
    """(outcome, milliseconds) of each call, in sessions as long as an agent's; and of a plain recall after each, so
    that a busy machine hits both alike."""
    answers, recalls = [], []
    session = ""
    pairs = zip(questions(calls, seed=seed), questions(calls, seed=seed + 1), strict=True)
    for number, (text, other) in enumerate(pairs):
        if number % CALLS_PER_SESSION == 0:
            session = memory.sessions.start(project=PROJECT, agent="bench").id
            memory.sessions.claim(session, "bench")
        event = _event(session, number, text)
        started = time.perf_counter()
        result = memory.inject.event(event)
        answers.append((result.outcome, (time.perf_counter() - started) * 1_000))
        recalls.append(_recall_ms(memory, other))
    return answers, recalls


def _recall_ms(memory: clew.Clew, text: str) -> float:
    """Of one plain recall in the same project: a call asks two questions of that kind."""
    started = time.perf_counter()
    memory.recall(text, scope=clew.Scope(project=PROJECT), counted=False)
    return (time.perf_counter() - started) * 1_000


def _event(session: str, number: int, text: str) -> dict[str, Any]:
    event: dict[str, Any] = {"v": 1, "session": session, "event_id": f"e{number}", "tool": "Edit", "query": text}
    path = _file(3 * number + 1) if number % PUSHING == 0 else f"docs/page{number}.md"
    return event | {"paths": [path]}


def _bare_commits(path: Path, count: int) -> list[float]:
    """Milliseconds of one synced insert each, as the queue needs at the least."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.execute("CREATE TABLE t (x TEXT)")
    took = []
    for _ in range(count):
        started = time.perf_counter()
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 250,))
        took.append((time.perf_counter() - started) * 1_000)
    connection.close()
    return took


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

"""`clew bench rollout`: a week of requests with a fault in the middle, on a clock that is told the time.

A real store, its real graph, and the public calls that agents make: `context` mostly, `recall` for one in twenty.
On the third day the table of edges is gone for some hours, so that every walk raises. Told by the hour: how many
requests there were, how many got the graph, why the others did not, what the gate said. Nobody sets anything: what
blocks and what heals is the gate alone.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

import clew
from clew.bench.places import check_place, named, write
from clew.bench.rollout_plot import week_svg
from clew.bench.texts import texts
from clew.bench.week import DAYS, FAULT_AT, REPAIRED_AT, START, Asked, Week, at, report_of
from clew.compose import compose
from clew.model.progress import Progress, no_progress
from clew.settings import load_settings
from clew.values import dataclass

PROJECT = clew.Scope(project="bench")
MEMORIES = SERVICES = 300  # each memory names two of the services
SEED = 11
RECALLS = 20  # one request in so many is a plain recall
EXPLICIT = 4  # of the others, one in so many names its strategy
LIMIT = 2  # the memories that name the service asked about
BREAK = "ALTER TABLE graph_edges RENAME TO graph_edges_lost"
REPAIR = "ALTER TABLE graph_edges_lost RENAME TO graph_edges"


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    plot = named("--plot", args.plot)
    if plot:
        check_place(plot)
    report = run(args.requests, progress=progress)
    if plot:
        write(plot, week_svg(report), report)
    return report


@dataclass
class WeekClock:
    """Stands still until it is told otherwise."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


def run(requests: int = 20_000, *, progress: Progress = no_progress) -> dict[str, Any]:
    """Progress is told in requests."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home, clock = Path(folder), WeekClock(START - timedelta(hours=1))
        settings = load_settings({"relate": {"in_process": False}}, home=home, environ={})
        path = home / "clew.db"
        with compose(settings, path, in_background=False, clock=clock) as memory:
            for _ in memory.remember_many(_drafts(), scope=PROJECT):
                pass
            week = _lived(memory, clock, path, schedule(requests), progress)
    seconds = time.perf_counter() - began
    spent = {"seconds": round(seconds, 1), "requests_per_s": round(requests / seconds)}
    return {"memories": MEMORIES, **spent, **report_of(week)}


def _drafts() -> Iterator[clew.Draft]:
    for number, text in enumerate(texts(MEMORIES, chars=80)):
        yield clew.Draft(content=f"{text} {_service(number)} {_service(7 * number + 3)}")


def _service(number: int) -> str:
    return f"Node{number % SERVICES}Service"


def schedule(requests: int, *, seed: int = SEED) -> list[datetime]:
    """When each request comes: much by day, little by night, less at the weekend."""
    rng = random.Random(seed)
    hours = rng.choices(range(24 * DAYS), [rhythm(hour) for hour in range(24 * DAYS)], k=requests)
    return sorted(START + timedelta(hours=hour + rng.random()) for hour in hours)


def rhythm(hour: int) -> float:
    """How busy an hour of the week is: most at half past one, hardly at night."""
    by_day = max(0.0, math.sin(math.pi * (hour % 24 - 7) / 13))
    return (0.06 + by_day) * (0.35 if hour // 24 % 7 >= 5 else 1.0)


def _lived(
    memory: clew.Clew, clock: WeekClock, path: Path, moments: Sequence[datetime], progress: Progress
) -> Week:
    week, ask = Week(), _asking(memory)
    changes = [(at(FAULT_AT), BREAK), (at(REPAIRED_AT), REPAIR)]
    hour = 0
    for number, moment in enumerate(moments):
        while moment >= at(hour + 1):
            hour = _end_of(week, hour, memory, clock)
        while changes and moment >= changes[0][0]:
            _change(path, changes.pop(0)[1])
        clock.time = moment
        week.note(hour, moment, ask(number))
        memory.store.write(
            _nothing, durable=False
        )  # minutes go by until the next: what was counted is written by then
        if number % 100 == 0:
            progress(number, len(moments))
    while hour < len(week.hours):
        hour = _end_of(week, hour, memory, clock)
    progress(len(moments), len(moments))
    return week


def _end_of(week: Week, hour: int, memory: clew.Clew, clock: WeekClock) -> int:
    """Ask the gate at the end of an hour; the number of the next one."""
    clock.time = at(hour + 1)
    week.hours[hour].gate = _gate(memory)
    return hour + 1


def _gate(memory: clew.Clew) -> dict[str, Any]:
    shown = memory.rollout.show().as_json()
    gate, current = shown["qualityGate"], shown["qualityGate"]["current"]
    return {
        "status": gate["status"],
        "is_blocked": gate["canaryBlocked"],
        "reason_codes": [reason["code"] for reason in gate["reasons"]],
        "error_rate": current["graphErrorFallbackRate"],
        "fallback_rate": current["fallbackRate"],
        "default_strategy": shown["retrievalPolicy"]["defaultStrategy"],
    }


def _nothing(_tx: object) -> None:
    """Comes after everything that waits to be written."""


def _change(path: Path, statement: str) -> None:
    """From outside, as another program would."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    connection.execute(statement)
    connection.close()


# -- one request -------------------------------------------------------------------------------------


def _asking(memory: clew.Clew) -> Callable[[int], Asked]:
    rng = random.Random(SEED)

    def ask(number: int) -> Asked:
        question = f"what about {_service(int(SERVICES * rng.random()))}"
        if number % RECALLS == 0:
            return _recalled(memory.recall(question, scope=PROJECT, limit=LIMIT))
        strategy = "hybrid_graph" if number % EXPLICIT == 0 else None
        return _of_trace(memory.context(question, scope=PROJECT, limit=LIMIT, strategy=strategy).trace)

    return ask


def _recalled(recalled: clew.Recalled) -> Asked:
    note = recalled.trace.notes["graph"]
    reason = note.get("fallback_reason") or ""
    applied = note["status"] == "completed" and not reason
    return Asked(True, applied, note["status"] == "aborted", reason == "quality_gate_blocked", reason)


def _of_trace(trace: Mapping[str, Any]) -> Asked:
    return Asked(
        wanted=trace["requested_strategy"] == "hybrid_graph",
        applied=trace["strategy"] == "hybrid_graph",
        failed=trace["graph_error"] is not None,
        blocked=trace["quality_gate_blocked"],
        reason=trace["fallback_reason"] or "",
        codes=tuple(trace["quality_gate_reason_codes"]),
    )


# -- telling -----------------------------------------------------------------------------------------


def table(report: dict[str, Any]) -> str:
    block, blocked, heal, share = (report[name] for name in ("blocking", "blocked", "healing", "applied_share"))
    lines = [
        f"{report['requests']:,} requests in {DAYS} days, {report['memories']} memories, the edges gone for "
        f"{REPAIRED_AT - FAULT_AT} hours on day {1 + FAULT_AT // 24}; lived in {report['seconds']} s"
    ]
    if block["at"] is None:
        return "\n".join([*lines, "the gate never blocked"])
    lines += [
        f"applied before the fault      {_percent(share['before'])} of the requests for the graph",
        f"blocked after                 {block['requests']:,} requests, {block['minutes']:g} minutes, "
        f"{block['errors']:,} errors: {', '.join(block['reason_codes'])}",
        f"blocked for                   {blocked['hours']:g} hours; of {blocked['shadow_runs']:,} shadow runs "
        f"{blocked['failed_shadow_runs']:,} failed",
    ]
    healed = f"{heal['hours_after_repair']:g} hours after the repair, by itself" if heal["at"] else "not this week"
    defaults = ", ".join(f"{one['strategy']} from {one['from'][:16]}" for one in report["default_strategy"])
    lines += [
        f"healed                        {healed}",
        f"applied afterwards            {_percent(share['after'])}",
        f"default strategy              {defaults}",
    ]
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"

"""`clew bench queue`: what the queue of injects bears, through the public surface.

Saturation: threads claim and acknowledge over many sessions as fast as they can; their commits share a flush.
Open loop: cycles begin when their time has come, however long the ones before take, and a claim's latency counts
from that moment: a stall cannot hide behind the requests it held up. Bare FULL commits of the same run beside it
tell how much of that is the disk.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import clew
from clew.bench.metrics import percentile
from clew.bench.speed_bare import commit_one, full_table
from clew.bench.speed_figures import Taken, answered, timed
from clew.model.progress import Progress, no_progress
from clew.values import dataclass

SESSIONS = 100
THREADS = 100  # a worker for each session
RATE = 300
GOAL_PER_S, GOAL_P99_MS, GOAL_TIMES_BARE = 3_000, 10.0, 3.0
TEXT = "## Relevant Past Observations\n" + "- [mem] the cache is invalidated by hand (weight: 1.00)\n" * 8


@dataclass(frozen=True, slots=True)
class Job:
    """A session of the bench, held by its worker."""

    id: str
    worker: str
    token: int


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(quick=args.quick, progress=progress)


def run(*, quick: bool = False, progress: Progress = no_progress) -> dict[str, Any]:
    each, seconds = (5, 1.0) if quick else (100, 10.0)
    with _memory(most=each) as memory:
        jobs = _jobs(memory)
        _fill(memory, jobs, each)
        progress(1, 4)
        saturation = _saturation(memory, jobs, each)
        progress(2, 4)
    cycles = int(RATE * seconds)
    with _memory(most=cycles) as memory:
        jobs = _jobs(memory)
        _fill(memory, jobs, -(-cycles // len(jobs)))
        progress(3, 4)
        open_loop = _open_loop(memory, jobs, cycles)
        progress(4, 4)
    return {"saturation": saturation, "open_loop": open_loop, "goals_met": _goals_met(saturation, open_loop)}


def table(report: dict[str, Any]) -> str:
    full, steady = report["saturation"], report["open_loop"]
    return "\n".join(
        [
            f"saturation, {full['sessions']} sessions, {full['threads']} threads: "
            f"{full['cycles_per_s']:,} claim-and-acknowledge cycles/s, {full['cpu_us_per_cycle']} us CPU each",
            f"open loop, {steady['rate']}/s: claim p50 {steady['claim_ms']['p50']} ms, "
            f"p99 {steady['claim_ms']['p99']} ms; acknowledge p99 {steady['ack_ms']['p99']} ms; "
            f"a bare FULL commit p50 {steady['bare_full_ms']['p50']} ms, p99 {steady['bare_full_ms']['p99']} ms",
            f"goals met: {'yes' if report['goals_met'] else 'no'}",
        ]
    )


def _saturation(memory: clew.Clew, jobs: list[Job], each: int) -> dict[str, Any]:
    shares = [jobs[start::THREADS] for start in range(THREADS)]

    def work(share: list[Job]) -> int:
        return sum(_cycle(memory, job) for _round in range(each) for job in share)

    cpu, wall = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        cycles = sum(pool.map(work, shares))
    seconds = time.perf_counter() - wall
    return {
        "sessions": len(jobs),
        "threads": THREADS,
        "cycles": cycles,
        "cycles_per_s": round(cycles / seconds),
        "cpu_us_per_cycle": round((time.process_time() - cpu) / max(1, cycles) * 1e6, 1),
    }


def _cycle(memory: clew.Clew, job: Job) -> bool:
    delivery = memory.queue.claim(job.id, job.worker, job.token)
    return delivery is not None and memory.queue.ack(job.id, delivery.delivery_id, job.worker, job.token)


def claim_cycles(memory: clew.Clew, count: int, *, between: Callable[[], object] = lambda: None) -> list[Taken]:
    """One claim and its acknowledgement after another, in one session of a store that is there; `between`: what is
    to take turns with them."""
    held = held_session(memory, 0)
    taken = []
    for number in range(count):
        memory.queue.enqueue(held.id, f"{TEXT}{number}")
        between()
        is_done, took = answered(partial(_cycle, memory, held))
        assert is_done, "nothing was claimed although something waited"
        taken.append(took)
    return taken


def _open_loop(memory: clew.Clew, jobs: list[Job], cycles: int) -> dict[str, Any]:
    claims: list[float] = []
    acks: list[float] = []
    begin = time.perf_counter() + 0.1

    def work(number: int) -> None:
        job, due = jobs[number % len(jobs)], begin + number / RATE
        delivery = memory.queue.claim(job.id, job.worker, job.token)
        claimed = time.perf_counter()
        assert delivery and memory.queue.ack(job.id, delivery.delivery_id, job.worker, job.token)
        claims.append(claimed - due)
        acks.append(time.perf_counter() - claimed)

    with _bare_commits(Path(memory.settings.home)) as bare, ThreadPoolExecutor(THREADS) as pool:
        started = []
        for number in range(cycles):
            time.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
            started.append(pool.submit(work, number))
        for cycle in started:
            cycle.result()
    return {
        "rate": RATE, "cycles": len(claims),
        "claim_ms": _percentiles(claims), "ack_ms": _percentiles(acks), "bare_full_ms": _percentiles(bare),
    }  # fmt: skip


@contextmanager
def _bare_commits(folder: Path) -> Iterator[list[float]]:
    """Bare FULL commits of the same text into another file, ten a second while the rest runs."""
    seconds: list[float] = []
    done = threading.Event()

    def commit() -> None:
        connection = full_table(folder / "bare.db")
        while not done.wait(0.1):
            seconds.append(timed(partial(commit_one, connection, TEXT)).wall_s)
        connection.close()

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        yield seconds
    finally:
        done.set()
        thread.join()


def _goals_met(saturation: dict[str, Any], open_loop: dict[str, Any]) -> bool:
    allowed = max(GOAL_P99_MS, GOAL_TIMES_BARE * open_loop["bare_full_ms"]["p99"])
    return bool(saturation["cycles_per_s"] >= GOAL_PER_S and open_loop["claim_ms"]["p99"] < allowed)


def _jobs(memory: clew.Clew) -> list[Job]:
    return _together(partial(held_session, memory), range(SESSIONS))


def held_session(memory: clew.Clew, number: int) -> Job:
    """A session that its worker has claimed."""
    session, worker = memory.sessions.start(project="bench"), f"worker-{number}"
    return Job(session.id, worker, memory.sessions.claim(session.id, worker))


def _fill(memory: clew.Clew, jobs: list[Job], each: int) -> None:
    _together(
        lambda number: memory.queue.enqueue(jobs[number % len(jobs)].id, f"{TEXT}{number}"),
        range(each * len(jobs)),
    )


def _together(action: Callable[[int], Any], numbers: range) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(action, numbers))


def _percentiles(seconds: list[float]) -> dict[str, float]:
    return {name: round(percentile(seconds, share) * 1000, 3) for name, share in (("p50", 0.5), ("p99", 0.99))}


@contextmanager
def _memory(*, most: int) -> Iterator[clew.Clew]:
    """A throw-away store whose sessions hold as many injects as the bench puts in."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        deliver = {"max_pending": max(1, most), "lease_s": 3_600.0}
        with clew.open(Path(folder) / "clew.db", home=folder, deliver=deliver) as memory:
            yield memory

"""The queue as several processes use it: each claims and acknowledges what waits in sessions of its own."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import clew
from clew.bench.engine_sides import Side
from clew.bench.metrics import percentile
from clew.bench.queue import TEXT, Job
from clew.values import dataclass

WORKERS = 4
SESSIONS = 10  # of each worker
THREADS = 8  # that put in
PATIENCE_S = 120.0
GOAL_PER_S = 2_000

Told = tuple[float, float, list[float], float]  # began, ended, seconds of each cycle, processor time
_together: list[Barrier] = []  # where the processes wait for each other; of each process its own list


@dataclass(frozen=True, slots=True)
class Share:
    """What one process does, and where."""

    place: str
    home: str
    jobs: tuple[Job, ...]
    each: int


def measure(side: Side, each: int) -> dict[str, Any]:
    """`each`: injects of one session. First claims and acknowledgements, a transaction each; then beats, which
    acknowledge the last and bring the next in one."""
    deliver = {"max_pending": max(1, each), "lease_s": 3_600.0}
    with side.opened(deliver=deliver) as memory, _processes() as pool:
        shares = [Share(str(side.place), str(side.home), _jobs(memory, w), each) for w in range(WORKERS)]
        jobs = [job for share in shares for job in share.jobs]
        put = _fill(memory, jobs, each, "claimed")
        claimed = _told(list(pool.map(_claim_and_ack, shares)))
        _fill(memory, jobs, each, "beat")
        beaten = _told(list(pool.map(_beat, shares)))
    return {
        "workers": WORKERS, "sessions": len(jobs), "enqueued_per_s": put,
        "claim_and_ack": claimed, "beats": beaten,
    }  # fmt: skip


def _jobs(memory: clew.Clew, number: int) -> tuple[Job, ...]:
    def start(_: int) -> Job:
        session, worker = memory.sessions.start(project="bench"), f"worker-{number}"
        return Job(session.id, worker, memory.sessions.claim(session.id, worker))

    return tuple(start(session) for session in range(SESSIONS))


def _fill(memory: clew.Clew, jobs: list[Job], each: int, what: str) -> int:
    def put(number: int) -> None:
        memory.queue.enqueue(jobs[number % len(jobs)].id, f"{TEXT}{what} {number}")

    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(put, range(each * len(jobs))))
    return round(each * len(jobs) / (time.perf_counter() - started))


def _processes() -> ProcessPoolExecutor:
    """One share each: whoever has its share waits for the others."""
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(WORKERS, spawning, initializer=_meet_at, initargs=(spawning.Barrier(WORKERS),))


def _told(shares: list[Told]) -> dict[str, Any]:
    """Times of the machine's clock, which all its processes share."""
    seconds = [one for _began, _ended, cycles, _cpu in shares for one in cycles]
    wall = max(ended for _began, ended, *_ in shares) - min(began for began, *_ in shares)
    return {
        "cycles": len(seconds),
        "per_s": round(len(seconds) / wall),
        "cpu_us_each": round(sum(cpu for *_, cpu in shares) / max(1, len(seconds)) * 1e6, 1),
        "ms": {f"p{share}": round(percentile(seconds, share / 100) * 1_000, 3) for share in (50, 99)},
    }


def _meet_at(together: Any) -> None:
    _together[:] = [together]


def _claim_and_ack(share: Share) -> Told:
    def cycle(memory: clew.Clew, job: Job) -> None:
        delivery = memory.queue.claim(job.id, job.worker, job.token)
        if delivery is None or not memory.queue.ack(job.id, delivery.delivery_id, job.worker, job.token):
            raise RuntimeError(f"nothing to deliver in {job.id}")

    return _cycles(share, cycle)


def _beat(share: Share) -> Told:
    last: dict[str, str] = {}

    def cycle(memory: clew.Clew, job: Job) -> None:
        acked = [last.pop(job.id)] if job.id in last else []
        beat = memory.sessions.refresh(job.id, job.worker, job.token, acked=acked)
        if beat.inject is None:
            raise RuntimeError(f"nothing to deliver in {job.id}")
        last[job.id] = beat.inject.delivery_id

    return _cycles(share, cycle)


def _cycles(share: Share, cycle: Any) -> Told:
    with clew.open(share.place, home=share.home, relate={"in_process": False}) as memory:
        for job in share.jobs:
            memory.sessions.refresh(job.id, job.worker, job.token, take=False)
        _together[0].wait(PATIENCE_S)
        began, cpu = time.monotonic(), time.process_time()
        seconds = [_timed(partial(cycle, memory, job)) for _round in range(share.each) for job in share.jobs]
        return began, time.monotonic(), seconds, time.process_time() - cpu


def _timed(action: partial[None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started

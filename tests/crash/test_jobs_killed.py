"""Workers on jobs under kill -9, and while memories change under their hands.

Whatever happens: no job is lost, what was made of a memory is of its last text, nothing is made without the end of
a job or a job ended without what it made, and the file is whole. Leases go by a clock in the database that the test
moves, so nothing waits for one to run out.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from job_actors import ORG, POLICY, open_store, runner, write_text

from clew.model.job import RELATE
from clew.store.store import Store
from lease_clock import LeaseClock

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


class Worker:
    def __init__(self, path: Path, mode: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "crash" / "job_actors.py"), str(path), mode],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS / 'crash'}"},
        )

    def wait_for_work(self, times: int = 1) -> None:
        """Until it has begun so many batches, or the other one was faster."""
        assert self.process.stdout
        for _ in range(times):
            line = self.process.stdout.readline()
            assert line, "the worker has ended"
            if line.startswith("idle"):
                return

    def finish(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        assert self.process.stdout
        self.process.stdout.read()
        self.process.stdout.close()
        assert self.process.wait(timeout=120) == (-signal.SIGKILL if kill else 0)


def change(store: Store, subjects: list[str], text: str) -> None:
    for subject in subjects:
        store.write(lambda tx, subject=subject: write_text(tx, subject, text), durable=False)  # type: ignore[misc]


def check(path: Path, store: Store, subjects: list[str], *, is_done: bool) -> None:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(30_000)
        assert connection.pragma("integrity_check") == "ok"
    with store.read() as tx:
        for subject in subjects:
            job = tx.jobs.of(ORG, RELATE, subject)
            text, copied = tx.meta.get(f"text/{subject}"), tx.meta.get(f"copy/{subject}")
            assert job is not None or copied == text, "a job was lost, or ended with an old text"
            runs = [run.outcome for run in tx.jobs.runs(ORG, RELATE, subject, limit=1_000)]
            assert int(tx.meta.get(f"count/{subject}") or 0) == runs.count("success"), "made without its end"
            assert job is None or not is_done, f"{subject} is still {job.state}"


def survive_kills(folder: Path, *, kills: int, jobs: int, seed: int) -> None:
    rng, path = random.Random(seed), folder / "clew.db"
    subjects = [f"mem_{number:03}" for number in range(jobs)]
    with closing(open_store(path)) as store:
        leases = LeaseClock(store)
        change(store, subjects, "first")
        for number in range(kills):
            workers = [Worker(path, "forever") for _ in range(2)]
            change(store, rng.sample(subjects, jobs // 2), f"text {number}")
            workers[0].wait_for_work(rng.randrange(1, 4))  # in the middle of a batch
            for worker in workers:
                worker.finish(kill=True)
            check(path, store, subjects, is_done=False)
            leases.pass_by(rng.choice([POLICY.lease_s + 1, POLICY.lease_s + 1, 1.0]))
            change(store, rng.sample(subjects, jobs // 4), f"again {number}")
        leases.pass_by(10 * POLICY.lease_s)
        runner(store).run_some(limit=100_000)
        check(path, store, subjects, is_done=True)


def test_no_job_is_lost_or_done_by_halves_when_workers_are_killed(tmp_path: Path) -> None:
    survive_kills(tmp_path, kills=3, jobs=40, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_no_job_is_lost_in_a_hundred_kills(tmp_path: Path, seed: int) -> None:
    survive_kills(tmp_path, kills=50, jobs=200, seed=seed + 1)


def survive_changes(folder: Path, *, rounds: int, jobs: int, workers: int) -> None:
    """W13 with real processes: texts change all the time while several workers race for the jobs."""
    path, rng = folder / "clew.db", random.Random(1)
    subjects = [f"mem_{number:03}" for number in range(jobs)]
    with closing(open_store(path)) as store:
        leases = LeaseClock(store)
        change(store, subjects, "first")
        crowd = [Worker(path, "forever") for _ in range(workers)]
        for worker in crowd:
            worker.wait_for_work()
        for number in range(rounds):
            change(store, rng.sample(subjects, jobs // 2), f"text {number}")
            if number % 3 == 0:  # stolen from workers that still live
                leases.pass_by(POLICY.lease_s + 1)
        for worker in crowd:
            worker.finish(kill=True)
        leases.pass_by(POLICY.lease_s + 1)
        last = Worker(path, "once")
        last.finish(kill=False)
        check(path, store, subjects, is_done=True)


def test_w13_no_change_is_missed_while_two_workers_race_for_the_jobs(tmp_path: Path) -> None:
    survive_changes(tmp_path, rounds=12, jobs=30, workers=2)


@pytest.mark.torture
def test_w13_no_change_is_missed_while_six_workers_race_for_the_jobs(tmp_path: Path) -> None:
    survive_changes(tmp_path, rounds=300, jobs=100, workers=6)

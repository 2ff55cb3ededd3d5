"""Readiness tells the truth: it is red when what the server promises does not happen."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from api_driver import Asked, until

from clew.clew import Clew
from clew.surfaces.http import health
from clew.surfaces.http.health import Health
from clew.surfaces.http.watch import Watched

HOLD = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Held by another process."""
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=-1, stdout=-1, text=True)
    assert other.stdout and other.stdin
    assert other.stdout.readline() == "held\n"
    try:
        yield
    finally:
        other.communicate()


def checks(found: Health) -> set[str]:
    return {reason.check for reason in found.reasons()}


def test_a_server_that_does_its_work_is_ready(asked: Asked) -> None:
    assert asked.get("/readyz").json == {"ready": True}
    assert asked.get("/healthz").json == {"status": "ok"}


def test_a_write_that_is_not_committed_makes_it_red_and_heals(
    asked: Asked, memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "COMMIT_S", 0.2)
    with write_lock(memory.home / "clew.db"):
        got = asked.get("/readyz")
        assert (got.status, got.code, got.json["details"]["reasons"][0]["check"]) == (503, "NOT_READY", "store")
        assert asked.get("/readyz").status == 503  # at once: the first write still waits
    assert until(lambda: asked.get("/readyz").status == 200)


def test_it_is_told_within_fifteen_seconds() -> None:
    assert health.COMMIT_S < 15 and health.SILENT_S < 15


@pytest.mark.parametrize("name", ["capture", "spool"])
def test_a_frozen_thread_makes_it_red(memory: Clew, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(health, "SILENT_S", 0.1)
    thaw = threading.Event()
    frozen = Watched(name, lambda: thaw.wait(30), every_s=0.01)
    found = Health(memory, [frozen])
    frozen.start()
    assert until(lambda: checks(found) == {name})
    thaw.set()
    assert until(lambda: not checks(found))
    frozen.stop()


def test_a_thread_that_only_fails_makes_it_red(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "SILENT_S", 0.1)
    failing = Watched("capture", lambda: bool(1 / 0), every_s=0.01)
    found = Health(memory, [failing])
    failing.start()
    assert until(lambda: checks(found) == {"capture"})
    assert "ZeroDivisionError" in found.reasons()[0].detail
    failing.stop()


class FrozenRunner:
    """Claims a batch and never comes back, until it is told."""

    def __init__(self) -> None:
        self.stopping = self.thaw = threading.Event()

    def run_batch(self) -> None:
        self.thaw.wait(30)

    def give_back(self) -> None:
        pass

    def when_asked(self, told: Callable[[], None]) -> None:
        pass


def test_a_frozen_worker_of_jobs_makes_it_red(
    clew_at: Callable[..., Clew], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "SILENT_S", 0.1)
    memory, runner = clew_at(tmp_path, in_background=True), FrozenRunner()
    monkeypatch.setattr(memory.background_jobs, "_make_runner", lambda: runner)
    found = Health(memory)
    memory.background_jobs.nudge()
    assert until(lambda: checks(found) == {"jobs"})
    runner.thaw.set()


def test_jobs_that_nobody_does_make_it_red(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    memory = clew_at(tmp_path, serve={"oldest_job_s": 0.01}, relate={"in_process": False})
    memory.remember("it is never related to anything")
    found = Health(memory)
    assert until(lambda: checks(found) == {"jobs"})
    memory.jobs.run()
    assert not checks(found)


def test_a_long_queue_that_is_worked_on_is_no_trouble(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    memory = clew_at(tmp_path, serve={"oldest_job_s": 0.01})
    memory.remember("its turn will come")
    found = Health(memory)
    assert until(lambda: found._serving.oldest_due_s() > 0.02)
    memory.background_jobs.worked_at = time.monotonic()
    assert not checks(found)


def test_a_file_of_another_schema_makes_it_red(memory: Clew) -> None:
    apsw.Connection(str(memory.home / "clew.db")).pragma("user_version", 99)
    assert checks(Health(memory)) == {"schema"}


def test_a_store_that_is_gone_makes_it_red_instead_of_failing(memory: Clew) -> None:
    found = Health(memory)
    memory.store.close()
    assert {"store", "jobs", "schema"} <= checks(found)


def test_it_is_answered_also_while_every_worker_is_stuck(memory: Clew) -> None:
    class Stuck:
        def submit(self, *_: object) -> Future[None]:
            return Future()

    asked = Asked(memory)
    asked.app._pool = Stuck()  # type: ignore[assignment]
    assert asked.get("/healthz").status == asked.get("/readyz").status == 200

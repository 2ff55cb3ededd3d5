"""Jobs beside other work: woken by writes, stopped promptly, and nothing lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew import Draft, InvalidInput
from clew.clew import Clew
from clew.compose import compose
from clew.model.job import RELATE, Done, Failed, Job
from clew.relate import worker as worker_module
from clew.relate.worker import JobRunner
from clew.remember.remember import BATCH
from clew.settings import load_settings
from lease_clock import LeaseClock
from toys import ToyEmbedder, contents, open_toy

PATIENCE_S = 30.0


class Handler:
    """Says when it got something, and waits for leave if it is told to."""

    def __init__(self, *, waits: bool = False) -> None:
        self.got = threading.Semaphore(0)
        self.leave = threading.Event()
        self.seen: list[str] = []
        if not waits:
            self.leave.set()

    def __call__(self, jobs: Sequence[Job]) -> list[Done | Failed]:
        self.seen += [job.subject for job in jobs]
        self.got.release()
        assert self.leave.wait(PATIENCE_S)
        return [Done(save=lambda tx: tx.meta.put("made", "yes"))] * len(jobs)


def with_handler(memory: Clew, handler: Any) -> Clew:
    def runner() -> JobRunner:
        return JobRunner(memory.store, {RELATE: handler}, memory.jobs.policy, clock=memory.clock)

    memory.jobs.runner = runner  # type: ignore[method-assign]
    return memory


def states(memory: Clew) -> list[tuple[str, int]]:
    with memory.store.read() as tx:
        return [(job.state, job.attempts) for job in tx.jobs.page("local", RELATE, state=None, limit=10)]


@pytest.mark.parametrize("stops", ["early", "by a bad draft"])
def test_what_was_stored_wakes_the_worker_although_not_all_was(tmp_path: Path, stops: str) -> None:
    handler, drafts = Handler(), [Draft(content=f"note {n}") for n in range(BATCH + 1)]
    if stops == "by a bad draft":
        drafts[-1] = Draft(content="")
    with with_handler(open_toy(tmp_path / "c.db", in_background=True), handler) as memory:
        storing = memory.remember_many(drafts)
        for _ in range(BATCH):
            next(storing)
        if stops == "early":
            storing.close()  # type: ignore[attr-defined]
        else:
            with pytest.raises(InvalidInput):
                next(storing)
        assert handler.got.acquire(timeout=PATIENCE_S)


def test_a_write_that_is_let_go_of_after_the_store_was_closed_begins_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_toy(tmp_path / "c.db", in_background=True) as memory:
        storing = memory.remember_many(Draft(content=f"note {n}") for n in range(3))
        next(storing)
    storing.close()  # type: ignore[attr-defined]
    assert "background_jobs" not in memory.__dict__ and not caplog.records


def test_a_write_wakes_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "MAX_REST_S", worker_module.REST_S)
    handler = Handler()
    with with_handler(open_toy(tmp_path / "c.db", in_background=True), handler) as memory:
        for text in ("one", "two"):  # the second finds it waiting
            stored = memory.remember(text)
            assert handler.got.acquire(timeout=PATIENCE_S)
            assert handler.seen[-1] == stored.id


def test_a_short_lived_process_starts_no_worker(memory: Clew) -> None:
    memory.remember("one")
    assert "background_jobs" not in memory.__dict__
    assert states(memory) == [("queued", 0)]


def test_what_an_earlier_process_left_is_done_after_opening(tmp_path: Path) -> None:
    settings = load_settings({"embed": {"provider": "none"}}, home=tmp_path, environ={})
    with compose(settings, tmp_path / "c.db", in_background=False) as memory:
        memory.remember("one")
    with compose(settings, tmp_path / "c.db") as memory:
        assert memory.background_jobs.is_running


def test_opening_a_store_without_jobs_starts_no_thread(tmp_path: Path) -> None:
    settings = load_settings({"embed": {"provider": "none"}}, home=tmp_path, environ={})
    with compose(settings, tmp_path / "c.db") as memory:
        assert "background_jobs" not in memory.__dict__


def test_closing_waits_for_the_batch_at_hand(tmp_path: Path) -> None:
    handler = Handler(waits=True)
    memory = with_handler(open_toy(tmp_path / "c.db", in_background=True), handler)
    memory.remember("one")
    assert handler.got.acquire(timeout=PATIENCE_S)
    threading.Timer(0.05, handler.leave.set).start()
    memory.close()
    with open_toy(tmp_path / "c.db") as again:
        assert states(again) == []


def test_closing_does_not_wait_for_what_takes_long_and_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "GRACE_S", 0.01)
    handler = Handler(waits=True)
    memory = with_handler(open_toy(tmp_path / "c.db", in_background=True), handler)
    memory.remember("one")
    assert handler.got.acquire(timeout=PATIENCE_S)
    memory.close()
    with open_toy(tmp_path / "c.db") as again:
        assert states(again) == [("queued", 0)]
        handler.leave.set()  # the thread that was left behind can do no harm
        memory.background_jobs.wait()
        assert states(again) == [("queued", 0)]
        with again.store.read() as tx:
            assert tx.meta.get("made") is None


def test_stopping_does_not_wait_for_a_store_that_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may hold it for half a minute; the leases run out by themselves."""
    monkeypatch.setattr(worker_module, "GRACE_S", 0.01)
    handler = Handler(waits=True)
    with with_handler(open_toy(tmp_path / "c.db", in_background=True), handler) as memory:
        memory.remember("one")
        assert handler.got.acquire(timeout=PATIENCE_S)
        with apsw.Connection(str(tmp_path / "c.db")) as other:
            other.execute("UPDATE meta SET value = value")
            stopping = threading.Thread(target=memory.background_jobs.stop)
            stopping.start()
            stopping.join(5)
            assert not stopping.is_alive()
        assert states(memory) == [("leased", 1)]
        handler.leave.set()
        memory.background_jobs.wait()


def test_a_store_that_fails_for_a_while_does_not_end_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "IDLE_S", 0.01)
    handler, failures = Handler(), [OSError(), OSError()]
    with with_handler(open_toy(tmp_path / "c.db", in_background=True), handler) as memory:
        run_batch = JobRunner.run_batch

        def failing(self: JobRunner, limit: int = 1) -> Any:
            if failures:
                raise failures.pop()
            return run_batch(self, limit)

        monkeypatch.setattr(JobRunner, "run_batch", failing)
        memory.remember("one")
        assert handler.got.acquire(timeout=PATIENCE_S)


def test_a_worker_ends_with_its_store(tmp_path: Path) -> None:
    memory = open_toy(tmp_path / "c.db")
    background = memory.background_jobs
    memory.store.close()
    background.nudge()
    background.wait()
    assert not background.is_running


def test_it_works_at_most_half_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    times = iter([0.0, 0.7, 10.0, 10.001, 20.0, 99.0])
    monkeypatch.setattr("clew.relate.worker.monotonic", lambda: next(times))
    with open_toy(tmp_path / "c.db") as memory:
        background = memory.background_jobs
        monkeypatch.setattr(background._stopping, "wait", rests.append)
        for text in ("one", "two", "three"):
            memory.remember(text)
            background._one_batch(with_handler(memory, Handler()).jobs.runner())
    assert rests == [0.7, 0.05, 2.0]


def test_it_rests_longer_while_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("one")
        background = memory.background_jobs
        monkeypatch.setattr(background._stopping, "wait", rests.append)
        monkeypatch.setattr(background, "start", lambda: None)
        background.nudge()
        background._one_batch(with_handler(memory, Handler()).jobs.runner())
    assert sum(rests) == pytest.approx(2.0)


@pytest.mark.parametrize("verb", ["recall", "context"])
def test_whoever_asks_makes_the_worker_stand_back(tmp_path: Path, verb: str) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        before = memory._courtesy._asked_at
        getattr(memory, verb)("anything")
        assert memory._courtesy._asked_at > before


def test_the_worker_stands_back_before_each_job_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood: list[int] = []
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder()) as memory:
        for text in ("one fish", "two fish", "red fish"):
            memory.remember(text)
        monkeypatch.setattr(memory._courtesy, "stand_back", lambda: stood.append(1))
        assert memory.jobs.run().success == 3
    assert len(stood) == 6


def test_a_job_that_waits_for_its_next_attempt_is_done_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    with open_toy(tmp_path / "c.db") as memory:
        leases = LeaseClock(memory.store)  # type: ignore[arg-type]
        memory.remember("one")
        down = with_handler(memory, lambda jobs: [Failed("DOWN")] * len(jobs))
        down.jobs.run()
        leases.pass_by(0.1)
        background = memory.background_jobs
        monkeypatch.setattr(background._wake, "wait", waits.append)
        background._one_batch(down.jobs.runner())
    assert 0.3 < waits[0] < 1.0


def test_recalls_and_writes_go_on_beside_the_worker(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(), in_background=True) as memory:
        for number in range(30):
            memory.remember(f"service {number} listens on port {number}")
            assert memory.recall(f"service {number}").results
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder()) as memory:
        memory.jobs.run()
        assert memory.jobs.health().last_day["success"] == 30
        assert states(memory) == []


def test_whoever_stands_back_shows_that_it_is_alive(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        background = memory.background_jobs
        assert background.beat_at == 0
        background._runner, background._beat_at = memory.jobs.runner(), 1.0
        memory._courtesy.stand_back()
        assert background.beat_at == memory._courtesy.went_on_at > 1.0


def test_where_no_thread_can_be_had_memories_are_kept_and_found_and_the_store_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("clew.recall.segment.SORTED_AT_ONCE", 0)
    with monkeypatch.context() as patch, open_toy(tmp_path / "c.db", in_background=True) as memory:
        patch.setattr(threading.Thread, "start", refused)
        saved = memory.remember("AuthService is slow")
        for _ in range(3):
            assert contents(memory.recall("AuthService")) == ["AuthService is slow"]
        session = memory.sessions.start(work_type="development", title="AuthService")
        memory.sessions.claim(session.id, "w")
        assert "AuthService is slow" in memory.inject.start(session.id).text
        event = {"event_id": "e", "session": session.id, "phase": "pre", "tool": "Bash", "query": "AuthService"}
        assert memory.inject.event(event).outcome != "injected"
        memory.rollout.flush()
    with open_toy(tmp_path / "c.db") as again:
        assert again.show(saved.id).content == "AuthService is slow"


def test_what_waited_for_want_of_a_thread_is_done_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with open_toy(tmp_path / "c.db", in_background=True) as memory:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refused)
            memory.remember("AuthService is slow")
        assert not memory.background_jobs.is_running
        memory.remember("Redis is slow")
        assert memory.background_jobs.is_running

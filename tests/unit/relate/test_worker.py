"""A worker: what it makes of answers, failures, interruptions and slow handlers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clew.errors import Unavailable
from clew.model.job import RELATE, Done, Failed, Job, Ran
from clew.model.relation import CLASSIFICATION_FAILED, EXTRACTION_FAILED, Issue
from clew.relate.queue import JobPolicy
from clew.relate.worker import JobRunner
from clew.store.store import Store
from lease_clock import LeaseClock
from toys import ToldClock, ToyEmbedder, open_quickly, open_toy

POLICY = JobPolicy(max_attempts=2)
Answer = Done | Failed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(open_quickly(tmp_path / "clew.db"))) as store:
        yield store


@pytest.fixture
def leases(store: Store) -> LeaseClock:
    return LeaseClock(store)


def runner(store: Store, handle: Any, policy: JobPolicy = POLICY, **options: Any) -> JobRunner:
    handlers = {RELATE: lambda jobs: [handle(job) for job in jobs]}
    return JobRunner(store, handlers, policy, clock=ToldClock(), jitter=lambda: 0.0, **options)


def put(store: Store, *subjects: str, kind: str = RELATE, org: str = "local") -> None:
    store.write(lambda tx: tx.jobs.put(org, kind, subjects, operation="add"))


def job_of(store: Store, subject: str) -> Job | None:
    with store.read() as tx:
        return tx.jobs.of("local", RELATE, subject)


def runs_of(store: Store, subject: str) -> list[tuple[str, str, str]]:
    with store.read() as tx:
        runs = tx.jobs.runs("local", RELATE, subject, limit=50)
    return [(run.outcome, run.code, run.message) for run in reversed(runs)]


def test_jobs_that_are_done_are_gone_and_counted(store: Store) -> None:
    put(store, "a", "b")
    ran = runner(store, lambda _job: Done()).run_some(limit=10)
    assert ran == Ran(processed=2, success=2)
    assert (job_of(store, "a"), runs_of(store, "a")) == (None, [("success", "", "")])


def test_an_org_with_many_jobs_does_not_keep_another_waiting(store: Store) -> None:
    put(store, *(f"m{number}" for number in range(100)), org="big")
    put(store, "a", "b", "c", org="small")
    done: list[str] = []

    def handle(job: Job) -> Done:
        done.append(job.org)
        return Done()

    runner(store, handle, batch=2).run_some(limit=8)
    assert done == ["big", "big", "small", "small", "big", "big", "small", "big"]


def test_an_org_that_comes_later_has_its_turn_next_and_a_batch_is_of_one_org(store: Store) -> None:
    put(store, *(f"m{number}" for number in range(9)), org="big")
    worker = runner(store, lambda _job: Done(), batch=2)
    worker.run_some(limit=4)
    put(store, "m1", org="late")
    assert worker.run_batch().processed == 1
    with store.read() as tx:
        assert (tx.jobs.counts("late")["queued"], tx.jobs.counts("big")["queued"]) == (0, 5)


def test_where_another_worker_was_faster_the_next_org_is_tried(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a")
    worker = runner(store, lambda _job: Done())
    monkeypatch.setattr(worker, "_orgs_in_turn", lambda: ["taken", "local"])
    assert worker.run_batch().success == 1


def test_a_job_without_need_is_skipped_with_its_reason(store: Store) -> None:
    put(store, "a")
    assert runner(store, lambda _job: Done(skipped="MEMORY_NOT_ACTIVE")).run_some(limit=10).skipped == 1
    assert runs_of(store, "a") == [("skipped", "MEMORY_NOT_ACTIVE", "")]


def test_t23_a_model_that_is_down_twice_is_a_retry_and_then_a_dead_letter(store: Store, leases: LeaseClock) -> None:
    put(store, "a")
    worker = runner(store, lambda _job: Failed("EMBEDDING_REQUEST_FAILED", "503"))
    assert worker.run_some(limit=10) == Ran(processed=1, retries=1, left=1)
    waits = job_of(store, "a")
    assert waits and (waits.state, waits.attempts) == ("queued", 1)
    leases.pass_by(1)
    assert worker.run_some(limit=10) == Ran(processed=1, dead_letters=1)
    dead = job_of(store, "a")
    assert dead and (dead.state, dead.attempts) == ("dead", 2)
    assert [outcome for outcome, *_ in runs_of(store, "a")] == ["retry", "dead_letter"]


def test_what_cannot_succeed_is_not_tried_again(store: Store) -> None:
    put(store, "a")
    assert runner(store, lambda _job: Failed("KEY_MISSING", retryable=False)).run_some(limit=9).dead_letters == 1


def test_t25_parts_that_were_left_out_make_a_success_that_says_so(store: Store) -> None:
    issues = (
        Issue(EXTRACTION_FAILED, "semantic_extraction", "a"),
        Issue(CLASSIFICATION_FAILED, "classification", "a", "b"),
        Issue(CLASSIFICATION_FAILED, "classification", "a", "c"),
    )
    put(store, "a")
    ran = runner(store, lambda _job: Done(issues=issues)).run_some(limit=10)
    assert (ran.success, ran.degraded) == (1, 1)
    told = "relationship_issues=3;GRAPH_LLM_CLASSIFICATION_FAILED:2,GRAPH_LLM_SEMANTIC_EXTRACTION_FAILED:1"
    assert runs_of(store, "a") == [("success", "GRAPH_RELATIONSHIP_PARTIAL_DEGRADE", told)]


def test_t26_what_cannot_be_saved_is_a_failed_sync_that_is_tried_again(store: Store, leases: LeaseClock) -> None:
    def save(tx: Any) -> None:
        tx.meta.put("half", "done")
        if is_broken:
            raise Unavailable("the disk is full", code="DISK_FULL")

    put(store, "a")
    is_broken = True
    worker = runner(store, lambda _job: Done(save=save))
    assert worker.run_some(limit=10).retries == 1
    failed = job_of(store, "a")
    assert failed and (failed.code, failed.message) == (
        "GRAPH_RELATIONSHIP_SYNC_FAILED",
        "DISK_FULL: the disk is full",
    )
    with store.read() as tx:
        assert tx.meta.get("half") is None
    is_broken = False
    leases.pass_by(1)
    assert worker.run_some(limit=10).success == 1


def test_a_handler_that_raises_fails_its_jobs_and_tells_no_text(store: Store) -> None:
    put(store, "a", "b")

    def raises(_job: Job) -> Answer:
        raise ValueError("the secret text of a memory")

    assert runner(store, raises).run_some(limit=10).retries == 2
    assert runs_of(store, "a") == [("retry", "JOB_FAILED", "ValueError")]


def test_a_handler_that_answers_too_little_fails_its_jobs(store: Store) -> None:
    put(store, "a", "b")
    worker = JobRunner(store, {RELATE: lambda _jobs: [Done()]}, POLICY, clock=ToldClock())
    assert worker.run_some(limit=10).retries == 2
    assert runs_of(store, "a") == [("retry", "JOB_FAILED", "1 answers to 2 jobs")]


def test_a_job_of_a_kind_from_the_future_is_set_aside(store: Store) -> None:
    put(store, "a", kind="dream")
    assert runner(store, lambda _job: Done()).run_some(limit=10).dead_letters == 1


def test_no_more_are_done_than_was_asked_for(store: Store) -> None:
    put(store, *"abcdefg")
    seen: list[Ran] = []
    worker = runner(store, lambda _job: Done(), batch=2)
    assert worker.run_some(limit=5, told=seen.append) == Ran(processed=5, success=5, left=2)
    assert [ran.processed for ran in seen] == [2, 4, 5]


def test_it_stops_when_its_time_is_over(store: Store) -> None:
    put(store, *"abc")
    clock = ToldClock()

    def slow(_job: Job) -> Answer:
        clock.pass_by(seconds=1)
        return Done()

    handlers = {RELATE: lambda jobs: [slow(job) for job in jobs]}
    worker = JobRunner(store, handlers, POLICY, clock=clock, batch=1)
    assert worker.run_some(limit=10, seconds=1.5).processed == 2


def test_a_batch_is_of_one_org(store: Store, leases: LeaseClock) -> None:
    put(store, "a", "b")
    leases.pass_by(seconds=1)  # two of the same millisecond come in any order
    store.write(lambda tx: tx.jobs.put("acme", RELATE, ["c"], operation="add"))
    seen: list[set[str]] = []

    def handle(jobs: Sequence[Job]) -> list[Answer]:
        seen.append({job.org for job in jobs})
        return [Done()] * len(jobs)

    assert JobRunner(store, {RELATE: handle}, POLICY, clock=ToldClock()).run_some(limit=9).success == 3
    assert seen == [{"local"}, {"acme"}]


# -- leases --------------------------------------------------------------------------------------------------


def test_a_slow_handler_keeps_its_lease(store: Store, leases: LeaseClock) -> None:
    """The lease goes by the told clock, the renewing by a real one that ticks every few milliseconds."""
    policy = JobPolicy(lease_s=0.015)
    renewed = threading.Semaphore(0)
    put(store, "a")

    def slow(_job: Job) -> Answer:
        for _ in range(5):
            while renewed.acquire(blocking=False):
                pass
            for _time in range(2):  # the first may have begun before the time passed
                assert renewed.acquire(timeout=30)
            leases.pass_by(policy.lease_s * 0.9)
        return Done()

    worker = runner(store, slow, policy)
    renew = worker.renew_held

    def noted() -> None:
        renew()
        renewed.release()

    worker.renew_held = noted  # type: ignore[method-assign]
    assert worker.run_some(limit=1).success == 1


def test_who_lost_the_lease_saves_nothing(store: Store, leases: LeaseClock) -> None:
    put(store, "a")

    def overtaken(_job: Job) -> Answer:
        leases.pass_by(POLICY.lease_s)
        assert (
            runner(store, lambda _job: Done(save=lambda tx: tx.meta.put("by", "other"))).run_some(limit=1).success
        )
        return Done(save=lambda tx: tx.meta.put("by", "late"))

    assert runner(store, overtaken).run_some(limit=1) == Ran(processed=1, lost=1)
    with store.read() as tx:
        assert tx.meta.get("by") == "other"


def test_an_interrupted_worker_gives_back_what_it_held(store: Store) -> None:
    put(store, "a", "b")

    def interrupted(_job: Job) -> Answer:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner(store, interrupted).run_some(limit=10)
    job = job_of(store, "a")
    assert job and (job.state, job.attempts) == ("queued", 0)
    assert runner(store, lambda _job: Done()).run_some(limit=10).success == 2


def test_a_job_that_kills_every_worker_is_set_aside_and_the_others_are_done(
    store: Store, leases: LeaseClock
) -> None:
    put(store, "fine", "poison")

    def dies(job: Job) -> Answer:
        if job.subject == "poison":
            raise SystemExit
        return Done()

    deaths = 0
    for _ in range(2 * POLICY.max_attempts + 2):
        worker = runner(store, dies)
        worker.give_back = lambda: None  # type: ignore[method-assign]  # who is killed has no last words
        try:
            worker.run_some(limit=10)
        except SystemExit:
            deaths += 1
        leases.pass_by(POLICY.lease_s)
    dead = job_of(store, "poison")
    assert dead and (dead.state, dead.code) == ("dead", "JOB_WORKER_LOST")
    assert deaths == POLICY.max_attempts
    assert runs_of(store, "fine") == [("success", "", "")]


# -- with the work itself ------------------------------------------------------------------------------------


@dataclass
class Slow(ToyEmbedder):
    """Says when it is asked, and waits for leave."""

    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    leave: threading.Event = field(default_factory=threading.Event)

    def embed(self, texts: Any) -> Any:
        self.asked.release()
        assert self.leave.wait(30)
        return super().embed(texts)


def test_w13_an_edit_while_the_model_is_asked_is_not_missed(tmp_path: Path) -> None:
    """Two processes' worth: one Clew works, the other one writes."""
    slow = Slow(is_remote=True)
    with open_toy(tmp_path / "c.db", embedder=slow) as works, open_toy(tmp_path / "c.db") as writes:
        stored = writes.remember("the gateway listens on port 80")
        thread = threading.Thread(target=works.jobs.run)
        thread.start()
        assert slow.asked.acquire(timeout=30)
        writes.edit(stored.id, content="lunch is at noon")
        slow.leave.set()
        thread.join(30)
        works.jobs.run()
        outcomes = [run.outcome for run in works.jobs.show(stored.id).runs]
        assert outcomes == ["success", "retry"]
        [found] = works.recall("lunch is at noon", retrieval="semantic").results
        assert found.relevance == 1

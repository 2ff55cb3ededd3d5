"""The queue of jobs: one job per memory and kind, generations, leases by the database's clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from clew.errors import Conflict
from clew.model.job import RELATE, BackfillState, Done, Failed, Job
from clew.model.times import Micros
from clew.ports import Store, Tx
from clew.relate.queue import JobPolicy, claim_batch, give_back, renew, settle
from lease_clock import LeaseClock

POLICY = JobPolicy(max_attempts=3, retry_base_s=1.0, retry_max_s=60.0, lease_s=300.0)


@pytest.fixture
def leases(store: Store) -> LeaseClock:
    return LeaseClock(store)  # type: ignore[arg-type]


class Queue:
    """A queue as a worker sees it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def put(self, *subjects: str, org: str = "local", operation: str = "add") -> None:
        self.store.write(lambda tx: tx.jobs.put(org, RELATE, subjects, operation=operation))

    def claim(self, holder: str = "w", limit: int = 10, org: str = "local") -> list[Job]:
        return self.store.write(lambda tx: claim_batch(tx, org, POLICY, holder=holder, limit=limit))[0]

    def settle(self, job: Job, answer: Done | Failed | None = None) -> str:
        ended = answer or Done()
        return self.store.write(lambda tx: settle(tx, job, ended, POLICY, jitter=0.0, ms=1.0))

    def job(self, subject: str, org: str = "local") -> Job | None:
        with self.store.read() as tx:
            return tx.jobs.of(org, RELATE, subject)

    def must(self, subject: str, org: str = "local") -> Job:
        found = self.job(subject, org)
        assert found is not None
        return found

    def read(self, look: Callable[[Tx], Any]) -> Any:
        with self.store.read() as tx:
            return look(tx)

    def page(self, state: str | None, after: str = "") -> list[str]:
        with self.store.read() as tx:
            return [job.subject for job in tx.jobs.page("local", RELATE, state=state, limit=10, after=after)]

    def retry(self, subject: str) -> bool:
        return self.store.write(lambda tx: tx.jobs.retry(self.must(subject)))

    def backfill(self, remaining: int) -> BackfillState:
        with self.store.read() as tx:
            return tx.jobs.backfill("s", remaining=remaining)

    def outcomes(self, subject: str) -> list[str]:
        with self.store.read() as tx:
            return [run.outcome for run in reversed(tx.jobs.runs("local", RELATE, subject, limit=100))]


@pytest.fixture
def queue(store: Store, leases: LeaseClock) -> Queue:
    return Queue(store)


# -- asking --------------------------------------------------------------------------------------------------


def test_many_jobs_are_asked_for_at_once_and_wait_in_their_order(queue: Queue) -> None:
    queue.put("a", "b", "c")
    assert [job.subject for job in queue.claim()] == ["a", "b", "c"]


def test_jobs_that_were_due_together_are_claimed_in_the_order_of_their_memories(queue: Queue) -> None:
    queue.put("b", "c", "a")
    assert [job.subject for _claim in range(3) for job in queue.claim(limit=1)] == ["a", "b", "c"]


def test_a_job_asked_for_twice_is_one_job_of_a_later_generation(queue: Queue) -> None:
    queue.put("a")
    queue.put("a", operation="edit")
    job = queue.must("a")
    assert (job.state, job.generation, job.operation) == ("queued", 2, "edit")
    assert queue.read(lambda tx: tx.jobs.waiting()) == 1


def test_a_failed_job_that_is_asked_for_again_keeps_its_pause(queue: Queue) -> None:
    queue.put("a")
    queue.settle(queue.claim()[0], Failed("DOWN"))
    queue.put("a")
    assert (queue.must("a").attempts, queue.claim()) == (1, [])


def test_a_dead_job_that_is_asked_for_again_starts_afresh(queue: Queue) -> None:
    queue.put("a")
    queue.settle(queue.claim()[0], Failed("BROKEN", retryable=False))
    assert queue.must("a").state == "dead"
    queue.put("a")
    assert (queue.must("a").state, queue.must("a").attempts) == ("queued", 0)
    assert len(queue.claim()) == 1


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        ("edit", "backfill", "edit"),
        ("edit", "retry", "edit"),
        ("add", "edit", "edit"),
        ("add", "backfill", "add"),
        ("backfill", "neighbour", "neighbour"),
        ("backfill", "backfill", "backfill"),
    ],
)
def test_what_asks_for_less_does_not_take_away_from_what_was_asked_for(
    queue: Queue, first: str, then: str, kept: str
) -> None:
    queue.put("a", operation=first)
    queue.put("a", operation=then)
    assert (queue.must("a").operation, queue.must("a").generation) == (kept, 2)


def test_an_edit_gives_a_failing_job_all_its_attempts_again(queue: Queue) -> None:
    queue.put("a")
    queue.settle(queue.claim()[0], Failed("DOWN"))
    queue.put("a", operation="edit")
    assert queue.must("a").attempts == 0


def test_orgs_have_jobs_of_their_own_for_the_same_memory(queue: Queue) -> None:
    queue.put("a")
    queue.put("a", org="other")
    assert [job.org for job in queue.claim(org="other")] == ["other"]
    assert [job.org for job in queue.claim()] == ["local"]


def test_orgs_with_something_due_are_named_the_longest_due_first(queue: Queue, leases: LeaseClock) -> None:
    for org in ("late", "early", "dead", "leased"):
        queue.put("a", "b", org=org)
        leases.pass_by(1)
    for job in queue.claim(org="dead"):
        queue.settle(job, Failed("NO", "never", retryable=False))
    queue.claim(org="leased")
    queue.settle(queue.claim(org="late", limit=1)[0])
    queue.put("a", org="late")
    assert queue.read(lambda tx: tx.jobs.due_orgs(limit=9)) == ["late", "early"]
    assert queue.read(lambda tx: tx.jobs.due_orgs(limit=1)) == ["late"]
    leases.pass_by(POLICY.lease_s)
    assert queue.read(lambda tx: tx.jobs.due_orgs(limit=9)) == ["late", "early", "leased"]


# -- claiming ------------------------------------------------------------------------------------------------


def test_what_one_worker_holds_no_other_gets(queue: Queue) -> None:
    queue.put("a", "b")
    assert [job.subject for job in queue.claim("one", limit=1)] == ["a"]
    assert [job.subject for job in queue.claim("two")] == ["b"]
    assert queue.claim("three") == []


def test_a_lease_that_ran_out_lets_another_worker_in_and_counts_as_an_attempt(
    queue: Queue, leases: LeaseClock
) -> None:
    queue.put("a")
    [first] = queue.claim("one")
    leases.pass_by(POLICY.lease_s)
    [second] = queue.claim("two")
    assert (first.attempts, second.attempts) == (1, 2)
    assert second.token > first.token


def test_a_renewed_lease_does_not_run_out(queue: Queue, leases: LeaseClock) -> None:
    queue.put("a")
    [job] = queue.claim("one")
    leases.pass_by(POLICY.lease_s - 1)
    queue.store.write(lambda tx: renew(tx, job, POLICY))
    leases.pass_by(POLICY.lease_s - 1)
    assert queue.claim("two") == []
    assert queue.settle(job) == "success"


def test_a_stale_token_settles_nothing(queue: Queue, leases: LeaseClock) -> None:
    queue.put("a")
    [stale] = queue.claim("one")
    leases.pass_by(POLICY.lease_s)
    [fresh] = queue.claim("two")
    saved = Done(save=lambda tx: tx.meta.put("work", "stale"))
    with pytest.raises(Conflict, match="no longer held"):
        queue.settle(stale, saved)
    assert queue.read(lambda tx: tx.meta.get("work")) is None
    assert queue.settle(fresh) == "success"


def test_a_job_whose_worker_vanished_is_tried_alone(queue: Queue, leases: LeaseClock) -> None:
    queue.put("a", "b", "c")
    queue.claim("dies")
    leases.pass_by(POLICY.lease_s)
    queue.put("d")
    assert [len(queue.claim(f"w{number}")) for number in range(4)] == [1, 1, 1, 1]


def test_a_job_that_ends_every_worker_is_dead_and_takes_no_other_along(queue: Queue, leases: LeaseClock) -> None:
    queue.put("poison", "fine")
    for _ in range(20):
        for job in queue.claim("w"):
            if job.subject == "fine" and job.attempts > 1:  # the first time it shared a batch with the poison
                queue.settle(job)
        leases.pass_by(POLICY.lease_s)
    dead = queue.must("poison")
    assert (dead.state, dead.code, dead.attempts) == ("dead", "JOB_WORKER_LOST", POLICY.max_attempts)
    assert queue.outcomes("poison") == ["dead_letter"]
    assert (queue.job("fine"), queue.outcomes("fine")) == (None, ["success"])


def test_what_is_given_back_can_be_claimed_at_once_and_was_no_attempt(queue: Queue) -> None:
    queue.put("a")
    [job] = queue.claim("one")
    queue.store.write(lambda tx: give_back(tx, job))
    [again] = queue.claim("two")
    assert again.attempts == 1


# -- settling ------------------------------------------------------------------------------------------------


def test_what_a_job_made_and_its_end_are_one_transaction(queue: Queue) -> None:
    def save(tx: Tx) -> None:
        tx.meta.put("work", "done")
        raise RuntimeError

    queue.put("a")
    [job] = queue.claim()
    with pytest.raises(RuntimeError):
        queue.settle(job, Done(save=save))
    assert queue.read(lambda tx: tx.meta.get("work")) is None
    assert queue.must("a").state == "leased"


def test_w13_a_job_asked_for_during_its_work_is_done_again_and_nothing_stale_is_saved(queue: Queue) -> None:
    queue.put("a")
    [job] = queue.claim()
    queue.put("a", operation="edit")
    assert queue.must("a").state == "leased"
    assert queue.settle(job, Done(save=lambda tx: tx.meta.put("work", "stale"))) == "retry"
    assert queue.read(lambda tx: tx.meta.get("work")) is None
    assert (queue.must("a").state, queue.must("a").attempts) == ("queued", 0)
    [again] = queue.claim()
    assert (again.operation, queue.settle(again)) == ("edit", "success")
    assert queue.job("a") is None


def test_a_job_that_asks_for_itself_is_done_and_waits_for_another_turn(queue: Queue) -> None:
    def save(tx: Tx) -> None:
        tx.meta.put("work", "done")
        tx.jobs.put("local", RELATE, ["a"], operation="edit")

    queue.put("a", operation="edit")
    assert queue.settle(queue.claim()[0], Done(save=save)) == "success"
    assert queue.read(lambda tx: tx.meta.get("work")) == "done"
    assert (queue.must("a").state, queue.must("a").attempts, queue.must("a").operation) == ("queued", 0, "edit")


def test_a_failure_waits_longer_each_time_and_ends_dead(queue: Queue, leases: LeaseClock) -> None:
    queue.put("a")
    for pause_s in (1.0, 2.0):
        assert queue.settle(queue.claim()[0], Failed("DOWN", "no answer")) == "retry"
        leases.pass_by(pause_s - 0.1)
        assert queue.claim() == []
        leases.pass_by(0.1)
    assert queue.settle(queue.claim()[0], Failed("DOWN", "no answer")) == "dead_letter"
    job = queue.must("a")
    assert (job.state, job.attempts, job.code, job.message) == ("dead", 3, "DOWN", "no answer")
    assert queue.outcomes("a") == ["retry", "retry", "dead_letter"]


def test_a_failure_during_which_the_memory_changed_does_not_count(queue: Queue) -> None:
    queue.put("a")
    [job] = queue.claim()
    queue.put("a")
    assert queue.settle(job, Failed("DOWN", retryable=False)) == "retry"
    assert queue.claim()[0].attempts == 1


# -- looking -------------------------------------------------------------------------------------------------


def test_pages_are_of_one_org_and_one_state(queue: Queue) -> None:
    queue.put("a", "b", "c", "d")
    queue.put("x", org="other")
    [dead, *_rest] = queue.claim(limit=2)
    queue.settle(dead, Failed("BROKEN", retryable=False))
    assert (queue.page("dead"), queue.page("leased")) == (["a"], ["b"])
    assert queue.page(None) == ["a", "b", "c", "d"]
    assert queue.page("queued", after="c") == ["d"]


def test_a_job_is_found_by_the_beginning_of_its_memory_in_its_own_org_only(queue: Queue) -> None:
    queue.put("mem_a1", "mem_a2", "mem_b1")
    with queue.store.read() as tx:
        assert [job.id for job in tx.jobs.starting("local", RELATE, "mem_b")] == ["job_b1"]
        assert [job.id for job in tx.jobs.starting("local", RELATE, "mem_a")] == ["job_a1", "job_a2"]
        assert tx.jobs.starting("other", RELATE, "mem_b") == []


def test_a_dead_job_is_retried_and_a_live_one_is_not(queue: Queue) -> None:
    queue.put("a", "b")
    [job] = queue.claim(limit=1)
    queue.settle(job, Failed("BROKEN", retryable=False))
    assert (queue.retry("a"), queue.retry("a"), queue.retry("b")) == (True, False, False)
    assert (queue.must("a").state, queue.must("a").attempts, queue.must("a").operation) == ("queued", 0, "retry")


def test_health_is_that_of_the_org_and_in_the_databases_time(queue: Queue, leases: LeaseClock) -> None:
    queue.put("a", "b", "c", "d")
    queue.put("x", org="other")
    done, broken = queue.claim(limit=2)
    queue.settle(done)
    queue.settle(broken, Failed("BROKEN", retryable=False))
    leases.pass_by(30)
    queue.claim(limit=1)
    health = queue.read(lambda tx: tx.jobs.health("local"))
    assert (health.queued, health.leased, health.dead, health.backlog) == (1, 1, 1, 2)
    assert (health.oldest_s, health.failures_last_hour) == (30.0, 1)
    assert (health.last_day, health.codes) == ({"dead_letter": 1, "success": 1}, {"BROKEN": 1})
    assert health.last_success is not None
    leases.pass_by(3_600)
    assert queue.read(lambda tx: tx.jobs.health("local")).failures_last_hour == 0


@pytest.mark.parametrize("again", [Queue.retry, Queue.put])
def test_what_comes_back_from_the_dead_waits_since_then(
    queue: Queue, leases: LeaseClock, again: Callable[[Queue, str], object]
) -> None:
    queue.put("a")
    queue.settle(queue.claim()[0], Failed("BROKEN", retryable=False))
    leases.pass_by(86_400)
    again(queue, "a")
    leases.pass_by(5)
    assert queue.read(lambda tx: tx.jobs.health("local")).oldest_s == 5.0


def test_an_edit_stays_one_when_it_is_retried(queue: Queue) -> None:
    queue.put("a", operation="edit")
    queue.settle(queue.claim()[0], Failed("BROKEN", retryable=False))
    assert (queue.retry("a"), queue.must("a").operation) == (True, "edit")


def test_being_asked_again_is_no_failure(queue: Queue) -> None:
    queue.put("a", "b")
    a, b = queue.claim()
    queue.put("a", operation="edit")
    queue.settle(a)
    queue.settle(b, Failed("DOWN"))
    health = queue.read(lambda tx: tx.jobs.health("local"))
    assert (health.failures_last_hour, health.last_day) == (1, {"retry": 2})


def test_the_last_attempt_decides_whether_a_memory_is_degraded(queue: Queue, leases: LeaseClock) -> None:
    def note(job: Job, code: str) -> None:
        queue.store.write(lambda tx: tx.jobs.note_run(job, "success", ms=1.0, code=code))

    queue.put("degraded", "mended")
    degraded, mended = queue.claim()
    note(mended, "PARTIAL")
    note(degraded, "")
    leases.pass_by(1)
    note(mended, "")
    note(degraded, "PARTIAL")
    assert queue.read(lambda tx: tx.jobs.degraded("local", "PARTIAL")) == [(RELATE, "degraded")]


def test_attempts_are_kept_for_a_week(queue: Queue, leases: LeaseClock) -> None:
    queue.put("old")
    queue.settle(queue.claim()[0])
    leases.pass_by(7 * 86_400 + 1)
    queue.put("new")
    queue.settle(queue.claim()[0])
    assert (queue.outcomes("old"), queue.outcomes("new")) == ([], ["success"])


def test_the_next_job_is_due_in_so_many_seconds(queue: Queue, leases: LeaseClock) -> None:
    def next_due_s() -> float | None:
        found: float | None = queue.read(lambda tx: tx.jobs.next_due_s())
        return found

    assert next_due_s() is None
    queue.put("a")
    [job] = queue.claim()
    assert next_due_s() == POLICY.lease_s
    queue.settle(job, Failed("DOWN"))
    leases.pass_by(3)
    assert next_due_s() == -2.0


# -- backfills -----------------------------------------------------------------------------------------------


def test_a_backfill_counts_until_it_is_completed_and_a_later_one_starts_afresh(queue: Queue) -> None:
    write = queue.store.write
    write(lambda tx: tx.jobs.begin_backfill("s", total=10))
    write(lambda tx: tx.jobs.count_backfilled("s", 4, seconds=2.0))
    begun = queue.backfill(6)
    assert (begun.status, begun.done, begun.total, begun.remaining_s) == ("running", 4, 10, 3.0)
    write(lambda tx: tx.jobs.end_backfill("s", "idle", error="DOWN"))
    write(lambda tx: tx.jobs.begin_backfill("s", total=6))
    assert (queue.backfill(6).done, queue.backfill(6).total) == (4, 10)
    write(lambda tx: tx.jobs.end_backfill("s", "completed"))
    write(lambda tx: tx.jobs.begin_backfill("s", total=3))
    assert (queue.backfill(3).done, queue.backfill(3).total, queue.backfill(3).completed_at) == (0, 3, None)


def test_a_paused_backfill_does_not_begin_and_ends_paused(queue: Queue) -> None:
    write = queue.store.write
    write(lambda tx: tx.jobs.begin_backfill("s", total=10))
    write(lambda tx: tx.jobs.pause_backfill("s"))
    write(lambda tx: tx.jobs.end_backfill("s", "idle"))
    assert queue.backfill(1).status == "paused"
    assert not write(lambda tx: tx.jobs.begin_backfill("s", total=10))
    assert write(lambda tx: tx.jobs.resume_backfill("s"))
    assert write(lambda tx: tx.jobs.begin_backfill("s", total=10))


def test_a_backfill_whose_process_was_killed_is_not_called_running(queue: Queue, leases: LeaseClock) -> None:
    queue.store.write(lambda tx: tx.jobs.begin_backfill("s", total=10))
    leases.pass_by(301)
    assert queue.backfill(10).status == "idle"


LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jobs_due", {"org_id": "", "now": Micros(0), "limit": 1}),
    ("jobs_page", {"org_id": "", "kind": "", "after": "", "limit": 1}),
    ("job_runs_of", {"org_id": "", "subject": "", "kind": "", "limit": 1}),
    ("job_last_success", {"org_id": ""}),
)


def test_looking_for_due_jobs_reads_no_more_than_the_index(store: Store) -> None:
    """A recall's process and an idle worker look often: an index must answer."""
    with store.read() as tx:
        session: Any = tx.session  # type: ignore[attr-defined]
        engine: str = store.engine.name  # type: ignore[attr-defined]
        looks = (*LOOKS, ("jobs_next", {})) if engine == "sqlite" else LOOKS  # elsewhere a function hides it
        plans = {name: _plan(session, engine, name, values) for name, values in looks}
    for name, told in plans.items():
        assert re.search("using", told, re.I), (name, told)
        assert not re.search("seq scan|> *sort|temp b-tree", told, re.I), (name, told)


def _plan(session: Any, engine: str, name: str, values: dict[str, Any]) -> str:
    query = session._queries[name]
    if engine == "sqlite":
        return " ".join(row[3] for row in session.connection.execute(f"EXPLAIN QUERY PLAN {query}", values))
    session.connection.execute("SET LOCAL enable_seqscan = off")  # by which small tables are read, index or not
    return "\n".join(row[0] for row in session.connection.execute(f"EXPLAIN {query.sql}", values))

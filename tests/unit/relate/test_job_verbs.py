"""`clew.jobs`: whose jobs one sees, what is said of them, and what is tried again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from clew import Conflict, Denied, InvalidInput, NotFound, Scope
from clew.clew import Clew
from clew.model.job import RELATE, Done, Failed, Job
from clew.model.relation import CLASSIFICATION_FAILED, Issue
from clew.model.scope import Identity
from clew.relate.worker import JobRunner
from lease_clock import LeaseClock

ACME = Identity(org="acme")
AGENT = Identity(org="local", agent="coder", roles=("member",))
BROKEN = Failed("KEY_MISSING", "no key is configured", retryable=False)


def run(memory: Clew, answer: Done | Failed) -> None:
    """Have everything that is due answered like this."""
    handlers: dict[str, Callable[[Sequence[Job]], Any]] = {RELATE: lambda jobs: [answer] * len(jobs)}
    JobRunner(memory.store, handlers, memory.jobs.policy, clock=memory.clock, jitter=lambda: 0.0).run_some(limit=99)


@pytest.fixture
def leases(memory: Clew) -> LeaseClock:
    return LeaseClock(memory.store)  # type: ignore[arg-type]


def told(memory: Clew, id: str) -> str:
    return " / ".join(memory.jobs.show(id).explanation)


# -- who sees what -------------------------------------------------------------------------------------------


def test_an_owner_sees_the_jobs_of_the_own_org(memory: Clew) -> None:
    mine = memory.remember("one").id
    theirs = memory.remember("two", scope=Scope(org="acme"), identity=ACME).id
    assert [job.subject for job in memory.jobs.list()] == [mine]
    assert [job.subject for job in memory.jobs.list(identity=ACME)] == [theirs]
    with pytest.raises(NotFound):
        memory.jobs.show(theirs)
    with pytest.raises(NotFound):
        memory.jobs.retry(theirs)
    assert memory.jobs.health(identity=ACME).backlog == 1


@pytest.mark.parametrize("verb", ["list", "health", "retry", "run"])
def test_an_agent_looks_after_no_jobs(memory: Clew, verb: str) -> None:
    with pytest.raises(Denied):
        getattr(memory.jobs, verb)(identity=AGENT)


def test_running_jobs_concerns_every_org_and_is_for_the_operator(memory: Clew) -> None:
    with pytest.raises(Denied):
        memory.jobs.run(identity=ACME)
    memory.remember("two", scope=Scope(org="acme"), identity=ACME)
    assert memory.jobs.run().processed == 1


def test_pages_follow_each_other(memory: Clew) -> None:
    ids = sorted(memory.remember(f"text {number}").id for number in range(5))
    first = memory.jobs.list(limit=2)
    rest = memory.jobs.list(limit=10, cursor=first[-1].id)
    assert [job.subject for job in (*first, *rest)] == ids
    with pytest.raises(InvalidInput):
        memory.jobs.list(state="asleep")


def test_pages_also_follow_each_other_where_ids_come_from_elsewhere(memory: Clew) -> None:
    ids = ["abc-0001", "abc-0002", "job_x", "mem_y", "zzz-3"]
    for id in ids:
        memory.remember(f"text {id}", id=id)
    for name in ("subject", "id"):
        found, cursor = [], ""
        for _ in ids:
            [job] = memory.jobs.list(limit=1, cursor=cursor)
            found.append(job.subject)
            cursor = getattr(job, name)
        assert (found, memory.jobs.list(cursor=cursor)) == (ids, [])


# -- explaining ----------------------------------------------------------------------------------------------


def test_a_job_is_explained_by_its_id_its_memory_or_a_beginning(memory: Clew) -> None:
    stored = memory.remember("one")
    [job] = memory.jobs.list()
    for name in (stored.id, job.id, job.id[:20], stored.id[:20]):
        assert memory.jobs.show(name).subject == stored.id
    for unknown in ("job_00000000", "mem_00000000", job.id[:5]):
        with pytest.raises(NotFound):
            memory.jobs.show(unknown)


def test_a_beginning_of_several_is_no_name(memory: Clew) -> None:
    memory.remember("one", id="mem_shared_beginning_1")
    memory.remember("two", id="mem_shared_beginning_2")
    with pytest.raises(InvalidInput):
        memory.jobs.show("mem_shared_b")


def test_what_waits_says_so(memory: Clew) -> None:
    id = memory.remember("one").id
    assert told(memory, id) == "it waits for a worker (not tried yet); due now"
    assert "clew jobs run" in memory.jobs.show(id).next


def test_what_failed_says_why_how_often_and_when_it_is_tried_next(memory: Clew, leases: LeaseClock) -> None:
    id = memory.remember("one").id
    run(memory, Failed("EMBEDDING_REQUEST_FAILED", "no answer within 10 s"))
    leases.pass_by(1)
    run(memory, Failed("EMBEDDING_REQUEST_FAILED", "no answer within 10 s"))
    assert told(memory, id) == (
        "it waits for a worker (tried 2 times); due in 2 s / "
        "the embedding model did not answer [EMBEDDING_REQUEST_FAILED] / no answer within 10 s"
    )
    assert memory.jobs.show(id).next == "nothing: it is tried again by itself"


def test_what_was_given_up_says_what_to_do(memory: Clew, leases: LeaseClock) -> None:
    id = memory.remember("one").id
    run(memory, Failed("EMBEDDING_RESPONSE_INVALID", "12 numbers", retryable=False))
    report = memory.jobs.show(id)
    assert report.explanation[0] == "it was tried once and is not tried again by itself"
    assert report.next == f"check embed.model and embed.dim; then: clew jobs retry {report.job and report.job.id}"


def test_what_is_worked_on_and_what_was_left_behind_differ(memory: Clew, leases: LeaseClock) -> None:
    from clew.relate.queue import claim_batch

    id = memory.remember("one").id
    memory.store.write(lambda tx: claim_batch(tx, "local", memory.jobs.policy, holder="w", limit=1))
    assert told(memory, id).startswith(
        "somebody works on it (tried once); if nothing is heard of them, it is taken"
    )
    leases.pass_by(memory.jobs.policy.lease_s)
    assert told(memory, id) == "whoever worked on it is gone (tried once); the next worker takes it over"


def test_what_is_done_is_still_told_of(memory: Clew) -> None:
    id = memory.remember("one").id
    memory.jobs.run()
    report = memory.jobs.show(id)
    assert (report.job, report.explanation) == (None, ("it is done",))
    assert [entry.outcome for entry in report.runs] == ["success"]


# -- trying again --------------------------------------------------------------------------------------------


def test_one_or_all_dead_jobs_are_tried_again(memory: Clew) -> None:
    ids = [memory.remember(f"text {number}").id for number in range(3)]
    run(memory, BROKEN)
    assert memory.jobs.health().dead == 3
    assert (memory.jobs.retry(ids[0]), memory.jobs.retry()) == (1, 2)
    assert [job.operation for job in memory.jobs.list(state="queued")] == ["retry"] * 3


def test_what_waits_anyway_is_not_retried(memory: Clew) -> None:
    id = memory.remember("one").id
    with pytest.raises(Conflict, match="queued, not dead"):
        memory.jobs.retry(id)
    assert memory.jobs.retry() == 0


def test_what_was_done_only_in_part_is_tried_again_once(memory: Clew) -> None:
    memory.remember("whole")
    run(memory, Done())
    id = memory.remember("in part").id
    run(memory, Done(issues=(Issue(CLASSIFICATION_FAILED, "classification", id),)))
    assert "were left out" in told(memory, id)
    assert (memory.jobs.retry(), memory.jobs.retry()) == (1, 0)
    assert [job.subject for job in memory.jobs.list()] == [id]


def test_everything_that_is_live_can_be_asked_for_again(memory: Clew) -> None:
    """As for a store from before there were jobs, or once a language model is there."""
    ids = [memory.remember(f"text {number}").id for number in range(3)]
    memory.forget(ids[2])
    memory.remember("theirs", scope=Scope(org="acme"), identity=ACME)
    memory.jobs.run()
    assert memory.jobs.retry(everything=True) == 2
    assert {job.subject: job.operation for job in memory.jobs.list()} == dict.fromkeys(ids[:2], "retry")
    assert memory.jobs.list(identity=ACME) == []
    with pytest.raises(InvalidInput):
        memory.jobs.retry(ids[0], everything=True)


def test_a_short_lived_process_does_one_job_at_a_time_and_looks_at_the_clock(memory: Clew) -> None:
    seen: list[int] = []

    def slow(jobs: Sequence[Job]) -> list[Done | Failed]:
        seen.append(len(jobs))
        memory.clock.pass_by(seconds=0.2)  # type: ignore[attr-defined]
        return [Done()] * len(jobs)

    for number in range(9):
        memory.remember(f"text {number}")
    memory.jobs.__dict__["_relator"] = SimpleNamespace(handle=slow)
    assert memory.jobs.portion().processed == 2
    assert seen == [1, 1]


def test_a_short_lived_process_does_nothing_where_reading_alone_takes_too_long(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.verbs.jobs.PORTION_MEMORIES", 1)
    memory.remember("one")
    assert memory.jobs.portion().processed == 1
    memory.remember("two")
    assert memory.jobs.portion().processed == 0
    assert memory.jobs.health().backlog == 1


# -- the truth about it --------------------------------------------------------------------------------------


def check(memory: Clew) -> list[tuple[bool, str, str]]:
    return [(one.ok, one.detail, one.next) for one in memory.doctor() if one.name == "jobs"]


def test_the_doctor_finds_what_was_given_up_and_what_nobody_does(memory: Clew, leases: LeaseClock) -> None:
    memory.remember("one")
    assert check(memory) == [(True, "waiting: 1, given up: none", "")]
    leases.pass_by(7_300)
    [(ok, detail, next)] = check(memory)
    assert (ok, detail) == (False, "waiting: 1, the oldest for 2 h, and nobody does them")
    assert next == "do them: clew jobs run --once"
    run(memory, BROKEN)
    assert check(memory) == [(False, "given up: 1", "look at them: clew jobs list --state dead")]


def test_the_doctor_names_a_paused_backfill(memory: Clew) -> None:
    from toys import ToyEmbedder, open_toy

    memory.remember("one")
    path = memory.store.path  # type: ignore[attr-defined]
    with open_toy(path, embedder=ToyEmbedder(name="other")) as other:
        other.jobs.backfill.pause()
        [vectors] = [one for one in other.doctor() if one.name == "vectors"]
    assert (vectors.ok, vectors.next) == (False, "run: clew jobs backfill resume")


def test_statistics_count_the_jobs_of_the_org(memory: Clew) -> None:
    memory.remember("one")
    memory.remember("two", scope=Scope(org="acme"), identity=ACME)
    assert memory.stats().jobs == {"queued": 1, "leased": 0, "dead": 0}

"""The queue of jobs: asked for within a write, claimed by a worker, and settled in one transaction.

In: ids of memories that changed. Out: jobs, durable with the write that asked for them. At most one of a kind for
each memory; asked for again while somebody works on it, it is done once more afterwards, so that no change is
missed and nothing is made of text that is gone. A worker that ends without a word loses its lease, and another
takes the job; one that ends its worker again and again is set aside.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from clew.errors import Conflict
from clew.model.job import ASKED_AGAIN, EDIT, RELATE, WORKER_LOST, Done, Failed, Job
from clew.model.memory import Memory
from clew.model.relation import PARTIAL_DEGRADE
from clew.ports import Store, Tx
from clew.values import dataclass

logger = logging.getLogger(__name__)

KEEP_RUNS_S = 7 * 86_400.0
PRUNED_AT_ONCE = ASKED_AT_ONCE = 500
MAX_MESSAGE = 1_200  # characters, as documented (memories_sh.md 5.3)
LOST = "lost"
# What relations rest on: text, what it is about, validity, and who may see or send it. Tags and weights are not
# among them (W8).
_RESTS_ON = (
    "content", "title", "type", "layer", "classification", "paths", "author", "at", "valid_at", "invalid_at",
    "expires_at", "upsert_key", "superseded_by", "deleted_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """What the settings say about trying again. Defaults as documented (memories_sh.md 5.3)."""

    max_attempts: int = 5
    retry_base_s: float = 1.0
    retry_max_s: float = 60.0
    lease_s: float = 300.0


def backoff_s(attempt: int, policy: JobPolicy, *, jitter: float) -> float:
    """How long to wait after this attempt: doubled each time, up to the longest. `jitter` in [0, 1) takes away up
    to half, so that what failed together does not come back together."""
    doubled = policy.retry_base_s * 2.0 ** min(attempt - 1, 60)
    return min(policy.retry_max_s, doubled) * (1.0 - jitter / 2)


# -- asking ------------------------------------------------------------------------------------------


def enqueue(tx: Tx, org: str, subjects: Sequence[str], *, operation: str, kind: str = RELATE) -> None:
    """Ask for a job for each memory. An extra: whatever goes wrong, the write around it goes on."""
    if not subjects:
        return
    try:
        with tx.savepoint():
            tx.jobs.put(org, kind, subjects, operation=operation)
    except Exception as error:
        if not tx.is_open:
            raise  # a full disk made the engine undo everything: that is not the queue's failure
        why = getattr(error, "code", type(error).__name__)
        logger.warning("%d jobs could not be queued: %s", len(subjects), why)


def enqueue_changed(tx: Tx, old: Memory, new: Memory) -> None:
    """Ask for a job if anything changed that relations rest on."""
    if any(getattr(old, name) != getattr(new, name) for name in _RESTS_ON):
        enqueue(tx, new.org, [new.id], operation=EDIT)


def enqueue_everything(store: Store, *, operation: str, org: str | None = None) -> int:
    """Ask for a job for each memory that is not forgotten or replaced, of one org or of all; returns how many.
    Nobody else does for those from before there were jobs, or before there was a model to ask."""
    if org is not None:
        return _enqueue_all_of(store, org, operation)
    with store.read() as tx:
        orgs = tx.config.orgs()
    return sum(_enqueue_all_of(store, one, operation) for one in orgs)


def _enqueue_all_of(store: Store, org: str, operation: str) -> int:
    count = row = 0
    while page := _subjects(store, org, row):
        row, ids = page[-1][0], [id for _row, id in page]
        store.write(partial(_put, org=org, subjects=ids, operation=operation), durable=False)
        count += len(ids)
    return count


def _put(tx: Tx, *, org: str, subjects: Sequence[str], operation: str) -> None:
    tx.jobs.put(org, RELATE, subjects, operation=operation)


def _subjects(store: Store, org: str, after: int) -> list[tuple[int, str]]:
    with store.read() as tx:
        return tx.jobs.subjects(org, after=after, limit=ASKED_AT_ONCE)


# -- claiming ----------------------------------------------------------------------------------------


def claim_batch(tx: Tx, org: str, policy: JobPolicy, *, holder: str, limit: int) -> tuple[list[Job], list[Job]]:
    """Jobs of an org, and those that were given up.

    A job whose worker vanished is tried alone: if it was the one that ended the worker, it takes no others along.
    """
    claimed: list[Job] = []
    buried: list[Job] = []
    for job in tx.jobs.due(org, limit=limit):
        is_suspect = job.state == "leased"
        if is_suspect and job.attempts >= policy.max_attempts:
            buried.append(_bury_lost(tx, job))
        elif claimed and is_suspect:
            break
        elif token := tx.leases.claim(org, key_of(job), holder=holder, ttl_s=policy.lease_s):
            tx.jobs.claim(job, ttl_s=policy.lease_s)
            claimed.append(replace(job, state="leased", attempts=job.attempts + 1, token=token))
            if is_suspect:
                break
    if claimed or buried:
        tx.jobs.prune_runs(org, older_than_s=KEEP_RUNS_S, limit=PRUNED_AT_ONCE)
    return claimed, buried


def _bury_lost(tx: Tx, job: Job) -> Job:
    message = f"whoever worked on it ended without a word, after {job.attempts} attempts"
    tx.jobs.bury(job, code=WORKER_LOST, message=message)
    tx.jobs.note_run(job, "dead_letter", ms=0.0, code=WORKER_LOST, message=message)
    return job


def key_of(job: Job) -> str:
    """Under which its lease is held."""
    return f"job/{job.kind}/{job.subject}"


def renew(tx: Tx, job: Job, policy: JobPolicy) -> None:
    tx.leases.renew(job.org, key_of(job), job.token, ttl_s=policy.lease_s)
    tx.jobs.renew(job, ttl_s=policy.lease_s)


def give_back(tx: Tx, job: Job) -> None:
    """Nothing was done: it can be claimed at once, and the attempt does not count."""
    tx.leases.finish(job.org, key_of(job), job.token)
    tx.jobs.requeue(job, attempts=job.attempts - 1, code=job.code, message=job.message)


def give_back_all(tx: Tx, jobs: Sequence[Job]) -> None:
    """Those that are still held: some may be settled meanwhile."""
    for job in jobs:
        with suppress(Conflict), tx.savepoint():
            give_back(tx, job)


# -- settling ----------------------------------------------------------------------------------------


def settle(tx: Tx, job: Job, answer: Done | Failed, policy: JobPolicy, *, jitter: float, ms: float) -> str:
    """Save what was made of a job and end it, in one transaction; returns the outcome of the attempt.

    A stale token is refused before anything is saved. If the memory changed meanwhile, what was made of it is
    dropped and the job waits for its next turn. So it does if what was saved is not all: `save` asks for it again.
    """
    tx.leases.finish(job.org, key_of(job), job.token)
    if tx.jobs.is_asked_again(job):
        tx.jobs.requeue(job, attempts=0)
        return _note(tx, job, "retry", ms, ASKED_AGAIN, "the memory changed while its job was worked on")
    if isinstance(answer, Failed):
        return _fail(tx, job, answer, policy, jitter=jitter, ms=ms)
    if answer.save is not None:
        answer.save(tx)
    if tx.jobs.is_asked_again(job):
        tx.jobs.requeue(job, attempts=0)
    else:
        tx.jobs.drop(job)
    if answer.skipped:
        return _note(tx, job, "skipped", ms, answer.skipped, "")
    code = PARTIAL_DEGRADE if answer.issues else ""
    return _note(tx, job, "success", ms, code, told_issues([issue.code for issue in answer.issues]))


def _fail(tx: Tx, job: Job, failed: Failed, policy: JobPolicy, *, jitter: float, ms: float) -> str:
    message = failed.message[:MAX_MESSAGE]
    if failed.retryable and job.attempts < policy.max_attempts:
        pause_s = backoff_s(job.attempts, policy, jitter=jitter)
        tx.jobs.requeue(job, attempts=job.attempts, after_s=pause_s, code=failed.code, message=message)
        return _note(tx, job, "retry", ms, failed.code, message)
    tx.jobs.bury(job, code=failed.code, message=message)
    return _note(tx, job, "dead_letter", ms, failed.code, message)


def _note(tx: Tx, job: Job, outcome: str, ms: float, code: str, message: str) -> str:
    tx.jobs.note_run(job, outcome, ms=ms, code=code, message=message)
    return outcome


def told_issues(codes: Sequence[str]) -> str:
    """As documented: `relationship_issues=3;CODE_A:1,CODE_B:2`; empty when there are none."""
    counted = ",".join(f"{code}:{count}" for code, count in sorted(Counter(codes).items()))
    return f"relationship_issues={len(codes)};{counted}" if codes else ""

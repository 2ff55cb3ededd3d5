"""Work on jobs: claim some, let their handler do them, settle each.

In: a store with jobs. Out: how many came to what. What a job made is saved together with its end, each job in a
transaction of its own. So a worker that is killed in between loses nothing and leaves nothing half done: what it
had claimed is claimed again when its lease has run out. Handlers run outside any transaction. While they run,
leases are renewed: a slow one keeps them, and one that is stuck loses them after an hour.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from time import monotonic

from clew.errors import ClewError, Conflict
from clew.model.ids import new_id
from clew.model.job import JOB_FAILED, KIND_UNKNOWN, Done, Failed, Job, Ran
from clew.model.relation import SYNC_FAILED
from clew.ports import Clock, Store
from clew.relate.background import Background
from clew.relate.courtesy import Courtesy
from clew.relate.queue import LOST, JobPolicy, claim_batch, give_back_all, renew, settle

logger = logging.getLogger(__name__)

Handler = Callable[[Sequence[Job]], Sequence[Done | Failed]]  # one answer per job, in their order

BATCH = 32  # enough for one request to an embedder, and settled in some ten milliseconds
ORGS = 1_000  # that one look finds
RENEWED_AFTER = 1 / 3  # of the lease
STUCK_AFTER_S = 3_600.0
REST_S, MAX_REST_S = 0.05, 2.0  # between two batches beside other work: as long as the last one took
LOOK_S = 1.0  # how often a process that does nothing else looks for jobs
IDLE_S = 60.0  # beside other work: writes of this process wake it, those of others are noticed after this long,
# or at once where the store tells of them
BEAT_S = 5.0  # while it waits: whoever watches it sees that it is alive
GRACE_S = 1.0  # how long a stop waits for the batch at hand
GIVE_BACK_MS = 250  # and for a store that somebody else holds


class JobRunner:
    """One worker. `holder` must be its own: whoever shares it shares its leases."""

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        policy: JobPolicy,
        *,
        clock: Clock,
        holder: str = "",
        batch: int = BATCH,
        jitter: Callable[[], float] = random.random,
        courtesy: Courtesy | None = None,
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._policy = policy
        self._clock = clock
        self._holder = holder or new_id("worker")
        self._batch = batch
        self._jitter = jitter
        self.courtesy = courtesy or Courtesy()
        self._held: dict[tuple[str, str], Job] = {}  # by kind and subject: a batch is of one org
        self._turns: dict[str, int] = {}  # of orgs: the batch in which each last had something done
        self.stopping = threading.Event()

    def run_some(
        self,
        *,
        limit: int,
        seconds: float | None = None,
        forever: bool = False,
        told: Callable[[Ran], None] | None = None,
        is_rest_counted: bool = True,
    ) -> Ran:
        """Until nothing is due, so many were done, so many seconds have passed, or it is stopped. With `forever`,
        what is not due yet is waited for. `told` hears after each batch what there was so far."""
        began, total = self._clock.now(), Ran()
        while not self.stopping.is_set() and total.processed < limit:
            ran = self.run_batch(limit - total.processed)
            total += ran
            if ran.processed and told:
                told(self._with_rest(total))
            if seconds is not None and self._seconds_since(began) >= seconds:
                break
            left_s = LOOK_S if seconds is None else seconds - self._seconds_since(began)
            if not ran.processed and not (forever and self._wait_for_more(left_s)):
                break
        return self._with_rest(total) if is_rest_counted else total

    def _with_rest(self, total: Ran) -> Ran:
        with self._store.read() as tx:
            return total + Ran(left=tx.jobs.waiting())

    def _wait_for_more(self, most_s: float) -> bool:
        """Whether to go on. Jobs that other processes ask for are noticed within a second."""
        due_s, most_s = self.next_due_s(), min(most_s, LOOK_S)
        return not self.stopping.wait(most_s if due_s is None else _within(REST_S, due_s, most_s))

    def run_batch(self, limit: int = BATCH) -> Ran:
        """One claim, and what came of it; `left` is not counted."""
        claim = partial(claim_batch, policy=self._policy, holder=self._holder, limit=min(limit, self._batch))
        for org in self._orgs_in_turn():
            jobs, buried = self._store.write(partial(claim, org=org), durable=False, lock=f"jobs:{self._holder}")
            if not jobs and not buried:
                continue  # another worker was faster
            self._turns[org] = max(self._turns.values(), default=0) + 1
            ran = Ran(processed=len(buried), dead_letters=len(buried))
            return ran + self._work_on(jobs) if jobs else ran
        return Ran()

    def _orgs_in_turn(self) -> list[str]:
        """Those with something due, whoever had the last turn longest ago first: however much one org asks for,
        the others come after one batch of it."""
        with self._store.read() as tx:  # most looks find nothing, and those take no lock
            due = tx.jobs.due_orgs(limit=ORGS)
        return sorted(due, key=lambda org: self._turns.get(org, 0))

    def next_due_s(self) -> float | None:
        with self._store.read() as tx:
            return tx.jobs.next_due_s()

    def when_asked(self, told: Callable[[], object]) -> None:
        """Call `told` when some process may have asked for jobs, where the store can tell."""
        self._store.listen("jobs", told)

    def give_back(self) -> None:
        """Let others have what is claimed at once; for a worker that is not waited for any longer."""
        held = list(self._held.values())
        with suppress(ClewError):  # the store is busy or gone: then the leases run out
            self._store.write_unless_busy(partial(give_back_all, jobs=held), wait_ms=GIVE_BACK_MS)
        self._held.clear()

    # -- a batch -------------------------------------------------------------------------------------

    def _work_on(self, jobs: Sequence[Job]) -> Ran:
        self._held = {(job.kind, job.subject): job for job in jobs}
        try:
            began = self._clock.now()
            with self._renewing():
                answers = self._answers(jobs)
            ms = 1e3 * self._seconds_since(began) / len(jobs)
            total = Ran()
            for job, answer in zip(jobs, answers, strict=True):
                self.courtesy.stand_back()
                total += self._settle(job, answer, ms)
                self._held.pop((job.kind, job.subject), None)
            return total
        except BaseException:  # interrupted, or the store failed: nobody should wait for the leases
            self.give_back()
            raise

    def _answers(self, jobs: Sequence[Job]) -> list[Done | Failed]:
        found: dict[tuple[str, str], Done | Failed] = {}
        for kind in dict.fromkeys(job.kind for job in jobs):
            alike = [job for job in jobs if job.kind == kind]
            found |= zip([(kind, job.subject) for job in alike], self._handled(kind, alike), strict=True)
        return [found[job.kind, job.subject] for job in jobs]

    def _handled(self, kind: str, jobs: Sequence[Job]) -> Sequence[Done | Failed]:
        if kind not in self._handlers:
            unknown = Failed(KIND_UNKNOWN, f"this Clew knows no jobs of kind '{kind}'", retryable=False)
            return [unknown] * len(jobs)
        try:
            answers = self._handlers[kind](jobs)
        except Exception as error:  # the worker must outlive whatever a handler and its providers raise
            return [_failed(error, JOB_FAILED)] * len(jobs)
        if len(answers) != len(jobs):
            return [Failed(JOB_FAILED, f"{len(answers)} answers to {len(jobs)} jobs")] * len(jobs)
        return answers

    def _settle(self, job: Job, answer: Done | Failed, ms: float) -> Ran:
        end = partial(settle, job=job, policy=self._policy, jitter=self._jitter(), ms=ms)
        try:
            outcome = self._store.write(partial(end, answer=answer), durable=False)
        except Exception as error:  # what the store does not take is its job's failure, and the worker goes on
            if isinstance(error, Conflict) and error.code == "LEASE_LOST":
                return Ran(processed=1, lost=1)
            if isinstance(answer, Failed):
                raise  # not its work: the store itself does not take it
            answer = _failed(error, SYNC_FAILED)
            outcome = self._store.write(partial(end, answer=answer), durable=False)
        return _counted(outcome, answer)

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        done = threading.Event()
        thread = threading.Thread(target=self._renew_until, args=(done,), name="clew-leases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _renew_until(self, done: threading.Event) -> None:
        pause_s = self._policy.lease_s * RENEWED_AFTER
        for _ in range(max(1, int(STUCK_AFTER_S / pause_s))):
            if done.wait(pause_s):
                return
            self.renew_held()

    def renew_held(self) -> None:
        """Hold what is claimed for another lease. What is lost is noticed when it is settled."""
        for job in list(self._held.values()):
            try:
                self._store.write(partial(renew, job=job, policy=self._policy), durable=False)
            except ClewError as error:
                logger.warning("the lease on %s could not be renewed: %s", job.id, error.code)

    def _seconds_since(self, began: datetime) -> float:
        return (self._clock.now() - began).total_seconds()


def _failed(error: Exception, code: str) -> Failed:
    """What it says is kept only if it is ours: others may quote what they were given."""
    said = f"{error.code}: {error.message}" if isinstance(error, ClewError) else type(error).__name__
    return Failed(code, said)


def _counted(outcome: str, answer: Done | Failed) -> Ran:
    degraded = int(outcome == "success" and isinstance(answer, Done) and bool(answer.issues))
    return Ran(
        processed=1,
        success=int(outcome == "success"),
        retries=int(outcome == "retry"),
        dead_letters=int(outcome == "dead_letter"),
        skipped=int(outcome == "skipped"),
        degraded=degraded,
        lost=int(outcome == LOST),
    )


class BackgroundJobs(Background):
    """Does jobs while the process lives: at most half of the time, less while somebody asks something (`Courtesy`),
    and nothing while there is nothing to do."""

    name = "jobs"

    def __init__(
        self, make_runner: Callable[[], JobRunner], *, is_wanted: Callable[[], object] = lambda: True
    ) -> None:
        super().__init__()
        self._make_runner = make_runner
        self._is_wanted = is_wanted  # by whoever made it; neither keeps that one alive
        self._runner: JobRunner | None = None
        self._wake = threading.Event()
        self._was_nudged = False
        self._beat_at = 0.0
        self.worked_at = 0.0  # when it last came to the end of a batch that had jobs in it, or began

    @property
    def beat_at(self) -> float:
        """When it last was between two batches, or stood back for somebody; 0 before it began."""
        if not self._beat_at or self._runner is None:
            return self._beat_at
        return max(self._beat_at, self._runner.courtesy.went_on_at)

    def nudge(self) -> None:
        """There may be something to do."""
        self._was_nudged = True
        self._wake.set()
        self.start()

    def stop(self) -> None:
        """Waits a moment for the batch at hand; what takes longer is given back for others to do."""
        self._stopping.set()
        self._wake.set()
        if self._runner:
            self._runner.stopping.set()
        if self._thread is not None:
            self._thread.join(GRACE_S)
            if self._thread.is_alive() and self._runner:
                self._runner.give_back()

    def _work(self) -> None:
        self._beat_at = self.worked_at = monotonic()
        self._runner = runner = self._make_runner()
        runner.when_asked(self._wake.set)
        while not self._stopping.is_set() and self._is_wanted():
            self._beat_at = monotonic()
            self._wake.clear()
            self._was_nudged = False
            try:
                self._one_batch(runner)
            except Exception as error:  # the loop outlives a store that is busy or full; `clew doctor` tells
                self.failed = getattr(error, "code", type(error).__name__)
                if self.failed == "STORE_CLOSED":
                    return
                logger.warning("jobs in the background failed: %s", self.failed)
                self._rest(self._stopping, IDLE_S)

    def _one_batch(self, runner: JobRunner) -> None:
        """And a rest: as long as it took, longer while others write, or until something is due."""
        began = monotonic()
        if runner.run_batch().processed:
            self.failed, self.worked_at = "", monotonic()
            rest_s = _within(REST_S, self.worked_at - began, MAX_REST_S)
            self._stopping.wait(rest_s)
            if self._was_nudged:
                self._stopping.wait(MAX_REST_S - rest_s)
        else:
            due_s = runner.next_due_s()
            self._rest(self._wake, IDLE_S if due_s is None else _within(REST_S, due_s, IDLE_S))

    def _rest(self, event: threading.Event, seconds: float) -> None:
        until = monotonic() + seconds
        while (left_s := until - monotonic()) > 0 and not event.wait(min(left_s, BEAT_S)) and self._is_wanted():
            self._beat_at = monotonic()


def _within(least: float, wanted: float, most: float) -> float:
    return max(least, min(wanted, most))

"""The verbs about jobs: `clew.jobs.list()`, `clew.jobs.run()`. Each checks who asks and hands over to a step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import Conflict, InvalidInput, Misconfigured, NotFound
from clew.lazy import LazyModule, made_once
from clew.model.ids import check_cursor
from clew.model.job import RELATE, STATES, BackfillState, Job, JobHealth, Ran
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.progress import Progress, no_progress
from clew.model.relation import PARTIAL_DEGRADE
from clew.model.scope import Identity
from clew.model.times import zoned
from clew.verbs import powers

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.model.llm import Spent
    from clew.ports import Embedder, Tx
    from clew.relate import embed, queue, relate, worker
    from clew.relate import job_report as reports
    from clew.relate import spend as spending
    from clew.relate.job_report import JobReport
else:
    embed, queue, relate, reports, worker = (
        LazyModule(f"clew.relate.{name}") for name in ("embed", "queue", "relate", "job_report", "worker")
    )
    spending = LazyModule("clew.relate.spend")

WEEK = timedelta(days=7)
MAX_PAGE = 1_000
RUNS_SHOWN = 20
PORTION, PORTION_S = 16, 0.3  # what a short-lived process does after it has answered
PORTION_MEMORIES = 30_000  # reading more of them takes longer than that, before the first job is done
_LOOK = "look at the jobs of the org"


@checked
class Jobs:
    """What writes left to be done: list, explain, retry, run, and how it is doing."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def list(
        self,
        *,
        state: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
        identity: Identity | None = None,
    ) -> list[Job]:
        """Those of the org, in the order of their memories. `cursor` is the last memory of the page before."""
        who = powers.caretaker(self._clew, identity, _LOOK)
        if state not in (None, *STATES):
            raise InvalidInput(
                f"no job is '{state}'", code="JOB_STATE_INVALID", next=f"choose one of {', '.join(STATES)}"
            )
        check_limit(limit)
        with self._clew.store.read() as tx:
            after = _after(tx, who.org, cursor) if cursor else ""
            return tx.jobs.page(who.org, RELATE, state=state, limit=min(limit, MAX_PAGE), after=after)

    def show(self, id: str, *, identity: Identity | None = None) -> JobReport:
        """A job by its id or that of its memory, or a unique beginning: what happened, what is next, what to do."""
        who = powers.caretaker(self._clew, identity, _LOOK)
        with self._clew.store.read() as tx:
            subject = _found(tx, who.org, id)
            job = tx.jobs.of(who.org, RELATE, subject)
            runs = tx.jobs.runs(who.org, RELATE, subject, limit=RUNS_SHOWN)
            return reports.job_report(subject, job, runs, tx.jobs.now())

    def retry(self, id: str | None = None, *, everything: bool = False, identity: Identity | None = None) -> int:
        """Try one again, or all that are dead or were done only in part; returns how many that are. `everything`:
        relate every live memory of the org anew, also with a language model if there is one."""
        who = powers.administrator(self._clew, identity, "have jobs tried again")
        if id is not None and everything:
            raise InvalidInput("one job is not everything", code="JOB_RETRY_AMBIGUOUS", next="give one of the two")
        if everything:
            count = queue.enqueue_everything(self._clew.store, operation="retry", org=who.org)
        else:
            step = _retry_all if id is None else partial(_retry_one, id=id)
            count = self._clew.store.write(lambda tx: step(tx, who.org))
        self._clew._jobs_are_waiting()
        return count

    def run(
        self,
        *,
        limit: int | None = None,
        seconds: float | None = None,
        forever: bool = False,
        told: Callable[[Ran], None] | None = None,
        identity: Identity | None = None,
    ) -> Ran:
        """Do what is due, for all orgs; with `forever` also what comes, until it is interrupted. `told` hears of
        every batch. For the store's operator."""
        powers.operator(self._clew, identity, "run the jobs of all orgs")
        runner = self.runner()
        many = 1 << 62 if limit is None else limit
        return runner.run_some(limit=many, seconds=seconds, forever=forever, told=told)

    def portion(self) -> Ran:
        """A little of what is due, for a process that has answered and is about to end: one by one, until the time
        is over. Not where a language model is asked, which takes seconds, nor in a store too large to be read in
        that time: there a process that lives does them, or `clew jobs run`."""
        if not self._clew.settings.relate.in_process or self._clew.settings.llm.enabled:
            return Ran()
        with self._clew.store.read() as tx:
            if tx.memories.count_all(most=PORTION_MEMORIES + 1) > PORTION_MEMORIES:
                return Ran()
        return self.runner(batch=1).run_some(limit=PORTION, seconds=PORTION_S, is_rest_counted=False)

    def health(self, *, identity: Identity | None = None) -> JobHealth:
        """Backlog, age, dead letters, last success: of the org."""
        who = powers.caretaker(self._clew, identity, _LOOK)
        with self._clew.store.read() as tx:
            return tx.jobs.health(who.org)

    def spend(self, *, since: datetime | None = None, identity: Identity | None = None) -> Spent:
        """What language models were asked for the org and what it cost, by day; a week unless told otherwise."""
        who = powers.caretaker(self._clew, identity, "look at what the org spends")
        llm, now = self._clew.settings.llm, self._clew.now()
        first = (zoned("since", since) or now - WEEK).date()
        with self._clew.store.read() as tx:
            return spending.spent(
                tx, who.org, since=first, now=now, daily_tokens=llm.daily_tokens, enabled=llm.enabled
            )

    @made_once
    def backfill(self) -> Backfill:
        return Backfill(self._clew)

    # -- parts ---------------------------------------------------------------------------------------

    def runner(self, *, batch: int | None = None) -> worker.JobRunner:
        """A worker of its own. Where a model is asked for each pair, one job at a time is long enough."""
        return worker.JobRunner(
            self._clew.store,
            {RELATE: self._relator.handle},
            self.policy,
            clock=self._clew.clock,
            batch=batch or (1 if self._clew.settings.llm.enabled else worker.BATCH),
            courtesy=self._clew._courtesy,
        )

    @made_once
    def policy(self) -> queue.JobPolicy:
        settings = self._clew.settings.relate
        return queue.JobPolicy(**{name: getattr(settings, name) for name in queue.JobPolicy.__slots__})

    @made_once
    def _relator(self) -> relate.Relator:
        clew = self._clew
        settings = clew.settings.relate
        names = ("similarity_threshold", "max_k", "max_similar", "rules")
        policy = relate.RelatePolicy(
            **{name: getattr(settings, name) for name in names}, context_limit=clew.settings.llm.context_limit
        )
        sources = relate.Sources(clew.store, clew._reader.corpora, clew.embedder, clew.clock, clew._courtesy)
        return relate.Relator(sources, policy, graph=clew._graph_policy, llm=clew._llm_relations)


@checked
class Backfill:
    """Vectors that are made up for after a switch of model; for the store's operator."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def status(self, *, identity: Identity | None = None) -> BackfillState:
        return embed.backfill_state(self._clew.store, self._embedder(identity).space.key)

    def run(self, progress: Progress = no_progress, *, identity: Identity | None = None) -> BackfillState:
        """Make what is missing; refused while it is paused. Paused from elsewhere, it ends after its batch. Still
        `running` in the answer: another process is at it, and nothing was done here."""
        embedder = self._embedder(identity)
        with self._clew.store.read() as tx:
            if tx.jobs.is_backfill_paused(embedder.space.key):
                raise Conflict(
                    f"making vectors of {embedder.space.key} is paused",
                    code="BACKFILL_PAUSED",
                    next="go on: clew jobs backfill resume",
                )
        embed.embed_missing(self._clew.store, embedder, policy=self._clew._backfill_policy, progress=progress)
        self._clew._jobs_are_waiting()
        return self.status(identity=identity)

    def pause(self, *, identity: Identity | None = None) -> BackfillState:
        """Make no more, in whatever process, until it is resumed."""
        space = self._embedder(identity).space.key
        self._clew.store.write(lambda tx: tx.jobs.pause_backfill(space))
        return self.status(identity=identity)

    def resume(self, *, identity: Identity | None = None) -> BackfillState:
        """Allow it again; who lives long goes on by itself."""
        space = self._embedder(identity).space.key
        self._clew.store.write(lambda tx: tx.jobs.resume_backfill(space))
        return self.status(identity=identity)

    def _embedder(self, identity: Identity | None) -> Embedder:
        powers.operator(self._clew, identity, "decide about the making of vectors")
        if self._clew.embedder is None:
            raise Misconfigured(
                "there is no embedding model, so no vectors", code="EMBEDDER_MISSING", next="set embed.provider"
            )
        return self._clew.embedder


def _subjects(id: str) -> tuple[str, ...]:
    """The memories that an id may stand for: ours begin with mem_, those from elsewhere need not."""
    name = id.removeprefix("job_")
    return (f"mem_{name}", name) if id.startswith("job_") else (id,)


def _is_known(tx: Tx, org: str, subject: str) -> bool:
    return bool(tx.jobs.of(org, RELATE, subject) or tx.jobs.runs(org, RELATE, subject, limit=1))


def _after(tx: Tx, org: str, cursor: str) -> str:
    """The memory after which to go on: itself, or named by its job."""
    found = next((one for one in (cursor, *_subjects(cursor)) if _is_known(tx, org, one)), None)
    if found is None:
        check_cursor(cursor, "mem", "job")
    return found or cursor


def _found(tx: Tx, org: str, id: str) -> str:
    """The memory whose job is meant. One that is done is found by its whole id."""
    for subject in _subjects(id):
        if _is_known(tx, org, subject):
            return subject
    found = [job for subject in _subjects(id) for job in tx.jobs.starting(org, RELATE, subject)]
    if len(found) > 1 and len(id) >= 8:
        raise InvalidInput(
            f"several jobs start with {id[:60]}", code="JOB_ID_AMBIGUOUS", next="write more of the id"
        )
    if not found or len(id) < 8:
        raise NotFound(f"job {id[:60]} was not found", code="JOB_NOT_FOUND", next="look at them: clew jobs list")
    return found[0].subject


def _retry_one(tx: Tx, org: str, id: str) -> int:
    subject = _found(tx, org, id)
    job = tx.jobs.of(org, RELATE, subject)
    if job is None:
        tx.jobs.put(org, RELATE, [subject], operation="retry")
        return 1
    if not tx.jobs.retry(job):
        raise Conflict(
            f"job {job.id} is {job.state}, not dead",
            code="JOB_NOT_DEAD",
            next=f"it is tried by itself: clew jobs explain {job.id}",
        )
    return 1


def _retry_all(tx: Tx, org: str) -> int:
    """Page by page, so that a year of dead letters needs no memory."""
    count, after = 0, ""
    while page := tx.jobs.page(org, RELATE, state="dead", limit=MAX_PAGE, after=after):
        count += sum(tx.jobs.retry(job) for job in page)
        after = page[-1].subject
    degraded = tx.jobs.degraded(org, PARTIAL_DEGRADE)
    waiting = {subject for kind, subject in degraded if tx.jobs.of(org, kind, subject)}
    again = [subject for _kind, subject in degraded if subject not in waiting]
    tx.jobs.put(org, RELATE, again, operation="retry")
    return count + len(again)

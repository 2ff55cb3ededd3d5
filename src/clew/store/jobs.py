"""The queue of jobs, their runs, and the state of backfills. Rows to values and back.

Times are those of the database's clock, which every process shares. Who may change a job is decided in `relate`: it
asks the leases in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from clew.model.ids import new_id
from clew.model.job import ASKED_AGAIN, STATES, BackfillState, Job, JobHealth, JobRun
from clew.model.times import FIRST, Micros, from_micros
from clew.store.session import Row, Session

_HOUR_S, _DAY_S = 3_600.0, 86_400.0
_FAILED = ("retry", "dead_letter")
_ALIVE_S = 300.0  # a backfill that has said nothing for so long is running no more


class JobTable:
    """Bound to one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _now(self) -> Micros:
        return Micros(self._session.value("clock"))

    def expect(self) -> None:
        """Jobs will be asked for: the clock is asked along with what comes before."""
        self._session.expect("clock")

    def now(self) -> datetime:
        """The database's, by which everything here is told."""
        return from_micros(self._now)

    # -- asking for jobs -----------------------------------------------------------------------------

    def put(self, org: str, kind: str, subjects: Sequence[str], *, operation: str) -> None:
        """One job for each, unless it is there already: then another generation of it."""
        asked = {"org_id": org, "kind": kind, "operation": operation, "now": self._now}
        self._session.for_each("job_put", "subject", subjects, **asked)

    def retry(self, job: Job) -> bool:
        """Whether it was dead, and is queued now."""
        return self._session.run("job_retry", **_key(job), now=self._now) > 0

    # -- working on them -----------------------------------------------------------------------------

    def due_orgs(self, *, limit: int) -> list[str]:
        """Those that have jobs which are due, the longest due first."""
        return [org for (org,) in self._session.all("jobs_due_orgs", now=self._now, limit=limit)]

    def due(self, org: str, *, limit: int) -> list[Job]:
        """The longest due first; among them leased ones whose lease has run out."""
        return [_job(row) for row in self._session.all("jobs_due", org_id=org, now=self._now, limit=limit)]

    def next_due_s(self) -> float | None:
        """In how many seconds the next one may be claimed, less than 0 if it is late; None: nothing waits."""
        due_at = self._session.value("jobs_next")
        return None if due_at is None else (due_at - self._now) / 1e6

    def waiting(self) -> int:
        """How many jobs of all orgs are still to be done."""
        return int(self._session.value("jobs_waiting"))

    def claim(self, job: Job, *, ttl_s: float) -> None:
        self._session.run("job_claim", **_key(job), until=self._now.after(ttl_s), now=self._now)

    def renew(self, job: Job, *, ttl_s: float) -> None:
        self._session.run("job_renew", **_key(job), until=self._now.after(ttl_s))

    def is_asked_again(self, job: Job) -> bool:
        """Whether another generation was asked for since this one was read."""
        return bool(self._session.value("job_is_asked_again", **_key(job), generation=job.generation))

    def drop(self, job: Job) -> None:
        self._session.run("job_drop", **_key(job))

    def requeue(self, job: Job, *, attempts: int, after_s: float = 0.0, code: str = "", message: str = "") -> None:
        due_at = self._now.after(after_s)
        why = {"code": code, "message": message, "now": self._now}
        self._session.run("job_requeue", **_key(job), attempts=attempts, due_at=due_at, **why)

    def bury(self, job: Job, *, code: str, message: str) -> None:
        self._session.run("job_bury", **_key(job), code=code, message=message, now=self._now)

    def note_run(self, job: Job, outcome: str, *, ms: float, code: str = "", message: str = "") -> None:
        self._session.run(
            "job_run_put",
            **_key(job),
            id=new_id("run"),
            operation=job.operation,
            attempt=job.attempts,
            outcome=outcome,
            code=code,
            message=message,
            ms=ms,
            now=self._now,
        )

    def prune_runs(self, org: str, *, older_than_s: float, limit: int) -> int:
        before = self._now.after(-older_than_s)
        return self._session.run("job_runs_prune", org_id=org, before=before, limit=limit)

    # -- looking at them -----------------------------------------------------------------------------

    def of(self, org: str, kind: str, subject: str) -> Job | None:
        row = self._session.one("job_of", org_id=org, kind=kind, subject=subject)
        return _job(row) if row else None

    def starting(self, org: str, kind: str, prefix: str) -> list[Job]:
        """Those for memories whose ids begin like this, two at most."""
        rows = self._session.all("jobs_from", org_id=org, kind=kind, prefix=prefix)
        return [_job(row) for row in rows]

    def page(self, org: str, kind: str, *, state: str | None, limit: int, after: str = "") -> list[Job]:
        """In the order of their memories; `after` is the last memory of the page before."""
        values = {"org_id": org, "kind": kind, "after": after, "limit": limit}
        if state is None:
            rows = self._session.all("jobs_page", **values)
        else:
            rows = self._session.all("jobs_page_of_state", **values, state=state)
        return [_job(row) for row in rows]

    def runs(self, org: str, kind: str, subject: str, *, limit: int) -> list[JobRun]:
        """Newest first."""
        rows = self._session.all("job_runs_of", org_id=org, kind=kind, subject=subject, limit=limit)
        return [JobRun(**_values(JobRun, row, "at")) for row in rows]

    def degraded(self, org: str, code: str) -> list[tuple[str, str]]:
        """(kind, subject) of those whose last attempt left this code."""
        rows = self._session.all("job_runs_degraded", org_id=org, code=code, since=FIRST)
        return [(kind, subject) for kind, subject in rows]

    def orgs(self) -> list[str]:
        return [org for (org,) in self._session.all("job_orgs")]

    def subjects(self, org: str, *, after: int, limit: int) -> list[tuple[int, str]]:
        """(row, id) of memories of an org for which there may be something to do, in the order of rows."""
        found: list[tuple[int, str]] = self._session.all("job_subjects", org_id=org, after=after, limit=limit)
        return found

    def counts(self, org: str) -> dict[str, int]:
        found = {state: count for state, count, _oldest in self._by_state(org)}
        return {state: found.get(state, 0) for state in STATES}

    def health(self, org: str) -> JobHealth:
        states = {state: (count, oldest) for state, count, oldest in self._by_state(org)}
        oldest = min((states[state][1] for state in ("queued", "leased") if state in states), default=None)
        last = self._session.value("job_last_success", org_id=org)
        day = self._session.all("job_runs_since", org_id=org, since=self._now.after(-_DAY_S))
        hour = self._session.all("job_runs_since", org_id=org, since=self._now.after(-_HOUR_S))
        return JobHealth(
            org,
            **{state: count for state, (count, _oldest) in states.items()},
            oldest_s=None if oldest is None else max(0.0, (self._now - oldest) / 1e6),
            last_success=None if last is None else from_micros(last),
            failures_last_hour=_failures(hour),
            last_day=_summed((outcome, count) for outcome, _code, count in day),
            codes=_summed((code, count) for _outcome, code, count in day if code),
        )

    def _by_state(self, org: str) -> list[Row]:
        return self._session.all("jobs_by_state", org_id=org)

    # -- backfills -----------------------------------------------------------------------------------

    def backfill(self, space: str, *, remaining: int) -> BackfillState:
        row = self._session.one("backfill_get", space=space)
        if row is None:
            return BackfillState(space, "idle", remaining=remaining)
        status, done, total, seconds, started_at, last_run_at, completed_at, last_error = row
        if status == "running" and self._now - last_run_at > _ALIVE_S * 1e6:
            status = "idle"  # whoever ran it was killed
        times = (_moment(started_at), _moment(last_run_at), _moment(completed_at))
        return BackfillState(space, status, done, total, seconds, remaining, *times, last_error=last_error)

    def begin_backfill(self, space: str, *, total: int) -> bool:
        """False while it is paused."""
        return self._session.run("backfill_begin", space=space, total=total, now=self._now) > 0

    def is_backfill_paused(self, space: str) -> bool:
        return bool(self._session.value("backfill_status", space=space) == "paused")

    def count_backfilled(self, space: str, done: int, *, seconds: float) -> None:
        self._session.run("backfill_progress", space=space, done=done, seconds=seconds, now=self._now)

    def end_backfill(self, space: str, status: str, *, error: str = "") -> None:
        self._session.run("backfill_end", space=space, status=status, error=error, now=self._now)

    def pause_backfill(self, space: str) -> None:
        self._session.run("backfill_pause", space=space)

    def resume_backfill(self, space: str) -> bool:
        """Whether it was paused."""
        return self._session.run("backfill_resume", space=space) > 0


def _key(job: Job) -> dict[str, str]:
    return {"org_id": job.org, "kind": job.kind, "subject": job.subject}


def _job(row: Row) -> Job:
    return Job(**_values(Job, row, "due_at", "created_at", "updated_at"))


def _values(made: type[Job] | type[JobRun], row: Row, *times: str) -> dict[str, Any]:
    values = dict(zip(made.__slots__, row, strict=False))  # the token of a job is not in its row
    return values | {name: from_micros(values[name]) for name in times}


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _failures(rows: Iterable[Row]) -> int:
    """A job that was asked for again has not failed."""
    return sum(count for outcome, code, count in rows if outcome in _FAILED and code != ASKED_AGAIN)


def _summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, count in pairs:
        found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))

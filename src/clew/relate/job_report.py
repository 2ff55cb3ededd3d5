"""A job in words: what failed, how often, when it is tried next, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from clew.model import job as codes
from clew.model import relation
from clew.model.job import Job, JobRun
from clew.values import dataclass

RETRY = "clew jobs retry {id}"
# What a code means and what can be done about it. Those of providers are explained by their own words.
_MEANINGS = {
    "EMBEDDING_REQUEST_FAILED": (
        "the embedding model did not answer",
        "check it with: clew doctor; then: " + RETRY,
    ),
    "EMBEDDING_RESPONSE_INVALID": (
        "the embedding model answered with something that is no vector",
        "check embed.model and embed.dim; then: " + RETRY,
    ),
    relation.SYNC_FAILED: (
        "relations were found and could not be stored; its vector is kept",
        "look at the store: clew doctor; then: " + RETRY,
    ),
    relation.PARTIAL_DEGRADE: (
        "it was done, but some questions to the language model were left out",
        "when the model answers again: " + RETRY,
    ),
    relation.CLASSIFICATION_FAILED: ("the language model could not judge a pair of memories", RETRY),
    relation.EXTRACTION_FAILED: ("the language model found no relations that hold", RETRY),
    codes.JOB_FAILED: ("the work itself went wrong", "run it here and look: clew jobs run --once; or: " + RETRY),
    codes.WORKER_LOST: (
        "the process that worked on it ended each time before it was done",
        "look why: out of memory, killed, or a crash; then: " + RETRY,
    ),
    codes.KIND_UNKNOWN: (
        "another version of Clew asked for it",
        "run that version, or upgrade: pip install -U clew",
    ),
    codes.ASKED_AGAIN: ("the memory changed while it was worked on, so it is done again", ""),
    "MEMORY_NOT_ACTIVE": ("the memory is forgotten, expired or replaced: there is nothing to do", ""),
    "GRAPH_WRITE_OFF": ("writing the graph is switched off", "set graph.write to true"),
}


@dataclass(frozen=True, slots=True)
class JobReport:
    """What is known of the job of a memory; `job` is None once it is done."""

    subject: str
    job: Job | None
    runs: tuple[JobRun, ...]  # newest first
    explanation: tuple[str, ...]
    next: str

    def as_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "job": self.job.as_json() if self.job else None,
            "runs": [run.as_json() for run in self.runs],
            "explanation": list(self.explanation),
            "next": self.next,
        }


def job_report(subject: str, job: Job | None, runs: Sequence[JobRun], now: datetime) -> JobReport:
    """`now` is the time of the database, as are those of the job."""
    told = (*_state(job, runs, now), *_last(job, runs))
    return JobReport(subject, job, tuple(runs), told, _next(job, runs))


def _state(job: Job | None, runs: Sequence[JobRun], now: datetime) -> Iterator[str]:
    if job is None:
        yield "it is done" if runs[0].outcome in ("success", "skipped") else "it is not in the queue"
        return
    tried = {0: "not tried yet", 1: "tried once"}.get(job.attempts, f"tried {job.attempts} times")
    wait_s = (job.due_at - now).total_seconds()
    match job.state:
        case "dead":
            yield f"it was {tried} and is not tried again by itself"
        case "leased" if wait_s > 0:
            yield f"somebody works on it ({tried}); if nothing is heard of them, it is taken over {_in(wait_s)}"
        case "leased":
            yield f"whoever worked on it is gone ({tried}); the next worker takes it over"
        case _:
            yield f"it waits for a worker ({tried}); " + (f"due {_in(wait_s)}" if wait_s > 0 else "due now")


def _last(job: Job | None, runs: Sequence[JobRun]) -> Iterator[str]:
    code, message = (job.code, job.message) if job and job.code else ("", "")
    if not code and runs:
        code, message = runs[0].code, runs[0].message
    if not code:
        return
    meaning, _next = _MEANINGS.get(code, ("the last attempt failed", ""))
    yield f"{meaning} [{code}]"
    if message:
        yield message


def _next(job: Job | None, runs: Sequence[JobRun]) -> str:
    code = job.code if job else runs[0].code if runs else ""
    id = job.id if job else runs[0].subject if runs else ""
    if job and job.state == "queued" and not code:
        return "nothing: it is done while a process lives, or now with: clew jobs run"
    if job and job.state != "dead":
        return "nothing: it is tried again by itself"
    return _MEANINGS.get(code, ("", RETRY if job else ""))[1].format(id=id)


def _in(seconds: float) -> str:
    return f"in {seconds:.0f} s" if seconds < 120 else f"in {seconds / 60:.0f} min"

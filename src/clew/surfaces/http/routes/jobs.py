"""Jobs over HTTP: what writes left to be done, and how it is doing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.surfaces.http.route import Answer, Call, Page, Route
from clew.surfaces.http.shapes import govern as shapes
from clew.surfaces.http.shapes.common import Shape, Since, moment, next_page


class JobsWanted(Page, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: Literal["queued", "leased", "dead"] | None = None


class RetryWanted(Shape, frozen=True, kw_only=True):
    """All that are dead or were done only in part; `everything`: every live memory of the org anew."""

    everything: bool = False


class PortionWanted(Shape, frozen=True, kw_only=True):
    """How much is done before the answer; the server goes on by itself."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    seconds: Annotated[float, Meta(gt=0, le=30)] = 5.0


def list_jobs(call: Call) -> Any:
    asked = call.query
    found = call.clew.jobs.list(
        state=asked.state, limit=asked.limit + 1, cursor=asked.cursor, identity=call.identity
    )
    more = next_page(found, asked.limit, lambda job: job.subject)
    return {"jobs": [job.as_json() for job in found[: asked.limit]]} | more


def show(call: Call) -> Any:
    return call.clew.jobs.show(call.path["id"], identity=call.identity).as_json()


def retry(call: Call) -> Any:
    return {"retried": call.clew.jobs.retry(call.path["id"], identity=call.identity)}


def retry_all(call: Call) -> Any:
    return {"retried": call.clew.jobs.retry(everything=call.body.everything, identity=call.identity)}


def run(call: Call) -> Any:
    wanted = call.body
    return call.clew.jobs.run(limit=wanted.limit, seconds=wanted.seconds, identity=call.identity).as_json()


def health(call: Call) -> Any:
    return call.clew.jobs.health(identity=call.identity).as_json()


def spend(call: Call) -> Any:
    return call.clew.jobs.spend(since=moment(call, call.query.since), identity=call.identity).as_json()


def backfill(call: Call) -> Any:
    return call.clew.jobs.backfill.status(identity=call.identity).as_json()


def pause(call: Call) -> Any:
    return call.clew.jobs.backfill.pause(identity=call.identity).as_json()


def resume(call: Call) -> Any:
    return call.clew.jobs.backfill.resume(identity=call.identity).as_json()


def run_backfill(call: Call) -> Any:
    """It may take hours, so the server makes them behind the answer; a pause is not lifted by it."""
    state = call.clew.jobs.backfill.status(identity=call.identity)
    if state.status != "paused" and call.clew.background:
        call.clew.background.start()
    return Answer(state.as_json(), 202)


_BACKFILL = "/v1/jobs/backfill"

ROUTES = (
    Route("GET", "/v1/jobs", "jobs.list", "Jobs that wait, are worked on or were given up.", list_jobs,
          shapes.JobsPage, query=JobsWanted),
    Route("POST", "/v1/jobs/retry", "jobs.retry_all", "Try again what was given up or done in part.", retry_all,
          shapes.Retried, body=RetryWanted),
    Route("POST", "/v1/jobs/run", "jobs.run", "Do a portion of what is due, for all orgs.", run, shapes.RanShown,
          body=PortionWanted, for_operators=True),
    Route("GET", "/v1/jobs/health", "jobs.health", "Backlog, age of the oldest, failures, last success.", health,
          shapes.JobHealthShown),
    Route("GET", "/v1/jobs/spend", "jobs.spend", "What language models were asked, and what it cost.", spend,
          shapes.SpentShown, query=Since),
    Route("GET", _BACKFILL, "jobs.backfill.status", "How far missing vectors are made.", backfill,
          shapes.BackfillShown, for_operators=True),
    Route("POST", f"{_BACKFILL}/run", "jobs.backfill.run", "Make missing vectors behind the answer.", run_backfill,
          shapes.BackfillShown, status=202, for_operators=True),
    Route("POST", f"{_BACKFILL}/pause", "jobs.backfill.pause", "Make no more until it is resumed.", pause,
          shapes.BackfillShown, for_operators=True),
    Route("POST", f"{_BACKFILL}/resume", "jobs.backfill.resume", "Allow it again.", resume, shapes.BackfillShown,
          for_operators=True),
    Route("GET", "/v1/jobs/{id}", "jobs.show", "What happened to a job, what is next, and what to do.", show,
          shapes.JobReportShown, also=(404,)),
    Route("POST", "/v1/jobs/{id}/retry", "jobs.retry", "Try one again.", retry, shapes.Retried, also=(404, 409)),
)  # fmt: skip

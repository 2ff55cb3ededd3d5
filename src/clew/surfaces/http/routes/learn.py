"""Feedback over HTTP: what outcomes teach, and the analytics over the logs."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import memory, sessions
from clew.surfaces.http.shapes.common import Id, Moment, Name, OfProject, Shape, moment, narrowed


class OutcomeTold(Shape, frozen=True, kw_only=True):
    outcome: sessions.Outcome


class Verdict(OfProject, frozen=True, kw_only=True):
    """`corrected_by`: the memory that is right instead."""

    verdict: Literal["up", "outdated", "wrong"]
    corrected_by: Id | None = None


class Judged(memory.LearntShown, frozen=True, kw_only=True):
    """`counted` false: the same was said before."""

    counted: bool


class Window(Shape, frozen=True, kw_only=True):
    """A week up to now, unless told otherwise."""

    since: Moment | None = None
    until: Moment | None = None
    project: Name | None = None


def feedback(call: Call) -> Any:
    return call.clew.learn.feedback(call.path["id"], call.body.outcome, identity=call.identity).as_json()


def diagnostics(call: Call) -> Any:
    return call.clew.learn.diagnostics(call.path["id"], identity=call.identity).as_json()


def judge(call: Call) -> Any:
    told = call.body
    learnt, counted = call.clew.learn.judge(
        call.path["id"], told.verdict, corrected_by=told.corrected_by, scope=narrowed(call, told),
        identity=call.identity,
    )  # fmt: skip
    return learnt.as_json() | {"counted": counted}


def show(call: Call) -> Any:
    scope = narrowed(call, call.query)
    return call.clew.learn.show(call.path["id"], scope=scope, identity=call.identity).as_json()


def work(call: Call) -> Any:
    return call.clew.report(**_window(call), identity=call.identity).as_json()


def impact(call: Call) -> Any:
    return call.clew.learn.impact(**_window(call), identity=call.identity).as_json()


def pareto(call: Call) -> Any:
    return call.clew.learn.pareto(**_window(call), identity=call.identity).as_json()


def _window(call: Call) -> dict[str, Any]:
    asked = call.query
    return {"since": moment(call, asked.since), "until": moment(call, asked.until), "project": asked.project}


ROUTES = (
    Route(
        "POST", "/v1/sessions/{id}/feedback", "learn.feedback",
        "Say how a session came out, or correct it; what it was shown is learnt from.",
        feedback, sessions.FeedbackShown, body=OutcomeTold, also=(404,),
    ),
    Route(
        "GET", "/v1/sessions/{id}/diagnostics", "learn.diagnostics", "How a session went.", diagnostics,
        sessions.DiagnosticsShown, also=(404,),
    ),
    Route(
        "POST", "/v1/memories/{id}/feedback", "learn.judge", "Say what a memory is worth; twice is once.",
        judge, Judged, body=Verdict, also=(404, 409),
    ),
    Route(
        "GET", "/v1/memories/{id}/feedback", "learn.show", "How the weight of a memory came about.", show,
        memory.LearntShown, query=OfProject, also=(404,),
    ),
    Route(
        "GET", "/v1/analytics/work", "report", "What Clew did: sessions, pushes, receipts, tokens, captures.", work,
        sessions.WorkShown, query=Window,
    ),
    Route(
        "GET", "/v1/analytics/impact", "learn.impact", "What weights change in what is injected.", impact,
        sessions.ImpactShown, query=Window,
    ),
    Route(
        "GET", "/v1/analytics/pareto", "learn.pareto", "What context costs and brings, by work type.", pareto,
        sessions.ParetoShown, query=Window,
    ),
)  # fmt: skip

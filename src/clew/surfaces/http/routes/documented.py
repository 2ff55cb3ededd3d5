"""The documented graph routes (memories_sh.md 8) in their own envelope: handlers and credentials are those of /v1.

`tenantId` is the org. It is taken from the credential; who names another hears that it was not found.
There is no CORS: no page of another origin may ask here, so OPTIONS is refused like any method that is not listed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta

from clew.errors import ClewError, Misconfigured, NotFound, Unavailable
from clew.model.ids import new_id
from clew.model.times import to_rfc3339
from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.routes import graph, rollout
from clew.surfaces.http.routes.rollout import TOP_NODES, Top, TraceDepth, TraceLimit, TraceMode, TraceQuery
from clew.surfaces.http.shapes import rollout as shapes
from clew.surfaces.http.shapes.common import ABSENT, Maybe, Name, OfProject, Shape, When
from clew.surfaces.http.shapes.graph import ExploredShown

VERSION = "2026-02-11"
T = TypeVar("T")
# What a caller can do about a status.
TYPES = {
    400: "validation_error",
    401: "auth_error",
    403: "auth_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}


class DocumentedMeta(Shape, frozen=True, kw_only=True, rename={"request_id": "requestId"}):
    version: str
    endpoint: str
    request_id: str
    timestamp: When


class DocumentedError(Shape, frozen=True, kw_only=True):
    type: str
    code: str
    message: str
    status: int
    retryable: bool
    details: dict[str, Any] | Maybe = ABSENT


class Success(Shape, Generic[T], frozen=True, kw_only=True):
    ok: Literal[True]
    data: T
    error: None
    meta: DocumentedMeta


class DocumentedFailure(Shape, frozen=True, kw_only=True):
    ok: Literal[False]
    data: None
    error: DocumentedError
    meta: DocumentedMeta


class Documented:
    """The envelope of one endpoint."""

    failure = DocumentedFailure

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def success(self, value: Any, *, at: datetime) -> Any:
        return {"ok": True, "data": value, "error": None, "meta": self._meta(at)}

    def error(self, error: ClewError, status: int, *, at: datetime) -> Any:
        told: dict[str, Any] = {
            "type": TYPES.get(status, "internal_error" if status >= 500 else "validation_error"),
            "code": error.code,
            "message": error.message,
            "status": status,
            "retryable": status == 429 or (isinstance(error, Unavailable) and not isinstance(error, Misconfigured)),
        }
        details = error.details | ({"next": error.next} if error.next else {})
        told |= {"details": details} if details else {}
        return {"ok": False, "data": None, "error": told, "meta": self._meta(at)}

    def _meta(self, at: datetime) -> dict[str, Any]:
        named = {"version": VERSION, "endpoint": self._endpoint}
        return named | {"requestId": new_id("req"), "timestamp": to_rfc3339(at)}


# -- what they take ------------------------------------------------------------------------------------


class ScopeGiven(Shape, frozen=True, kw_only=True, rename="camel"):
    tenant_id: Name | None = None
    user_id: Name | None = None
    project_id: Name | None = None


class StatusAsked(ScopeGiven, frozen=True, kw_only=True, rename="camel"):
    top_nodes_limit: Top = TOP_NODES


class StatusBody(Shape, frozen=True, kw_only=True, rename="camel"):
    scope: ScopeGiven = ScopeGiven()
    top_nodes_limit: Top = TOP_NODES


class RolloutBody(Shape, frozen=True, kw_only=True):
    mode: shapes.Mode
    scope: ScopeGiven = ScopeGiven()


class TraceBody(Shape, frozen=True, kw_only=True, rename="camel"):
    query: TraceQuery
    limit: TraceLimit = 10
    include_rules: bool = True
    mode: TraceMode = "all"
    strategy: shapes.Strategy | None = None
    graph_depth: TraceDepth | None = None
    graph_limit: TraceLimit | None = None
    scope: ScopeGiven = ScopeGiven()


class ExploreAsked(Shape, frozen=True, kw_only=True, rename="camel"):
    node_type: Name | None = None
    node_key: Annotated[str, Meta(min_length=1, max_length=240)] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


# -- handlers: those of /v1/graph, in other words -------------------------------------------------------


def status(call: Call) -> Any:
    return rollout.status(replace(call, query=_status_wanted(call, call.query, call.query.top_nodes_limit)))


def post_status(call: Call) -> Any:
    return rollout.status(replace(call, query=_status_wanted(call, call.body.scope, call.body.top_nodes_limit)))


def show(call: Call) -> Any:
    _check_tenant(call, call.query)
    return rollout.show(call)


def set_mode(call: Call) -> Any:
    _check_tenant(call, call.body.scope)
    return rollout.set_mode(call)


def trace(call: Call) -> Any:
    asked, where = call.body, _place(call, call.body.scope)
    wanted = rollout.TraceWanted(
        query=asked.query,
        limit=asked.limit,
        include_rules=asked.include_rules,
        mode=asked.mode,
        strategy=asked.strategy,
        depth=asked.graph_depth,
        graph_limit=asked.graph_limit,
        **where,
    )
    return rollout.trace(replace(call, body=wanted))


def explore(call: Call) -> Any:
    """A node that nobody knows is an empty payload, as documented."""
    asked = call.query
    wanted = graph.ExploreWanted(node_type=asked.node_type, node_key=asked.node_key, limit=asked.limit)
    try:
        return graph.explore(replace(call, query=wanted))
    except NotFound:
        return {"node": None, "nodes": [], "edges": [], "memories": []}


def _status_wanted(call: Call, scope: ScopeGiven, top: int) -> OfProject:
    return rollout.StatusWanted(top=top, **_place(call, scope))


def _place(call: Call, scope: ScopeGiven) -> dict[str, Any]:
    _check_tenant(call, scope)
    return {"project": scope.project_id, "user": scope.user_id}


def _check_tenant(call: Call, scope: ScopeGiven) -> None:
    if scope.tenant_id not in (None, call.identity.org):
        raise NotFound("the tenant was not found", code="TENANT_NOT_FOUND", next="leave tenantId out")


def _route(method: str, path: str, name: str, summary: str, run: Any, answer: Any, **more: Any) -> Route:
    return Route(method, path, name, summary, run, answer, envelope=Documented(path), **more)


_STATUS, _ROLLOUT = "/api/sdk/v1/graph/status", "/api/sdk/v1/graph/rollout"
_SET = "Off, shadow or canary for the tenant; a canary that the gate blocks is refused."

ROUTES = (
    _route("GET", _STATUS, "documented.status", "The graph and its rollout together.", status,
           Success[shapes.StatusShown], query=StatusAsked, also=(404,)),
    _route("POST", _STATUS, "documented.status_post", "The graph and its rollout together.", post_status,
           Success[shapes.StatusShown], body=StatusBody, also=(404,), reads_only=True),
    _route("GET", _ROLLOUT, "documented.rollout", "The mode of the tenant, and what was measured.", show,
           Success[shapes.RolloutShown], query=ScopeGiven, also=(404,)),
    _route("POST", _ROLLOUT, "documented.rollout_post", _SET, set_mode, Success[shapes.RolloutShown],
           body=RolloutBody, also=(404, 409)),
    _route("PATCH", _ROLLOUT, "documented.rollout_patch", _SET, set_mode, Success[shapes.RolloutShown],
           body=RolloutBody, also=(404, 409)),
    _route("POST", "/api/sdk/v1/graph/trace", "documented.trace", "One question laid open.", trace,
           Success[shapes.TracedShown], body=TraceBody, also=(404,), reads_only=True),
    _route("GET", "/api/graph/explore", "documented.explore", "What the graph explorer shows.", explore,
           Success[ExploredShown], query=ExploreAsked),
)  # fmt: skip

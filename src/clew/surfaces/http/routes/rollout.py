"""The rollout of graph recall over HTTP, and the graph with it: what /v1/graph answers, the documented routes
(routes/documented.py) answer in their envelope."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import rollout as shapes
from clew.surfaces.http.shapes.common import Name, OfProject, Shape, Since, moment, narrowed

TOP_NODES = 10
TraceMode = Literal["all", "working", "long_term", "rules_only"]
Top = Annotated[int, Meta(ge=0, le=50)]
TraceQuery = Annotated[str, Meta(min_length=1, max_length=500)]
TraceLimit = Annotated[int, Meta(ge=1, le=50)]
TraceDepth = Annotated[int, Meta(ge=0, le=2)]


class StatusWanted(OfProject, frozen=True, kw_only=True):
    top: Top = TOP_NODES


class ModeWanted(Shape, frozen=True, kw_only=True):
    mode: shapes.Mode


class DefaultWanted(Shape, frozen=True, kw_only=True):
    strategy: shapes.Strategy


class TraceWanted(OfProject, frozen=True, kw_only=True):
    """Without a strategy, the default of the org."""

    query: TraceQuery
    limit: TraceLimit = 10
    include_rules: bool = True
    mode: TraceMode = "all"
    strategy: shapes.Strategy | None = None
    depth: TraceDepth | None = None
    graph_limit: TraceLimit | None = None


class ReplayWanted(Since, frozen=True, kw_only=True):
    project: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    top: Annotated[int, Meta(ge=1, le=100)] | None = None


def status(call: Call) -> Any:
    scope = narrowed(call, call.query)
    return call.clew.rollout.status(scope=scope, identity=call.identity, top=call.query.top).as_json()


def show(call: Call) -> Any:
    return call.clew.rollout.show(identity=call.identity).as_json()


def set_mode(call: Call) -> Any:
    return call.clew.rollout.set(call.body.mode, identity=call.identity).as_json()


def set_default(call: Call) -> Any:
    return call.clew.rollout.set_default(call.body.strategy, identity=call.identity).as_json()


def plan(call: Call) -> Any:
    return call.clew.rollout.plan(identity=call.identity).as_json()


def metrics(call: Call) -> Any:
    return call.clew.rollout.metrics(moment(call, call.query.since), identity=call.identity).as_json()


def replay(call: Call) -> Any:
    asked = call.query
    return call.clew.rollout.replay(
        since=moment(call, asked.since),
        project=asked.project,
        limit=asked.limit,
        top=asked.top,
        identity=call.identity,
    ).as_json()


def trace(call: Call) -> Any:
    asked = call.body
    return call.clew.rollout.trace(
        asked.query,
        scope=call.scope(asked),
        identity=call.identity,
        strategy=asked.strategy,
        depth=asked.depth,
        graph_limit=asked.graph_limit,
        limit=asked.limit,
        mode=asked.mode,
        include_rules=asked.include_rules,
    ).as_json()


_ROLLOUT = "/v1/graph/rollout"

ROUTES = (
    Route("GET", "/v1/graph/status", "rollout.status", "The graph and its rollout together.", status,
          shapes.StatusShown, query=StatusWanted),
    Route("GET", _ROLLOUT, "rollout.show", "The mode of the org, and what the gate and the plan say.",
          show, shapes.RolloutShown),
    Route("PATCH", _ROLLOUT, "rollout.set", "Off, shadow or canary; a canary that the gate blocks is refused.",
          set_mode, shapes.RolloutShown, body=ModeWanted, also=(409,)),
    Route("POST", _ROLLOUT, "rollout.post", "The same as PATCH, under its documented method.", set_mode,
          shapes.RolloutShown, body=ModeWanted, also=(409,)),
    Route("PUT", f"{_ROLLOUT}/default", "rollout.set_default", "What a context without a strategy gets.",
          set_default,
          shapes.RolloutShown, body=DefaultWanted),
    Route("GET", f"{_ROLLOUT}/plan", "rollout.plan", "What stands between the graph and the next stage.", plan,
          shapes.PlanShown),
    Route("GET", f"{_ROLLOUT}/metrics", "rollout.metrics", "How requests were answered.", metrics,
          shapes.MetricsShown, query=Since),
    Route("GET", f"{_ROLLOUT}/replay", "rollout.replay", "Recorded queries without the graph and with it.", replay,
          shapes.ReplayShown, query=ReplayWanted),
    Route("POST", "/v1/graph/trace", "rollout.trace",
          "One question laid open: what the baseline answers, what the graph adds, or why not.", trace,
          shapes.TracedShown, body=TraceWanted, reads_only=True),
)  # fmt: skip

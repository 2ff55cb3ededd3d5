"""Switches over HTTP: projects, the recall matrix, and the settings of the server to look at."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from clew.model.address import without_password
from clew.setting_values import BudgetOverrides
from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import config as shapes
from clew.surfaces.http.shapes.common import AnyOrg, Shape

_Tokens = Annotated[int, Meta(ge=0, le=100_000)]


class SwitchWanted(Shape, frozen=True, kw_only=True):
    """null, for the graph alone, leaves it to the org's plan."""

    on: bool | None


class WorkTypeWanted(AnyOrg, frozen=True, kw_only=True):
    """What is left out stays. Without an org: for all orgs."""

    graph_enabled: bool | None = None
    observation_budget: _Tokens | None = None
    graph_budget: _Tokens | None = None
    top_k: Annotated[int, Meta(ge=1, le=100)] | None = None
    depth: Annotated[int, Meta(ge=0, le=8)] | None = None


def projects(call: Call) -> Any:
    found = call.clew.projects.list(identity=call.identity)
    return {"projects": [{"project": name, **config.as_json()} for name, config in found.items()]}


def project(call: Call) -> Any:
    return call.clew.projects.show(call.path["project"], identity=call.identity).as_json()


def switch(call: Call) -> Any:
    name = call.path["project"]
    config = call.clew.projects.set(name, call.path["switch"], call.body.on, identity=call.identity)
    return {"project": name, **config.as_json()}


def matrix(call: Call) -> Any:
    found = call.clew.matrix.show(org=call.query.org, identity=call.identity)
    return {"matrix": [one.as_json() for one in found]}


def work_type(call: Call) -> Any:
    name, org = call.path["work_type"], call.query.org
    resolved = call.clew.matrix.resolve(name, org=org, identity=call.identity)
    return {"work_type": name, "org": org or call.identity.org, **resolved.as_json()}


def set_work_type(call: Call) -> Any:
    name, wanted = call.path["work_type"], call.body
    fields = ("graph_enabled", "observation_budget", "graph_budget", "top_k", "depth")
    given = {field: getattr(wanted, field) for field in fields}
    resolved = call.clew.matrix.set(name, org=wanted.org, **given, identity=call.identity)
    named = {"work_type": name} | ({"org": wanted.org} if wanted.org else {})
    return named | resolved.as_json()


def settings(call: Call) -> Any:
    """Keys never stand in settings, only the names of variables that hold them; addresses may carry a password."""
    shown = [
        {"path": path, "value": _plain(value), "source": source, "doc": doc}
        for path, value, source, doc in call.clew.settings.items()
    ]
    return {"settings": shown}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, BudgetOverrides):
        return value.as_json()
    return list(value) if isinstance(value, tuple) else value


ROUTES = (
    Route("GET", "/v1/projects", "projects.list", "The projects that may be seen, with their switches.", projects,
          shapes.ProjectsShown),
    Route("GET", "/v1/projects/{project}", "projects.show", "The switches of a project, and every gate.",
          project, shapes.ProjectShown, also=(404,)),
    Route("PUT", "/v1/projects/{project}/switches/{switch}", "projects.set",
          "Switch memory, graph or runtime-inject.", switch, shapes.ProjectSwitches, body=SwitchWanted,
          also=(404,)),
    Route("GET", "/v1/matrix", "matrix.show", "What each work type gets.", matrix, shapes.MatrixShown,
          query=AnyOrg, also=(404,)),
    Route("GET", "/v1/matrix/{work_type}", "matrix.resolve", "What one work type gets, and why.",
          work_type, shapes.WorkTypeShown, query=AnyOrg, also=(404,)),
    Route("PATCH", "/v1/matrix/{work_type}", "matrix.set", "Change what a work type gets, for one org or for all.",
          set_work_type, shapes.WorkTypeShown, body=WorkTypeWanted, for_operators=True, also=(404,)),
    Route("GET", "/v1/settings", "settings.show", "The settings of this server and their sources.", settings,
          shapes.SettingsShown, for_operators=True),
)  # fmt: skip

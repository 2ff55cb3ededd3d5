"""Policies, the rights of agents and quarantine over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from clew.surfaces.http.route import Call, Page, Route
from clew.surfaces.http.shapes import govern as shapes
from clew.surfaces.http.shapes.common import ABSENT, AnyOrg, Maybe, Name, Shape, given, next_page
from clew.surfaces.http.shapes.memory import RememberedShown

_Policies = Annotated[str, Meta(max_length=200_000)]


class PoliciesWanted(Shape, frozen=True, kw_only=True):
    """`org`: the own one without; `*` is all of them, for operators."""

    org: Name | None = None
    shipped: bool = False


class PolicyText(Shape, frozen=True, kw_only=True):
    text: _Policies
    org: Name | None = None


class PolicyNamed(PolicyText, frozen=True, kw_only=True):
    name: Name = "policy"


class RightsWanted(Shape, frozen=True, kw_only=True):
    """What is left out stays."""

    clearance: Annotated[int, Meta(ge=0, le=3)] | Maybe = ABSENT
    suspended: bool | Maybe = ABSENT
    can_write: bool | Maybe = ABSENT


class HeldWanted(Page, frozen=True, kw_only=True, forbid_unknown_fields=True):
    project: Name | None = None


def policies(call: Call) -> Any:
    asked = call.query
    return call.clew.policies.show(shipped=asked.shipped, org=asked.org, identity=call.identity).as_json()


def check(call: Call) -> Any:
    told = call.body
    found = call.clew.policies.check(told.text, name=told.name, org=told.org, identity=call.identity)
    is_ok = all(problem.level == "warning" for problem in found)
    return {"ok": is_ok, "problems": [problem.as_json() for problem in found]}


def load(call: Call) -> Any:
    name, told = call.path["name"], call.body
    return call.clew.policies.load(told.text, name=name, org=told.org, identity=call.identity).as_json()


def drop(call: Call) -> Any:
    return call.clew.policies.drop(call.path["name"], org=call.query.org, identity=call.identity).as_json()


def rights(call: Call) -> Any:
    name = call.path["agent"]
    return {"agent": name, **call.clew.policies.agent(name, identity=call.identity).as_json()}


def set_rights(call: Call) -> Any:
    name, changes = call.path["agent"], given(call.body, "clearance", "suspended", "can_write")
    return {"agent": name, **call.clew.policies.agent(name, identity=call.identity, **changes).as_json()}


# -- quarantine ----------------------------------------------------------------------------------------


def held(call: Call) -> Any:
    asked = call.query
    found = call.clew.quarantine.list(
        project=asked.project, limit=asked.limit + 1, cursor=asked.cursor, identity=call.identity
    )
    more = next_page(found, asked.limit, lambda one: one.id)
    return {"quarantined": [one.as_json() for one in found[: asked.limit]]} | more


def show_held(call: Call) -> Any:
    return call.clew.quarantine.show(call.path["id"], identity=call.identity).as_json()


def release(call: Call) -> Any:
    return call.clew.quarantine.release(call.path["id"], identity=call.identity).as_json()


def drop_held(call: Call) -> Any:
    return call.clew.quarantine.drop(call.path["id"], identity=call.identity).as_json()


_POLICY, _AGENT, _HELD = "/v1/policies/{name}", "/v1/agents/{agent}", "/v1/quarantine/{id}"

ROUTES = (
    Route("GET", "/v1/policies", "policies.show", "The policies in force for an org.", policies,
          shapes.PoliciesShown, query=PoliciesWanted),
    Route("POST", "/v1/policies/check", "policies.check", "What is wrong with a text, and where.", check,
          shapes.CheckedShown, body=PolicyNamed, reads_only=True),
    Route("PUT", _POLICY, "policies.load", "Put a policy in force, in place of the one of this name.", load,
          shapes.PolicyShown, body=PolicyText, also=(404, 409)),
    Route("DELETE", _POLICY, "policies.drop", "Take an added policy out of force.", drop, shapes.PolicyShown,
          query=AnyOrg, also=(404,)),
    Route("GET", _AGENT, "policies.agent", "What is known of an agent beyond its credential.", rights,
          shapes.RightsShown, also=(404,)),
    Route("PATCH", _AGENT, "policies.set_agent", "Change what an agent may: clearance, suspended, can_write.",
          set_rights, shapes.RightsShown, body=RightsWanted, also=(404,)),
    Route("GET", "/v1/quarantine", "quarantine.list", "What waits for a judgement, newest first.", held,
          shapes.HeldPage, query=HeldWanted),
    Route("GET", _HELD, "quarantine.show", "One text that waits for a judgement.", show_held, shapes.HeldShown,
          also=(404,)),
    Route("POST", f"{_HELD}/release", "quarantine.release", "Remember it under its id; twice is once.", release,
          RememberedShown, also=(404, 409)),
    Route("DELETE", _HELD, "quarantine.drop", "Remove it for good.", drop_held, shapes.HeldShown, also=(404,)),
)  # fmt: skip

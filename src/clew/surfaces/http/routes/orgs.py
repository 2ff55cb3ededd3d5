"""Orgs over HTTP: what they have, who is in them, and which of them a user's work belongs to."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import config as shapes
from clew.surfaces.http.shapes.common import Name, Shape


class OrgWanted(Shape, frozen=True, kw_only=True):
    """`id` gives a name to an org that has memories already. Whoever creates it owns it, unless `owner` does."""

    name: Name
    slug: Name | None = None
    id: Name | None = None
    owner: Name | None = None


class FeaturesWanted(Shape, frozen=True, kw_only=True):
    """The plan (kg) is the operator's, the weighting its admins'. What is left out stays."""

    kg_enabled: bool | None = None
    feedback_weighting: bool | None = None


class OfUser(Shape, frozen=True, kw_only=True):
    """Another user than that of the credential is for operators."""

    user: Name | None = None


class MemberNamed(Shape, frozen=True, kw_only=True):
    """Without a user: the owner of this machine's `local`."""

    user: Name | None = None


class MemberWanted(MemberNamed, frozen=True, kw_only=True):
    role: shapes.Role = "member"


class RouteWanted(OfUser, frozen=True, kw_only=True):
    project: Name | None = None
    org: Name | None = None


class RoutingWanted(OfUser, frozen=True, kw_only=True):
    org: Name | None = None
    mode: Literal["auto", "active_workspace"] = "active_workspace"


class MapWanted(OfUser, frozen=True, kw_only=True):
    owner: Name
    org: Name


class Unmap(OfUser, frozen=True, kw_only=True):
    owner: Name


def orgs(call: Call) -> Any:
    return {"orgs": call.clew.orgs.list(identity=call.identity)}


def create(call: Call) -> Any:
    wanted = call.body
    return call.clew.orgs.create(
        wanted.name, slug=wanted.slug, id=wanted.id, owner=wanted.owner, identity=call.identity
    ).as_json()


def features(call: Call) -> Any:
    return call.clew.orgs.features(call.path["org"], identity=call.identity).as_json()


def set_features(call: Call) -> Any:
    wanted = call.body
    return call.clew.orgs.features(
        call.path["org"],
        kg_enabled=wanted.kg_enabled,
        feedback_weighting=wanted.feedback_weighting,
        identity=call.identity,
    ).as_json()


def members(call: Call) -> Any:
    found = call.clew.orgs.members(call.path["org"], identity=call.identity)
    return {"org": call.path["org"], "members": [one.as_json() for one in found]}


def add_member(call: Call) -> Any:
    wanted = call.body
    member = call.clew.orgs.add_member(call.path["org"], wanted.user, wanted.role, identity=call.identity)
    return member.as_json()


def remove_member(call: Call) -> Any:
    org, user = call.path["org"], call.query.user
    call.clew.orgs.remove_member(org, user, identity=call.identity)
    return {"org": org, "removed": True} | ({"user": user} if user else {})


def route(call: Call) -> Any:
    asked = call.query
    return call.clew.orgs.route(asked.project, org=asked.org, user=asked.user, identity=call.identity).as_json()


def routing(call: Call) -> Any:
    return call.clew.orgs.routing(user=call.query.user, identity=call.identity).as_json()


def use(call: Call) -> Any:
    wanted = call.body
    return call.clew.orgs.use(wanted.org, mode=wanted.mode, user=wanted.user, identity=call.identity).as_json()


def map_owner(call: Call) -> Any:
    wanted = call.body
    return call.clew.orgs.map(wanted.owner, wanted.org, user=wanted.user, identity=call.identity).as_json()


def unmap(call: Call) -> Any:
    return call.clew.orgs.unmap(call.query.owner, user=call.query.user, identity=call.identity).as_json()


_FEATURES, _MEMBERS, _ROUTING = "/v1/orgs/{org}/features", "/v1/orgs/{org}/members", "/v1/routing"

ROUTES = (
    Route("GET", "/v1/orgs", "orgs.list", "The orgs one may see.", orgs, shapes.OrgsShown),
    Route("POST", "/v1/orgs", "orgs.create", "A new org, or a name for one that has memories already.", create,
          shapes.OrgShown, body=OrgWanted, status=201, also=(404, 409), for_operators=True),
    Route("GET", _FEATURES, "orgs.features", "What an org has.", features, shapes.FeaturesShown, also=(404,)),
    Route("PATCH", _FEATURES, "orgs.set_features", "Change what an org has.", set_features, shapes.FeaturesShown,
          body=FeaturesWanted, also=(404,)),
    Route("GET", _MEMBERS, "orgs.members", "Who is in an org.", members, shapes.MembersShown, also=(404,)),
    Route("PUT", _MEMBERS, "orgs.add_member", "Add a member, or give one another role.", add_member,
          shapes.MemberShown, body=MemberWanted, also=(404, 409)),
    Route("DELETE", _MEMBERS, "orgs.remove_member", "Remove a member. The last owner stays.", remove_member,
          shapes.MemberRemoved, query=MemberNamed, also=(404, 409)),
    Route("GET", _ROUTING, "orgs.routing", "What decides about a user's work: mode, active org, mappings.", routing,
          shapes.RoutingShown, query=OfUser, also=(404,)),
    Route("PUT", _ROUTING, "orgs.use", "Choose the active org and how work is routed.", use, shapes.RoutingShown,
          body=RoutingWanted, also=(404,)),
    Route("GET", f"{_ROUTING}/route", "orgs.route", "Which org work on a project belongs to, and why.", route,
          shapes.RoutedShown, query=RouteWanted, also=(404,)),
    Route("PUT", f"{_ROUTING}/maps", "orgs.map", "Work on the repositories of an owner belongs to this org.",
          map_owner, shapes.RoutingShown, body=MapWanted, also=(404, 409)),
    Route("DELETE", f"{_ROUTING}/maps", "orgs.unmap", "Take a mapping back.", unmap, shapes.RoutingShown,
          query=Unmap, also=(404,)),
)  # fmt: skip

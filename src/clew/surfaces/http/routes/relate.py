"""Conflicts and near-duplicates over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from clew.surfaces.http.route import Call, Limit, Route
from clew.surfaces.http.shapes import memory as shapes
from clew.surfaces.http.shapes.common import Id, Limited, OfProject, Shape, narrowed


class ConflictsWanted(OfProject, frozen=True, kw_only=True):
    """`everything`: also those that were resolved or are over."""

    everything: bool = False
    limit: Limit = 20


class ConflictsShown(Shape, frozen=True, kw_only=True):
    conflicts: list[shapes.ConflictShown]
    more: bool


class Resolution(OfProject, frozen=True, kw_only=True):
    """`keep`: a, b, both, neither, or the id of one of the two."""

    keep: Id


class SuggestionsWanted(OfProject, frozen=True, kw_only=True):
    limit: Limit = 20


class SuggestionsShown(Shape, frozen=True, kw_only=True):
    suggestions: list[shapes.SuggestionShown]


class MergeWanted(OfProject, frozen=True, kw_only=True):
    keep: Id
    others: Annotated[list[Id], Meta(min_length=1, max_length=100)]
    dry_run: bool = False


class MergesShown(Shape, frozen=True, kw_only=True):
    merges: list[shapes.MergeShown]


def conflicts(call: Call) -> Any:
    asked, scope = call.query, narrowed(call, call.query)
    found = call.clew.conflicts.list(
        scope=scope, identity=call.identity, everything=asked.everything, limit=asked.limit + 1
    )
    return {"conflicts": [one.as_json() for one in found[: asked.limit]], "more": len(found) > asked.limit}


def conflict(call: Call) -> Any:
    scope = narrowed(call, call.query)
    return call.clew.conflicts.show(call.path["id"], scope=scope, identity=call.identity).as_json()


def resolve(call: Call) -> Any:
    scope, keep = narrowed(call, call.body), call.body.keep
    return call.clew.conflicts.resolve(call.path["id"], keep, scope=scope, identity=call.identity).as_json()


def merges(call: Call) -> Any:
    return {
        "merges": [run.as_json() for run in call.clew.merges.list(limit=call.query.limit, identity=call.identity)]
    }


def suggestions(call: Call) -> Any:
    scope, limit = narrowed(call, call.query), call.query.limit
    found = call.clew.merges.suggest(scope, limit=limit, identity=call.identity)
    return {"suggestions": [one.as_json() for one in found]}


def merge(call: Call) -> Any:
    wanted, scope = call.body, narrowed(call, call.body)
    return call.clew.merges.merge(
        wanted.keep, wanted.others, scope=scope, dry_run=wanted.dry_run, identity=call.identity
    ).as_json()


def undo(call: Call) -> Any:
    return call.clew.merges.undo(call.path["id"], identity=call.identity).as_json()


def corroboration(call: Call) -> Any:
    scope = narrowed(call, call.query)
    return call.clew.merges.corroboration(call.path["id"], scope=scope, identity=call.identity).as_json()


_CONFLICT = "/v1/conflicts/{id}"

ROUTES = (
    Route("GET", "/v1/conflicts", "conflicts.list", "Memories that cannot both be current, the surest first.",
          conflicts, ConflictsShown, query=ConflictsWanted),
    Route("GET", _CONFLICT, "conflicts.show", "One conflict with both memories.", conflict, shapes.ConflictShown,
          query=OfProject, also=(404,)),
    Route("POST", f"{_CONFLICT}/resolve", "conflicts.resolve", "Say which of the two holds.", resolve,
          shapes.ResolvedShown, body=Resolution, also=(404, 409)),
    Route("GET", "/v1/merges", "merges.list", "What was made one, newest first.", merges, MergesShown,
          query=Limited),
    Route("GET", "/v1/merges/suggestions", "merges.suggest", "Groups of memories that say the same.", suggestions,
          SuggestionsShown, query=SuggestionsWanted),
    Route("POST", "/v1/merges", "merges.merge", "Make near-duplicates one; what is merged is superseded.", merge,
          shapes.MergedShown, body=MergeWanted, also=(404, 409), is_idempotent=True),
    Route("POST", "/v1/merges/{id}/undo", "merges.undo", "As it was before the merge.", undo, shapes.UndoneShown,
          also=(404, 409)),
    Route("GET", "/v1/memories/{id}/corroboration", "merges.corroboration",
          "How many independent sources say what a memory says.", corroboration, shapes.CorroborationShown,
          query=OfProject, also=(404,)),
)  # fmt: skip

"""The graph over HTTP: looking around, files of edges, upkeep.

Without a project a question is about every project that may be seen. A node is named as on the command line: by a
thing's name, `type:key`, or a memory's id.
"""

from __future__ import annotations

import io
from typing import Annotated, Any, TextIO, cast

import msgspec
from msgspec import Meta

from clew.surfaces.http.route import JSON_LINES, Call, Route, Send, Written
from clew.surfaces.http.shapes import graph as shapes
from clew.surfaces.http.shapes.common import DryRun, Moment, Name, OfProject, Query, moment, narrowed

_Node = Annotated[str, Meta(min_length=1, max_length=300)]
_Hundred = Annotated[int, Meta(ge=1, le=100)]
MAX_IMPORT_KB = 1 << 18


class NeighborsWanted(OfProject, frozen=True, kw_only=True):
    node: _Node
    limit: _Hundred = 20
    edge_type: Name | None = None
    depth: Annotated[int, Meta(ge=1, le=3)] = 1


class PathWanted(OfProject, frozen=True, kw_only=True):
    source: _Node = msgspec.field(name="from")
    target: _Node = msgspec.field(name="to")
    max_hops: Annotated[int, Meta(ge=1, le=8)] = 4


class ExploreWanted(OfProject, frozen=True, kw_only=True):
    """`node`, or under the documented names its type and key."""

    node: _Node | None = None
    node_type: Name | None = msgspec.field(name="nodeType", default=None)
    node_key: _Node | None = msgspec.field(name="nodeKey", default=None)
    limit: _Hundred = 20


class TripletsWanted(OfProject, frozen=True, kw_only=True):
    query: Query | None = None
    limit: _Hundred = 10


class CountsWanted(OfProject, frozen=True, kw_only=True):
    top: Annotated[int, Meta(ge=0, le=50)] = 10


class EdgesWanted(OfProject, frozen=True, kw_only=True):
    """`limit` above 5000 counts as 5000. `categories`: kinds of nodes, of memories their types; may be repeated."""

    limit: Annotated[int, Meta(ge=1)] = 500
    focus: _Node | None = None
    categories: Annotated[list[Name], Meta(min_length=1, max_length=30)] | None = None
    since: Moment | None = None


class EdgesImportWanted(OfProject, frozen=True, kw_only=True):
    dry_run: bool = False


def counts(call: Call) -> Any:
    scope = narrowed(call, call.query)
    return call.clew.graph.status(scope=scope, identity=call.identity, top=call.query.top).as_json()


def neighbors(call: Call) -> Any:
    asked = call.query
    found = call.clew.graph.neighbors(
        asked.node, **_where(call), limit=asked.limit, edge_type=asked.edge_type, depth=asked.depth
    )
    return found.as_json()


def path(call: Call) -> Any:
    asked = call.query
    return call.clew.graph.path(asked.source, asked.target, **_where(call), max_hops=asked.max_hops).as_json()


def explore(call: Call) -> Any:
    asked = call.query
    node = asked.node or (f"{asked.node_type}:{asked.node_key}" if asked.node_type and asked.node_key else None)
    return call.clew.graph.explore(node, **_where(call), limit=asked.limit).as_json()


def triplets(call: Call) -> Any:
    return call.clew.graph.triplets(call.query.query, **_where(call), limit=call.query.limit).as_json()


def edges(call: Call) -> Any:
    asked = call.query
    found = call.clew.graph.edges(
        **_where(call),
        limit=asked.limit,
        focus=asked.focus,
        categories=asked.categories,
        since=moment(call, asked.since),
    )
    return found.as_json()


def activate(call: Call) -> Any:
    case = msgspec.to_builtins(call.body)
    settings = case.get("settings") or {}
    given = {name: value for name, value in settings.items() if value is not None or name == "lateral_inhibition"}
    return call.clew.graph.activate(case | {"settings": given})


def decay(call: Call) -> Any:
    return call.clew.graph.decay(dry_run=call.body.dry_run, identity=call.identity).as_json()


def export(call: Call) -> Any:
    scope = narrowed(call, call.query)

    def write(send: Send) -> None:
        call.clew.graph.export(cast("TextIO", _Lines(send)), scope=scope, identity=call.identity)

    return Written(write)


def import_edges(call: Call) -> Any:
    assert call.file is not None
    scope, asked = narrowed(call, call.query), call.query
    return call.clew.graph.import_file(
        call.file, scope=scope, dry_run=asked.dry_run, identity=call.identity
    ).as_json()


def last_recall(call: Call) -> Any:
    found = call.clew.last_graph_recall(identity=call.identity)
    return found.as_json() if found else None


def _where(call: Call) -> dict[str, Any]:
    scope = call.scope(call.query)
    return {"scope": scope, "all_projects": call.query.project is None, "identity": call.identity}


class _Lines(io.TextIOBase):
    """What an export writes, handed on to the client."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, text: str) -> int:
        self._send(text.encode())
        return len(text)


ROUTES = (
    Route("GET", "/v1/graph/counts", "graph.status", "How much there is, what is pending, what went wrong.", counts,
          shapes.GraphCounted, query=CountsWanted),
    Route("GET", "/v1/graph/neighbors", "graph.neighbors", "What is next to a node, and which memories say so.",
          neighbors, shapes.NeighborhoodShown, query=NeighborsWanted, also=(404,)),
    Route("GET", "/v1/graph/path", "graph.path", "The shortest, then surest way between two nodes.", path,
          shapes.PathShown, query=PathWanted, also=(404,)),
    Route("GET", "/v1/graph/explore", "graph.explore",
          "The nodes on which most hangs, or the edges and memories of one of them.", explore, shapes.ExploredShown,
          query=ExploreWanted, also=(404,)),
    Route("GET", "/v1/graph/triplets", "graph.triplets", "Facts about a question; without one, the surest.",
          triplets, shapes.FactsShown, query=TripletsWanted, also=(404,)),
    Route("GET", "/v1/graph/edges", "graph.edges",
          "The graph as a list, newest edges first: of one node, between nodes of some kinds, since a moment.",
          edges, shapes.GraphListedShown, query=EdgesWanted, also=(404,)),
    Route("POST", "/v1/graph/activate", "graph.activate", "Run one activation that is written down.", activate,
          list[shapes.ActivatedShown], body=shapes.Case, reads_only=True),
    Route("POST", "/v1/graph/decay", "graph.decay", "Let edges that nothing reinforces fade, in all orgs.",
          decay, shapes.DecayShown, body=DryRun, for_operators=True, also=(409,)),
    Route("GET", "/v1/graph/export", "graph.export", "Every edge as JSON Lines.", export, str, query=OfProject,
          produces=JSON_LINES),
    Route("POST", "/v1/graph/import", "graph.import_file",
          "Bring in edges whose memories are here and visible; again adds nothing.", import_edges,
          shapes.EdgesImportedShown, query=EdgesImportWanted, consumes=JSON_LINES, to_file=True,
          max_body_kb=MAX_IMPORT_KB, also=(404, 409)),
    Route("GET", "/v1/graph/last-recall", "graph.last_recall",
          "What the graph did in the last recall that kept a snapshot, whoever asked; null if there is none.",
          last_recall, shapes.SnapshotShown | None, for_operators=True),
)  # fmt: skip

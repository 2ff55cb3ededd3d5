"""The graph as a list of edges, and what changed in it: what a picture of it is drawn from and kept current by."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from clew.model.explored import SeenEdge, SeenNode
from clew.model.times import to_rfc3339
from clew.values import dataclass


class DatedEdge(NamedTuple):
    """An edge, when it was last stated as far as that may be seen, and what its ends are."""

    edge: SeenEdge
    at: datetime
    source_kind: str
    target_kind: str


@dataclass(frozen=True, slots=True)
class ListedNode:
    node: SeenNode
    kind: str
    score: float
    last_updated: datetime

    def as_json(self) -> dict[str, Any]:
        told = {"id": self.node.id, "label": self.node.label, "kind": self.kind, "score": self.score}
        return told | {"last_updated": to_rfc3339(self.last_updated)}


@dataclass(frozen=True, slots=True)
class ListedEdge:
    id: str
    source: str
    target: str
    kind: str
    confidence: float
    updated_at: datetime

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"updated_at": to_rfc3339(self.updated_at)}


@dataclass(frozen=True, slots=True)
class GraphListed:
    """Edges newest first, and the nodes at their ends, those first on which most hangs."""

    nodes: tuple[ListedNode, ...]
    edges: tuple[ListedEdge, ...]
    generated_at: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": [node.as_json() for node in self.nodes],
            "edges": [edge.as_json() for edge in self.edges],
            "generated_at": to_rfc3339(self.generated_at),
        }


@dataclass(frozen=True, slots=True)
class GraphChange:
    """`reset`: what changed is no longer known in detail, look at everything again."""

    seq: int
    kind: str  # memory | node | reset
    op: str  # put | drop | reset
    id: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """What changed up to `next`, where to go on; `more` is there already."""

    changes: tuple[GraphChange, ...]
    next: int
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"changes": [one.as_json() for one in self.changes], "next": self.next, "more": self.more}

"""What the reading verbs of the graph answer: nodes, edges and facts as one reach sees them.

Whatever is in here was seen through a memory that the asking reach may see; rows stay in the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clew.model.times import to_rfc3339
from clew.values import dataclass

ARROW = "→"
SHARED = "shared_node"  # two things that one memory hangs on, without saying how they relate
MAX_PREVIEW = 80


def preview(text: str) -> str:
    """A memory in one line: its title, or how it begins."""
    return " ".join(text.split())[:MAX_PREVIEW]


class SeenEdge(NamedTuple):
    """An edge that may be seen, with the rows of its ends."""

    row: int
    id: str
    source: int
    target: int
    type: str
    weight: float
    confidence: float
    feedback_weight: float
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node, labelled as a memory that may be seen spells it. A memory's label is its title or beginning."""

    id: str
    type: str
    key: str
    label: str
    project: str = ""
    importance: float = 0.5

    @property
    def name(self) -> str:
        return f"{self.type}:{self.key}"

    def as_json(self) -> dict[str, Any]:
        known = {"id": self.id, "type": self.type, "key": self.key, "label": self.label}
        return known | ({"project": self.project} if self.project else {})

    def as_documented(self) -> dict[str, Any]:
        return {"nodeType": self.type, "nodeKey": self.key, "label": self.label}


@dataclass(frozen=True, slots=True)
class Witness:
    """A memory that states an edge, and where it does; '' when it does so by what it is, not by a sentence."""

    memory_id: str
    sentence: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"memory_id": self.memory_id} | ({"sentence": self.sentence} if self.sentence else {})


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A memory that hangs on a node."""

    id: str
    role: str
    type: str
    title: str
    content: str
    updated_at: datetime

    @property
    def label(self) -> str:
        return preview(self.title or self.content)

    def as_json(self) -> dict[str, Any]:
        return {"memory_id": self.id, "role": self.role, "type": self.type, "label": self.label}

    def as_documented(self) -> dict[str, Any]:
        return {
            "memoryId": self.id,
            "role": self.role,
            "type": self.type,
            "content": self.content,
            "updatedAt": to_rfc3339(self.updated_at),
        }


# -- neighbors ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Neighbor:
    """One edge as it is met on the way out: `near` is the end that was known before, `node` the other one."""

    hop: int
    direction: str  # outbound | inbound, seen from the near end
    edge_type: str
    weight: float
    confidence: float
    near: SeenNode
    node: SeenNode
    evidence: tuple[Witness, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "hop": self.hop,
            "direction": self.direction,
            "edge_type": self.edge_type,
            "weight": self.weight,
            "confidence": self.confidence,
            "node": self.node.as_json(),
            **({"near": self.near.as_json()} if self.hop > 1 else {}),
            "evidence": [witness.as_json() for witness in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """`nodes` are several when several projects have a thing of that name."""

    nodes: tuple[SeenNode, ...]
    neighbors: tuple[Neighbor, ...]
    memories: tuple[LinkedMemory, ...]
    links: tuple[tuple[str, SeenNode], ...] = ()  # (role, node): what a memory hangs on

    @property
    def node(self) -> SeenNode:
        return self.nodes[0]

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"node": self.node.as_json()}
        if len(self.nodes) > 1:
            answer["projects"] = [node.project for node in self.nodes]
        answer["neighbors"] = [neighbor.as_json() for neighbor in self.neighbors]
        answer["memories"] = [memory.as_json() for memory in self.memories]
        if self.links:
            answer["links"] = [{"role": role, "node": node.as_json()} for role, node in self.links]
        return answer


# -- path --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """From one node of a path to the next; `inbound` when the edge itself points back."""

    edge_type: str
    direction: str
    confidence: float
    evidence: tuple[Witness, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "edge_type": self.edge_type,
            "direction": self.direction,
            "confidence": self.confidence,
            "evidence": [witness.as_json() for witness in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class FoundPath:
    nodes: tuple[SeenNode, ...]
    steps: tuple[Step, ...]
    confidence: float  # that all steps hold

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": [node.as_json() for node in self.nodes],
            "edges": [step.as_json() for step in self.steps],
            "hops": len(self.steps),
            "confidence": self.confidence,
        }


# -- explore: the documented payload of the explorer --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Connected:
    """A node and how much hangs on it."""

    node: SeenNode
    memory_links: int
    outbound_edges: int
    inbound_edges: int

    @property
    def degree(self) -> int:
        return self.memory_links + self.outbound_edges + self.inbound_edges

    def as_json(self) -> dict[str, Any]:
        return {
            "node_type": self.node.type,
            "node_key": self.node.key,
            "label": self.node.label,
            "memory_links": self.memory_links,
            "outbound_edges": self.outbound_edges,
            "inbound_edges": self.inbound_edges,
            "degree": self.degree,
        }

    def as_documented(self) -> dict[str, Any]:
        edges = self.outbound_edges + self.inbound_edges
        return self.node.as_documented() | {"memoryLinks": self.memory_links, "edgeCount": edges}


@dataclass(frozen=True, slots=True)
class ExploredEdge:
    edge: SeenEdge
    direction: str
    source: SeenNode
    target: SeenNode
    evidence: tuple[Witness, ...]

    def as_documented(self) -> dict[str, Any]:
        edge = self.edge
        return {
            "id": edge.id,
            "edgeType": edge.type,
            "weight": edge.weight,
            "confidence": edge.confidence,
            "expiresAt": to_rfc3339(edge.expires_at) if edge.expires_at else None,
            "evidenceMemoryId": self.evidence[0].memory_id if self.evidence else None,
            "direction": self.direction,
            "from": self.source.as_documented(),
            "to": self.target.as_documented(),
        }


@dataclass(frozen=True, slots=True)
class Explored:
    """Without a node, what there is to look at; with one, what is around it."""

    node: SeenNode | None = None
    nodes: tuple[Connected, ...] = ()
    edges: tuple[ExploredEdge, ...] = ()
    memories: tuple[LinkedMemory, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.node.as_documented() if self.node else None,
            "nodes": [connected.as_documented() for connected in self.nodes],
            "edges": [edge.as_documented() for edge in self.edges],
            "memories": [memory.as_documented() for memory in self.memories],
        }


# -- triplets ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fact:
    """A triplet with what supports it."""

    source: SeenNode
    relation: str
    target: SeenNode
    importance: float
    confidence: float
    evidence: tuple[Witness, ...]

    @property
    def text(self) -> str:
        return f"{self.source.label} {ARROW} {self.relation} {ARROW} {self.target.label}"

    @property
    def relevance_score(self) -> float:
        """Lower is better."""
        return 1 - self.importance

    @property
    def sentence(self) -> str:
        return next((witness.sentence for witness in self.evidence if witness.sentence), "")

    def as_json(self) -> dict[str, Any]:
        return {
            "triplet": self.text,
            "source": self.source.label,
            "relation": self.relation,
            "target": self.target.label,
            "source_node": self.source.as_json(),
            "target_node": self.target.as_json(),
            "importance": self.importance,
            "relevance_score": self.relevance_score,
            "confidence": self.confidence,
            "evidence_memory_ids": [witness.memory_id for witness in self.evidence],
            **({"sentence": self.sentence} if self.sentence else {}),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    facts: tuple[Fact, ...]
    query: str | None = None

    def as_json(self) -> dict[str, Any]:
        query = {} if self.query is None else {"query": self.query}
        return query | {"triplets": [fact.as_json() for fact in self.facts]}


# -- status ------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """How much of the graph lies within a reach. An orphan has neither a memory nor an edge that is active."""

    nodes: Mapping[str, int]  # by type
    edges: Mapping[str, int]  # by type, expired ones included
    memory_links: int
    expired_edges: int
    orphan_nodes: int
    pending: Mapping[str, tuple[int, datetime]]  # by reason: how many, since when the last


@dataclass(frozen=True, slots=True)
class Trouble:
    code: str
    message: str
    source: str
    timestamp: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "source": self.source,
            "timestamp": to_rfc3339(self.timestamp),
        }


@dataclass(frozen=True, slots=True)
class GraphStatus:
    health: str  # ok | degraded
    flags: Mapping[str, bool]
    counted: Counted
    top: tuple[Connected, ...]
    errors: tuple[Trouble, ...]
    sampled_at: datetime

    @property
    def counts(self) -> dict[str, int]:
        edges = sum(self.counted.edges.values())
        return {
            "nodes": sum(self.counted.nodes.values()),
            "edges": edges,
            "memory_links": self.counted.memory_links,
            "active_edges": edges - self.counted.expired_edges,
            "expired_edges": self.counted.expired_edges,
            "orphan_nodes": self.counted.orphan_nodes,
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "health": self.health,
            "flags": dict(self.flags),
            "counts": self.counts,
            "nodes_by_type": dict(self.counted.nodes),
            "edges_by_type": dict(self.counted.edges),
            "pending": {reason: count for reason, (count, _at) in self.counted.pending.items()},
            "top_connected_nodes": [connected.as_json() for connected in self.top],
            "recent_errors": [error.as_json() for error in self.errors],
            "sampled_at": to_rfc3339(self.sampled_at),
        }

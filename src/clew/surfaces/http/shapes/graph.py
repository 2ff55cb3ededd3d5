"""The graph, as answers show it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When

Direction = Literal["outbound", "inbound"]


class NodeShown(Shape, frozen=True, kw_only=True):
    id: str
    type: str
    key: str
    label: str
    project: str | Maybe = ABSENT


class WitnessShown(Shape, frozen=True, kw_only=True):
    memory_id: str
    sentence: str | Maybe = ABSENT


class LinkedMemoryShown(Shape, frozen=True, kw_only=True):
    memory_id: str
    role: str
    type: str
    label: str


class LinkShown(Shape, frozen=True, kw_only=True):
    role: str
    node: NodeShown


class NeighborShown(Shape, frozen=True, kw_only=True):
    hop: int
    direction: Direction
    edge_type: str
    weight: float
    confidence: float
    node: NodeShown
    evidence: list[WitnessShown]
    near: NodeShown | Maybe = ABSENT


class NeighborhoodShown(Shape, frozen=True, kw_only=True):
    node: NodeShown
    neighbors: list[NeighborShown]
    memories: list[LinkedMemoryShown]
    projects: list[str] | Maybe = ABSENT
    links: list[LinkShown] | Maybe = ABSENT


class StepShown(Shape, frozen=True, kw_only=True):
    edge_type: str
    direction: Direction
    confidence: float
    evidence: list[WitnessShown]


class PathShown(Shape, frozen=True, kw_only=True):
    nodes: list[NodeShown]
    edges: list[StepShown]
    hops: int
    confidence: float


class FactShown(Shape, frozen=True, kw_only=True):
    triplet: str
    source: str
    relation: str
    target: str
    source_node: NodeShown
    target_node: NodeShown
    importance: float
    relevance_score: float
    confidence: float
    evidence_memory_ids: list[str]
    sentence: str | Maybe = ABSENT


class FactsShown(Shape, frozen=True, kw_only=True):
    triplets: list[FactShown]
    query: str | Maybe = ABSENT


# -- the explorer, under its documented names ---------------------------------------------------------


class NamedNode(Shape, frozen=True, kw_only=True, rename="camel"):
    node_type: str
    node_key: str
    label: str


class CountedNode(NamedNode, frozen=True, kw_only=True, rename="camel"):
    memory_links: int
    edge_count: int


class ExploredEdge(Shape, frozen=True, kw_only=True, rename="camel"):
    id: str
    edge_type: str
    weight: float
    confidence: float
    expires_at: When | None
    evidence_memory_id: str | None
    direction: Direction
    source: NamedNode = msgspec.field(name="from")
    target: NamedNode = msgspec.field(name="to")


class ExploredMemory(Shape, frozen=True, kw_only=True, rename="camel"):
    memory_id: str
    role: str
    type: str
    content: str
    updated_at: When


class ExploredShown(Shape, frozen=True, kw_only=True):
    node: NamedNode | None
    nodes: list[CountedNode]
    edges: list[ExploredEdge]
    memories: list[ExploredMemory]


# -- counts, upkeep, files -----------------------------------------------------------------------------


class Flags(Shape, frozen=True, kw_only=True, rename="camel"):
    mapping_enabled: bool
    retrieval_enabled: bool
    llm_extraction_enabled: bool


class ConnectedShown(Shape, frozen=True, kw_only=True):
    node_type: str
    node_key: str
    label: str
    memory_links: int
    outbound_edges: int
    inbound_edges: int
    degree: int


class CountsShown(Shape, frozen=True, kw_only=True):
    nodes: int
    edges: int
    memory_links: int
    active_edges: int
    expired_edges: int
    orphan_nodes: int


class TroubleShown(Shape, frozen=True, kw_only=True):
    code: str
    message: str
    source: str
    timestamp: When


class GraphCounted(Shape, frozen=True, kw_only=True):
    health: Literal["ok", "degraded"]
    flags: Flags
    counts: CountsShown
    nodes_by_type: dict[str, int]
    edges_by_type: dict[str, int]
    pending: dict[str, int]
    top_connected_nodes: list[ConnectedShown]
    recent_errors: list[TroubleShown]
    sampled_at: When


class TallyShown(Shape, frozen=True, kw_only=True):
    edges_total: int
    edges_decayed: int
    edges_below_visibility_threshold: int


class FadedShown(Shape, frozen=True, kw_only=True):
    label: str
    total_drop: float
    edge_count: int


class DecayShown(TallyShown, frozen=True, kw_only=True):
    ran_at: When
    duration_ms: float
    top_decayed_entities: list[FadedShown]
    per_type: dict[str, TallyShown]
    window_ms: int
    per_window: float
    floor: float
    visibility_threshold: float
    dry_run: bool


class SkippedLine(Shape, frozen=True, kw_only=True):
    line: int
    reason: str


class EdgesImportedShown(Shape, frozen=True, kw_only=True):
    read: int
    added: int
    known: int
    truncated: bool
    checksum: str
    dry_run: bool
    reasons: dict[str, int]
    skipped: list[SkippedLine]


# -- one activation, written down ----------------------------------------------------------------------

_Steps = Annotated[int, Meta(ge=0, le=10)]
_Case = Annotated[str, Meta(min_length=1, max_length=240)]


class CaseEdge(Shape, frozen=True, kw_only=True):
    source: _Case = msgspec.field(name="from")
    target: _Case = msgspec.field(name="to")
    type: _Case
    weight: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0
    confidence: Annotated[float, Meta(ge=0, le=1)] = 1.0


class CaseInhibition(Shape, frozen=True, kw_only=True):
    beta: Annotated[float, Meta(ge=0, le=1)] = 0.15
    top_m: Annotated[int, Meta(ge=0, le=1_000)] = 7


class CaseSettings(Shape, frozen=True, kw_only=True):
    max_steps: _Steps = 3
    decay: Annotated[float, Meta(ge=0, le=1)] = 0.7
    confidence_floor: Annotated[float, Meta(ge=0, le=1)] = 0.2
    pagerank_iterations: Annotated[int, Meta(ge=0, le=64)] = 8
    refinement: Literal["compat", "personalised"] | None = None
    lateral_inhibition: CaseInhibition | Maybe | None = ABSENT
    fan_out: Annotated[int, Meta(ge=0, le=1_000)] | None = None
    max_expanded: Annotated[int, Meta(ge=0, le=10_000)] | None = None


class Case(Shape, frozen=True, kw_only=True):
    """One activation: edges and seeds by name."""

    edges: Annotated[list[CaseEdge], Meta(max_length=5_000)]
    seeds: Annotated[list[_Case], Meta(max_length=100)]
    settings: CaseSettings | None = None


class ActivatedShown(Shape, frozen=True, kw_only=True):
    node: str
    score: float
    seed: str
    hop: int
    decayed_weight: float
    type: str
    edge_confidence: float
    path: list[str]
    edge_confidences: list[float]


# -- edges and changes --------------------------------------------------------------------------------


class ListedNode(Shape, frozen=True, kw_only=True):
    """`kind`: what the node is; of a memory its type. `score`: the sum of the confidences of the edges listed."""

    id: str
    label: str
    kind: str
    score: float
    last_updated: When


class ListedEdge(Shape, frozen=True, kw_only=True):
    id: str
    source: str
    target: str
    kind: str
    confidence: float
    updated_at: When


class GraphListedShown(Shape, frozen=True, kw_only=True):
    nodes: list[ListedNode]
    edges: list[ListedEdge]
    generated_at: When


class ChangeEvent(Shape, frozen=True, kw_only=True):
    """One server-sent event: `id:` is `seq`, `event:` is `kind`."""

    seq: int
    kind: Literal["memory", "node", "reset"]
    op: Literal["put", "drop", "reset"]
    id: str


# -- what the graph did in a recall ---------------------------------------------------------------------


class ExpansionShown(Shape, frozen=True, kw_only=True, rename="camel"):
    id: str
    score: float
    seed: str
    hop_depth: int
    decayed_weight: float
    graph_type: str
    edge_confidence: float | Maybe = ABSENT


class RankedShown(Shape, frozen=True, kw_only=True, rename="camel"):
    id: str
    score: float
    source_labels: list[str]


class IntentShown(Shape, frozen=True, kw_only=True, rename="camel"):
    goal: str
    action_type: str
    entity_types: list[str]
    task_initiation: bool


class ShadowShown(Shape, frozen=True, kw_only=True, rename="camel"):
    baseline_count: int
    graph_count: int
    overlap_count: int
    overlap_ratio: float
    average_overlap_delta: float


class SnapshotShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """Ids and numbers; of the query its hash and length."""

    recorded_at: str
    mode: str
    query_hash: str
    query_length: int
    project: str
    namespaces: list[str]
    seed_count: int
    expanded_count: int
    seeds: list[str]
    expanded: list[ExpansionShown]
    status: Literal["completed", "skipped", "aborted"]
    reason: str
    shadow_mode: bool
    query_intent: IntentShown
    seed_results: list[RankedShown]
    final_results: list[RankedShown]
    shadow_comparison: ShadowShown | Maybe = ABSENT

"""What recall, context, why and X-ray take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from clew.surfaces.http.shapes.common import ABSENT, Id, Line, Maybe, Name, Shape, When
from clew.surfaces.http.shapes.memories import InPlace
from clew.surfaces.http.shapes.rollout import StructuredMemory, TraceShown

Query = Annotated[str, Meta(max_length=100_000)]
Moment = Annotated[datetime, Meta(tz=True, description="RFC 3339, with its zone")]
Share = Annotated[float, Meta(ge=0, le=1)]
Mode = Literal["all", "working", "long_term", "rules_only"]
Kind = Literal["rule", "decision", "fact", "note", "skill"]
Names = Annotated[tuple[Line, ...], Meta(max_length=64)]


class Asked(InPlace, frozen=True, kw_only=True):
    """A question and what narrows it. What is left out is as the settings say."""

    query: Query
    limit: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    mode: Mode = "all"
    retrieval: Literal["lexical", "semantic", "hybrid"] | None = None
    types: Annotated[tuple[Kind, ...], Meta(max_length=64)] = ()
    tags: Names = ()
    as_of: Moment | None = None
    include_superseded: bool = False
    include_invalid: bool = False
    floor: Share | None = None
    rules: bool = True
    agent: Name | None = None
    session: Name | None = None
    namespace: Name | None = None


class RecallAsked(Asked, frozen=True, kw_only=True):
    plan: Literal["auto", "no_recall", "minimal", "full", "graph_mode"] | None = None
    graph: bool | None = None
    include_low_confidence: bool = False


class ContextAsked(Asked, frozen=True, kw_only=True):
    strategy: Literal["baseline", "hybrid_graph"] | None = None
    depth: Annotated[int, Meta(ge=0, le=2)] | None = None
    graph_limit: Annotated[int, Meta(ge=1, le=50)] | None = None


class WhyAsked(RecallAsked, frozen=True, kw_only=True):
    expect: Id


class XrayAsked(RecallAsked, frozen=True, kw_only=True):
    budget: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class WhyShown(Shape, frozen=True, kw_only=True):
    source: Literal["lexical", "semantic", "graph", "rule", "working", "boost"]
    rank: int | Maybe = ABSENT
    raw: float | Maybe = ABSENT
    relevance: float | Maybe = ABSENT
    via: str | Maybe = ABSENT


class WayShown(Shape, frozen=True, kw_only=True):
    why_included: Literal["graph_activation"]
    seed_memory_id: str
    linked_via_node: str
    edge_type: str
    hop_count: int
    activation: float
    confidence: float
    path_confidence: float


class ResultShown(Shape, frozen=True, kw_only=True):
    """`score` is absolute and can be compared between questions; `rank_score` orders this one list."""

    id: str
    content: str
    type: str
    layer: str
    score: float
    rank_score: float
    rank: int
    why: list[WhyShown]
    at: When
    tags: list[str]
    title: str | Maybe = ABSENT
    project: str | Maybe = ABSENT
    superseded_by: str | Maybe = ABSENT
    graph: WayShown | Maybe = ABSENT
    graph_path: list[str] | Maybe = ABSENT
    graph_edge_confidences: list[float] | Maybe = ABSENT


class DisputeShown(Shape, frozen=True, kw_only=True):
    """Two answered memories that cannot both be current."""

    memory_a_id: str
    memory_b_id: str
    confidence: float
    edge_type: str
    explanation: str
    suggestion: str
    conflict_id: str | Maybe = ABSENT


class RecalledShown(Shape, frozen=True, kw_only=True):
    """`trace` tells stage by stage what came in, what went out and why."""

    results: list[ResultShown]
    conflicts: list[DisputeShown]
    trace: dict[str, Any]


class ContextShown(Shape, frozen=True, kw_only=True):
    """`memories` are the baseline in its order, then what the graph adds."""

    mode: Mode
    query: str
    rules: list[StructuredMemory]
    memories: list[StructuredMemory]
    conflicts: list[DisputeShown]
    skill_files: list[str] = msgspec.field(name="skillFiles")
    working: list[StructuredMemory] = msgspec.field(name="workingMemories")
    long_term: list[StructuredMemory] = msgspec.field(name="longTermMemories")
    trace: TraceShown


class ExplanationShown(Shape, frozen=True, kw_only=True):
    """At which stage the expected memory was lost, or at which rank it was found."""

    id: str
    found: bool
    lost_at: str | None
    reason: str
    next: str
    why: list[dict[str, Any]]
    rank: int | Maybe = ABSENT
    score: float | Maybe = ABSENT


class XrayScores(Shape, frozen=True, kw_only=True):
    final: float
    vector: float | Maybe = ABSENT
    bm25: float | Maybe = ABSENT
    importance: float | Maybe = ABSENT


class XrayResultShown(Shape, frozen=True, kw_only=True):
    memory_id: str = msgspec.field(name="memoryId")
    served_by: Literal["hybrid", "graph", "recent-scan", "rule"] = msgspec.field(name="servedBy")
    scores: XrayScores = msgspec.field(name="scoreDecomposition")
    admitted_by: list[str] = msgspec.field(name="admittedBy")
    tokens: int = msgspec.field(name="estimatedTokens")
    graph_path: list[str] | Maybe = msgspec.field(name="graphPath", default=ABSENT)
    confidences: list[float] | Maybe = msgspec.field(name="graphEdgeConfidences", default=ABSENT)
    path_confidence: float | Maybe = msgspec.field(name="pathConfidence", default=ABSENT)
    rejected_by: str | Maybe = msgspec.field(name="rejectedBy", default=ABSENT)
    tags: list[str] | Maybe = ABSENT


class XrayFilterShown(Shape, frozen=True, kw_only=True):
    name: str
    considered: int
    admitted: int
    reason: str | Maybe = ABSENT


class XrayBudget(Shape, frozen=True, kw_only=True):
    chars: int
    used: int


class XrayShown(Shape, frozen=True, kw_only=True):
    """A recall laid open."""

    schema_version: str = msgspec.field(name="schemaVersion")
    snapshot_found: bool = msgspec.field(name="snapshotFound")
    query: str
    snapshot_id: str = msgspec.field(name="snapshotId")
    captured_at: int = msgspec.field(name="capturedAt")
    results: list[XrayResultShown]
    filters: list[XrayFilterShown]
    budget: XrayBudget
    conflicts: list[DisputeShown] | Maybe = ABSENT

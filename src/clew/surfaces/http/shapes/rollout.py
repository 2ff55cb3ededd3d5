"""The rollout of graph recall and the documented graph payloads (memories_sh.md 8)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When
from clew.surfaces.http.shapes.graph import Flags, NamedNode

Mode = Literal["off", "shadow", "canary"]
Strategy = Literal["baseline", "hybrid_graph"]


class DocumentedScope(Shape, frozen=True, kw_only=True, rename="camel"):
    tenant_id: str
    user_id: str | None
    project_id: str | None


class RolloutMode(Shape, frozen=True, kw_only=True, rename="camel"):
    mode: Mode
    updated_at: When | None
    updated_by: str | None


class SummaryShown(Shape, frozen=True, kw_only=True, rename="camel"):
    window_hours: float
    total_requests: int
    hybrid_requested: int
    canary_applied: int
    shadow_executions: int
    fallback_count: int
    fallback_rate: float
    unplanned_fallbacks: int
    graph_error_fallbacks: int
    graph_errors: int
    shadow_graph_errors: int
    avg_graph_candidates: float
    avg_graph_expanded_count: float
    last_fallback_at: When | None
    last_fallback_reason: str | None


class MetricsShown(SummaryShown, frozen=True, kw_only=True):
    waiting: int
    dropped: int


class ReasonShown(Shape, frozen=True, kw_only=True, rename="camel"):
    code: str
    severity: str
    blocking: bool
    metric: str
    current_value: float
    previous_value: float | None
    threshold: float
    message: str


class WindowShown(Shape, frozen=True, kw_only=True, rename="camel"):
    start_at: When
    end_at: When
    total_requests: int
    hybrid_requested: int
    canary_applied: int
    hybrid_fallbacks: int
    graph_error_fallbacks: int
    fallback_rate: float
    graph_error_fallback_rate: float
    coverage_samples: int
    canary_with_expansion: int
    expansion_coverage_rate: float
    avg_expanded_count: float
    avg_candidate_lift: float


class GateShown(Shape, frozen=True, kw_only=True, rename="camel"):
    evaluated_at: When
    window_hours: float
    min_hybrid_samples: int
    min_canary_samples_for_relevance: int
    status: Literal["pass", "warn", "fail", "insufficient_data"]
    canary_blocked: bool
    reasons: list[ReasonShown]
    current: WindowShown
    previous: WindowShown


class StageShown(Shape, frozen=True, kw_only=True, rename="camel"):
    stage: Literal["shadow", "canary", "default_on"]
    ready: bool
    required_samples: int
    current_samples: int
    blocker_codes: list[str]


class GoalShown(Shape, frozen=True, kw_only=True, rename="camel"):
    metric: str
    comparator: str
    target: float
    current: float
    gap_to_goal: float
    ready: bool


class SloShown(Shape, frozen=True, kw_only=True, rename="camel"):
    min_shadow_executions_for_canary: int
    min_shadow_average_graph_candidates: float
    max_shadow_graph_error_rate_for_canary: float
    min_hybrid_samples_for_default_on: int
    min_canary_samples_for_default_on: int
    max_fallback_rate_for_default_on: float
    max_graph_error_rate_for_default_on: float
    min_expansion_coverage_for_default_on: float


class AutopilotShown(Shape, frozen=True, kw_only=True):
    enabled: bool
    applied: bool


class PlanShown(Shape, frozen=True, kw_only=True, rename="camel"):
    evaluated_at: When
    current_mode: Mode
    recommended_mode: Mode
    default_behavior_decision: str
    rationale: str
    ready_for_default_on: bool
    blocker_codes: list[str]
    stages: list[StageShown]
    baseline: list[GoalShown]
    slo: SloShown
    autopilot: AutopilotShown


class RetrievalPolicyShown(Shape, frozen=True, kw_only=True, rename="camel"):
    default_strategy: Strategy
    ready_window_streak: int
    last_decision: str | None
    last_evaluated_at: When | None
    updated_at: When | None
    updated_by: str | None


class RolloutShown(Shape, frozen=True, kw_only=True, rename="camel"):
    rollout: RolloutMode
    shadow_metrics: SummaryShown
    quality_gate: GateShown
    rollout_plan: PlanShown
    retrieval_policy: RetrievalPolicyShown
    flags: Flags
    scope: DocumentedScope


# -- status --------------------------------------------------------------------------------------------


class TablesShown(Shape, frozen=True, kw_only=True, rename="camel"):
    graph_nodes: bool
    graph_edges: bool
    memory_node_links: bool


class DocumentedCounts(Shape, frozen=True, kw_only=True, rename="camel"):
    nodes: int
    edges: int
    memory_links: int
    active_edges: int
    expired_edges: int
    orphan_nodes: int


class AlarmShown(Shape, frozen=True, kw_only=True, rename="camel"):
    code: str
    severity: str
    message: str
    triggered_at: When


class ConnectedNode(NamedNode, frozen=True, kw_only=True, rename="camel"):
    memory_links: int
    outbound_edges: int
    inbound_edges: int
    degree: int


class ErrorShown(Shape, frozen=True, kw_only=True):
    code: str
    message: str
    source: str
    timestamp: When


class StatusShown(Shape, frozen=True, kw_only=True, rename="camel"):
    enabled: bool
    flags: Flags
    health: Literal["ok", "degraded", "schema_missing"]
    tables: TablesShown
    counts: DocumentedCounts
    rollout: RolloutMode | None
    shadow_metrics: SummaryShown | None
    quality_gate: GateShown | None
    rollout_plan: PlanShown | None
    alarms: list[AlarmShown]
    top_connected_nodes: list[ConnectedNode]
    recent_errors: list[ErrorShown]
    sampled_at: When
    scope: DocumentedScope


# -- trace ---------------------------------------------------------------------------------------------


class TracedStrategy(Shape, frozen=True, kw_only=True):
    requested: Strategy | None
    applied: Strategy | None


class TraceShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """Numbers are null for someone who may not read all that was found. Empty when nothing was asked for."""

    requested_strategy: str | Maybe = ABSENT
    strategy: str | Maybe = ABSENT
    semantic_strategy_requested: str | Maybe = ABSENT
    semantic_strategy_applied: str | Maybe = ABSENT
    lexical_candidates: int | Maybe | None = ABSENT
    semantic_candidates: int | Maybe | None = ABSENT
    semantic_fallback_triggered: bool | Maybe | None = ABSENT
    semantic_fallback_reason: str | Maybe | None = ABSENT
    graph_depth: int | Maybe = ABSENT
    graph_limit: int | Maybe = ABSENT
    rollout_mode: str | Maybe = ABSENT
    shadow_executed: bool | Maybe = ABSENT
    quality_gate_status: str | Maybe = ABSENT
    quality_gate_blocked: bool | Maybe = ABSENT
    quality_gate_reason_codes: list[str] | Maybe = ABSENT
    baseline_candidates: int | Maybe = ABSENT
    graph_candidates: int | Maybe | None = ABSENT
    graph_expanded_count: int | Maybe = ABSENT
    graph_error: str | Maybe | None = ABSENT
    total_candidates: int | Maybe = ABSENT
    conflict_count: int | Maybe = ABSENT
    fallback_triggered: bool | Maybe = ABSENT
    fallback_reason: str | Maybe | None = ABSENT
    retrieval_policy_default_strategy: str | Maybe = ABSENT
    retrieval_policy_applied_strategy: str | Maybe = ABSENT
    retrieval_policy_selection: Literal["request", "policy_default"] | Maybe = ABSENT
    retrieval_policy_ready_for_default_on: bool | Maybe = ABSENT
    retrieval_policy_blocker_codes: list[str] | Maybe = ABSENT


class TiersShown(Shape, frozen=True, kw_only=True, rename="camel"):
    rule_ids: list[str]
    working_ids: list[str]
    long_term_ids: list[str]


class GraphProvenance(Shape, frozen=True, kw_only=True, rename="camel"):
    why_included: Literal["graph_expansion"]
    linked_via_node: str
    edge_type: str
    hop_count: int
    confidence: float
    seed_memory_id: str


class RecallRow(Shape, frozen=True, kw_only=True, rename="camel"):
    rank: int
    memory_id: str
    layer: str
    type: str
    scope: Literal["project", "global"]
    project_id: str | None
    source: Literal["baseline", "graph_expansion"]
    graph: GraphProvenance | None


class StructuredMemory(Shape, frozen=True, kw_only=True, rename="camel"):
    id: str
    content: str
    type: str
    layer: str
    expires_at: When | None
    scope: Literal["project", "global"]
    project_id: str | None
    tags: list[str]
    paths: list[str]
    category: str | None
    metadata: dict[str, Any]
    created_at: When
    updated_at: When
    graph: GraphProvenance | Maybe = ABSENT


class TracedShown(Shape, frozen=True, kw_only=True, rename="camel"):
    mode: str
    include_rules: bool
    query: str
    strategy: TracedStrategy
    trace: TraceShown
    tiers: TiersShown
    recall: list[RecallRow]
    rules: list[StructuredMemory]
    memories: list[StructuredMemory]


# -- replay --------------------------------------------------------------------------------------------


class MovedIn(Shape, frozen=True, kw_only=True):
    id: str
    rank: int
    text: str


class Moved(Shape, frozen=True, kw_only=True):
    id: str
    before: int = msgspec.field(name="from")
    after: int = msgspec.field(name="to")


class ReplayGraph(Shape, frozen=True, kw_only=True):
    status: str
    reason: str


class ReplayMs(Shape, frozen=True, kw_only=True):
    baseline: float
    hybrid: float


class ScoreShown(Shape, frozen=True, kw_only=True):
    session: str
    outcome: str
    memories: int
    baseline: float
    hybrid: float
    difference: float


class ReplayedShown(Shape, frozen=True, kw_only=True):
    query: str
    asked_at: When
    times: int
    top: int
    baseline: list[str]
    hybrid: list[str]
    overlap: float
    came_in: list[MovedIn]
    fell_out: list[MovedIn]
    moved: list[Moved]
    graph: ReplayGraph
    ms: ReplayMs
    scores: list[ScoreShown]
    project: str | Maybe = ABSENT
    work_type: str | Maybe = ABSENT


class ReplayChanges(Shape, frozen=True, kw_only=True):
    questions: int
    changed: int
    overlap: float
    came_in: int
    fell_out: int
    moved: int


class ReplayHelped(Shape, frozen=True, kw_only=True):
    mean: float
    interval: list[float] | None
    pairs: int
    groups: int
    better: int
    worse: int
    same: int
    verdict: Literal["too_few", "better", "worse", "unclear"]
    undecided: int
    bias: str


class ReplayShown(Shape, frozen=True, kw_only=True):
    since: When
    until: When
    recorded: int
    left_out: int
    more: bool
    changes: ReplayChanges
    ms: ReplayMs
    helped: ReplayHelped
    questions: list[ReplayedShown]
    project: str | Maybe = ABSENT

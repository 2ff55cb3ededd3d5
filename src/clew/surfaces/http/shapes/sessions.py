"""Sessions, their queue, what is injected into them and what is learnt from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When

State = Literal["queued", "running", "finalizing", "completed", "failed", "stopped"]
Outcome = Literal["accepted", "rework", "rejected"]
InjectState = Literal["pending", "delivered", "acked", "dead", "cancelled"]
Receipt = Literal["printed", "consumed", "recorded", "confirmed"]


class SessionShown(Shape, frozen=True, kw_only=True):
    id: str
    org: str
    state: State
    fencing_token: int
    stop_requested: bool
    created_at: When
    project: str | Maybe = ABSENT
    user: str | Maybe = ABSENT
    agent: str | Maybe = ABSENT
    work_type: str | Maybe = ABSENT
    issue: str | Maybe = ABSENT
    issue_id: str | Maybe = ABSENT
    title: str | Maybe = ABSENT
    description: str | Maybe = ABSENT
    worker: str | Maybe = ABSENT
    provider_session: str | Maybe = ABSENT
    outcome: str | Maybe = ABSENT
    claimed_at: When | Maybe = ABSENT
    ended_at: When | Maybe = ABSENT


class SessionsShown(Shape, frozen=True, kw_only=True):
    sessions: list[SessionShown]


class Claimed(Shape, frozen=True, kw_only=True):
    fencing_token: int


class DeliveryShown(Shape, frozen=True, kw_only=True):
    delivery_id: str
    text: str


class BeatShown(Shape, frozen=True, kw_only=True):
    """Not refreshed: the lock is lost, stop at once."""

    refreshed: bool
    stop: bool
    inject: DeliveryShown | None


class EnqueuedShown(Shape, frozen=True, kw_only=True):
    enqueued: bool
    deduplicated: bool
    delivery_id: str | Maybe = ABSENT
    state: InjectState | Maybe = ABSENT
    reason: str | Maybe = ABSENT


class InjectShown(Shape, frozen=True, kw_only=True):
    delivery_id: str
    org: str
    session: str
    kind: str
    phase: str
    text: str
    content_hash: str
    observation_ids: list[str]
    node_ids: list[str]
    source_ids: list[str]
    state: InjectState
    attempts: int
    fencing_token: int
    enqueued_at: When
    agent: str | Maybe = ABSENT
    receipt: Receipt | Maybe = ABSENT
    reason: str | Maybe = ABSENT
    first_delivered_at: When | Maybe = ABSENT
    last_delivered_at: When | Maybe = ABSENT
    ended_at: When | Maybe = ABSENT


class InjectsShown(Shape, frozen=True, kw_only=True):
    injects: list[InjectShown]


class Acked(Shape, frozen=True, kw_only=True):
    acked: bool


# -- injection ---------------------------------------------------------------------------------------


class EdgeKeyShown(Shape, frozen=True, kw_only=True, rename="camel"):
    source_id: str
    target_id: str
    relationship_name: str


class SkippedMemory(Shape, frozen=True, kw_only=True):
    id: str
    reason: str


class BlockShown(Shape, frozen=True, kw_only=True):
    text: str
    tokens: int
    budget_tokens: int
    memory_ids: list[str]
    graph_node_ids: list[str]
    graph_edge_keys: list[EdgeKeyShown]
    skipped: list[SkippedMemory]
    session_summary_ids: list[str]
    graph_budget_tokens: int
    graph_status: str


class ProvenanceShown(Shape, frozen=True, kw_only=True, rename="camel"):
    observation_id: str | None
    session_id: str | None
    timestamp: When | None


class TripletShown(Shape, frozen=True, kw_only=True, rename="camel"):
    """The lower `relevanceScore`, the better."""

    source_entity: str
    relationship: str
    target_entity: str
    relevance_score: float
    source_node_id: str
    target_node_id: str
    provenance: ProvenanceShown


class InjectionShown(Shape, frozen=True, kw_only=True):
    outcome: Literal["injected", "queued", "no-match", "skipped", "budget-exceeded", "disabled", "suppressed"]
    tokens: int
    memory_ids: list[str]
    triplets: list[TripletShown]
    deduplicated: bool
    ms: float
    block: str | Maybe = ABSENT
    delivery_id: str | Maybe = ABSENT
    reason: str | Maybe = ABSENT
    error: str | Maybe = ABSENT


class InjectionLogged(Shape, frozen=True, kw_only=True):
    """`delivered`: it was put on the queue and not given up; under its `delivery_id` the queue tells whether it was
    handed over."""

    session_id: str
    org_id: str
    phase: str
    budget_tokens: int
    graph_budget_tokens: int
    actual_tokens: int
    actual_observation_tokens: int
    actual_graph_tokens: int
    observation_ids: list[str]
    session_summary_ids: list[str]
    graph_node_ids: list[str]
    graph_edge_keys: list[EdgeKeyShown]
    query_text: str
    graph_status: str
    outcome: str
    delivered: bool
    denied_ids: list[str]
    ms: float
    project_id: str | Maybe = ABSENT
    agent_id: str | Maybe = ABSENT
    event_id: str | Maybe = ABSENT
    work_type: str | Maybe = ABSENT
    delivery_id: str | Maybe = ABSENT
    id: str | Maybe = ABSENT
    timestamp: When | Maybe = ABSENT


class InjectionLog(Shape, frozen=True, kw_only=True):
    log: list[InjectionLogged]


# -- learning ----------------------------------------------------------------------------------------


class FeedbackShown(Shape, frozen=True, kw_only=True):
    session_id: str
    outcome: str
    memories: int
    nodes: int
    edges: int
    summaries: int
    unchanged: int
    reason: str | Maybe = ABSENT


class DiagnosticsShown(Shape, frozen=True, kw_only=True):
    """Texts are '' where nothing is known."""

    session_id: str
    project: str
    outcome: str
    observation_ids: list[str]
    graph_node_ids: list[str]
    graph_edge_keys: list[Annotated[list[str], Meta(min_length=3, max_length=3)]]
    tool_calls: list[dict[str, Any]]
    files_modified: list[str]
    errors: list[dict[str, Any]]
    failure_category: str
    failure_context: str
    helpful_ids: list[str]
    misleading_ids: list[str]


class WorkShown(Shape, frozen=True, kw_only=True):
    since: When
    until: When
    sessions: int
    outcomes: dict[str, int]
    pushes: dict[str, int]
    delivered: int
    receipts: dict[str, int]
    given_up: int
    tokens: int
    looked: dict[str, int]
    captured: dict[str, int]
    hooks: dict[str, int] | Maybe = ABSENT
    denied: int | Maybe = ABSENT
    quarantined: int | Maybe = ABSENT
    project: str | Maybe = ABSENT
    user: str | Maybe = ABSENT


class RankImpactShown(Shape, frozen=True, kw_only=True):
    rows: int
    rank_delta: float
    mean_shift: float
    promoted: int
    demoted: int
    unchanged: int
    likelihood_before: float
    likelihood_after: float


class MemoryImpactShown(RankImpactShown, frozen=True, kw_only=True):
    id: str


class TopMemoryShown(Shape, frozen=True, kw_only=True):
    id: str
    sessions: int
    accepted: int
    failed: int
    weight: float
    band: str


class ImpactShown(RankImpactShown, frozen=True, kw_only=True):
    since: When
    until: When
    memories: int
    matched: int
    injected: int
    retrievals: int
    injection_rate: float
    band: Literal["high", "middle", "low"]
    unweighted: RankImpactShown
    by_memory: list[MemoryImpactShown]
    top: list[TopMemoryShown]
    project: str | Maybe = ABSENT


class PointShown(Shape, frozen=True, kw_only=True):
    valid: bool
    work_type: str | Maybe = ABSENT  # absent for sessions without one
    sessions: int
    tokens: float
    success: float
    low: float
    high: float
    zone: str | Maybe = ABSENT
    advised_tokens: int | Maybe = ABSENT


class ParetoShown(Shape, frozen=True, kw_only=True):
    since: When
    until: When
    points: list[PointShown]
    frontier: list[str]
    project: str | Maybe = ABSENT

"""Policies, quarantine, transfers, the audit log, retention and jobs, as answers show them."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When
from clew.surfaces.http.shapes.memory import MemoryShown


class PolicyShown(Shape, frozen=True, kw_only=True):
    """org `*`: for all orgs."""

    org: str
    name: str
    version: int
    loaded_by: str
    loaded_at: When
    text: str


class PolicyInForce(PolicyShown, frozen=True, kw_only=True):
    ids: list[str]


class PoliciesShown(Shape, frozen=True, kw_only=True):
    org: str
    version: str
    shipped: list[str]
    added: list[PolicyInForce]
    decisions_shared_by_attributes: bool
    shipped_text: str | Maybe = ABSENT


class ProblemShown(Shape, frozen=True, kw_only=True):
    line: int
    policy: str
    message: str
    level: Literal["error", "warning"]


class CheckedShown(Shape, frozen=True, kw_only=True):
    ok: bool
    problems: list[ProblemShown]


class RightsShown(Shape, frozen=True, kw_only=True):
    agent: str
    clearance: int
    suspended: bool
    can_write: bool


class HeldShown(Shape, frozen=True, kw_only=True):
    id: str
    reasons: list[str]
    at: When
    expires_at: When
    memory: MemoryShown


class HeldPage(Shape, frozen=True, kw_only=True):
    quarantined: list[HeldShown]
    next_cursor: str | Maybe = ABSENT


class GrantShown(Shape, frozen=True, kw_only=True):
    source: str
    dest: str
    granted_by: str
    granted_at: When
    similarity_pct: int
    works: bool
    revoked_at: When | Maybe = ABSENT
    why_not: str | Maybe = ABSENT


class GrantsShown(Shape, frozen=True, kw_only=True):
    grants: list[GrantShown]


class GrantChanged(Shape, frozen=True, kw_only=True):
    source: str
    dest: str
    granted: bool
    changed: bool


class FingerprintShown(Shape, frozen=True, kw_only=True):
    project: str
    components: list[str]
    languages: list[str]
    frameworks: list[str]
    libs: list[str]
    tools: list[str]
    databases: list[str]
    manifest_hash: str


class AuditShown(Shape, frozen=True, kw_only=True):
    seq: int
    at: When
    actor: str
    action: str
    kind: str
    id: str
    content_hash: str
    decision: str
    policy_ids: list[Any]
    detail: dict[str, Any]
    prev_hash: str
    hash: str


class AuditPage(Shape, frozen=True, kw_only=True):
    entries: list[AuditShown]
    next_cursor: str | Maybe = ABSENT


class HeadShown(Shape, frozen=True, kw_only=True):
    """`head` is what `verify` takes; null for an empty log."""

    head: str | None


class ChainShown(Shape, frozen=True, kw_only=True):
    ok: bool
    entries: int
    first_bad_seq: int | Maybe | None = ABSENT
    problem: str | Maybe = ABSENT


class RetentionShown(Shape, frozen=True, kw_only=True):
    id: str
    ttl_days: float
    action: Literal["soft", "hard"]
    project: str | Maybe = ABSENT
    classification: str | Maybe = ABSENT
    type: str | Maybe = ABSENT
    created_by: str | Maybe = ABSENT
    created_at: When | Maybe = ABSENT


class RetentionsShown(Shape, frozen=True, kw_only=True):
    policies: list[RetentionShown]


class RetentionRan(Shape, frozen=True, kw_only=True):
    looked_at: int
    forgotten: int
    erased: int
    forgotten_ids: list[str]
    erased_ids: list[str]
    dry_run: bool
    log: str | Maybe = ABSENT


class Dropped(Shape, frozen=True, kw_only=True):
    """What was taken away."""

    id: str
    dropped: bool


# -- jobs ----------------------------------------------------------------------------------------------


class JobShown(Shape, frozen=True, kw_only=True):
    id: str
    org: str
    kind: str
    subject: str
    operation: str
    state: Literal["queued", "leased", "dead"]
    generation: int
    attempts: int
    due_at: When
    created_at: When
    updated_at: When
    code: str | Maybe = ABSENT
    message: str | Maybe = ABSENT


class JobsPage(Shape, frozen=True, kw_only=True):
    jobs: list[JobShown]
    next_cursor: str | Maybe = ABSENT


class JobRunShown(Shape, frozen=True, kw_only=True):
    org: str
    id: str
    kind: str
    subject: str
    operation: str
    attempt: int
    outcome: str
    ms: float
    at: When
    code: str | Maybe = ABSENT
    message: str | Maybe = ABSENT


class JobReportShown(Shape, frozen=True, kw_only=True):
    subject: str
    job: JobShown | None
    runs: list[JobRunShown]
    explanation: list[str]
    next: str


class Retried(Shape, frozen=True, kw_only=True):
    retried: int


class RanShown(Shape, frozen=True, kw_only=True):
    processed: int
    success: int
    retries: int
    dead_letters: int
    skipped: int
    degraded: int
    lost: int
    left: int


class JobHealthShown(Shape, frozen=True, kw_only=True):
    org: str
    backlog: int
    queued: int
    leased: int
    dead: int
    failures_last_hour: int
    last_day: dict[str, int]
    codes: dict[str, int]
    oldest_s: float | Maybe = ABSENT
    last_success: When | Maybe = ABSENT


class Spending(Shape, frozen=True, kw_only=True):
    calls: int
    failures: int
    withheld: int
    input_tokens: int
    output_tokens: int
    cost: float


class UsageShown(Spending, frozen=True, kw_only=True):
    day: str
    model: str
    task: str
    last_failure: str | Maybe = ABSENT


class TodayShown(Shape, frozen=True, kw_only=True):
    used: int
    limit: int
    left: int


class SpentShown(Shape, frozen=True, kw_only=True):
    org: str
    since: str
    enabled: bool
    today: TodayShown
    total: Spending
    rows: list[UsageShown]


class BackfillShown(Shape, frozen=True, kw_only=True):
    space: str
    status: Literal["idle", "running", "paused", "completed"]
    done: int
    total: int
    seconds: float
    remaining: int
    remaining_s: float | Maybe = ABSENT
    started_at: When | Maybe = ABSENT
    last_run_at: When | Maybe = ABSENT
    completed_at: When | Maybe = ABSENT
    last_error: str | Maybe = ABSENT

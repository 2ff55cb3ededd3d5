"""A memory, as answers show it."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When


class MemoryShown(Shape, frozen=True, kw_only=True):
    id: str
    org: str
    type: str
    layer: str
    content: str
    tags: list[str]
    paths: list[str]
    at: When
    origin: str
    parents: list[str]
    trust: str
    classification: str
    confidence: float
    weight: float
    content_hash: str
    valid_at: When
    created_at: When
    updated_at: When
    version: int
    metadata: dict[str, Any]
    project: str | Maybe = ABSENT
    user: str | Maybe = ABSENT
    agent: str | Maybe = ABSENT
    session: str | Maybe = ABSENT
    namespace: str | Maybe = ABSENT
    title: str | Maybe = ABSENT
    category: str | Maybe = ABSENT
    author: str | Maybe = ABSENT
    thread: str | Maybe = ABSENT
    tool_call: str | Maybe = ABSENT
    upsert_key: str | Maybe = ABSENT
    invalid_at: When | Maybe = ABSENT
    superseded_by: str | Maybe = ABSENT
    expires_at: When | Maybe = ABSENT
    deleted_at: When | Maybe = ABSENT


class RememberedShown(Shape, frozen=True, kw_only=True):
    id: str
    deduplicated: bool
    masked: list[str]
    memory: MemoryShown
    superseded: str | Maybe = ABSENT
    quarantined: list[str] | Maybe = ABSENT
    label_because: str | Maybe = ABSENT
    refused: str | Maybe = ABSENT


class ConflictShown(Shape, frozen=True, kw_only=True):
    """Two memories that cannot both be current."""

    id: str
    state: Literal["open", "resolved", "closed"]
    kind: str
    confidence: float
    origin: str
    created_at: When
    a: MemoryShown
    b: MemoryShown
    rule: str | Maybe = ABSENT
    explanation: str | Maybe = ABSENT
    sentence: str | Maybe = ABSENT
    keep: str | Maybe = ABSENT
    resolved_at: When | Maybe = ABSENT
    resolved_by: str | Maybe = ABSENT


class ResolvedShown(Shape, frozen=True, kw_only=True):
    """`undo`: the commands that bring back what it ended."""

    id: str
    keep: str
    kept: list[str]
    ended: list[str]
    changed: bool
    undo: list[str]


class Kept(Shape, frozen=True, kw_only=True):
    id: str
    content: str


class AlikeShown(Shape, frozen=True, kw_only=True):
    id: str
    content: str
    similarity: float
    why: str


class SuggestionShown(Shape, frozen=True, kw_only=True):
    keep: Kept
    others: list[AlikeShown]
    command: str


class MergedShown(Shape, frozen=True, kw_only=True):
    kept: str
    merged: list[str]
    changed: bool
    added_tags: list[str]
    added_paths: list[str]
    dry_run: bool
    run: str | Maybe = ABSENT
    undo: str | Maybe = ABSENT


class MergeShown(Shape, frozen=True, kw_only=True):
    id: str
    kept: str
    merged: list[str]
    by: str
    at: When
    undone_at: When | Maybe = ABSENT
    undone_by: str | Maybe = ABSENT


class UndoneShown(Shape, frozen=True, kw_only=True):
    run: str
    kept: str
    restored: list[str]
    left: list[str]
    changed: bool


class CorroborationShown(Shape, frozen=True, kw_only=True):
    corroborated_by: int
    says_the_same: list[str]


class WeightChangeShown(Shape, frozen=True, kw_only=True):
    session: str
    outcome: str
    previous_weight: float
    new_weight: float
    alpha: float
    recorded_at: When


class LearntShown(Shape, frozen=True, kw_only=True):
    id: str
    weight: float
    samples: int
    retired: bool
    history: list[WeightChangeShown]

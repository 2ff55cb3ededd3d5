"""What the routes about memories take, and what they answer besides a memory itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from clew.errors import InvalidInput
from clew.surfaces.http.route import Limit
from clew.surfaces.http.shapes.common import ABSENT, Id, Line, Maybe, Name, Shape, When
from clew.surfaces.http.shapes.memory import MemoryShown, RememberedShown

MAX_BATCH = 500
Moment = Annotated[datetime, Meta(tz=True, description="RFC 3339, with its zone")]
Content = Annotated[str, Meta(min_length=1)]
Kind = Literal["rule", "decision", "fact", "note", "skill"]
Layer = Literal["rule", "working", "long_term"]
Classification = Literal["public", "internal", "confidential", "restricted"]
Label = Annotated[str, Meta(min_length=1, max_length=240)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=64)]
Ids = Annotated[tuple[Id, ...], Meta(max_length=64)]
Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=0, le=1_000_000)]
Number = Annotated[int, Meta(ge=1, le=2**53)]


class InPlace(Shape, frozen=True, kw_only=True):
    """Where a call looks. The org comes from the credential alone."""

    project: Name | None = None
    user: Name | None = None


class MemoryGiven(Shape, frozen=True, kw_only=True):
    """What is to be remembered. Only `content` is needed."""

    content: Content
    type: Kind = "note"
    layer: Layer | None = None
    title: Label | None = None
    tags: Labels = ()
    category: Label | None = None
    paths: Labels = ()
    author: Label | None = None
    thread: Label | None = None
    at: Moment | None = None
    origin: Label = "user"
    tool_call: Label | None = None
    parents: Ids = ()
    classification: Classification | None = None
    confidence: Share = 1.0
    weight: Weight = 1.0
    upsert_key: Label | None = None
    supersedes: Id | None = None
    valid_at: Moment | None = None
    invalid_at: Moment | None = None
    expires_at: Moment | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


class Whereabouts(InPlace, frozen=True, kw_only=True):
    """Where it belongs: without a user all share it, else it is private. The org comes from the credential."""

    agent: Name | None = None
    session: Name | None = None
    namespace: Name | None = None


class RememberWanted(MemoryGiven, frozen=True, kw_only=True):
    """A memory, and where it belongs: with `user` it is private to that user, without one all share it."""

    project: Name | None = None
    user: Name | None = None
    agent: Name | None = None
    session: Name | None = None
    namespace: Name | None = None


class CallSeen(Whereabouts, frozen=True, kw_only=True):
    """A call of a local tool: what ran, how it ended, which file it was about, and what made it work later."""

    tool: Label
    command: Content | None = None
    exit_status: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    error_line: Content | None = None
    file: Label | None = None
    fixed_by: Content | None = None
    id: Label | None = None
    at: Moment | None = None


class BatchWanted(Whereabouts, frozen=True, kw_only=True):
    """Memories of one place; without `user` all share them. What was stored before one is refused stays stored."""

    memories: Annotated[tuple[MemoryGiven, ...], Meta(min_length=1, max_length=MAX_BATCH)]


class BatchShown(Shape, frozen=True, kw_only=True):
    results: list[RememberedShown]


class Changes(Shape, frozen=True, kw_only=True):
    """What is to be changed. A field that is left out stays as it is; null takes it away."""

    content: Content | UnsetType = UNSET
    type: Kind | UnsetType = UNSET
    layer: Layer | UnsetType = UNSET
    title: Label | UnsetType | None = UNSET
    tags: Labels | UnsetType = UNSET
    category: Label | UnsetType | None = UNSET
    paths: Labels | UnsetType = UNSET
    author: Label | UnsetType | None = UNSET
    thread: Label | UnsetType | None = UNSET
    at: Moment | UnsetType = UNSET
    confidence: Share | UnsetType = UNSET
    weight: Weight | UnsetType = UNSET
    classification: Classification | UnsetType = UNSET
    valid_at: Moment | UnsetType = UNSET
    invalid_at: Moment | UnsetType | None = UNSET
    expires_at: Moment | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    upsert_key: Label | UnsetType | None = UNSET


class Narrowed(InPlace, frozen=True, kw_only=True):
    """Which memories. `before` and `pattern` are looked for in their times and texts."""

    all_projects: bool = False
    type: Annotated[tuple[Kind, ...], Meta(max_length=16)] = ()
    tag: Labels = ()
    layer: Layer | None = None
    namespace: Name | None = None
    agent: Name | None = None
    session: Name | None = None
    pattern: Annotated[str, Meta(min_length=1, max_length=1_000)] | None = None
    before: Moment | None = None
    deleted: bool = False
    superseded: bool = False


class ListWanted(Narrowed, frozen=True, kw_only=True):
    limit: Limit = 20
    cursor: Id | None = None


class ListShown(Shape, frozen=True, kw_only=True):
    memories: list[MemoryShown]
    next_cursor: str | Maybe = ABSENT


class ForgetWanted(Narrowed, frozen=True, kw_only=True):
    """Forgets what matches in exactly this project and user. `everything` takes no other conditions."""

    everything: bool = False
    hard: bool = False
    dry_run: bool = False


class ForgetOne(InPlace, frozen=True, kw_only=True):
    hard: bool = False


class ForgottenShown(Shape, frozen=True, kw_only=True):
    """`erased` and `log` tell what a hard one did: nothing of the text is left in the store, nor in the `copies`
    that restores put aside. `changed`: what was changed since a filter matched it, and stays."""

    forgotten: int
    ids: list[str]
    hard: bool
    changed: list[str] | Maybe = ABSENT
    erased: list[str] | Maybe = ABSENT
    log: Literal["erased", "pending"] | Maybe = ABSENT
    not_erased: str | Maybe = ABSENT
    copies: list[str] | Maybe = ABSENT


class Preview(Shape, frozen=True, kw_only=True):
    id: str
    type: str
    preview: str


class PreviewShown(Shape, frozen=True, kw_only=True):
    dry_run: bool
    would_forget: int
    overflow: bool
    memories: list[Preview]


class VersionShown(Shape, frozen=True, kw_only=True):
    version: int
    change: str
    changed_at: When
    memory: MemoryShown


class HistoryShown(Shape, frozen=True, kw_only=True):
    """Oldest first; the last one is the present."""

    id: str
    versions: list[VersionShown]


class RevertWanted(Shape, frozen=True, kw_only=True):
    version: Number


class LinkWanted(InPlace, frozen=True, kw_only=True):
    """Memories by id, things by name."""

    source: Line
    relation: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
    target: Line


class LinkedShown(Shape, frozen=True, kw_only=True):
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    type: str
    both_ways: bool
    changed: bool
    project: str | Maybe = ABSENT
    new: list[str] | Maybe = ABSENT


class SkippedShown(Shape, frozen=True, kw_only=True):
    line: int
    reason: str
    message: str


class TakenShown(Shape, frozen=True, kw_only=True):
    line: int
    id: str


class ImportWanted(InPlace, frozen=True, kw_only=True):
    """`name`: of the file, for notes. `project` and `user` replace those of the file; what is in another place
    already comes in under a new id, the same each time."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")] | None = None
    dry_run: bool = False


class ImportShown(Shape, frozen=True, kw_only=True):
    """`taken`: the conflicts, whose id or key another text has. `left_out`: lines of notes that say nothing by
    themselves. `edited`: the memories that say something else by now, whose lines were left out. `lighter` weigh
    less and `authors_left_out` name no author, as the importer may give neither. `next`: what to do about what did
    not come in."""

    read: int
    added: int
    known: int
    conflicts: int
    quarantined: int
    truncated: bool
    checksum: Literal["ok", "mismatch", "absent"]
    private: int
    left_out: list[int]
    dry_run: bool
    taken: list[TakenShown]
    skipped: list[SkippedShown]
    lighter: int | Maybe = ABSENT
    authors_left_out: int | Maybe = ABSENT
    edited: list[str] | Maybe = ABSENT
    next: str | Maybe = ABSENT


class ExportWanted(InPlace, frozen=True, kw_only=True):
    """Without a project and a user: all that may be exported. Otherwise what belongs to the project (to none if
    none is named, to any with `all_projects`) and to the user (if none is named, to all or to the caller)."""

    all_projects: bool = False


class StatsShown(Shape, frozen=True, kw_only=True):
    """Of the org. What concerns the whole file is told to its operator alone."""

    org: str
    memories: int
    by_project: dict[str, int]
    by_type: dict[str, int]
    by_layer: dict[str, int]
    content_bytes: int
    space: str
    vectors: dict[str, int]
    coverage: float
    schema: int
    last_change: int
    graph: dict[str, int]
    jobs: dict[str, int]
    path: str | Maybe = ABSENT
    file_bytes: int | Maybe = ABSENT
    log_bytes: int | Maybe = ABSENT
    bytes_per_memory: float | Maybe = ABSENT


class CheckShown(Shape, frozen=True, kw_only=True):
    name: str
    ok: bool
    detail: str
    next: str | Maybe = ABSENT


class DoctorShown(Shape, frozen=True, kw_only=True):
    checks: list[CheckShown]


def utc(moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("a time lies outside the calendar", code="TIME_INVALID", next="correct it") from None

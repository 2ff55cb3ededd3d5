"""A memory: one thing worth keeping, with its scope, type, layer, provenance and validity."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.model.choice import name_one_as_many
from clew.model.scope import Scope, is_text
from clew.model.times import to_rfc3339
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.model.graph import GraphDraft

TYPES = ("rule", "decision", "fact", "note", "skill")
LAYERS = ("rule", "working", "long_term")
CLASSIFICATIONS = ("public", "internal", "confidential", "restricted")
MAX_PATTERN_CHARS = 1_000
NOTHING: Mapping[str, Any] = MappingProxyType({})


def _unchangeable(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(values)


# Memories are sent to other processes and copied; Python itself does neither with what shields their metadata.
copyreg.pickle(MappingProxyType, lambda shield: (_unchangeable, (dict(shield),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a memory that moves here from another store has behind it; a new one has none."""

    created_at: datetime
    updated_at: datetime
    version: int = 1
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller hands over to be remembered. Only `content` is needed."""

    content: str
    type: str = "note"
    layer: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None
    paths: tuple[str, ...] = ()
    author: str | None = None
    thread: str | None = None
    at: datetime | None = None
    origin: str = "user"
    tool_call: str | None = None
    parents: tuple[str, ...] = ()
    trust: str | None = None
    classification: str | None = None
    confidence: float = 1.0
    weight: float = 1.0
    upsert_key: str | None = None
    supersedes: str | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    expires_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    id: str | None = None  # import keeps ids
    past: Past | None = None  # set by import: the trust given then already accounts for the parents


@dataclass(frozen=True, slots=True)
class Memory:
    id: str
    org: str
    project: str | None
    user: str | None
    agent: str | None
    session: str | None
    namespace: str | None
    type: str
    layer: str
    title: str | None
    content: str
    tags: tuple[str, ...]
    category: str | None
    paths: tuple[str, ...]
    author: str | None
    thread: str | None
    at: datetime
    origin: str
    tool_call: str | None
    parents: tuple[str, ...]
    trust: str
    classification: str
    confidence: float
    weight: float
    upsert_key: str | None
    content_hash: str
    valid_at: datetime
    invalid_at: datetime | None
    superseded_by: str | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    version: int
    metadata: Mapping[str, Any]

    @property
    def scope(self) -> Scope:
        return Scope(self.org, self.project, self.user, self.agent, self.session, self.namespace)

    @property
    def is_history(self) -> bool:
        """Superseded or no longer valid: it has no claim on being the live one with its text or key."""
        return self.invalid_at is not None or self.superseded_by is not None

    def as_json(self) -> dict[str, Any]:
        """Absent fields are left out; times are RFC 3339."""
        return {name: _plain(value) for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Version:
    """One state a memory had. `change` says what ended in this state."""

    version: int
    change: str  # created | edited | reverted | confirmed | superseded | invalidated | forgotten | restored
    changed_at: datetime
    memory: Memory

    def as_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "change": self.change,
            "changed_at": to_rfc3339(self.changed_at),
            "memory": self.memory.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Indexed:
    """The analysed form of a memory's text: what the indices keep."""

    length: int
    terms: bytes  # sorted hashes of four bytes each, then one byte per hash: how often it occurs
    vector: bytes | None = None  # float16, unit length
    space: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory ready to be saved, with its index entries and what the draft asked for."""

    memory: Memory
    indexed: Indexed
    graph: GraphDraft | None = None
    masked: tuple[str, ...] = ()
    supersedes: str | None = None
    has_given_id: bool = False
    has_given_label: bool = False
    suspicions: tuple[str, ...] = ()  # why it looks like an attack on its readers


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories to list or forget. Empty means no restriction."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    layer: str | None = None
    namespace: str | None = None
    agent: str | None = None
    session: str | None = None
    pattern: str | None = None  # a glob over the content, found anywhere in it
    before: datetime | None = None
    deleted: bool = False
    superseded: bool = False
    expired: bool = False  # only for forgetting: nothing else ever returns what has expired

    def __post_init__(self) -> None:
        name_one_as_many(self, "types", "tags")
        types = self.types if isinstance(self.types, tuple) else (self.types,)
        unknown = [name for name in types if name not in TYPES] or (
            [self.layer] if self.layer and self.layer not in LAYERS else []
        )
        if unknown:
            raise InvalidInput(
                f"'{str(unknown[0])[:40]}' is not a type or layer",
                code="FILTER_INVALID",
                next=f"types: {', '.join(TYPES)}; layers: {', '.join(LAYERS)}",
            )
        if self.pattern and (not is_text(self.pattern) or len(self.pattern) > MAX_PATTERN_CHARS):
            raise InvalidInput(
                f"the pattern is not text of at most {MAX_PATTERN_CHARS} characters",
                code="FILTER_INVALID",
                next="shorten the pattern",
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing narrows it: empty lists and texts do not, and the last three only widen."""
        restrictions = (self.types, self.tags, self.layer, self.namespace, self.agent, self.session, self.pattern)
        return not any(restrictions) and self.before is None


@dataclass(frozen=True, slots=True)
class Remembered:
    """The answer to a write. `deduplicated`: the same text was live already, and its id is returned.

    `label_because`: why its text is labelled more strictly than others, where it is.
    `quarantined`: the reasons why it was not remembered but kept apart, under this id, for someone to look at.
    `refused`: the code of why it was not stored while the rest of its batch was; there is no id then.
    """

    memory: Memory
    deduplicated: bool = False
    superseded: str | None = None
    masked: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    label_because: str = ""
    refused: str = ""

    @property
    def id(self) -> str:
        return self.memory.id

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"id": self.id, "deduplicated": self.deduplicated}
        if self.superseded:
            answer["superseded"] = self.superseded
        if self.quarantined:
            answer["quarantined"] = list(self.quarantined)
        if self.refused:
            answer["refused"] = self.refused
        if self.label_because:
            answer["label_because"] = self.label_because
        return answer | {"masked": list(self.masked), "memory": self.memory.as_json()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_rfc3339(value)
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value

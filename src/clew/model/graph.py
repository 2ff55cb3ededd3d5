"""The words of the graph: nodes, links and edges as they are found in a memory, before they have rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from clew.values import dataclass

CLEW_NS = bytes.fromhex("6c4d5a1e7b0f5c3a9e210d8f4b7a3c55")  # the name space of our UUIDs
# What the metadata of a memory gives, then the things that its text names.
NODE_TYPES = ("memory", "memory_type", "repo", "user", "category", "topic", "condition",
              "file", "symbol", "package", "service", "person", "ticket", "url", "error")  # fmt: skip
THINGS = frozenset(NODE_TYPES[7:])
ORG_WIDE = frozenset(("memory_type", "user", "category", "topic", "condition"))  # the same in every project
# How a memory hangs on a node. `mention`: its text names the thing.
ROLES = ("self", "type", "scope", "subject", "category", "tag", "mention")
# From memories.sh; a type that is not listed weighs 0.5.
TYPE_WEIGHTS = {"caused_by": 1.5, "contradicts": 1.3, "supersedes": 1.2, "similar_to": 1.0, "depends_on": 0.9,
                "prefers_over": 0.8, "specializes": 0.7, "conditional_on": 0.6, "shared_node": 0.25}  # fmt: skip
OTHER_WEIGHT = 0.5
# What each further memory that states an edge adds to its confidence, and takes back when it no longer does. Also
# in the fragment `seen_confidence` of graph.sql.
REINFORCEMENT = 0.05
MAX_LABEL = 120
_quoted = json.encoder.encode_basestring  # as it stands between the quotes of JSON that may hold any character


class NodeRef(NamedTuple):
    """What makes a node the same node, within an org and, for things, a project."""

    type: str
    key: str


class Node(NamedTuple):
    """A node as it is stored. `row` never leaves the process; a memory's label is its text, kept elsewhere."""

    row: int
    id: bytes
    project: str
    type: str
    key: str
    label: str
    importance_weight: float = 0.5
    feedback_weight: float = 0.5

    @property
    def name(self) -> str:
        return f"{self.type}:{self.key}"


class NodeDraft(NamedTuple):
    ref: NodeRef
    label: str


class EdgeDraft(NamedTuple):
    """A relation that a memory witnesses. `sentence` is where it says so."""

    source: NodeRef
    target: NodeRef
    type: str
    confidence: float = 1.0
    label: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """All that one memory gives to the graph by itself, without looking at other memories."""

    nodes: tuple[NodeDraft, ...]  # distinct; the memory's own comes first
    links: tuple[tuple[NodeRef, str], ...]  # (node, role)
    edges: tuple[EdgeDraft, ...]  # distinct by source, target and type
    names: tuple[str, ...] = ()  # what its text names: normalised names and things, see remember/names.py
    subjects: tuple[str, ...] = ()  # what it is about, by title and paths, normalised in the same way


EdgeKey = tuple[int, int, str, str]  # from, to, type, project


class Statement(NamedTuple):
    """An edge between two rows, and the memory that witnesses it."""

    project: str
    source: int
    target: int
    type: str
    memory_row: int
    origin: str
    confidence: float = 1.0
    weight: float = 1.0
    label: str = ""
    sentence: str = ""
    explanation: str = ""
    expires_at: int | None = None

    @property
    def key(self) -> EdgeKey:
        return self.source, self.target, self.type, self.project


class Witnessed(NamedTuple):
    """An edge that a memory states, as it is stored."""

    edge_row: int
    origin: str
    sentence: str
    source: int
    target: int
    type: str
    project: str

    @property
    def key(self) -> EdgeKey:
        return self.source, self.target, self.type, self.project


class Link(NamedTuple):
    """What a person linked to a memory, seen from there and by names."""

    leads_away: bool
    type: str
    project: str
    weight: float
    node_type: str
    key: str
    node_project: str


class Ties(NamedTuple):
    """What hangs on a memory beside what it gives to the graph itself. `leaning`: ids of memories."""

    links: tuple[Link, ...] = ()
    leaning: tuple[str, ...] = ()


def type_weight(edge_type: str) -> float:
    return TYPE_WEIGHTS.get(edge_type, OTHER_WEIGHT)


def node_id(org: str, project: str, ref: NodeRef) -> bytes:
    """The sixteen bytes of a UUID of version 5; spelled out by hand because it runs for every node of an import."""
    if ref.type == "memory":  # as many as there are memories; the others are few and come again
        return _node_id(org, project, ref)
    return _known_node_id(org, "" if ref.type in ORG_WIDE else project, ref)


def _node_id(org: str, place: str, ref: NodeRef) -> bytes:
    """Of a JSON list, put together by hand: an encoder costs more than the hash."""
    return _uuid5(f"[{', '.join(map(_quoted, (org, place, *ref)))}]")


_known_node_id = lru_cache(maxsize=4096)(_node_id)


def edge_id(org: str, project: str, source: bytes, target: bytes, type_: str) -> bytes:
    return _uuid5(json.dumps([org, project, uuid_text(source), uuid_text(target), type_], ensure_ascii=False))


def uuid_text(id: bytes) -> str:
    """Without the uuid module, which a recall in a fresh process does without."""
    text = id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@cache
def _sha1() -> Callable[..., Any]:
    from hashlib import sha1  # brings OpenSSL along, which a recall in a fresh process does without

    return sha1


def _uuid5(name: str) -> bytes:
    digest = bytearray(_sha1()(CLEW_NS + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)


@lru_cache(maxsize=4096)
def parse_ref(text: str) -> NodeRef | None:
    """`topic:dashboard` names a node; None when no node type stands before the colon."""
    type_, colon, key = text.partition(":")
    return NodeRef(type_, key) if colon and key and type_ in NODE_TYPES else None

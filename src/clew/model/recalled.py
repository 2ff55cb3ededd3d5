"""What recall answers: results that say why they are there, and one trace value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from clew.model.choice import name_one_as_many
from clew.model.limit import as_whole
from clew.model.memory import Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass

RETRIEVALS = ("lexical", "semantic", "hybrid")
MODES = ("all", "working", "long_term", "rules_only")
NO_SNAPSHOT = "No graph-recall snapshot found yet."
CONTRADICTS = "These memories are linked by a contradiction edge."
REPLACES = "One of these memories says that it replaces the other, or reads as if it did."
SUGGESTION = "Ask the user which one is current."


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    limit: int = 10
    mode: str = "all"
    retrieval: str = "hybrid"
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    as_of: datetime | None = None
    include_superseded: bool = False
    include_invalid: bool = False
    floor: float = 0.0
    rules: bool = True
    agent: str | None = None
    session: str | None = None
    namespace: str | None = None
    plan: str | None = None  # None: an ordinary recall; auto: the planner decides; or one of its modes
    graph: bool | None = None  # False: without the graph
    include_low_confidence: bool = False
    counted: bool = True  # among the requests that the rollout of the graph is judged by

    def __post_init__(self) -> None:
        name_one_as_many(self, "types", "tags")
        if type(self.limit) is not int and (limit := as_whole(self.limit)) is not None:
            object.__setattr__(self, "limit", limit)


@dataclass(frozen=True, slots=True)
class GraphWay:
    """How the graph led to a memory: the nodes from the seed to it, and how sure each edge between them is."""

    seed: str
    path: tuple[str, ...]
    edge_confidences: tuple[float, ...]
    edge_type: str
    hop_count: int
    activation: float
    confidence: float  # of the edge that enters the memory

    @property
    def path_confidence(self) -> float:
        return max(self.edge_confidences)

    def as_json(self) -> dict[str, Any]:
        return {
            "why_included": "graph_activation",
            "seed_memory_id": self.seed,
            "linked_via_node": self.path[-2],
            "edge_type": self.edge_type,
            "hop_count": self.hop_count,
            "activation": round(self.activation, 6),
            "confidence": self.confidence,
            "path_confidence": self.path_confidence,
        }


NEAREST = "nearest"  # the reason of what fills a short answer


@dataclass(frozen=True, slots=True)
class Why:
    """One reason a result is there."""

    source: str  # lexical | semantic | graph | rule | working | boost
    rank: int | None = None
    raw: float | None = None
    relevance: float | None = None
    via: str | None = None

    def alone(self) -> Why:
        """As far as it tells of this memory alone: neither how many stood before it nor from which one it was
        reached."""
        return replace(self, rank=None, via=None if self.source == "graph" else self.via)

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"source": self.source}  # each by its name: an answer has two dozen of these
        if self.rank is not None:
            answer["rank"] = self.rank
        if self.raw is not None:
            answer["raw"] = self.raw
        if self.relevance is not None:
            answer["relevance"] = self.relevance
        if self.via is not None:
            answer["via"] = self.via
        return answer


@dataclass(frozen=True, slots=True)
class Result:
    """`relevance` is absolute; `rank_score` orders this one list and means nothing outside it."""

    memory: Memory
    relevance: float
    rank_score: float
    rank: int
    why: tuple[Why, ...]
    way: GraphWay | None = None

    @property
    def only_by_graph(self) -> bool:
        """The graph led to it, and no word and no meaning of the query did."""
        return self.way is not None and not self.relevance and all(why.source != "lexical" for why in self.why)

    @property
    def is_guess(self) -> bool:
        """No word, no meaning and nothing around it led to it: it is merely the nearest there is."""
        return any(why.via == NEAREST for why in self.why)

    def as_json(self) -> dict[str, Any]:
        memory = self.memory
        answer: dict[str, Any] = {"id": memory.id, "content": memory.content}
        if memory.title:
            answer["title"] = memory.title
        answer["type"] = memory.type
        answer["layer"] = memory.layer
        answer["score"] = self.relevance
        answer["rank_score"] = self.rank_score
        answer["rank"] = self.rank
        answer["why"] = [reason.as_json() for reason in self.why]
        answer["at"] = to_rfc3339(memory.at)
        answer["tags"] = list(memory.tags)
        if self.way:
            answer |= _by_graph(self.way)
        if memory.project:
            answer["project"] = memory.project
        if memory.superseded_by:
            answer["superseded_by"] = memory.superseded_by
        return answer


def _by_graph(way: GraphWay) -> dict[str, Any]:
    confidences = list(way.edge_confidences)
    return {"graph": way.as_json(), "graph_path": list(way.path), "graph_edge_confidences": confidences}


@dataclass(frozen=True, slots=True)
class InConflict:
    """Two answered memories that cannot both be current. The smaller id comes first."""

    memory_a_id: str
    memory_b_id: str
    confidence: float
    edge_type: str = "contradicts"
    explanation: str = CONTRADICTS
    conflict_id: str | None = None  # None: only an edge says so, and nobody noted it

    @property
    def suggestion(self) -> str:
        return f"{SUGGESTION} Then: {self.next}" if self.conflict_id else SUGGESTION

    @property
    def next(self) -> str:
        """The command that settles it."""
        if self.conflict_id:
            return f"clew conflicts resolve {self.conflict_id} --keep ID, both or neither"
        return f"clew link {self.memory_a_id} {self.edge_type} {self.memory_b_id}, then clew conflicts"

    def as_json(self) -> dict[str, Any]:
        answer = {name: getattr(self, name) for name in self.__slots__ if name != "conflict_id"}
        noted = {"conflict_id": self.conflict_id} if self.conflict_id else {}
        return answer | {"suggestion": self.suggestion} | noted


@dataclass(frozen=True, slots=True)
class Removed:
    reason: str
    count: int
    ids: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"reason": self.reason, "count": self.count} | ({"ids": list(self.ids)} if self.ids else {})


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    into: int
    out: int
    removed: tuple[Removed, ...] = ()
    ms: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "in": self.into,
            "out": self.out,
            "removed": [removal.as_json() for removal in self.removed],
            "ms": round(self.ms, 3),
        }


@dataclass(frozen=True, slots=True)
class Trace:
    stages: tuple[Stage, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"stages": [stage.as_json() for stage in self.stages]} | self.notes


@dataclass(frozen=True, slots=True)
class Recalled:
    results: Sequence[Result]
    trace: Trace
    conflicts: Sequence[InConflict] = ()  # between results, the surest first

    def without_ways(self) -> Recalled:
        """The same without the ways through the graph."""
        return replace(
            self, results=[replace(result, way=None) if result.way else result for result in self.results]
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "results": [result.as_json() for result in self.results],
            "conflicts": [conflict.as_json() for conflict in self.conflicts],
            "trace": self.trace.as_json(),
        }

"""Values of learning: candidates in two orders, what an outcome did, and how a session went."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from clew.model.times import to_rfc3339
from clew.values import dataclass

FAILED = frozenset(("rework", "rejected"))
# What people say about a memory themselves: signal and alpha, rensei.md 2.3.
VERDICTS = {"up": (1.0, 0.1), "outdated": (0.0, 0.15), "wrong": (0.0, 0.30)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that was found, before weights order it."""

    id: str
    relevance_score: float  # the higher, the better
    feedback_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """Both ranks are counted from 0."""

    id: str
    relevance_score: float
    feedback_weight: float
    weighted_score: float
    unweighted_rank: int
    weighted_rank: int


class Target(NamedTuple):
    """A weight that outcomes move. `place` is how its table finds it; `key` names it in ledger and history."""

    kind: str  # memory | node | edge | transferred | summary
    key: str
    place: str | int
    project: str
    weight: float


class Shown(NamedTuple):
    """One row of the injection log, as far as learning cares."""

    project: str
    observation_ids: tuple[str, ...]
    session_summary_ids: tuple[str, ...]
    graph_node_ids: tuple[str, ...]
    graph_edge_keys: tuple[tuple[str, str, str], ...]  # source, target, relation
    delivered: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a target's ledger. `alpha` and `signal` as the outcome gives them; see `misleading`."""

    session: str  # or user:<name>:<verdict>
    outcome: str
    alpha: float
    signal: float
    at: datetime
    seq: int = 0
    misleading: bool = False  # alpha counts twice, the signal as 0
    previous: float = 0.0
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class WeightChange:
    """One row of the history."""

    kind: str
    key: str
    session: str
    project: str
    outcome: str
    previous: float
    weight: float
    alpha: float
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "outcome": self.outcome,
            "previous_weight": self.previous,
            "new_weight": self.weight,
            "alpha": self.alpha,
            "recorded_at": to_rfc3339(self.at),
        }


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """What an outcome moved. `reason` says why it moved nothing."""

    session_id: str
    outcome: str
    memories: int = 0
    nodes: int = 0
    edges: int = 0
    summaries: int = 0
    unchanged: int = 0  # counted before, with the same outcome
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) != ""}


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is known about the weight of a memory."""

    id: str
    weight: float
    samples: int
    retired: bool
    history: tuple[WeightChange, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "weight": self.weight,
            "samples": self.samples,
            "retired": self.retired,
            "history": [one.as_json() for one in self.history],
        }


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How a session went: one row of session_diagnostics."""

    session_id: str
    project: str = ""
    outcome: str = ""
    observation_ids: tuple[str, ...] = ()
    graph_node_ids: tuple[str, ...] = ()
    graph_edge_keys: tuple[tuple[str, str, str], ...] = ()
    tool_calls: tuple[dict[str, Any], ...] = ()
    files_modified: tuple[str, ...] = ()
    errors: tuple[dict[str, Any], ...] = ()
    failure_category: str = ""
    failure_context: str = ""
    helpful_ids: tuple[str, ...] = ()
    misleading_ids: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

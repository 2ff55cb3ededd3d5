"""Values of learning: candidates in two orders, and what an outcome did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """What an outcome moved. `reason` says why it moved nothing."""

    session_id: str
    outcome: str
    memories: int = 0
    nodes: int = 0
    edges: int = 0
    unchanged: int = 0  # counted before, with the same outcome
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) != ""}

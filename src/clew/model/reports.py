"""Values of analytics: feedback impact, and the context budget Pareto. rensei.md 2.7."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clew.model.times import to_rfc3339
from clew.values import dataclass

HIGH, MIDDLE = 70, 40  # per cent: the bands of the injection rate
WEIGHT_BANDS = ((0.8, "strong"), (0.5, "fair"), (0.2, "weak"), (0.0, "spent"))
LEAST_SESSIONS = 5  # of a valid point


def weight_band(weight: float) -> str:
    return next((name for least, name in WEIGHT_BANDS if weight >= least), WEIGHT_BANDS[-1][1])


@dataclass(frozen=True, slots=True)
class RankImpact:
    """Of injected rows, all or those of one memory."""

    rows: int = 0
    rank_delta: float = 0.0  # mean of rank without weights less rank with them
    mean_shift: float = 0.0  # the same without sign
    promoted: int = 0
    demoted: int = 0
    unchanged: int = 0
    likelihood_before: float = 0.0  # share that would have been within the first k without weights
    likelihood_after: float = 0.0  # and with them; k is how many the retrieval injected

    def as_json(self) -> dict[str, Any]:
        return {name: _rounded(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TopMemory:
    id: str
    sessions: int
    accepted: int
    failed: int
    weight: float

    def as_json(self) -> dict[str, Any]:
        return {name: _rounded(getattr(self, name)) for name in self.__slots__} | {"band": weight_band(self.weight)}


@dataclass(frozen=True, slots=True)
class FeedbackImpact:
    since: datetime
    until: datetime
    project: str | None
    memories: int  # that are there
    matched: int  # in some block, delivered or not
    injected: int  # in a block that reached an agent
    retrievals: int
    ranks: RankImpact  # where weights decided
    unweighted: RankImpact  # where they were switched off: what they would have done
    by_memory: Mapping[str, RankImpact]
    top: tuple[TopMemory, ...] = ()

    @property
    def injection_rate(self) -> float:
        """Per cent of the memories that reached an agent."""
        return 100 * self.injected / self.memories if self.memories else 0.0

    @property
    def band(self) -> str:
        return "high" if self.injection_rate > HIGH else "middle" if self.injection_rate >= MIDDLE else "low"

    def as_json(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("memories", "matched", "injected", "retrievals")}
        return {
            "since": to_rfc3339(self.since),
            "until": to_rfc3339(self.until),
            **({"project": self.project} if self.project else {}),
            **numbers,
            "injection_rate": round(self.injection_rate, 2),
            "band": self.band,
            **self.ranks.as_json(),
            "unweighted": self.unweighted.as_json(),
            "by_memory": [{"id": id, **one.as_json()} for id, one in self.by_memory.items()],
            "top": [one.as_json() for one in self.top],
        }

    @property
    def header(self) -> tuple[str, ...]:
        return "id", *RankImpact.__slots__

    def as_rows(self) -> list[dict[str, Any]]:
        """One line per memory, for CSV."""
        return [{"id": id, **one.as_json()} for id, one in self.by_memory.items()]


@dataclass(frozen=True, slots=True)
class Point:
    work_type: str
    sessions: int
    tokens: float  # mean per session
    success: float  # share accepted
    low: float  # Wilson's interval at 95 %
    high: float
    zone: str = ""  # frontier | efficient | wasteful | underperforming; '' with too few sessions
    advised_tokens: int | None = None

    @property
    def is_valid(self) -> bool:
        return self.sessions >= LEAST_SESSIONS

    def as_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}
        return {"valid": self.is_valid} | {
            name: value for name, value in rounded.items() if value not in (None, "")
        }


@dataclass(frozen=True, slots=True)
class Pareto:
    since: datetime
    until: datetime
    project: str | None
    points: tuple[Point, ...]

    @property
    def frontier(self) -> tuple[str, ...]:
        return tuple(point.work_type for point in self.points if point.zone == "frontier")

    def as_json(self) -> dict[str, Any]:
        return {
            "since": to_rfc3339(self.since),
            "until": to_rfc3339(self.until),
            **({"project": self.project} if self.project else {}),
            "points": [point.as_json() for point in self.points],
            "frontier": list(self.frontier),
        }

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(Point.__slots__)

    def as_rows(self) -> list[dict[str, Any]]:
        """One line per work type, for CSV."""
        return [{name: getattr(point, name) for name in self.header} for point in self.points]


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value

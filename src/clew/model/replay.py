"""Values of a replay: recorded queries, and what both modes answer to them today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from clew.model.memory import Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass

TEXT_CHARS = 120  # of a memory that came in or fell out
TIE = 1e-12  # a difference no larger is rounding
BIAS = (
    "What was shown then was found by the mode of then: a mode is judged by whether it keeps what helped and drops "
    "what misled, and gets nothing for good memories that nobody was shown."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One row of the injection log that asked something, with how its session came out ('' when nobody said)."""

    id: str
    at: datetime
    session: str
    project: str | None
    user: str | None
    work_type: str | None
    phase: str
    query: str
    shown: tuple[str, ...]
    delivered: bool
    outcome: str
    considered: int  # candidates of that retrieval

    @property
    def question(self) -> tuple[str | None, str | None, str]:
        """What makes two of them the same question."""
        return self.project, self.user, self.query


@dataclass(frozen=True, slots=True)
class Score:
    """How both modes do by what one session was shown: each shown memory that a mode finds counts what it is worth,
    1 to -1, divided by how many there are."""

    session: str
    outcome: str
    memories: int
    baseline: float
    hybrid: float

    @property
    def difference(self) -> float:
        return self.hybrid - self.baseline

    def as_json(self) -> dict[str, Any]:
        numbers = {name: round(getattr(self, name), 6) for name in ("baseline", "hybrid", "difference")}
        return {"session": self.session, "outcome": self.outcome, "memories": self.memories, **numbers}


@dataclass(frozen=True, slots=True)
class Paired:
    """`low` and `high` are None when there are too few groups for an interval."""

    pairs: int = 0
    groups: int = 0
    mean: float = 0.0
    low: float | None = None
    high: float | None = None
    better: int = 0
    worse: int = 0
    same: int = 0

    @property
    def verdict(self) -> str:
        """`too_few` | `better` | `worse` | `unclear`: the interval holds 0."""
        if self.low is None or self.high is None:
            return "too_few"
        return "better" if self.low > TIE else "worse" if self.high < -TIE else "unclear"

    def as_json(self) -> dict[str, Any]:
        interval = None if self.low is None or self.high is None else [round(self.low, 6), round(self.high, 6)]
        counts = {name: getattr(self, name) for name in ("pairs", "groups", "better", "worse", "same")}
        return {"mean": round(self.mean, 6), "interval": interval, **counts, "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Answer:
    """The first k of one mode, best first."""

    ids: tuple[str, ...]
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One question in both modes. `seen` holds the memories of both answers that may be read."""

    query: str
    project: str | None
    work_type: str | None
    asked_at: datetime  # the last time
    times: int
    top: int
    baseline: Answer
    hybrid: Answer
    graph: str  # completed | skipped | aborted | not_requested, and why
    reason: str
    scores: tuple[Score, ...] = ()
    seen: Mapping[str, Memory] = field(default_factory=dict, repr=False)

    @property
    def overlap(self) -> float:
        """Jaccard of the two answers; 1 when both are empty."""
        both = set(self.baseline.ids) | set(self.hybrid.ids)
        return len(set(self.baseline.ids) & set(self.hybrid.ids)) / len(both) if both else 1.0

    @property
    def came_in(self) -> list[tuple[str, int]]:
        """(memory, rank) that only the hybrid answer has."""
        return _only(self.hybrid.ids, self.baseline.ids)

    @property
    def fell_out(self) -> list[tuple[str, int]]:
        return _only(self.baseline.ids, self.hybrid.ids)

    @property
    def moved(self) -> list[tuple[str, int, int]]:
        """(memory, rank without the graph, rank with it) where the two differ."""
        ranks = {id: rank for rank, id in enumerate(self.baseline.ids, 1)}
        after = [(id, ranks[id], rank) for rank, id in enumerate(self.hybrid.ids, 1) if id in ranks]
        return [one for one in after if one[1] != one[2]]

    @property
    def is_changed(self) -> bool:
        return self.baseline.ids != self.hybrid.ids

    def text_of(self, id: str) -> str:
        memory = self.seen[id]
        text = " ".join((memory.title or memory.content).split())
        return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1].rstrip() + "…"

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"query": self.query}
        named = {"project": self.project, "work_type": self.work_type}
        answer |= {name: value for name, value in named.items() if value}
        return answer | {
            "asked_at": to_rfc3339(self.asked_at),
            "times": self.times,
            "top": self.top,
            "baseline": list(self.baseline.ids),
            "hybrid": list(self.hybrid.ids),
            "overlap": round(self.overlap, 6),
            "came_in": [self._entry(id, rank) for id, rank in self.came_in],
            "fell_out": [self._entry(id, rank) for id, rank in self.fell_out],
            "moved": [{"id": id, "from": before, "to": after} for id, before, after in self.moved],
            "graph": {"status": self.graph, "reason": self.reason},
            "ms": {"baseline": round(self.baseline.ms, 3), "hybrid": round(self.hybrid.ms, 3)},
            "scores": [score.as_json() for score in self.scores],
        }

    def _entry(self, id: str, rank: int) -> dict[str, Any]:
        return {"id": id, "rank": rank, "text": self.text_of(id)}


def _only(of: Sequence[str], beside: Sequence[str]) -> list[tuple[str, int]]:
    known = set(beside)
    return [(id, rank) for rank, id in enumerate(of, 1) if id not in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Every question of a window in both modes, and, where it is known, whether the graph helped."""

    since: datetime
    until: datetime
    project: str | None
    questions: tuple[Replayed, ...]
    recorded: int  # rows of the log behind them
    left_out: int  # rows of sessions that whoever replays may not read
    undecided: int  # questions whose memories were delivered, but nobody said what became of it
    more: bool  # older questions are beyond the limit
    paired: Paired

    @property
    def changed(self) -> int:
        return sum(one.is_changed for one in self.questions)

    @property
    def overlap(self) -> float:
        every = [one.overlap for one in self.questions]
        return sum(every) / len(every) if every else 1.0

    @property
    def ms(self) -> dict[str, float]:
        """The median of each mode."""
        spent = {name: sorted(getattr(one, name).ms for one in self.questions) for name in ("baseline", "hybrid")}
        return {name: round(every[len(every) // 2], 3) if every else 0.0 for name, every in spent.items()}

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"since": to_rfc3339(self.since), "until": to_rfc3339(self.until)}
        if self.project:
            answer["project"] = self.project
        moves = {name: sum(len(getattr(one, name)) for one in self.questions)
                 for name in ("came_in", "fell_out", "moved")}  # fmt: skip
        return answer | {
            "recorded": self.recorded,
            "left_out": self.left_out,
            "more": self.more,
            "changes": {"questions": len(self.questions), "changed": self.changed,
                        "overlap": round(self.overlap, 6), **moves},
            "ms": self.ms,
            "helped": {**self.paired.as_json(), "undecided": self.undecided, "bias": BIAS},
            "questions": [one.as_json() for one in self.questions],
        }  # fmt: skip

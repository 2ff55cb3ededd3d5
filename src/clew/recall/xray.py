"""X-ray: one recall laid open, as a value and in three renderings. Pure.

In: what recall answered. Out: for each result what served it, what its score is made of and by which way the graph
led to it; what every filter saw and let pass; what fits into a budget. Nothing is looked up again, nothing is kept.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from clew.errors import InvalidInput
from clew.model.times import from_micros, to_micros, to_rfc3339
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from clew.model.recalled import InConflict, Recalled, Result, Stage, Trace

SCHEMA_VERSION = "1"
FORMATS = ("text", "markdown", "json")
# Engram's words, and `rule`: rules are answered because they are rules, whatever was asked.
SERVED_BY = ("hybrid", "graph", "recent-scan", "rule")
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ScoreDecomposition:
    """`final` is the rank score; `vector` a cosine, `bm25` a raw score, `importance` the weight if it is not 1."""

    final: float
    vector: float | None = None
    bm25: float | None = None
    importance: float | None = None

    def as_json(self) -> dict[str, float]:
        parts = {"vector": self.vector, "bm25": self.bm25, "importance": self.importance}
        known = {name: part for name, part in parts.items() if part is not None and math.isfinite(part)}
        return known | {"final": self.final if math.isfinite(self.final) else 0.0}


@dataclass(frozen=True, slots=True)
class XrayResult:
    memory_id: str
    served_by: str
    scores: ScoreDecomposition
    chars: int
    admitted_by: tuple[str, ...] = ()
    rejected_by: str | None = None
    graph_path: tuple[str, ...] = ()
    graph_edge_confidences: tuple[float, ...] = ()
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.served_by not in SERVED_BY:
            raise InvalidInput(
                f"nothing serves results as '{self.served_by[:40]}'",
                code="SERVED_BY_UNKNOWN",
                next=f"choose: {', '.join(SERVED_BY)}",
            )

    @property
    def path_confidence(self) -> float | None:
        return max(self.graph_edge_confidences, default=None)

    @property
    def estimated_tokens(self) -> int:
        return -(-self.chars // CHARS_PER_TOKEN)

    def as_json(self) -> dict[str, Any]:
        known: dict[str, Any] = {
            "graphPath": list(self.graph_path),
            "graphEdgeConfidences": list(self.graph_edge_confidences),
            "pathConfidence": self.path_confidence,
            "rejectedBy": self.rejected_by,
            "tags": list(self.tags),
        }
        return {
            "memoryId": self.memory_id,
            "servedBy": self.served_by,
            "scoreDecomposition": self.scores.as_json(),
            "admittedBy": list(self.admitted_by),
            "estimatedTokens": self.estimated_tokens,
            **{name: value for name, value in known.items() if value not in ([], None)},
        }


@dataclass(frozen=True, slots=True)
class XrayFilter:
    """One thing that could keep a memory out: how many it saw, how many it let pass."""

    name: str
    considered: int
    admitted: int
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Xray:
    """INVARIANT: deep-frozen; what `as_json` returns is new every time. `budget_chars` 0: none was given."""

    query: str
    captured_at: int  # epoch milliseconds
    results: tuple[XrayResult, ...]
    filters: tuple[XrayFilter, ...]
    budget_chars: int
    budget_used: int
    conflicts: tuple[InConflict, ...] = ()
    snapshot_id: str = field(default_factory=lambda: str(uuid4()))

    def as_json(self) -> dict[str, Any]:
        return {
            "schemaVersion": SCHEMA_VERSION,
            "snapshotFound": True,
            "query": self.query,
            "snapshotId": self.snapshot_id,
            "capturedAt": self.captured_at,
            "results": [result.as_json() for result in self.results],
            "filters": [entry.as_json() for entry in self.filters],
            "budget": {"chars": self.budget_chars, "used": self.budget_used},
            **({"conflicts": [entry.as_json() for entry in self.conflicts]} if self.conflicts else {}),
        }

    def render(self, format: str = "text") -> str:
        """Lines for people, or one JSON document."""
        check_format(format)
        if format == "json":
            return json.dumps(self.as_json(), ensure_ascii=False, allow_nan=False)
        return "\n".join(_text(self) if format == "text" else _markdown(self))


def xray_of(recalled: Recalled, *, query: str, at: datetime, budget: int | None = None) -> Xray:
    """With a budget, the results are taken in their order as long as they fit; what does not is marked."""
    fits = _fitting([len(result.memory.content) for result in recalled.results], budget)
    results = tuple(_result(result, fit) for result, fit in zip(recalled.results, fits, strict=True))
    filters = tuple(filters_of(recalled.trace))
    if budget is not None:
        left_out = f"beyond {budget} characters" if not all(fits) else None
        filters = (*filters, XrayFilter("budget", len(fits), sum(fits), left_out))
    used = sum(result.chars for result in results if result.rejected_by is None)
    return Xray(query, to_micros(at) // 1000, results, filters, budget or 0, used, tuple(recalled.conflicts))


def check_request(query: str, budget: int | None = None) -> None:
    if isinstance(query, str) and not query.strip():  # what is no text is refused by the recall
        raise InvalidInput("the query is empty", code="XRAY_QUERY_EMPTY", next="say what was asked")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
        raise InvalidInput(
            f"a budget of {str(budget)[:40]} is not a positive whole number",
            code="XRAY_BUDGET_INVALID",
            next="give a number of characters, such as 4000",
        )


def check_format(format: str) -> None:
    if format not in FORMATS:
        raise InvalidInput(
            f"there is no format '{format[:40]}'", code="FORMAT_UNKNOWN", next=f"choose: {', '.join(FORMATS)}"
        )


def aligned_confidences(path: Sequence[str], confidences: Sequence[float]) -> tuple[float, ...]:
    """One confidence per edge of the path, within 0..1; none at all if any is missing, too many or not finite.

    Shifting or filling up would attribute an edge's confidence to another edge.
    """
    if len(path) < 2 or len(confidences) != len(path) - 1 or not all(map(math.isfinite, confidences)):
        return ()
    return tuple(min(1.0, max(0.0, float(confidence))) for confidence in confidences)


def served_by(result: Result) -> str:
    """What put it into the answer: `graph` only when nothing in its own text did."""
    if result.memory.layer == "rule":
        return "rule"
    if any(reason.via == "recency" for reason in result.why):
        return "recent-scan"
    return "graph" if result.only_by_graph else "hybrid"


def _result(result: Result, fits: bool) -> XrayResult:
    memory, way = result.memory, result.way
    path = way.path if way else ()
    return XrayResult(
        memory_id=memory.id,
        served_by=served_by(result),
        scores=_scores(result),
        chars=len(memory.content),
        admitted_by=tuple(_reasons(result)),
        rejected_by=None if fits else "budget",
        graph_path=path,
        graph_edge_confidences=aligned_confidences(path, way.edge_confidences if way else ()),
        tags=tuple(memory.tags),
    )


def _scores(result: Result) -> ScoreDecomposition:
    raw = {reason.source: reason.raw for reason in result.why if reason.raw is not None}
    return ScoreDecomposition(
        final=result.rank_score, vector=raw.get("semantic"), bm25=raw.get("lexical"), importance=raw.get("boost")
    )


def _reasons(result: Result) -> Iterator[str]:
    for reason in result.why:
        rank = f" #{reason.rank}" if reason.rank is not None else ""
        via = f" via {reason.via}" if reason.via else ""
        weight = " by weight" if reason.source == "boost" and not reason.via else ""
        yield f"{reason.source}{rank}{via}{weight}"


def _fitting(lengths: Sequence[int], budget: int | None) -> list[bool]:
    fits, left = [], budget
    for length in lengths:
        fits.append(left is None or length <= left)
        if left is not None and fits[-1]:
            left -= length
    return fits


def filters_of(trace: Trace) -> Iterator[XrayFilter]:
    """The stages as filters, in order: one row for each reason for which a stage left something out."""
    plan, graph = trace.notes.get("plan"), trace.notes.get("graph")
    if plan:
        yield XrayFilter("planner-mode", 0, 0, plan["effective"])
    was_walked = any(stage.name == "graph" for stage in trace.stages)
    for stage in trace.stages:
        if stage.name == "graph":
            found = stage.out + sum(removal.count for removal in stage.removed)
            yield XrayFilter("graph", found, stage.out, graph and graph["reason"])
            continue
        if stage.name == "rank" and graph and not was_walked:
            yield XrayFilter("graph", 0, 0, graph["reason"])
        yield from _stage_filters(stage)


def _stage_filters(stage: Stage) -> Iterator[XrayFilter]:
    left = stage.into
    for removal in stage.removed:
        yield XrayFilter(stage.name, left, left - removal.count, removal.reason)
        left -= removal.count
    if not stage.removed:
        yield XrayFilter(stage.name, stage.into, stage.out)


# -- renderings ----------------------------------------------------------------------------------------


def _text(xray: Xray) -> Iterator[str]:
    yield f"X-ray of: {_line(xray.query)}"
    yield f"snapshot {xray.snapshot_id}, captured {_time(xray)}, {_budget(xray)}"
    for number, result in enumerate(xray.results, 1):
        yield f"{number:3}. {result.memory_id}  served by {result.served_by}, ~{result.estimated_tokens} tokens"
        yield from (f"     {name}: {value}" for name, value in _facts(result))
    if not xray.results:
        yield "  no results"
    if xray.conflicts:
        yield "conflicts"
        yield from (f"  {_conflict(entry)}" for entry in xray.conflicts)
    yield "filters"
    yield from (f"  {_row(entry)}" for entry in xray.filters)


def _markdown(xray: Xray) -> Iterator[str]:
    yield f"# Recall X-ray\n\n- query: {_code(xray.query)}"
    yield f"- snapshot: {_code(xray.snapshot_id)}, captured {_time(xray)}\n- {_budget(xray)}\n\n## Results\n"
    for number, result in enumerate(xray.results, 1):
        tokens = f"~{result.estimated_tokens} tokens"
        yield f"{number}. {_code(result.memory_id)} served by **{result.served_by}**, {tokens}"
        yield from (f"   - {name}: {_code(value)}" for name, value in _facts(result))
    if not xray.results:
        yield "No results."
    if xray.conflicts:
        yield "\n## Conflicts\n"
        yield from (f"- {_code(_conflict(entry))}" for entry in xray.conflicts)
    yield "\n## Filters\n"
    yield from (f"- {_code(_row(entry))}" for entry in xray.filters)


def _facts(result: XrayResult) -> Iterator[tuple[str, str]]:
    yield "score", " ".join(f"{name}={part:.4f}" for name, part in result.scores.as_json().items())
    yield "admitted-by", ", ".join(map(_line, result.admitted_by)) or "no evidence"
    if result.graph_path:
        yield "graph-path", " -> ".join(map(_line, result.graph_path))
    if result.graph_edge_confidences:
        yield "edge-confidences", ", ".join(f"{confidence:.2f}" for confidence in result.graph_edge_confidences)
        yield "path", f"conf={result.path_confidence:.2f}"
    if result.rejected_by:
        yield "rejected-by", result.rejected_by
    if result.tags:
        yield "tags", ", ".join(map(_line, result.tags))


def _conflict(entry: InConflict) -> str:
    pair = f"{entry.memory_a_id} <-> {entry.memory_b_id} (confidence {entry.confidence:.2f})"
    return f"{pair}: {_line(entry.explanation)}"


def _row(entry: XrayFilter) -> str:
    return f"{entry.name}: {entry.considered} -> {entry.admitted}" + (f" ({entry.reason})" if entry.reason else "")


def _budget(xray: Xray) -> str:
    of_all = f" of {xray.budget_chars}" if xray.budget_chars else ""
    return f"budget: {xray.budget_used}{of_all} characters used"


def _time(xray: Xray) -> str:
    return to_rfc3339(from_micros(xray.captured_at * 1000))


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    return f"`{_line(text).replace('`', chr(39))}`"

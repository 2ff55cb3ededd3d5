"""Snapshots: what the graph did in a recall, kept as a small file for whoever asks afterwards.

In: a finished recall and the run behind it. Out: one file named by its time and the hash of the query, and the
same as `last_graph_recall.json`; the oldest make room. Each is replaced as a whole, so a reader never meets half of
one; none is flushed to the disk, and losing one loses nothing else. Writing one never fails the recall.

INVARIANT: no text of a memory and none of the query: ids, numbers and types of edges only. A memory that was
forgotten for good has left nothing here to erase. (Of the query there is a hash: a right guess can be checked.)
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import InvalidInput
from clew.graph.blend import ShadowComparison
from clew.graph.settings import clamp_unit
from clew.model.times import to_rfc3339
from clew.recall.plan import MODES, UNKNOWN, Intent, infer_intent
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from clew.model.recalled import Recalled, Result
    from clew.recall.run import Run

LAST = "last_graph_recall.json"
MAX_ENTRIES = 64  # of each list; the counts stay true
MAX_SHOWN, SHOWN = 50, 10
MAX_BYTES = 1 << 20  # ours have some ten thousand
STATUSES = ("completed", "skipped", "aborted")
BASELINE, EXPANDED = "baseline", "graph_expanded"
DEFAULT_MODE, DEFAULT_TYPE = "full", "entity"
_TYPE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_WORD = 240
_MAX_NUMBER = 1e12
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A memory that the graph led to."""

    memory: str
    score: float  # as it entered, or in the shadow would have entered, the ranking
    seed: str
    hop_depth: int
    decayed_weight: float
    graph_type: str
    edge_confidence: float | None = None

    def as_json(self) -> dict[str, Any]:
        document = {"id": self.memory, "score": self.score, "seed": self.seed, "hopDepth": self.hop_depth,
                    "decayedWeight": self.decayed_weight, "graphType": self.graph_type}  # fmt: skip
        return document | ({} if self.edge_confidence is None else {"edgeConfidence": self.edge_confidence})


@dataclass(frozen=True, slots=True)
class Ranked:
    memory: str
    score: float
    labels: tuple[str, ...] = (BASELINE,)

    def as_json(self) -> dict[str, Any]:
        return {"id": self.memory, "score": self.score, "sourceLabels": list(self.labels)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What the graph did in one recall. `seed_count` and `expanded_count` count what the lists may cut."""

    recorded_at: str
    mode: str
    query_hash: str
    query_length: int
    project: str
    namespaces: tuple[str, ...]
    seed_count: int
    expanded_count: int
    seeds: tuple[str, ...]
    expanded: tuple[Expansion, ...]
    status: str
    reason: str
    shadow_mode: bool
    intent: Intent
    seed_results: tuple[Ranked, ...]
    final_results: tuple[Ranked, ...]
    shadow: ShadowComparison | None = None

    def as_json(self) -> dict[str, Any]:
        document = {
            "recordedAt": self.recorded_at,
            "mode": self.mode,
            "queryHash": self.query_hash,
            "queryLength": self.query_length,
            "project": self.project,
            "namespaces": list(self.namespaces),
            "seedCount": self.seed_count,
            "expandedCount": self.expanded_count,
            "seeds": list(self.seeds),
            "expanded": [entry.as_json() for entry in self.expanded],
            "status": self.status,
            "reason": self.reason,
            "shadowMode": self.shadow_mode,
            "queryIntent": _intent_json(self.intent),
            "seedResults": [entry.as_json() for entry in self.seed_results],
            "finalResults": [entry.as_json() for entry in self.final_results],
        }
        return document | ({"shadowComparison": _shadow_json(self.shadow)} if self.shadow else {})

    def explain(self, *, limit: int = SHOWN) -> Iterator[str]:
        return explain_snapshot(self, limit=limit)


# -- writing -------------------------------------------------------------------------------------------


def keep_snapshot(recalled: Recalled, run: Run, query: str, *, directory: Path, kept: int) -> None:
    """Write it if the recall planned or ran the graph. Fails open: the answer does not depend on it."""
    try:
        if is_about_the_graph(recalled):
            write_snapshot(snapshot_of(recalled, run, query), directory, kept=kept)
    except Exception as error:  # an extra; the name of the error says enough, its text may name what was asked
        _log.warning("no snapshot was written about a recall: %s", type(error).__name__)


def is_about_the_graph(recalled: Recalled) -> bool:
    notes = recalled.trace.notes
    was_planned = notes.get("plan", {}).get("planned") == "graph_mode"
    return was_planned or notes.get("graph", {}).get("status") in ("completed", "aborted")


def snapshot_of(recalled: Recalled, run: Run, query: str) -> Snapshot:
    notes = recalled.trace.notes
    graph, plan = notes.get("graph", {}), notes.get("plan", {})
    shadow = {name: value for name, value in notes.get("graph_shadow", {}).items() if name != "line"}
    return Snapshot(
        recorded_at=to_rfc3339(run.now),
        mode=graph.get("mode") or plan.get("effective", DEFAULT_MODE),
        query_hash=sha256(query.encode("utf-8", "replace")).hexdigest(),
        query_length=len(query),
        project=(run.reach.projects or ("",))[-1],
        namespaces=(run.options.namespace,) if run.options.namespace else (),
        seed_count=len(run.seeds),
        expanded_count=len(run.expanded),
        seeds=tuple(id for id, _score in run.seeds[:MAX_ENTRIES]),
        expanded=tuple(
            Expansion(reached.memory, round(score, 6), reached.seeds[by.seed], by.hop,
                      round(by.decayed_weight, 6), by.type, by.edge_confidence)
            for reached, score in run.expanded[:MAX_ENTRIES]
            if (by := reached.by)
        ),
        status=graph.get("status", "skipped"),
        reason=graph.get("reason", ""),
        shadow_mode=bool(graph.get("shadow")),
        intent=infer_intent(query),
        seed_results=tuple(Ranked(id, round(score, 6)) for id, score in run.seeds[:MAX_ENTRIES]),
        final_results=tuple(_ranked(result) for result in recalled.results[:MAX_ENTRIES]),
        shadow=ShadowComparison(**shadow) if shadow else None,
    )  # fmt: skip


def _ranked(result: Result) -> Ranked:
    labels = [BASELINE] if not result.only_by_graph else []
    return Ranked(result.memory.id, result.rank_score, (*labels, *([EXPANDED] if result.way else [])))


def write_snapshot(snapshot: Snapshot, directory: Path, *, kept: int) -> Path:
    """The file of its own, then the last one, then the rotation."""
    for folder in (directory.parent, directory):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(snapshot.as_json(), allow_nan=False, separators=(",", ":"))
    moment = re.sub(r"\D", "", snapshot.recorded_at)
    file = directory / f"{moment}-{snapshot.query_hash[:16]}.json"
    for target in (file, directory / LAST):
        _replace(target, text, draft=f"{moment}.{os.getpid()}-{threading.get_ident()}.tmp")
    _rotate(directory, kept)
    return file


def _replace(target: Path, text: str, *, draft: str) -> None:
    temporary = target.with_name(draft)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _rotate(directory: Path, kept: int) -> None:
    """Names begin with their time, those of drafts that a crash left behind, too."""
    names = sorted(entry.name for entry in os.scandir(directory) if entry.name[:1].isdigit())
    for name in names[:-kept]:
        (directory / name).unlink(missing_ok=True)


def _intent_json(intent: Intent) -> dict[str, Any]:
    return {"goal": intent.goal, "actionType": intent.action, "entityTypes": list(intent.entity_types),
            "taskInitiation": intent.task_initiation}  # fmt: skip


def _shadow_json(shadow: ShadowComparison) -> dict[str, Any]:
    return {"baselineCount": shadow.baseline_count, "graphCount": shadow.graph_count,
            "overlapCount": shadow.overlap_count, "overlapRatio": shadow.overlap_ratio,
            "averageOverlapDelta": shadow.average_overlap_delta}  # fmt: skip


# -- reading -------------------------------------------------------------------------------------------


def read_snapshot(path: Path) -> Snapshot | None:
    """None when there is no such file. Values out of range are brought into it, entries without an id dropped."""
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidInput(
            f"{path} is no snapshot", code="SNAPSHOT_UNREADABLE", next="delete it; the next recall writes a new one"
        )
    return _parsed(document)


def _parsed(document: Mapping[str, Any]) -> Snapshot:
    mode, status = _word(document.get("mode")), _word(document.get("status"))
    return Snapshot(
        recorded_at=_word(document.get("recordedAt")),
        mode=mode if mode in MODES else DEFAULT_MODE,
        query_hash=_word(document.get("queryHash")),
        query_length=_whole(document.get("queryLength")),
        project=_word(document.get("project")),
        namespaces=_words(document.get("namespaces")),
        seed_count=_whole(document.get("seedCount")),
        expanded_count=_whole(document.get("expandedCount")),
        seeds=_words(document.get("seeds")),
        expanded=_entries(document.get("expanded"), _expansion),
        status=status if status in STATUSES else "skipped",
        reason=_word(document.get("reason")),
        shadow_mode=document.get("shadowMode") is True,
        intent=_intent(document.get("queryIntent")),
        seed_results=_entries(document.get("seedResults"), _ranked_entry),
        final_results=_entries(document.get("finalResults"), _ranked_entry),
        shadow=_shadow(document.get("shadowComparison")),
    )


def _expansion(entry: Mapping[str, Any]) -> Expansion | None:
    memory, seed, type_ = _word(entry.get("id")), _word(entry.get("seed")), _word(entry.get("graphType"))
    if not memory or not seed:
        return None
    confidence = entry.get("edgeConfidence")
    return Expansion(
        memory,
        _number(entry.get("score")),
        seed,
        _whole(entry.get("hopDepth")),
        max(0.0, _number(entry.get("decayedWeight"))),
        type_ if _TYPE.fullmatch(type_) else DEFAULT_TYPE,
        None if confidence is None else clamp_unit(_number(confidence)),
    )


def _ranked_entry(entry: Mapping[str, Any]) -> Ranked | None:
    memory, given = _word(entry.get("id")), _words(entry.get("sourceLabels"))
    labels = tuple(label for label in (BASELINE, EXPANDED) if label in given)
    return Ranked(memory, _number(entry.get("score")), labels or (BASELINE,)) if memory else None


def _intent(entry: object) -> Intent:
    known = entry if isinstance(entry, dict) else {}
    return Intent(
        goal=_word(known.get("goal")) or UNKNOWN,
        action=_word(known.get("actionType")) or UNKNOWN,
        entity_types=_words(known.get("entityTypes")),
        task_initiation=known.get("taskInitiation") is True,
    )


def _shadow(entry: object) -> ShadowComparison | None:
    if not isinstance(entry, dict):
        return None
    return ShadowComparison(
        _whole(entry.get("baselineCount")),
        _whole(entry.get("graphCount")),
        _whole(entry.get("overlapCount")),
        clamp_unit(_number(entry.get("overlapRatio"))),
        _number(entry.get("averageOverlapDelta")),
    )


def _entries(value: object, parse: Callable[[Mapping[str, Any]], T | None]) -> tuple[T, ...]:
    entries = value[:MAX_ENTRIES] if isinstance(value, list) else []
    parsed = (parse(entry) for entry in entries if isinstance(entry, dict))
    return tuple(entry for entry in parsed if entry is not None)


def _words(value: object) -> tuple[str, ...]:
    words = value[:MAX_ENTRIES] if isinstance(value, list) else []
    return tuple(word for entry in words if (word := _word(entry)))


def _word(value: object) -> str:
    return " ".join(value[:_MAX_WORD].split()) if isinstance(value, str) else ""


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) <= _MAX_NUMBER else 0.0  # not for NaN either


def _whole(value: object) -> int:
    return max(0, math.floor(_number(value)))


# -- telling -------------------------------------------------------------------------------------------


def explain_snapshot(snapshot: Snapshot, *, limit: int = SHOWN) -> Iterator[str]:
    """As lines for people; `limit` (1 to 50) is how many of each list are shown."""
    shown = min(MAX_SHOWN, max(1, limit))
    yield "Last Graph Recall"
    yield f"Recorded at: {snapshot.recorded_at}"
    yield f"Mode: {snapshot.mode}"
    yield f"Status: {snapshot.status}{' (shadow)' if snapshot.shadow_mode else ''}"
    yield f"Reason: {snapshot.reason or 'none given'}"
    yield f"Query: sha256 {snapshot.query_hash} (len {snapshot.query_length})"
    yield _intent_line(snapshot.intent)
    namespaces = ", ".join(snapshot.namespaces) or "any"
    yield f"Project: {snapshot.project or 'none'}; namespaces: {namespaces}"
    yield from _listed("Seeds", snapshot.seed_count, snapshot.seed_results, shown, _ranked_line)
    yield from _listed("Expanded", snapshot.expanded_count, snapshot.expanded, shown, _expansion_line)
    final = snapshot.final_results
    yield from _listed("Final results", len(final), final, shown, _ranked_line)
    if snapshot.shadow:
        yield f"Shadow comparison: {snapshot.shadow.line}"


def _intent_line(intent: Intent) -> str:
    types = ",".join(intent.entity_types) or "none"
    starts = "yes" if intent.task_initiation else "no"
    return f"Intent: goal={intent.goal} action={intent.action} entities={types} starts-a-task={starts}"


def _listed(title: str, count: int, entries: Sequence[T], shown: int, line: Callable[[T], str]) -> Iterator[str]:
    yield f"{title}: {count} (showing {min(shown, len(entries))})"
    yield from (f"  {line(entry)}" for entry in entries[:shown])


def _ranked_line(entry: Ranked) -> str:
    return f"{entry.memory} score={entry.score:.3f} sources={','.join(entry.labels)}"


def _expansion_line(entry: Expansion) -> str:
    sure = "n/a" if entry.edge_confidence is None else f"{entry.edge_confidence:.2f}"
    return (
        f"{entry.memory} score={entry.score:.3f} seed={entry.seed} hop={entry.hop_depth} "
        f"w={entry.decayed_weight:.3f} type={entry.graph_type} conf={sure}"
    )

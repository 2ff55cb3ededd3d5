"""`clew bench recall FILE...`: ingest each corpus through the public write path, ask every question through
the public recall path, score the rankings.

A file holds one corpus per line: units (id, text, and perhaps author, thread, at, title) and questions
(id, text, gold unit ids, category). Author, thread, time and title become what they are in Clew.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import clew
from clew.bench.metrics import percentile, score_ranking, summarise
from clew.errors import InvalidInput
from clew.model.progress import Progress, no_progress

RANKED = 100  # long enough for every cut-off and for a second look at the misses
_DATE_FORMATS = ("%B-%d-%Y", "%Y-%m-%d %H:%M", "%d %B %Y")


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(
        [Path(name) for name in args.files],
        embedder=args.embedder,
        graph=not args.no_graph,
        relate=args.relate,
        rankings=Path(args.rankings) if args.rankings else None,
        limit_questions=args.limit_questions,
        progress=progress,
    )


def run(
    files: Sequence[Path],
    *,
    embedder: str | None,
    graph: bool = True,
    relate: bool = False,
    rankings: Path | None,
    limit_questions: int | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Progress is told in questions. The files are read twice: the first time counts, and refuses a broken one
    before hours have gone into the others."""
    report: dict[str, Any] = {"embedder": embedder or "static", "graph": graph, "relate": relate, "files": {}}
    total = sum(len(_asked(corpus, limit_questions)) for file in files for corpus in read_corpora(file))
    answers: list[Answer] = []
    progress(0, total)
    for file in files:
        units, first = 0, len(answers)
        for corpus in read_corpora(file):
            units += len(corpus["units"])
            for answer in ask(corpus, _asked(corpus, limit_questions), embedder, graph=graph, relate=relate):
                answers.append(answer)
                progress(len(answers), total)
        report["files"][file.name] = {"units": units} | _scored(answers[first:])
    if rankings:
        rankings.write_text("".join(answer.as_line() for answer in answers), encoding="utf-8")
    return report


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question brought up, best first, and how long it took."""

    corpus: str
    question: dict[str, Any]
    ranked: list[str]
    ms: float

    def as_line(self) -> str:
        ranking = {"corpus": self.corpus, "question": self.question["id"], "ranked": self.ranked}
        return json.dumps(ranking | {"ms": round(self.ms, 3)}) + "\n"


def _asked(corpus: dict[str, Any], limit: int | None) -> list[dict[str, Any]]:
    """Questions without a known answer cannot be scored."""
    return [question for question in corpus["questions"] if question["gold"]][:limit]


def _scored(answers: Sequence[Answer]) -> dict[str, Any]:
    questions = [(answer.ranked, answer.question) for answer in answers]
    scores = [score_ranking(ranked, question["gold"], question["category"]) for ranked, question in questions]
    times = [answer.ms for answer in answers]
    return {
        "scores": summarise(scores),
        "ms": {"p50": round(percentile(times, 0.5), 3), "p99": round(percentile(times, 0.99), 3)},
    }


def read_corpora(file: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise InvalidInput(
            f"{file} cannot be read as benchmark data",
            code="BENCH_DATA_INVALID",
            next="give a .jsonl or .jsonl.gz file with one corpus per line",
        ) from error


def ask(
    corpus: dict[str, Any], questions: list[dict[str, Any]], embedder: str | None, *, graph: bool, relate: bool
) -> Iterator[Answer]:
    """One answer per question, over a store of this corpus alone. What writes leave to be done later is done before
    the first question, or not at all: not meanwhile."""
    scope = clew.Scope(project=str(corpus["corpus"])[:200])
    settings: dict[str, Any] = {"graph": {"write": graph}, "relate": {"in_process": False}}
    if embedder:
        settings["embed"] = {"provider": embedder}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        clew.open(Path(folder) / "bench.db", **settings) as memory,
    ):
        units = _ingest(memory, corpus["units"], scope)
        if relate:
            memory.jobs.run()
        memory.recall("warm up", scope=scope, counted=False)
        for question in questions:
            started = time.perf_counter()
            recalled = memory.recall(question["text"], scope=scope, limit=RANKED, rules=False, counted=False)
            ms = (time.perf_counter() - started) * 1000
            ranked = [unit for result in recalled.results for unit in units[result.memory.id]]
            yield Answer(corpus["corpus"], question, ranked[:RANKED], ms)


def _ingest(memory: clew.Clew, units: list[dict[str, Any]], scope: clew.Scope) -> dict[str, list[str]]:
    """Unit ids by memory id; units that say the same share a memory."""
    by_memory: dict[str, list[str]] = {}
    drafts = [_draft(unit) for unit in units]
    for unit, remembered in zip(units, memory.remember_many(drafts, scope=scope), strict=True):
        by_memory.setdefault(remembered.id, []).append(str(unit["id"]))
    return by_memory


def _draft(unit: dict[str, Any]) -> clew.Draft:
    return clew.Draft(
        content=unit["text"] or "(empty)",
        title=unit.get("title"),
        author=unit.get("author"),
        thread=unit.get("thread"),
        at=_when(unit.get("at")),
    )


def _when(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        pass
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def table(report: dict[str, Any]) -> str:
    lines = [f"{'':28}{'n':>6}{'R@2':>8}{'R@5':>8}{'R@10':>8}{'R@20':>8}{'N@10':>8}"]
    for name, file in report["files"].items():
        lines.append(
            f"{name}: {file['units']} units, recall p50 {file['ms']['p50']} ms, p99 {file['ms']['p99']} ms"
        )
        for category, means in file["scores"].items():
            cells = [means[f"recall@{k}"] for k in (2, 5, 10, 20)] + [means["ndcg@10"]]
            lines.append(f"  {category:26}{means['questions']:6d}" + "".join(f"{cell:8.3f}" for cell in cells))
    return "\n".join(lines)

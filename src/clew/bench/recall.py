"""`clew bench recall FILE...`: ingest each corpus through the public write path, ask every question through
the public recall path, score the rankings.

Author, thread, time and title of a unit become what they are in Clew (the files: corpora.py). A question whose
answer is not known is asked and ranked like any other, and counts in no mean.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import clew
from clew.bench.ablations import FULL, Ablation, compared, ladder
from clew.bench.corpora import read_corpora
from clew.bench.intervals import estimates
from clew.bench.metrics import percentile
from clew.bench.rankings import Answer, Rankings, against, of_other_files, read_rankings
from clew.bench.recall_table import table as table
from clew.compose import make_embedder
from clew.errors import InvalidInput
from clew.model.memory import NOTHING
from clew.model.progress import Progress, no_progress
from clew.settings import load_settings
from clew.values import dataclass

LABEL_CHARS = 240  # of a title, an author or a thread are taken, as many as a memory can have
RANKED = 100  # long enough for every cut-off and for a second look at the misses
_DATE_FORMATS = ("%B-%d-%Y", "%Y-%m-%d %H:%M", "%d %B %Y")


@dataclass(frozen=True, slots=True)
class Asking:
    """How the corpora are kept and asked: `steps` are the ways to ask, the last one being what everybody gets."""

    embedder: str | None = None
    graph: bool = True
    relate: bool = False
    limit_questions: int | None = None
    steps: tuple[Ablation, ...] = (FULL,)
    home: Path | None = None  # whose settings and models are used, if not those of everything else

    @property
    def settings(self) -> dict[str, Any]:
        """By path. What writes leave to be done later is done before the first question, or not at all: not
        meanwhile."""
        chosen = {"embed.provider": self.embedder} if self.embedder else {}
        return {"graph.write": self.graph, "relate.in_process": False} | chosen

    def opened(self, store: Path, more: Mapping[str, Any] = NOTHING) -> clew.Clew:
        return clew.open(store, home=self.home, **_sections(self.settings | dict(more)))

    def check(self) -> None:
        """Recall does without a model that fails. A figure must not: it would be that of words alone."""
        with tempfile.TemporaryDirectory() as folder, self.opened(Path(folder) / "bench.db") as memory:
            model = make_embedder(memory.settings.embed, memory.settings.home)
            if model is not None:
                model.embed(["is it there?"])

    def of(self, corpus: dict[str, Any]) -> list[dict[str, Any]]:
        """The questions that are asked."""
        questions: list[dict[str, Any]] = corpus["questions"][: self.limit_questions]
        return questions


@dataclass(frozen=True, slots=True)
class Against:
    """What the figures are compared with, and the categories whose plain mean is wanted."""

    baseline: Rankings | None = None
    categories: tuple[str, ...] = ()


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    if args.ablations and args.no_graph:
        raise InvalidInput(
            "--ablations switches the graph off and on itself", code="USAGE", next="leave --no-graph out"
        )
    return run(
        [Path(name) for name in args.files],
        embedder=args.embedder,
        graph=not args.no_graph,
        relate=args.relate,
        ablations=ladder() if args.ablations else (),
        rankings=Path(args.rankings) if args.rankings else None,
        baseline=Path(args.baseline) if args.baseline else None,
        categories=args.categories or (),
        limit_questions=args.limit_questions,
        home=Path(args.home) if args.home else None,
        progress=progress,
    )


def run(
    files: Sequence[Path],
    *,
    embedder: str | None,
    graph: bool = True,
    relate: bool = False,
    ablations: Sequence[Ablation] = (),
    rankings: Path | None = None,
    baseline: Path | None = None,
    categories: Sequence[str] = (),
    limit_questions: int | None = None,
    home: Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Progress is told in questions. The files are read twice: the first time counts, and refuses what is broken
    before hours have gone into the others. Rankings are those of the last ablation, which is the default."""
    asking = Asking(embedder, graph, relate, limit_questions, tuple(ablations) or (FULL,), home)
    if rankings:
        _check_place(rankings, files)
    versus = Against(read_rankings(baseline) if baseline else None, tuple(categories))
    files = list(dict.fromkeys(files))
    labels = _labels(files)
    total = _checked(files, asking, versus.categories) * len(asking.steps)
    asking.check()
    report: dict[str, Any] = {
        "embedder": embedder or load_settings(home=home).embed.provider,
        "graph": graph,
        "relate": relate,
        "files": {},
    }
    if versus.baseline is not None:
        report["baseline"] = {"file": str(baseline), "other_files": of_other_files(versus.baseline, labels)}
    written: list[str] = []
    tell = _counting(progress, total)
    for label, file in zip(labels, files, strict=True):
        units, answers = _answers(label, file, asking, tell)
        report["files"][label] = {"units": units} | _report(label, answers, asking, versus)
        written += [answer.as_line() for answer in answers[-1]]
    if rankings:
        rankings.write_text("".join(written), encoding="utf-8")
    return report


def _check_place(rankings: Path, files: Sequence[Path]) -> None:
    """Before hours have gone into what could then not be written."""
    folder = rankings.absolute().parent
    if not folder.is_dir():
        raise InvalidInput(f"there is no directory for {rankings}", code="BENCH_NO_DIRECTORY", next="make it first")
    if rankings.resolve() in [file.resolve() for file in files]:
        raise InvalidInput(f"{rankings} is what is measured", code="BENCH_OVERWRITES", next="name another file")
    if rankings.is_dir() or not os.access(rankings if rankings.exists() else folder, os.W_OK):
        raise InvalidInput(f"{rankings} cannot be written", code="BENCH_NO_PLACE", next="name another file")


def _counting(progress: Progress, total: int) -> Callable[[], None]:
    """Tells that one more is done, and at once that none is."""
    done = count(1)
    progress(0, total)
    return lambda: progress(next(done), total)


def _answers(label: str, file: Path, asking: Asking, tell: Callable[[], None]) -> tuple[int, list[list[Answer]]]:
    """How many units the file has, and its answers by step."""
    units = 0
    answers: list[list[Answer]] = [[] for _step in asking.steps]
    for corpus in read_corpora(file):
        units += len(corpus["units"])
        for step, answer in ask(label, corpus, asking):
            answers[step].append(answer)
            tell()
    return units, answers


def _labels(files: Sequence[Path]) -> list[str]:
    """Files by name, or as they were given where two have the same one."""
    names = [file.name for file in files]
    return [str(file) if names.count(file.name) > 1 else file.name for file in files]


def _checked(files: Sequence[Path], asking: Asking, categories: Sequence[str]) -> int:
    """How many questions there are."""
    asked = [question for file in files for corpus in read_corpora(file) for question in asking.of(corpus)]
    if not asked:
        raise InvalidInput(
            "there is no question to ask", code="BENCH_DATA_INVALID", next="give files with units and questions"
        )
    known = dict.fromkeys(question["category"] for question in asked if question["gold"])
    for category in categories:
        if category not in known:
            raise InvalidInput(
                f"no question is of category '{category}'",
                code="BENCH_CATEGORY_UNKNOWN",
                next=f"the files have: {', '.join(known) or 'no answers'}",
            )
    return len(asked)


def _report(label: str, answers: Sequence[Sequence[Answer]], asking: Asking, versus: Against) -> dict[str, Any]:
    """About one file: `answers` by step."""
    known = [[answer for answer in of if answer.question["gold"]] for of in answers]
    steps = [(step, [answer.score for answer in of]) for step, of in zip(asking.steps, known, strict=True)]
    report: dict[str, Any] = {"scores": estimates(steps[-1][1], versus.categories), "ms": _times(answers[-1])}
    if unknown := len(answers[-1]) - len(known[-1]):
        report["without_gold"] = unknown
    present = {answer.question["category"] for answer in known[-1]}
    if missing := [category for category in versus.categories if category not in present]:
        report["categories_missing"] = missing
    if len(steps) > 1:
        report["ablations"] = compared(steps, versus.categories)
    if versus.baseline is not None:
        report["against_baseline"] = against(versus.baseline, known[-1], label, versus.categories)
    return report


def _times(answers: Sequence[Answer]) -> dict[str, float]:
    times = [answer.ms for answer in answers]
    return {"p50": round(percentile(times, 0.5), 3), "p99": round(percentile(times, 0.99), 3)}


def ask(file: str, corpus: dict[str, Any], asking: Asking) -> Iterator[tuple[int, Answer]]:
    """One answer per step and question, with the number of the step, over a store of this corpus alone. It is
    filled once, and opened anew for every step."""
    with ingested(corpus, asking) as (store, scope, units):
        for number, step in enumerate(asking.steps):
            with asking.opened(store, step.settings) as memory:
                memory.recall("warm up", scope=scope, counted=False, **step.options)
                for question in asking.of(corpus):
                    ranked, ms = _ranked(memory, question["text"], scope, step)
                    by_unit = [unit for memory_id in ranked for unit in units[memory_id]]
                    yield number, Answer(file, corpus["corpus"], question, by_unit[:RANKED], ms)


@contextmanager
def ingested(corpus: dict[str, Any], asking: Asking) -> Iterator[tuple[Path, clew.Scope, dict[str, list[str]]]]:
    """A store of this corpus alone, the scope it is in, and its units by memory."""
    scope = clew.Scope(project=str(corpus["corpus"])[:200])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store = Path(folder) / "bench.db"
        with asking.opened(store) as memory:
            units = _ingest(memory, corpus["units"], scope)
            if asking.relate:
                memory.jobs.run()
        yield store, scope, units


def _ranked(memory: clew.Clew, question: str, scope: clew.Scope, step: Ablation) -> tuple[list[str], float]:
    """The ids of memories, best first, and the milliseconds it took."""
    started = time.perf_counter()
    recalled = memory.recall(question, scope=scope, limit=RANKED, rules=False, counted=False, **step.options)
    return [result.memory.id for result in recalled.results], (time.perf_counter() - started) * 1000


def _sections(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by path as `clew.open` takes them."""
    sections: dict[str, Any] = {}
    for path, value in settings.items():
        section, name = path.split(".")
        sections.setdefault(section, {})[name] = value
    return sections


def _ingest(memory: clew.Clew, units: list[dict[str, Any]], scope: clew.Scope) -> dict[str, list[str]]:
    """Unit ids by memory id; units that say the same share a memory."""
    by_memory: dict[str, list[str]] = {}
    drafts = [_draft(unit) for unit in units]
    for unit, remembered in zip(units, memory.remember_many(drafts, scope=scope), strict=True):
        by_memory.setdefault(remembered.id, []).append(unit["id"])
    return by_memory


def _draft(unit: dict[str, Any]) -> clew.Draft:
    """Labels are cut to what a memory takes."""
    title, author, thread = ((unit.get(name) or "")[:LABEL_CHARS] for name in ("title", "author", "thread"))
    return clew.Draft(
        content=unit["text"].strip() or "(empty)",
        title=title or None,
        author=author or None,
        thread=thread or None,
        at=when(unit.get("at")),
    )


def when(text: str | None) -> datetime | None:
    """A moment as the files tell it; UTC where they do not say."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None

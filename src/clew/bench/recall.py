"""`clew bench recall FILE...`: ingest each corpus through the public write path, ask every question through
the public recall path, score the rankings.

The files: corpora.py. A question whose answer is not known is asked and ranked like any other, and counts in no
mean. What did not get into the store as the file has it is counted and told: ingest.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import clew
from clew.bench.ablations import FULL, Ablation, compared, ladder
from clew.bench.conditions import OF_RECALL, conditions
from clew.bench.corpora import check_categories, read_corpora
from clew.bench.ingest import Asking, Losses, ingested
from clew.bench.intervals import estimates
from clew.bench.metrics import percentile
from clew.bench.places import check_place, named, write
from clew.bench.rankings import Answer, Asked, Pairs, against, paired
from clew.bench.recall_table import table as table
from clew.errors import InvalidInput
from clew.model.progress import Progress, no_progress
from clew.values import dataclass

RANKED = 100  # long enough for every cut-off and for a second look at the misses


@dataclass(frozen=True, slots=True)
class Against:
    """What the figures are compared with, and the categories whose plain mean is wanted."""

    pairs: Pairs | None = None
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
        rankings=named("--rankings", args.rankings),
        baseline=named("--baseline", args.baseline),
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
        check_place(rankings, [*files, *([baseline] if baseline else [])])
    files = list(dict.fromkeys(files))
    asked = _asked(files, asking, categories)
    versus = Against(paired(baseline, asked) if baseline else None, tuple(categories))
    asking.check()
    settings = asking.in_force()
    report = conditions(settings, OF_RECALL)
    report |= {"embedder": settings.embed.provider, "graph": graph, "relate": relate, "files": {}}
    if versus.pairs:
        told = {"pairs": versus.pairs.known, "other_files": dict(versus.pairs.other_files)}
        report["baseline"] = {"file": str(baseline)} | told
    written: list[str] = []
    tell = _counting(progress, sum(len(of.names) for of in asked) * len(asking.steps))
    for of in asked:
        units, answers, losses = _answers(of.label, of.file, asking, tell)
        about = {"units": units, "questions": len(of.names)} | losses.as_json()
        report["files"][of.label] = about | _report(of.label, answers, asking, versus)
        written += [answer.as_line() for answer in answers[-1]]
    if rankings:
        write(rankings, "".join(written), report)
    return report


def _counting(progress: Progress, total: int) -> Callable[[], None]:
    """Tells that one more is done, and at once that none is."""
    done = count(1)
    progress(0, total)
    return lambda: progress(next(done), total)


def _answers(
    label: str, file: Path, asking: Asking, tell: Callable[[], None]
) -> tuple[int, list[list[Answer]], Losses]:
    """How many units the file has, its answers by step, and what was lost of it."""
    units, losses = 0, Losses()
    answers: list[list[Answer]] = [[] for _step in asking.steps]
    for corpus in read_corpora(file):
        units += len(corpus["units"])
        losses.of_questions(asking.of(corpus), corpus["units"])
        for step, answer in ask(label, corpus, asking, losses):
            answers[step].append(answer)
            tell()
    return units, answers, losses


def _labels(files: Sequence[Path]) -> list[str]:
    """Files by name, or as they were given where two have the same one."""
    names = [file.name for file in files]
    return [str(file) if names.count(file.name) > 1 else file.name for file in files]


def _asked(files: Sequence[Path], asking: Asking, categories: Sequence[str]) -> list[Asked]:
    """What is going to be asked, by file."""
    asked = [Asked(label, file) for label, file in zip(_labels(files), files, strict=True)]
    known: dict[str, None] = {}
    for of in asked:
        for corpus in read_corpora(of.file):
            questions = asking.of(corpus)
            of.add(corpus["corpus"], questions)
            known |= dict.fromkeys(question["category"] for question in questions if question["gold"])
    if not any(of.names for of in asked):
        raise InvalidInput(
            "there is no question to ask", code="BENCH_DATA_INVALID", next="give files with units and questions"
        )
    check_categories(categories, list(known))
    return asked


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
    if versus.pairs:
        earlier, only_there = versus.pairs.rankings[label], versus.pairs.only_there[label]
        report["against_baseline"] = against(earlier, answers[-1], only_there, versus.categories)
    return report


def _times(answers: Sequence[Answer]) -> dict[str, float]:
    times = [answer.ms for answer in answers]
    return {"p50": round(percentile(times, 0.5), 3), "p99": round(percentile(times, 0.99), 3)}


def ask(file: str, corpus: dict[str, Any], asking: Asking, losses: Losses) -> Iterator[tuple[int, Answer]]:
    """One answer per step and question, with the number of the step, over a store of this corpus alone. It is
    filled once, and opened anew for every step."""
    with ingested(corpus, asking, losses) as (store, scope, units):
        for number, step in enumerate(asking.steps):
            with asking.opened(store, step.settings) as memory:
                memory.recall("warm up", scope=scope, counted=False, **step.options)
                for question in asking.of(corpus):
                    ranked, ms = _ranked(memory, question["text"], scope, step)
                    by_unit = [unit for memory_id in ranked for unit in units[memory_id]]
                    yield number, Answer(file, corpus["corpus"], question, by_unit[:RANKED], ms)


def _ranked(memory: clew.Clew, question: str, scope: clew.Scope, step: Ablation) -> tuple[list[str], float]:
    """The ids of memories, best first, and the milliseconds it took."""
    started = time.perf_counter()
    recalled = memory.recall(question, scope=scope, limit=RANKED, rules=False, counted=False, **step.options)
    return [result.memory.id for result in recalled.results], (time.perf_counter() - started) * 1000

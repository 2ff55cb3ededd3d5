"""`clew bench learn FILE... --out FILE.json`: learn how much each feature of a candidate counts in the last look
that recall takes (recall/ranker.py), and small trees for what a weighted sum of them cannot say.

The features are those of recall itself, taken where it takes them. Each file counts alike, so that one with many
questions does not decide for the others. Given several embedders, every question is asked with each of them, and
one set of weights is learnt for all. Told is how weights do on questions they were not learnt from: those of
other conversations where a file has many, other questions where it has one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.bench.boosting import boost
from clew.bench.conditions import OF_RECALL, conditions, measured_by
from clew.bench.corpora import check_categories, read_corpora
from clew.bench.fitting import Example, fit
from clew.bench.ingest import Asking, Losses, ingested, lost
from clew.bench.lines import in_lines
from clew.bench.metrics import CUTOFFS, Score, score_ranking, summarise
from clew.bench.places import check_place, write
from clew.errors import InvalidInput
from clew.model.progress import Progress, no_progress
from clew.model.recalled import RecallOptions
from clew.model.scope import Reach
from clew.recall.features import NAMES
from clew.recall.ranker import is_refined, look_at
from clew.recall.recall import search
from clew.recall.trees import Tree, Trees, tell
from clew.values import dataclass

FOLDS = 5
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Learnt:
    """As it is written down: in few digits."""

    weights: NDArray[np.float64]
    trees: list[Tree]

    def scores(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = features @ self.weights + Trees.of(self.trees).scores(features)
        return found


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its candidates. `units` are those of each candidate."""

    label: str  # under which its figures are told: the file and, where there are several, the embedder
    fold: int
    category: str
    example: Example
    units: list[list[str]]
    gold: list[str]

    def score(self, learnt: Learnt) -> Score:
        order = np.argsort(-learnt.scores(self.example.features), kind="stable").tolist()
        return score_ranking([unit for at in order for unit in self.units[at]], self.gold, self.category)


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    out, files = Path(args.out), [Path(name) for name in args.files]
    check_place(out, files)
    how = {"limit_questions": args.limit_questions, "home": Path(args.home) if args.home else None}
    askings = [Asking(embedder=name, **how) for name in args.embedder or (None,)]
    left_out = set(args.leave_out or ())
    check_categories(sorted(left_out), _categories(files, askings[0]))
    for asking in askings:
        asking.check()
    losses = Losses()
    questions = collect(files, askings, losses, progress)
    known = [question for question in questions if question.category not in left_out]
    if not any(question.example.answers.any() for question in known):
        raise InvalidInput(
            "no question to learn from has its answer among the candidates",
            code="BENCH_DATA_INVALID",
            next="check --leave-out, and that gold names units of the same corpus",
        )
    learnt = _learnt(known)
    report = conditions(askings[0].in_force(), OF_RECALL)
    report |= {
        "questions": dict(Counter(question.label for question in questions)),
        "weights": dict(zip(NAMES, learnt.weights.tolist(), strict=True)),
        "trees": tell(learnt.trees, NAMES),
        "held_out": _held_out(questions, left_out),
    }
    report |= losses.as_json()
    write(out, _as_text(report), report)
    return report


def _categories(files: Sequence[Path], asking: Asking) -> list[str]:
    """Of the questions that can be learnt from."""
    corpora = (corpus for file in files for corpus in read_corpora(file))
    return list(dict.fromkeys(question["category"] for one in corpora for question in _known(asking, one)))


def _as_text(report: dict[str, Any]) -> str:
    """JSON with a weight or a tree per line."""
    weights = ",\n".join(f"  {json.dumps(name)}: {weight}" for name, weight in report["weights"].items())
    trees = ",\n".join(f"  {json.dumps(tree)}" for tree in report["trees"])
    made_by = '"made_by": "clew bench learn"'
    return f'{{\n {made_by},\n "weights": {{\n{weights}\n }},\n "trees": [\n{trees}\n ]\n}}\n'


def collect(
    files: Sequence[Path], askings: Sequence[Asking], losses: Losses, progress: Progress = no_progress
) -> list[Question]:
    """Every question that has candidates, as often as there are ways to ask. What is lost, as often, too."""
    ways = list(product(askings, files))
    total = sum(len(_known(asking, corpus)) for asking, file in ways for corpus in read_corpora(file))
    questions: list[Question] = []
    progress(0, total)
    for asking, file in ways:
        label = file.name if len(askings) == 1 else f"{file.name}, {asking.embedder}"
        corpora = list(read_corpora(file))
        for number, corpus in enumerate(corpora):
            losses.of_questions(_known(asking, corpus), corpus["units"])
            for at, question in enumerate(_asked(file.name, corpus, asking, losses)):
                fold = (number if len(corpora) >= FOLDS else at) % FOLDS
                questions.append(replace(question, label=label, fold=fold))
                progress(len(questions), total)
    if not questions:
        raise InvalidInput(
            "no question had enough candidates to learn from",
            code="BENCH_DATA_INVALID",
            next="give files with questions, gold and at least some dozen units per corpus",
        )
    return questions


def _known(asking: Asking, corpus: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions whose answers are known."""
    return [question for question in asking.of(corpus) if question["gold"]]


def _asked(file: str, corpus: dict[str, Any], asking: Asking, losses: Losses) -> Iterator[Question]:
    with (
        ingested(corpus, asking, losses) as (store, scope, units),
        asking.opened(store) as memory,
    ):
        memory.recall("warm up", scope=scope, counted=False)
        reader, options = memory._reader, RecallOptions(rules=False, counted=False)
        for question in _known(asking, corpus):
            run = search(question["text"], Reach.of(scope), options, reader=reader, now=memory.now(), refined=False)
            if run.asked is None or not is_refined(run):
                continue
            looked = look_at(run, run.asked)
            of = [units[run.corpus.ids[at]] for at in looked.places.tolist()]
            gold = set(question["gold"])
            answers = np.array([not gold.isdisjoint(those) for those in of])
            example = Example(file, np.ascontiguousarray(looked.features.T), answers)
            yield Question(file, 0, question["category"], example, of, sorted(gold))


def _learnt(questions: Sequence[Question]) -> Learnt:
    examples = [question.example for question in questions]
    weights = np.round(fit(examples), DIGITS)
    return Learnt(weights, boost(examples, weights))


def _held_out(questions: Sequence[Question], left_out: set[str]) -> dict[str, Any]:
    """By file, the figures of each question under what was learnt without its fold."""
    scores: dict[str, list[Score]] = {}
    for fold in range(FOLDS):
        known = [question for question in questions if question.fold != fold and question.category not in left_out]
        asked = [question for question in questions if question.fold == fold]
        if asked and any(question.example.answers.any() for question in known):
            learnt = _learnt(known)
            for question in asked:
                scores.setdefault(question.label, []).append(question.score(learnt))
    return {file: summarise(of) for file, of in scores.items()}


def table(report: dict[str, Any]) -> str:
    lines = [measured_by(report), *lost(report), f"trees: {len(report['trees'])}", "weights:"]
    lines += [f"  {name:26}{weight:10.3f}" for name, weight in report["weights"].items()]
    lines.append(f"held out, by {FOLDS} folds:" + "".join(f"{f'R@{k}':>8}" for k in CUTOFFS) + f"{'N@10':>8}")
    for file, groups in report["held_out"].items():
        for name, means in groups.items():
            cells = [means[f"recall@{k}"] for k in CUTOFFS] + [means["ndcg@10"]]
            label = f"{file} ({report['questions'][file]})" if name == "all" else f"  {name}"
            lines.append(f"{label:24}" + "".join(f"{cell:8.3f}" for cell in cells))
    return in_lines(lines)

"""What a first look at the vectors finds of what a scan of all of them does, and how long it takes beside it.

    python tools/first_look.py [--memories 100000] [--questions 300] [FILE...]

With files of benchmark data, the memories are their units and the sentences of these, and the questions are
theirs; without, both are made up. For each number of leading components, and of memories that are compared
exactly afterwards: which share of the best 10 and of the best 160 of the scan it finds, by words and meaning and
by meaning alone, and the median time of the looks over that of the scan, in the same run. The last line is what
recall does: it adds further components, and compares more, where the words of the question do not decide.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from clew.bench.recall import read_corpora
from clew.bench.texts import questions, texts
from clew.model.memory import Draft
from clew.model.scope import Scope
from clew.providers.static import StaticEmbedder
from clew.recall.corpus import Corpus
from clew.recall.fuse import Evidence, rank_scores, scales_of
from clew.recall.lexical import asked_terms, score_terms
from clew.recall.outline import Outline, outline_of
from clew.recall.segment import FURTHER, build_segment
from clew.recall.segment import LEADING as FIRST
from clew.recall.settle import CLOSER, estimated, settle, spread_of
from clew.recall.settle import SURE as KEPT
from clew.remember.prepare import WritePolicy, draft_memory, index_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.recall.run import Run

    Vector = NDArray[np.float32]
    Places = NDArray[np.intp]

LEADING = (48, 64, 96, 128)
SURE = (256, 512, 1024, 2048)
RECALL = f"{FIRST} + {FURTHER}"
LIMIT = 10
DEPTHS = (LIMIT, 160)  # what is shown, and what is looked at again to find it
RETRIEVALS = ("hybrid", "semantic")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
SHORTEST = 20  # characters of a sentence

NOW = datetime.now(UTC)
EMBEDDER = StaticEmbedder()

Figures = defaultdict[tuple[object, ...], list[float]]


class Asked(NamedTuple):
    """One question: its words' scores, none if it is asked by meaning alone, and its vector."""

    retrieval: str
    words: Vector
    vector: Vector
    corpus: Corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    args = parser.parse_args()
    contents, known = (
        _of_files(args.files, args.memories) if args.files else _made_up(args.memories, args.questions)
    )
    asked = random.Random(1).sample(known, min(args.questions, len(known)))
    corpus = _corpus(contents)
    vectors = corpus.segments[0].vectors
    outlines = {str(leading): outline_of(vectors, leading=leading, further=0) for leading in LEADING}
    outlines[RECALL] = outline_of(vectors)
    figures: Figures = defaultdict(list)
    for text, vector in zip(asked, EMBEDDER.embed(asked), strict=True):
        for retrieval in RETRIEVALS:
            words = score_terms(corpus, asked_terms(text) if retrieval == "hybrid" else [])
            _compare(Asked(retrieval, words.score, vector, corpus), outlines, figures)
    print(f"{len(contents)} memories, {len(asked)} questions\n")
    print("\n".join(_table(figures)))


def _made_up(memories: int, asked: int) -> tuple[list[str], list[str]]:
    return list(texts(memories, chars=250)), questions(asked)


def _of_files(files: list[Path], memories: int) -> tuple[list[str], list[str]]:
    """All units, and as many of their sentences as there is room for; no text twice."""
    corpora = [corpus for file in files for corpus in read_corpora(file)]
    units = dict.fromkeys(unit["text"] for corpus in corpora for unit in corpus["units"])
    parts = dict.fromkeys(part for text in units for part in SENTENCE.split(text) if len(part) >= SHORTEST)
    sentences = [part for part in parts if part not in units]
    random.Random(1).shuffle(sentences)
    asked = [question["text"] for corpus in corpora for question in corpus["questions"]]
    return [*units, *sentences][:memories], asked


def _corpus(contents: list[str]) -> Corpus:
    rows = [_row(text, vector) for text, vector in zip(contents, EMBEDDER.embed(contents), strict=True)]
    return Corpus((build_segment(rows, EMBEDDER.space.dim),), np.ones(len(rows), np.bool_), 1)


def _row(text: str, vector: Vector) -> tuple[Any, ...]:
    memory, _ = draft_memory(Draft(content=text), Scope(), now=NOW, policy=WritePolicy())
    indexed, packed = index_terms(memory), vector.astype("<f2").tobytes()
    kept = (memory.id, "long_term", "note", 0, None, None, 0, 0, 1.0, 0, "", "", "")  # as $segment_columns has it
    return (*kept, indexed.length, indexed.terms, packed)


def _compare(asked: Asked, outlines: dict[str, Outline], figures: Figures) -> None:
    """One question by a scan and by each first look."""
    vectors, allowed = asked.corpus.segments[0].vectors, asked.corpus.alive
    evidence = Evidence(asked.words, asked.words, vectors.cosines(asked.vector))
    scanned = _order(rank_scores(evidence, allowed, scales_of(evidence, allowed)))
    for leading, outline in outlines.items():
        began = time.perf_counter()
        vectors.cosines(asked.vector)
        figures["scan", asked.retrieval].append(time.perf_counter() - began)
        for sure in _sures(leading):
            looked, took = _looked(asked, outline, sure)
            figures["looks", asked.retrieval, leading, sure].append(took)
            for depth in DEPTHS:
                shared = len(np.intersect1d(scanned[:depth], looked[:depth])) / depth
                figures["shared", asked.retrieval, leading, sure, depth].append(shared)


def _looked(asked: Asked, outline: Outline, sure: int) -> tuple[Places, float]:
    """The best by a first look and a second one, and the time that these took."""
    corpus, allowed = asked.corpus, asked.corpus.alive
    began = time.perf_counter()
    rough = estimated(corpus, outline, asked.vector)
    took = time.perf_counter() - began
    evidence = Evidence(asked.words, asked.words, rough.cosine)
    scales = scales_of(evidence, allowed, spread_of(rough, corpus, allowed))
    run = SimpleNamespace(
        corpus=corpus,
        evidence=evidence,
        allowed=allowed,
        words=asked.words,
        meaning=np.zeros_like(asked.words),  # both numbers are for those who are shown the answer
        relevance=np.zeros_like(asked.words),
        rank_score=rank_scores(evidence, allowed, scales),
        scales=scales,
        space=EMBEDDER.space,
        rough=rough,
    )
    began = time.perf_counter()
    settle(cast("Run", run), limit=LIMIT, sure=sure, closer=CLOSER if outline.further.size else 0)
    took += time.perf_counter() - began
    return _order(run.rank_score), took


def _order(scores: Vector) -> Places:
    """The best first, of equal ones the first."""
    best = np.sort(np.argpartition(-scores, max(DEPTHS))[: max(DEPTHS)])
    return best[np.argsort(-np.round(scores[best], 5), kind="stable")]


def _sures(leading: str) -> tuple[int, ...]:
    return (KEPT,) if leading == RECALL else SURE


def _table(figures: Figures) -> list[str]:
    names = [f"{retrieval}, best {depth}" for retrieval in RETRIEVALS for depth in DEPTHS]
    names += [f"{retrieval}, time over scan" for retrieval in RETRIEVALS]
    lines = [f"| components | sure | {' | '.join(names)} |", f"|{'---|' * (2 + len(names))}"]
    for leading in (*map(str, LEADING), RECALL):
        for sure in _sures(leading):
            shares = [mean(figures["shared", one, leading, sure, depth]) for one in RETRIEVALS for depth in DEPTHS]
            times = [
                median(figures["looks", one, leading, sure]) / median(figures["scan", one]) for one in RETRIEVALS
            ]
            cells = [*(f"{share:.4f}" for share in shares), *(f"{time:.2f}" for time in times)]
            lines.append(
                f"| {leading} | {f'{sure} or {CLOSER}' if leading == RECALL else sure} | {' | '.join(cells)} |"
            )
    return lines


if __name__ == "__main__":
    main()

"""BM25 over the scope's own statistics, and how much of the query's weight each memory covers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus

# Flatter than the textbook 1.2 and 0.75: memories are short, and a repeated word says little.
# Measured on conversations in `docs/performance.md`; 0.9 and 0.4 are also Anserini's defaults.
K1 = 0.9
B = 0.4
MAX_TERMS = 64  # of a pasted page only the rarest words matter


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    score: NDArray[np.float32]  # BM25
    covered: NDArray[np.float32]  # share of the query's IDF mass, 0 to 1
    best_possible: float  # BM25 of a memory that has every term often


def score_terms(corpus: Corpus, terms: Sequence[int]) -> Lexical:
    size = sum(len(segment) for segment in corpus.segments)
    score, covered = np.zeros(size, np.float32), np.zeros(size, np.float32)
    norm = K1 * (1 - B + B * corpus.length / np.float32(corpus.mean_length))
    found = [(term, *_postings(corpus, term)) for term in terms]
    weighted = [(idf(corpus.count, _frequency(corpus, term, docs)), docs, counts) for term, docs, counts in found]
    weighted.sort(key=lambda entry: -entry[0])
    total = 0.0
    for weight, docs, counts in weighted[:MAX_TERMS]:
        total += weight
        score[docs] += np.float32(weight * (K1 + 1)) * counts / (counts + norm[docs])
        covered[docs] += np.float32(weight)
    return Lexical(score, covered / np.float32(total) if total else covered, total * (K1 + 1))


def idf(size: int, frequency: int) -> float:
    """Never negative, also for a word that nearly every memory has."""
    return float(np.log1p((size - frequency + 0.5) / (frequency + 0.5)))


def _postings(corpus: Corpus, term: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    docs, counts, offset = [], [], 0
    for segment in corpus.segments:
        found, count = segment.postings.of(term)
        docs.append(found + offset)
        counts.append(count)
        offset += len(segment)
    return np.concatenate(docs).astype(np.int64), np.concatenate(counts)


def _frequency(corpus: Corpus, term: int, docs: NDArray[np.int64]) -> int:
    if corpus.frequencies is not None:
        return corpus.frequencies.get(term, 0)
    return int(corpus.alive[docs].sum())

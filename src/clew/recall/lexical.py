"""BM25 over the scope's own statistics, and how much of the query's weight each memory covers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.recall.analyse import query_terms
from clew.recall.common import informativeness, weight_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.recall.corpus import Corpus

# The textbook values. A flatter length norm (0.4) gains 0.005 recall on short turns and loses 0.10 where long
# answers stand beside short questions: docs/performance.md.
K1 = 1.2
B = 0.75
MAX_TERMS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    score: NDArray[np.float32]  # BM25
    covered: NDArray[np.float32]  # share of the query's weight, 0 to 1


def asked_terms(text: str) -> list[int]:
    """The terms of a query; of a pasted page, those that can say most."""
    terms = list(query_terms(text))
    if len(terms) <= MAX_TERMS:
        return terms
    return sorted(terms, key=informativeness, reverse=True)[:MAX_TERMS]


def score_terms(corpus: Corpus, terms: Sequence[int]) -> Lexical:
    size = len(corpus.ids)
    score, covered = np.zeros(size, np.float32), np.zeros(size, np.float32)
    norm = corpus.length_norm
    total = 0.0
    for term in terms:
        docs, counts = postings(corpus, term)
        weight = weight_of(term, corpus.count, frequency(corpus, term, docs))
        total += weight
        if len(docs):
            at = docs.astype(np.intp)  # once, not at each of the five looks
            score[at] += np.float32(weight * (K1 + 1)) * counts / (counts + norm[at])
            covered[at] += np.float32(weight)
    if total:
        covered /= np.float32(total)
    return Lexical(score, covered)


def postings(corpus: Corpus, term: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.float32]]:
    """The documents of a term, numbered through all segments, and how often each has it."""
    found = [segment.postings.of(term) for segment in corpus.segments]
    if len(found) == 1:
        return found[0]
    offsets = np.cumsum([0] + [len(segment) for segment in corpus.segments[:-1]])
    docs = [docs + offset for (docs, _counts), offset in zip(found, offsets, strict=True)]
    return np.concatenate(docs), np.concatenate([counts for _docs, counts in found])


def frequency(corpus: Corpus, term: int, docs: NDArray[np.integer[Any]] | None = None) -> int:
    """In how many living memories of the scope a term is; `docs` are all that have it."""
    if corpus.frequencies is not None:
        return corpus.frequencies.get(term, 0)
    docs = postings(corpus, term)[0] if docs is None else docs
    return len(docs) if corpus.all_alive else int(corpus.alive[docs].sum())

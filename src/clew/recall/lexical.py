"""BM25 over the scope's own statistics, and how much of the query's weight each memory covers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew import native
from clew.recall.among import are_among
from clew.recall.analyse import keys_in, query_terms
from clew.recall.common import BACKGROUND, common_arrays, informativeness, weights_of
from clew.recall.kinds import kinds_asked

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from clew.recall.corpus import Corpus

    Floats = NDArray[np.float32]

# The textbook values. A flatter length norm (0.4) gains 0.005 recall on short turns and loses 0.10 where long
# answers stand beside short questions: docs/performance.md.
K1 = 1.2
B = 0.75
MAX_TERMS = 64
# Of a question, however long: a memory that names its ticket, or a tool of the kind that it asks for, is told
# unasked, be it by that alone.
KEY_COVERS = 0.6


class Matches(NamedTuple):
    """Which term of a question is in which memory, and what it gives there."""

    terms: NDArray[np.uint32]
    weights: Floats  # per term
    owner: NDArray[np.intp]  # of each match: which of the terms
    docs: NDArray[np.intp]  # the place of the memory
    given: Floats


class Lexical(NamedTuple):
    score: Floats  # BM25
    covered: Floats  # share of the query's weight, 0 to 1
    matches: Matches


def asked_terms(text: str) -> list[int]:
    """The terms of a query; of a pasted page, those that can say most."""
    terms = list(query_terms(text))
    if len(terms) <= MAX_TERMS:
        return terms
    return sorted(terms, key=informativeness, reverse=True)[:MAX_TERMS]


def asked_of(text: str) -> tuple[list[int], frozenset[int]]:
    """The terms of a question, and which of them are keys: of tickets, and the kinds of tools that it is after."""
    kinds = kinds_asked(text)
    return [*asked_terms(text), *kinds], keys_in(text).union(kinds)


def score_terms(corpus: Corpus, terms: Sequence[int], keys: Collection[int] = ()) -> Lexical:
    """A key that no memory has is not asked for, so that it takes nothing from what answers the rest; a memory that
    has one is about what is asked."""
    asked = np.array(terms, np.uint32)
    if not keys:
        return _scored(corpus, asked)
    is_key = are_among(asked, np.array(list(keys), np.uint32))
    is_missing = is_key.copy()
    is_missing[is_key] = frequencies(corpus, asked[is_key], *postings(corpus, asked[is_key])[:2]) == 0
    found, is_key = _scored(corpus, asked[~is_missing]), is_key[~is_missing]
    named = found.matches.docs[is_key[found.matches.owner]]
    found.covered[named] = np.maximum(found.covered[named], np.float32(KEY_COVERS))
    return found


def _scored(corpus: Corpus, asked: NDArray[np.uint32]) -> Lexical:
    if native.compiled is not None and corpus.frequencies is None:
        return _compiled(corpus, asked)
    size, found = len(corpus.ids), match(corpus, asked)
    total = float(found.weights.sum())
    shares = found.weights / np.float32(total) if total else found.weights
    return Lexical(_summed(found.docs, found.given, size), _summed(found.docs, shares[found.owner], size), found)


def _compiled(corpus: Corpus, terms: NDArray[np.uint32]) -> Lexical:
    """The same in one call."""
    assert native.compiled is not None
    segments = tuple(
        (of.terms, of.starts, of.docs, of.counts, len(segment))
        for segment in corpus.segments
        for of in (segment.postings_of(terms),)
    )
    score, covered = np.zeros((2, len(corpus.ids)), np.float32)
    alive, numbers = None if corpus.all_alive else corpus.alive, (corpus.count, BACKGROUND, K1 + 1)
    told = native.compiled.match(
        terms, segments, corpus.length_norm, alive, common_arrays(), numbers, score, covered
    )
    weights, owner, docs, given = map(np.frombuffer, told, (np.float32, np.intp, np.intp, np.float32))
    return Lexical(score, covered, Matches(terms, weights, owner, docs, given))


def _summed(docs: NDArray[np.intp], given: Floats, size: int) -> Floats:
    """What each memory is given in all. Not by `bincount`, which makes numbers of twice the size first."""
    total = np.zeros(size, np.float32)
    np.add.at(total, docs, given)
    return total


def match(corpus: Corpus, terms: NDArray[np.uint32]) -> Matches:
    owner, docs, counts = postings(corpus, terms)
    weights = weights_of(terms, corpus.count, frequencies(corpus, terms, owner, docs)).astype(np.float32)
    given = (weights * np.float32(K1 + 1))[owner] * counts
    given /= counts + corpus.length_norm[docs]
    return Matches(terms, weights, owner, docs, given)


def postings(corpus: Corpus, terms: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Which of the terms is in which memories, numbered through all segments, and how often."""
    owner: list[NDArray[np.intp]] = []
    docs: list[NDArray[np.integer[Any]]] = []
    counts: list[Floats] = [np.empty(0, np.float32)]
    start, numbers = 0, np.arange(len(terms))
    for segment in corpus.segments:
        of = segment.postings_of(terms)
        begin, count = of.where(terms)
        owner.append(numbers.repeat(count))
        for first, last in zip(begin.tolist(), (begin + count).tolist(), strict=True):
            docs.append(of.docs[first:last] + start if start else of.docs[first:last])
            counts.append(of.counts[first:last])
        start += len(segment)
    places = np.concatenate([np.empty(0, np.intp), *docs], dtype=np.intp)
    return np.concatenate(owner), places, np.concatenate(counts)


def frequencies(
    corpus: Corpus, terms: NDArray[np.uint32], owner: NDArray[np.intp], docs: NDArray[np.intp]
) -> NDArray[np.int64]:
    """In how many living memories of the scope each term is."""
    if corpus.frequencies is not None:
        return np.array([corpus.frequencies.get(term, 0) for term in terms.tolist()], np.int64)
    living = owner if corpus.all_alive else owner[corpus.alive[docs]]
    return np.bincount(living, minlength=len(terms))

"""Search a scope too large to keep in memory: candidates from the engine, the same scoring after that.

Lexical candidates come from the full-text index, rarest words first; semantic ones are the nearest vectors, by a
scan in blocks or by the engine's own index. The scope's own counts are asked from the engine, so a memory scores
as it would have in memory; a test compares the two. They are kept until the org's change log moves on.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from clew.recall.corpus import Corpus
from clew.recall.lexical import asked_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.model.scope import Reach
    from clew.ports import Store, Tx
    from clew.recall.recall import Reader

MAX_LEXICAL = 3_000  # stop adding commoner words once this many memories were named
MAX_SEMANTIC = 500
MAX_NEWEST = 1_000  # of each layer; the most one recall may ask for
MAX_COUNTED = 100  # reaches of one store whose counts are kept

_counted: WeakKeyDictionary[Store, dict[Reach, tuple[int, tuple[int, int]]]] = WeakKeyDictionary()


def corpus_of_candidates(
    text: str, vector: NDArray[np.float32] | None, reach: Reach, reader: Reader, notes: dict[str, object]
) -> Corpus:
    notes["read_model"] = "scope too large: searched on disk"
    with reader.store.read() as tx:
        size, total_length = _size(tx, reach, reader.store)
        rows, frequencies = _lexical(tx, reach, text)
        if vector is not None and vector.any() and reader.embedder is not None:
            rows |= _nearest(tx, reach, reader.embedder.space.key, vector)
        rows |= set(tx.index.newest(reach, limit=MAX_NEWEST))
        segment = reader.corpora.load(tx, reach, sorted(rows))
    return Corpus(
        (segment,),
        np.ones(len(segment), np.bool_),
        seq=0,
        size=size,
        total_length=float(total_length),
        frequencies=frequencies,
    )


def with_memories(corpus: Corpus, ids: list[str], reach: Reach, reader: Reader) -> Corpus:
    """The candidates and these, which the graph led to."""
    new = sorted(set(ids).difference(corpus.places_of(ids)))
    with reader.store.read() as tx:
        segment = reader.corpora.load_ids(tx, reach, new)
    alive = np.concatenate([corpus.alive, np.ones(len(segment), np.bool_)])
    return replace(corpus, segments=(*corpus.segments, segment), alive=alive)


def _size(tx: Tx, reach: Reach, store: Store) -> tuple[int, int]:
    """Memories in reach and the sum of their lengths. To count them reads the whole scope."""
    last, counted = tx.changes.last(reach.org), _counted.setdefault(store, {})
    kept = counted.get(reach)
    if kept is not None and kept[0] == last:
        return kept[1]
    size = tx.index.size(reach)
    if len(counted) >= MAX_COUNTED:
        counted.clear()
    counted[reach] = last, size
    return size


def _lexical(tx: Tx, reach: Reach, text: str) -> tuple[set[int], dict[int, int]]:
    """Rows that have the query's words, rarest word first, and how many memories have each word."""
    matches = {term: tx.index.matching(reach, term) for term in asked_terms(text)}
    rows: set[int] = set()
    for term in sorted(matches, key=lambda term: len(matches[term])):
        if rows and len(rows) + len(matches[term]) > MAX_LEXICAL:
            break
        rows.update(matches[term][:MAX_LEXICAL])
    return rows, {term: len(found) for term, found in matches.items()}


def _nearest(tx: Tx, reach: Reach, space: str, vector: NDArray[np.float32]) -> set[int]:
    """However many are as near as the last: no more than wanted."""
    [found] = tx.index.nearest(reach, space, vector[None], limit=MAX_SEMANTIC)
    return set(heapq.nlargest(MAX_SEMANTIC, found, key=lambda row: (found[row], row)))

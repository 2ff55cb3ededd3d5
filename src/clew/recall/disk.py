"""Search a scope too large to keep in memory: candidates from the engine, the same scoring after that.

Lexical candidates come from the full-text index, rarest words first; semantic ones are the nearest vectors, by the
engine's own index, from memory where there is room for the vectors alone, or by a scan in blocks. The scope's own
counts are asked from the engine, so a memory scores as it would have in memory; a test compares the two. They and
the newest memories, for which the whole scope is read, are kept until something in the org changes; those of a
large scope until a thousandth of it may have. Where only some are asked for, by type, tag or whose they are, the
newest of these come along.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from clew.model.memory import Filter
from clew.recall.corpus import Corpus
from clew.recall.lexical import asked_of

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.model.recalled import RecallOptions
    from clew.model.scope import Reach
    from clew.ports import Store, Tx
    from clew.recall.recall import Reader
    from clew.recall.segment import Segment

MAX_LEXICAL = 3_000  # stop adding commoner words once this many memories were named
MAX_SEMANTIC = 500
MAX_NEWEST = 1_000  # of each layer; the most one recall may ask for
MAX_LOOKED_THROUGH = 100  # reaches of one store of which that is kept
COUNT_AFTER = 0.001  # changes as a share of the scope: whether it has 100,000 or 100,100 memories moves no score


class _Scope(NamedTuple):
    """What takes a look at a whole scope to know."""

    seq: int  # of the change after which it was looked at
    counted: int  # of the change after which it was counted
    size: int  # memories in reach
    total_length: int
    newest: frozenset[int]  # rows
    hidden: frozenset[int]  # rows of those that whoever asks may not read: the full-text index knows no labels


_looked_through: WeakKeyDictionary[Store, dict[Reach, _Scope]] = WeakKeyDictionary()


def corpus_of_candidates(
    text: str, vector: NDArray[np.float32] | None, reach: Reach, reader: Reader, notes: dict[str, object]
) -> Corpus:
    notes["read_model"] = "scope too large: searched on disk; a larger recall.read_model_mb keeps it in memory"
    with reader.store.read() as tx:
        scope = _scope(tx, reach, reader)
        rows, frequencies = _lexical(tx, reach, text, scope.hidden)
        rows |= scope.newest
        segment = _with_nearest(tx, reach, reader, vector, scope, rows)
    return Corpus(
        (segment,),
        np.ones(len(segment), np.bool_),
        seq=0,
        size=scope.size,
        total_length=float(scope.total_length),
        frequencies=frequencies,
    )


def with_asked_for(corpus: Corpus, options: RecallOptions, reach: Reach, reader: Reader, now: datetime) -> Corpus:
    """The candidates and the newest of those that a filter leaves, of which the others may have none."""
    wanted = Filter(
        types=options.types,
        tags=options.tags,
        agent=options.agent,
        session=options.session,
        namespace=options.namespace,
        superseded=options.include_superseded or options.as_of is not None,
    )
    if wanted.is_empty:
        return corpus
    with reader.store.read() as tx:
        found = tx.memories.find(reach, wanted, now=now, limit=MAX_NEWEST)
    return with_memories(corpus, [memory.id for memory in found], reach, reader)


def with_memories(corpus: Corpus, ids: list[str], reach: Reach, reader: Reader) -> Corpus:
    """The candidates and these, which the graph or a filter led to."""
    new = sorted(set(ids).difference(corpus.places_of(ids)))
    if not new:
        return corpus
    with reader.store.read() as tx:
        segment = reader.corpora.load_ids(tx, reach, new)
    alive = np.concatenate([corpus.alive, np.ones(len(segment), np.bool_)])
    return replace(corpus, segments=(*corpus.segments, segment), alive=alive)


def _scope(tx: Tx, reach: Reach, reader: Reader) -> _Scope:
    last, kept = tx.changes.last(reach.org), _looked_through.setdefault(reader.store, {})
    known = kept.get(reach)
    if known is not None and known.seq == last:
        return known
    hidden = frozenset(tx.guarding.hidden_rows(reach) if reach.by_label else ())
    found = known and _caught_up(tx, reach, reader, known, last)
    if found is None:
        size, total_length = tx.index.size(reach)
        newest = frozenset(tx.index.newest(reach, limit=MAX_NEWEST))
        found = _Scope(last, last, size, total_length, newest, hidden)
    if len(kept) >= MAX_LOOKED_THROUGH:
        kept.clear()
    kept[reach] = found._replace(hidden=hidden, newest=found.newest - hidden)
    return kept[reach]


def _caught_up(tx: Tx, reach: Reach, reader: Reader, known: _Scope, last: int) -> _Scope | None:
    """With what changed among the newest; None where so much has that it is counted anew."""
    most = int(known.size * COUNT_AFTER)
    changes = tx.changes.since(reach.org, known.seq, limit=most) if last - known.counted <= most else None
    if changes is None:
        return None
    ids = sorted({change.id for change in changes if change.kind == "memory"})
    changed = reader.corpora.load_ids(tx, reach, ids).row.tolist() if ids else ()
    return known._replace(seq=last, newest=known.newest.union(changed))


def _lexical(tx: Tx, reach: Reach, text: str, hidden: frozenset[int]) -> tuple[set[int], dict[int, int]]:
    """Rows that have the query's words, rarest word first, and how many memories have each word."""
    matches = {term: tx.index.matching(reach, term) for term in asked_of(text)[0]}
    if hidden:
        matches = {term: [row for row in found if row not in hidden] for term, found in matches.items()}
    rows: set[int] = set()
    for term in sorted(matches, key=lambda term: len(matches[term])):
        if rows and len(rows) + len(matches[term]) > MAX_LEXICAL:
            break
        rows.update(matches[term][:MAX_LEXICAL])
    return rows, {term: len(found) for term, found in matches.items()}


def _with_nearest(
    tx: Tx, reach: Reach, reader: Reader, vector: NDArray[np.float32] | None, scope: _Scope, rows: set[int]
) -> Segment:
    """The candidates by words and the nearest by meaning. Vectors that are kept alone may be of what is gone: it
    goes from there, and others are looked for in its place."""
    if vector is None or not vector.any() or reader.embedder is None:
        return reader.corpora.load(tx, reach, sorted(rows))
    while True:
        nearest = _nearest(tx, reach, reader, vector, scope)
        segment = reader.corpora.load(tx, reach, sorted(rows | nearest))
        gone = nearest.difference(segment.row.tolist())
        if not gone or not reader.corpora.alone.drop(reach, gone):
            return segment


def _nearest(tx: Tx, reach: Reach, reader: Reader, vector: NDArray[np.float32], scope: _Scope) -> set[int]:
    """However many are as near as the last: no more than wanted."""
    assert reader.embedder is not None
    if not tx.index.finds_nearest:
        kept = reader.corpora.alone.nearest(
            tx, reach, vector, size=scope.size, without=scope.hidden, limit=MAX_SEMANTIC
        )
        if kept is not None:
            return kept
    [found] = tx.index.nearest(reach, reader.embedder.space.key, vector[None], limit=MAX_SEMANTIC)
    return set(heapq.nlargest(MAX_SEMANTIC, found, key=lambda row: (found[row], row)))

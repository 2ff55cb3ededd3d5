"""The true nearest memories of a memory, by the meaning of their texts.

In: memories with their vectors. Out: for each the `limit` nearest that it may know of, nearest first. A memory sees
no further than its own scope: what all share never gets to know of what is somebody's own. Left out are itself and
whatever is forgotten, expired, superseded or no longer valid; rules and working memories count like all others.
Exact: memories of one scope share one product of matrices over the read model, and a scope too large for it is
looked through in blocks; only there an engine's index of vectors may serve, and miss one in a hundred. Equals come
in one order: who changed last first, then by id. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.model.memory import Memory
from clew.model.relation import Neighbour
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.recall.fuse import semantic_relevance
from clew.recall.lexical import asked_terms, score_terms
from clew.remember.prepare import embedding_text
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.model.space import VectorSpace
    from clew.ports import Store, Tx
    from clew.recall.corpus import Corpora, Corpus

Floats = NDArray[np.float32]
DIGITS = 6  # what lies behind them depends on where in a matrix a vector lies
LAST = 0.01  # of the scale is left to tell those apart that all count as the same
AT_ONCE = 32  # memories that share a product: their scores for the whole scope are in memory
SPARE = 64  # more than are wanted: of those on disk some are over


class Asked(NamedTuple):
    memory: Memory
    vector: Floats


@dataclass(frozen=True, slots=True)
class Near:
    """What neighbours are looked for in."""

    store: Store
    corpora: Corpora
    space: VectorSpace

    def similarities(self, cosines: Iterable[float]) -> list[float]:
        """On the calibrated scale, at whose upper end the nearest still come first."""
        found = np.array(list(cosines), np.float32)
        scaled = semantic_relevance(found, self.space)
        if self.space.same < 1:
            away = (1 - found) / np.float32(1 - self.space.same)  # 1 for what counts as the same, 0 for equal texts
            scaled = np.minimum(scaled, 1 - np.float32(LAST) * np.clip(away, 0, 1))
        return [round(score, DIGITS) for score in scaled.tolist()]


def nearest(asked: Sequence[Asked], near: Near, *, limit: int, now: datetime) -> dict[str, list[Neighbour]]:
    """By the id of who asked. Whoever has nothing to compare has no neighbours."""
    found: dict[str, list[Neighbour]] = {one.memory.id: [] for one in asked}
    told = [one for one in asked if limit and one.vector.any()]
    for reach, group in _by_reach(told).items():
        for start in range(0, len(group), AT_ONCE):
            found |= _of_one_reach(group[start : start + AT_ONCE], reach, near, limit=limit, now=now)
    return found


def _by_reach(asked: Iterable[Asked]) -> dict[Reach, list[Asked]]:
    groups: dict[Reach, list[Asked]] = {}
    for one in asked:
        groups.setdefault(Reach.of(one.memory.scope), []).append(one)
    return groups


def _of_one_reach(
    asked: Sequence[Asked], reach: Reach, near: Near, *, limit: int, now: datetime
) -> dict[str, list[Neighbour]]:
    corpus = near.corpora.get(reach)
    with near.store.read() as tx:
        if corpus is None:
            return _on_disk(tx, asked, reach, near, limit=limit, now=now)
        ranked = _in_memory(corpus, asked, limit=limit, now=now)
        memories = tx.memories.get_many(reach, sorted({id for best in ranked for id, _cosine in best}))
        rows = {id: tx.memories.row_of(memory) for id, memory in memories.items()}
    found = {}
    for one, best in zip(asked, ranked, strict=True):
        scores = near.similarities(cosine for _id, cosine in best)
        pairs = zip((id for id, _cosine in best), scores, strict=True)
        found[one.memory.id] = [Neighbour(memories[id], rows[id], score) for id, score in pairs if id in memories]
    return found


# -- in memory -------------------------------------------------------------------------------------


def _in_memory(
    corpus: Corpus, asked: Sequence[Asked], *, limit: int, now: datetime
) -> list[list[tuple[str, float]]]:
    """(id, cosine) of the nearest of each."""
    vectors = np.stack([one.vector for one in asked])
    blocks = [vectors @ block.T for segment in corpus.segments for block in segment.vectors.blocks()]
    cosines = np.concatenate(blocks, axis=1).round(DIGITS)
    current = _current(corpus, now) & corpus.has_vector
    itself = corpus.places_of([one.memory.id for one in asked])
    found = []
    for one, scores in zip(asked, cosines, strict=True):
        allowed = current.copy()
        if (own := itself.get(one.memory.id)) is not None:
            allowed[own] = False
        found.append(_best(corpus, scores, np.flatnonzero(allowed), limit))
    return found


def _current(corpus: Corpus, now: datetime) -> NDArray[np.bool_]:
    moment = to_micros(now)
    lasting = (corpus.invalid_at > moment) & (corpus.expires_at > moment)
    return np.asarray(corpus.alive & ~corpus.superseded & lasting)


def _best(corpus: Corpus, scores: Floats, places: NDArray[np.int64], limit: int) -> list[tuple[str, float]]:
    """All that are as near as the last one wanted are put in order before the cut."""
    if len(places) > limit:
        least = np.partition(scores[places], -limit)[-limit]
        places = places[scores[places] >= least]
    ordered = sorted(places.tolist(), key=lambda at: (-scores[at], -corpus.updated_at[at], corpus.ids[at]))
    return [(corpus.ids[at], float(scores[at])) for at in ordered[:limit]]


def sharing_words(memory: Memory, corpora: Corpora, *, limit: int, now: datetime) -> list[str]:
    """Ids of the memories that share most words with one, for when there are no vectors; none where the scope is
    too large to keep."""
    corpus = corpora.get(Reach.of(memory.scope))
    if corpus is None or not limit:
        return []
    scores = score_terms(corpus, asked_terms(embedding_text(memory.title, memory.content))).score.round(DIGITS)
    allowed = _current(corpus, now) & (scores > 0)
    for own in corpus.places_of([memory.id]).values():
        allowed[own] = False
    return [id for id, _score in _best(corpus, scores, np.flatnonzero(allowed), limit)]


# -- on disk ---------------------------------------------------------------------------------------


def _on_disk(
    tx: Tx, asked: Sequence[Asked], reach: Reach, near: Near, *, limit: int, now: datetime
) -> dict[str, list[Neighbour]]:
    """Rows say nothing of what is over: more are taken than are wanted, and again as many if too few are left."""
    found: dict[str, list[Neighbour]] = {}
    wanted, left = 2 * limit + SPARE, list(asked)
    while left:
        vectors = np.stack([one.vector for one in left])
        scanned = tx.index.nearest(reach, near.space.key, vectors, limit=wanted)
        for one, best in zip(left, scanned, strict=True):
            found[one.memory.id] = _living(tx, one.memory, best, near, limit=limit, now=now)
        left = [
            one for one, best in zip(left, scanned, strict=True)
            if len(found[one.memory.id]) < limit and len(best) >= wanted
        ]  # fmt: skip
        wanted *= 4
    return found


def _living(
    tx: Tx, memory: Memory, rows: Mapping[int, float], near: Near, *, limit: int, now: datetime
) -> list[Neighbour]:
    """Those that still hold; equally near ones are read together and put in order."""
    found: list[Neighbour] = []
    for cosine, equals in groupby(sorted(rows, key=lambda row: -rows[row]), key=lambda row: rows[row]):
        if len(found) >= limit:
            break
        read = [(other, row) for row in equals if (other := tx.graph.memory_at(memory.org, row))]
        holding = [(other, row) for other, row in read if other.id != memory.id and is_current(other, now)]
        holding.sort(key=lambda pair: (-to_micros(pair[0].updated_at), pair[0].id))
        [similarity] = near.similarities([cosine])
        found += [Neighbour(other, row, similarity) for other, row in holding]
    return found[:limit]


def is_current(memory: Memory, now: datetime) -> bool:
    """Whether it may be related to others at all."""
    is_over = any(end is not None and end <= now for end in (memory.expires_at, memory.invalid_at))
    return not is_over and memory.deleted_at is None and memory.superseded_by is None

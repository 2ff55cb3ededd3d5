"""The vectors alone of scopes that are too large to keep whole: a quarter of the memory, and the nearest are found
without reading all of them from the disk for every question.

Kept current by the change log: of a row that changed only its newest vector counts. A row that is found here is a
candidate and no more: it is read from the store, and scored by what stands there. One that is not found there is
handed back (`drop`) and counts for nothing from then on.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.recall.among import are_among
from clew.recall.segment import build_segment
from clew.recall.vectors import UNIT, Vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clew.model.scope import Reach
    from clew.ports import Tx

MAX_SCOPES = 4
MAX_TURNS = 64  # scopes of which one reads while others wait
MAX_CHANGES = 4_096  # that are looked up one by one; after more, all are read anew
ROW = 8  # bytes of a row's number
MAX_RECENT = 16  # parts of a few vectors that stand by themselves until they are put together


class _Part(NamedTuple):
    rows: NDArray[np.int64]
    vectors: Vectors


class _Kept(NamedTuple):
    """The vectors of one scope, as of a change. What counts no more has a vector of zeros."""

    seq: int
    parts: tuple[_Part, ...]  # as they were read
    recent: tuple[_Part, ...]  # what changed since, the newest last

    @property
    def all(self) -> tuple[_Part, ...]:
        return (*self.parts, *self.recent)

    @property
    def nbytes(self) -> int:
        return sum(part.rows.nbytes + part.vectors.nbytes for part in self.all)

    def blank(self, rows: Collection[int]) -> None:
        """In place: whoever looks meanwhile finds a candidate more or less."""
        gone = np.fromiter(rows, np.int64, len(rows))
        for part in self.all:
            part.vectors.rows[are_among(part.rows, gone)] = 0


class VectorsAlone:
    """Of the scopes that were asked last. Thread-safe."""

    def __init__(self, *, space: str, dim: int, max_bytes: int) -> None:
        self._space = space
        self._dim = dim
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Reach, _Kept] = OrderedDict()
        self._reading: dict[Reach, threading.Lock] = {}  # whoever else asks there would read the same
        self._lock = threading.Lock()

    def nearest(
        self,
        tx: Tx,
        reach: Reach,
        vector: NDArray[np.float32],
        *,
        size: int,
        without: Collection[int],
        limit: int,
    ) -> set[int] | None:
        """The rows of the nearest of so many memories in reach, but for those `without`; None where they cannot be
        kept."""
        if size * (ROW + self._dim * (2 if native.compiled else 4)) > self._max_bytes:
            return None
        whole = _whole(reach)
        with self._turn(whole):
            kept = self._current(tx, whole)
        return None if kept is None else _nearest(kept, vector, without, limit)

    def drop(self, reach: Reach, rows: Collection[int]) -> bool:
        """What was found here and is not there any more; False where nothing is kept."""
        whole = _whole(reach)
        with self._turn(whole):
            kept = self._kept.get(whole)
            if kept is not None:
                kept.blank(rows)
        return kept is not None

    def _turn(self, reach: Reach) -> threading.Lock:
        with self._lock:
            if len(self._reading) > MAX_TURNS:
                self._reading.clear()
            return self._reading.setdefault(reach, threading.Lock())

    def _current(self, tx: Tx, reach: Reach) -> _Kept | None:
        known, last = self._kept.get(reach), tx.changes.last(reach.org)
        if known is None or known.seq != last:
            known = (known and self._caught_up(tx, reach, known, last)) or self._read(tx, reach, last)
        with self._lock:
            self._kept.pop(reach, None)
            if known is not None:
                self._kept[reach] = known
                self._make_room()
        return known

    def _make_room(self) -> None:
        """The least recently asked go first."""
        nbytes = sum(kept.nbytes for kept in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > MAX_SCOPES or nbytes > self._max_bytes):
            nbytes -= self._kept.popitem(last=False)[1].nbytes

    def _read(self, tx: Tx, reach: Reach, seq: int) -> _Kept | None:
        parts: list[_Part] = []
        for block in tx.index.vectors(reach, self._space):
            size = 2 * self._dim
            vectors = Vectors.packed([blob for _row, blob in block if len(blob) == size], self._dim)
            if vectors.unit != UNIT or len(vectors) != len(block):
                return None
            parts.append(_Part(np.array([row for row, _blob in block], np.int64), vectors))
        return _Kept(seq, tuple(parts), ())

    def _caught_up(self, tx: Tx, reach: Reach, known: _Kept, seq: int) -> _Kept | None:
        """None where so much has changed that it is read anew."""
        changes = tx.changes.since(reach.org, known.seq, limit=MAX_CHANGES)
        if changes is None or _size(known.recent) > _size(known.parts) // 4 + MAX_CHANGES:
            return None
        ids = sorted({change.id for change in changes if change.kind == "memory"})
        segment = build_segment(tx.index.rows_by_id(reach, ids, self._space), self._dim)
        if segment.vectors.unit != UNIT:
            return None
        here = np.flatnonzero(segment.has_vector)
        known.blank(segment.row.tolist())
        new = _Part(segment.row[here], Vectors(segment.vectors.rows.take(here, axis=0), UNIT))
        recent = (*known.recent, new)
        return known._replace(seq=seq, recent=recent if len(recent) <= MAX_RECENT else (_together(recent),))


def _whole(reach: Reach) -> Reach:
    """What a label hides from one who asks is left out for that one alone."""
    return replace(reach, labels=None, hidden=None, by_label=False)


def _size(parts: Iterable[_Part]) -> int:
    return sum(len(part.rows) for part in parts)


def _together(parts: tuple[_Part, ...]) -> _Part:
    vectors = np.concatenate([part.vectors.rows for part in parts])
    return _Part(np.concatenate([part.rows for part in parts]), Vectors(vectors, UNIT))


def _nearest(kept: _Kept, vector: NDArray[np.float32], without: Collection[int], limit: int) -> set[int]:
    """Of equals the newest, as many as wanted; of what is not like the question at all none."""
    if not kept.all:
        return set()
    rows = np.concatenate([part.rows for part in kept.all])
    cosines = np.concatenate([part.vectors.cosines(vector) for part in kept.all])
    if without:
        cosines[are_among(rows, np.fromiter(without, np.int64, len(without)))] = 0
    if len(cosines) > limit:
        best = np.flatnonzero(cosines >= np.partition(cosines, -limit)[-limit])
        rows, cosines = rows[best], cosines[best]
    rows = rows[np.lexsort((-rows, -cosines))]
    return set(rows[: min(limit, np.count_nonzero(cosines > 0))].tolist())

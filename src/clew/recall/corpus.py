"""The read model: what one reach sees, as segments in memory, kept current by the change log.

A corpus is a large segment, a small one for what changed since, and a mask for what is gone. It is never
edited: a change makes a new corpus that shares the large segment. Rebuilt at any time, dropped when memory
runs short, and never a copy of a whole store: a scope too large to keep is searched on disk instead.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from clew.recall.alone import VectorsAlone
from clew.recall.among import are_among
from clew.recall.lexical import K1, B
from clew.recall.question import name_terms
from clew.recall.segment import MAX_DOCS, Segment, build_segment, following, members_of
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from clew.model.scope import Reach
    from clew.model.space import VectorSpace
    from clew.ports import Row, Store, Tx
    from clew.recall.holding import Held

MAX_DELTA = 512  # more changes than this and a rebuild is cheaper than carrying them
BYTES_BESIDE_VECTOR = 1_024  # of one memory: some 60 terms, bookkeeping
MAX_CORPORA = 256  # however small: a scope that was asked about once should not stay for good
LOOK_AGAIN_AFTER = 1_000  # changes before a scope that was too large is tried again


@dataclass(frozen=True, eq=False)
class Corpus:
    """Everything search may look at. Arrays are in one order: segment after segment."""

    segments: tuple[Segment, ...]
    alive: NDArray[np.bool_]
    seq: int
    # Set for a corpus of candidates, whose own numbers are not those of the scope.
    size: int | None = None
    total_length: float | None = None
    frequencies: dict[int, int] | None = None
    checked: dict[int, int] = field(default_factory=dict)
    changed: Mapping[str, Row] = field(default_factory=dict)  # the rows of what changed since the large segment
    held: dict[tuple[bool, bool], Held] = field(init=False, default_factory=dict)  # see holding.py
    marks: dict[int, NDArray[np.bool_]] = field(init=False, default_factory=dict)
    seen: dict[Reach, Corpus | None] = field(init=False, default_factory=dict)  # by those who may see less of it

    def __post_init__(self) -> None:
        for name in ("layer", "type", "valid_at", "invalid_at", "expires_at", "superseded", "untold", "updated_at",
                     "weight", "row", "author", "thread", "length", "has_vector"):  # fmt: skip
            joined = np.concatenate([getattr(segment, name) for segment in self.segments])
            object.__setattr__(self, name, joined)
        object.__setattr__(self, "ids", list(chain.from_iterable(segment.ids for segment in self.segments)))

    layer: NDArray[np.int8] = field(init=False)
    type: NDArray[np.int8] = field(init=False)
    valid_at: NDArray[np.int64] = field(init=False)
    invalid_at: NDArray[np.int64] = field(init=False)
    expires_at: NDArray[np.int64] = field(init=False)
    superseded: NDArray[np.bool_] = field(init=False)
    untold: NDArray[np.bool_] = field(init=False)
    updated_at: NDArray[np.int64] = field(init=False)
    weight: NDArray[np.float64] = field(init=False)
    row: NDArray[np.int64] = field(init=False)
    author: NDArray[np.uint32] = field(init=False)
    thread: NDArray[np.uint32] = field(init=False)
    length: NDArray[np.float32] = field(init=False)
    has_vector: NDArray[np.bool_] = field(init=False)
    ids: list[str] = field(init=False)

    @cached_property
    def count(self) -> int:
        """Memories in scope."""
        return self.living if self.size is None else self.size

    @cached_property
    def all_alive(self) -> bool:
        return bool(self.alive.all())

    @cached_property
    def length_norm(self) -> NDArray[np.float32]:
        """What BM25 adds to a count: by each memory's length over the scope's mean."""
        relative = self.length / np.float32(max(1.0, self.mean_length))
        return np.float32(K1 * (1 - B)) + np.float32(K1 * B) * relative

    @cached_property
    def weights(self) -> NDArray[np.float32] | None:
        """What each memory's rank is multiplied by; None while nothing has been learnt."""
        return None if (self.weight == 1.0).all() else self.weight.astype(np.float32)

    @cached_property
    def by_layer(self) -> dict[int, NDArray[np.intp] | None]:
        """The places of each layer that has any; None stands for all places."""
        present = np.flatnonzero(np.bincount(self.layer)).tolist() if len(self.layer) else []
        if len(present) == 1:
            return {present[0]: None}
        return {layer: np.flatnonzero(self.layer == layer) for layer in present}

    @cached_property
    def with_vector(self) -> int:
        """Living memories that have a vector."""
        return int(np.count_nonzero(self.has_vector & self.alive))

    @cached_property
    def named(self) -> dict[int, set[int]]:
        """Terms that name an author: the hashes of the authors they name."""
        found: dict[int, set[int]] = {}
        for segment in self.segments:
            for name in segment.authors:
                for term in name_terms(name):
                    found.setdefault(term, set()).add(crc32(name.encode("utf-8", "surrogatepass")))
        return found

    @cached_property
    def neighbours(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places before and after each memory in its thread, -1 for none. One more stands for no memory, and
        has none. The large segment knows those of its own; only what changed since is put in order anew."""
        base = self.segments[0]
        before, after = np.full((2, len(self.ids) + 1), -1, np.int64)
        before[: len(base)], after[: len(base)] = base.before, base.after
        changed = ~self.alive
        changed[len(base) :] = True
        touched = self.thread[changed & (self.thread != 0)]
        if len(touched):
            members = members_of(touched, self.thread)
            before[members] = after[members] = -1
            members = members[self.alive[members]]
            first, second = following(members, self.thread, self.valid_at, self.row)
            before[second], after[first] = first, second
        return before, after

    @cached_property
    def is_threaded(self) -> bool:
        """Whether any memory belongs to a thread: what an agent notes by itself seldom does, conversations do."""
        return bool(self.thread.any())

    @cached_property
    def titles(self) -> list[str] | None:
        """None where no memory has one."""
        if not any(segment.is_titled for segment in self.segments):
            return None
        return list(chain.from_iterable(segment.titles for segment in self.segments))

    @cached_property
    def mean_length(self) -> float:
        total = float(self.length[self.alive].sum()) if self.total_length is None else self.total_length
        return total / max(1, self.count)

    @cached_property
    def living(self) -> int:
        return int(np.count_nonzero(self.alive))

    def terms_at(self, place: int) -> NDArray[np.uint32]:
        """The terms of the memory that stands there."""
        for segment in self.segments:
            if place < len(segment):
                return segment.said[segment.said_from[place] : segment.said_from[place + 1]]
            place -= len(segment)
        raise IndexError(place)

    def sort_terms(self, *, small_too: bool = True) -> None:
        """For whoever asks again. The small segment has to be asked twice itself: the next write replaces it."""
        for segment in self.segments if small_too else self.segments[:1]:
            segment.sort_terms()

    def vectors_of(self, places: NDArray[np.int64]) -> NDArray[np.float32] | NDArray[np.int16]:
        """The same for what is compiled; or all, where they are whole numbers in one piece."""
        rows = self.segments[0].vectors.rows
        return rows if len(self.segments) == 1 and rows.dtype == np.int16 else self.vectors_at(places)

    def vectors_at(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of the memories that stand there; zero for those that have none."""
        if len(self.segments) == 1:
            return self.segments[0].vectors.floats(places)
        found = np.empty((len(places), self.segments[0].vectors.dim), np.float32)
        start = 0
        for segment in self.segments:
            here = (places >= start) & (places < start + len(segment))
            found[here] = segment.vectors.floats(places[here] - start)
            start += len(segment)
        return found

    def marked(self, mark: int) -> NDArray[np.bool_]:
        """Which memories carry a mark."""
        if mark not in self.marks:
            self.marks[mark] = np.concatenate([segment.marked(mark) for segment in self.segments])
        return self.marks[mark]

    def places_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Where these memories stand in the arrays, if they are alive here."""
        found: dict[str, int] = {}
        start = 0
        for segment in self.segments:
            index = segment.index()
            here = {id: start + at for id in ids if (at := index.get(id)) is not None}
            found |= here if self.all_alive else {id: at for id, at in here.items() if self.alive[at]}
            start += len(segment)
        return found

    @cached_property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments)


class Corpora:
    """Corpora by reach; the least recently used go first."""

    def __init__(self, store: Store, *, space: VectorSpace | None, max_bytes: int) -> None:
        self._store = store
        self._space = space.key if space else ""
        self._dim = space.dim if space else 1
        self._max_bytes = max_bytes
        self.alone = VectorsAlone(space=self._space, dim=self._dim, max_bytes=max_bytes)
        self._kept: OrderedDict[Reach, Corpus] = OrderedDict()
        self._lock = threading.Lock()
        self._building: dict[Reach, threading.Lock] = {}
        self._too_large: dict[Reach, int] = {}  # by the change at which that was found

    def get(self, reach: Reach) -> Corpus | None:
        """The present corpus; None when the scope is too large to keep."""
        if reach.labels is None and reach.hidden is None:
            return self._get(reach)
        whole = self._get(replace(reach, labels=None, hidden=None, by_label=False))
        return self._seen(whole, reach) if whole is not None and reach.by_label else whole

    def _seen(self, whole: Corpus, reach: Reach) -> Corpus:
        """The corpus of someone who may not read every label: the others are as good as gone, so that nothing is
        counted, compared or placed by them. It shares the segments: there is no second copy of the memories."""
        if reach not in whole.seen:
            with self._store.read() as tx:
                hidden = tx.guarding.hidden_rows(reach)
            alive = whole.alive & ~are_among(whole.row, np.array(hidden, np.int64))
            whole.seen[reach] = replace(whole, alive=alive) if hidden else None  # not itself: that would be a cycle
        return whole.seen[reach] or whole

    def _get(self, reach: Reach) -> Corpus | None:
        connection, version = self._store.data_version()
        with self._lock:
            corpus = self._kept.get(reach)
            if corpus is not None:
                self._kept.move_to_end(reach)
            turn = self._building.setdefault(reach, threading.Lock())
        if corpus is not None and corpus.checked.get(connection) == version:
            corpus.sort_terms()
            return corpus
        with turn:
            fresh = self._refresh(reach)
        if fresh is None:
            with self._lock:
                self._building.pop(reach, None)
                self._kept.pop(reach, None)  # as it was before it outgrew its room
        else:
            if len(fresh.checked) > MAX_CORPORA:  # threads come and go
                fresh.checked.clear()
            fresh.checked[connection] = version
            self._keep(reach, fresh)
            if corpus is not None:
                fresh.sort_terms(small_too=fresh is corpus)
        return fresh

    def load(self, tx: Tx, reach: Reach, numbers: list[int]) -> Segment:
        """A segment of just these rows, for scopes searched on disk."""
        return build_segment(tx.index.rows_by_row(reach, numbers, self._space), self._dim)

    def load_ids(self, tx: Tx, reach: Reach, ids: list[str]) -> Segment:
        """The same by id."""
        return build_segment(tx.index.rows_by_id(reach, ids, self._space), self._dim)

    def _refresh(self, reach: Reach) -> Corpus | None:
        with self._lock:
            known = self._kept.get(reach)
        with self._store.read() as tx:
            last = tx.changes.last(reach.org)
            if known is not None and known.seq == last:
                return known
            if last - self._too_large.get(reach, -LOOK_AGAIN_AFTER) < LOOK_AGAIN_AFTER:
                return None
            changed = self._changed_ids(tx, reach, known) if known else None
            if known is None or changed is None:
                return self._build(tx, reach, last)
            return self._apply(tx, reach, known, changed, last)

    def _changed_ids(self, tx: Tx, reach: Reach, known: Corpus) -> set[str] | None:
        room = MAX_DELTA - sum(len(segment) for segment in known.segments[1:])
        changes = tx.changes.since(reach.org, known.seq, limit=4 * MAX_DELTA)
        if changes is None:
            return None
        ids = {
            change.id
            for change in changes
            if change.kind == "memory" and (reach.projects is None or change.project in reach.projects)
        }
        return ids if len(ids) <= room else None

    def _build(self, tx: Tx, reach: Reach, seq: int) -> Corpus | None:
        limit = min(MAX_DOCS - 1, max(1, self._max_bytes // (4 * self._dim + BYTES_BESIDE_VECTOR)))
        rows = tx.index.scope_rows(reach, self._space, limit=limit + 1)
        if len(rows) > limit:
            with self._lock:
                if len(self._too_large) >= MAX_CORPORA:  # the names of projects are anybody's
                    self._too_large.clear()
                self._too_large[reach] = seq
            return None
        segment = build_segment(rows, self._dim)
        return Corpus((segment,), np.ones(len(segment), np.bool_), seq)

    def _apply(self, tx: Tx, reach: Reach, known: Corpus, changed: set[str], seq: int) -> Corpus:
        """Carry everything that changed since the large segment was built in one small segment."""
        base = known.segments[0]
        rows = {id: row for id, row in known.changed.items() if id not in changed}
        rows |= {row[0]: row for row in tx.index.rows_by_id(reach, sorted(changed), self._space)}
        delta = build_segment([rows[id] for id in sorted(rows)], self._dim)
        index = base.index()
        alive = np.concatenate([known.alive[: len(base)], np.ones(len(delta), np.bool_)])
        alive[[index[id] for id in changed if id in index]] = False
        return Corpus((base, delta), alive, seq, changed=rows)

    def _keep(self, reach: Reach, corpus: Corpus) -> None:
        with self._lock:
            self._kept[reach] = corpus
            self._kept.move_to_end(reach)
            total = sum(kept.nbytes for kept in self._kept.values())
            while len(self._kept) > 1 and (total > self._max_bytes or len(self._kept) > MAX_CORPORA):
                least_used, dropped = self._kept.popitem(last=False)
                self._building.pop(least_used, None)
                total -= dropped.nbytes

"""A block of memories as arrays: what search needs of each, and nothing else. Immutable once built."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from clew.model.memory import LAYERS, TYPES
from clew.recall.outline import FURTHER, LARGE, LEADING, Outline, outline_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.ports import Row

NEVER = np.iinfo(np.int64).max
MAX_DOCS = 1 << 24  # of one segment; more are searched on disk
_LAYER = {name: code for code, name in enumerate(LAYERS)}
_TYPE = {name: code for code, name in enumerate(TYPES)}


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms in order; the documents of term i lie between starts[i] and starts[i + 1]."""

    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.float32]

    def of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        at = int(np.searchsorted(self.terms, np.uint32(term)))  # a plain int would widen the whole array
        if at == len(self.terms) or self.terms[at] != term:
            return self.docs[:0], self.counts[:0]
        return self.docs[self.starts[at] : self.starts[at + 1]], self.counts[self.starts[at] : self.starts[at + 1]]

    def where(self, terms: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the documents of each of these begin, and how many there are."""
        if not len(self.terms):
            return np.zeros(len(terms), np.int64), np.zeros(len(terms), np.int64)
        at = np.minimum(self.terms.searchsorted(terms), len(self.terms) - 1)
        begin = self.starts[at]
        count = np.where(self.terms[at] == terms, self.starts[at + 1] - begin, 0)
        return begin, count.astype(np.int64, copy=False)

    def at(self, begin: NDArray[np.int64], count: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every entry of such stretches: to which of them it belongs, and its place in `docs` and `counts`."""
        ends = count.cumsum()
        owner = np.arange(len(count), dtype=np.int64).repeat(count)
        return owner, np.asarray(np.arange(len(owner)) + (begin - (ends - count))[owner], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    ids: tuple[str, ...]
    layer: NDArray[np.int8]
    type: NDArray[np.int8]
    valid_at: NDArray[np.int64]
    invalid_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    superseded: NDArray[np.bool_]
    updated_at: NDArray[np.int64]
    weight: NDArray[np.float64]
    row: NDArray[np.int64]  # in the order in which they were written down
    titles: tuple[str, ...]
    author: NDArray[np.uint32]  # by hash; 0 for nobody
    thread: NDArray[np.uint32]
    before: NDArray[np.int32]  # the place of the memory before it in its thread; -1 for none
    after: NDArray[np.int32]
    authors: frozenset[str]
    length: NDArray[np.float32]
    postings: Postings
    said: NDArray[np.uint32]  # the terms of one memory after the other, as they were indexed
    said_from: NDArray[np.int64]  # where those of each begin; one more for the end
    vectors: NDArray[np.float32]  # (n, dim)
    has_vector: NDArray[np.bool_]
    _index: dict[str, int] = field(default_factory=dict)
    _outline: list[Outline] = field(default_factory=list)
    _questions: Iterator[int] = field(default_factory=count)

    def index(self) -> dict[str, int]:
        """Where each id stands; made when first asked for."""
        if not self._index:
            self._index.update({id: at for at, id in enumerate(self.ids)})
        return self._index

    @property
    def is_titled(self) -> bool:
        return any(self.titles)

    def outline(self) -> Outline | None:
        """For a first look at many vectors; None while they are few, or it is not there yet. The second question
        has it made in the background: a process that asks once has no use for it, and nobody waits for it."""
        if self._outline:
            return self._outline[0]
        if len(self) >= LARGE and self.vectors.shape[1] >= 2 * LEADING and next(self._questions) == 1:
            threading.Thread(target=self._make_outline, name="clew-outline", daemon=True).start()
        return None

    def _make_outline(self) -> None:
        with suppress(np.linalg.LinAlgError):  # vectors that are no numbers: all of them are compared each time
            self._outline.append(outline_of(self.vectors))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        arrays = (
            self.postings.terms,
            self.postings.starts,
            self.postings.docs,
            self.postings.counts,
            self.said,
            self.vectors,
        )
        outline = 4 * (LEADING + FURTHER) if len(self) >= LARGE else 0
        return sum(array.nbytes for array in arrays) + (150 + outline) * len(self.ids)


def build_segment(rows: Sequence[Row], dim: int) -> Segment:
    """From $segment_columns. A vector of another length than `dim` counts as missing."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 16
    ids, layer, type_, valid, invalid, expires, superseded, updated, weight, *columns = columns
    numbers, titles, authors, threads, length, terms, vectors = columns
    matrix, has_vector = _matrix(vectors, dim)
    thread, row = hashed(threads), np.array(numbers, np.int64)
    before, after = _neighbours(thread, np.array(valid, np.int64), row)
    sizes = [len(blob) // 5 for blob in terms]  # see model.memory.Indexed
    said = np.frombuffer(b"".join([blob[: 4 * size] for blob, size in zip(terms, sizes, strict=True)]), "<u4")
    return Segment(
        ids=tuple(ids),
        layer=np.array([_LAYER[name] for name in layer], np.int8),
        type=np.array([_TYPE[name] for name in type_], np.int8),
        valid_at=np.array(valid, np.int64),
        invalid_at=_or_never(invalid),
        expires_at=_or_never(expires),
        superseded=np.array(superseded, np.bool_),
        updated_at=np.array(updated, np.int64),
        weight=np.array(weight, np.float64),
        row=row,
        titles=titles,
        author=hashed(authors),
        thread=thread,
        before=before,
        after=after,
        authors=frozenset(authors) - {""},
        length=np.array(length, np.float32),
        postings=_postings(said, terms, sizes),
        said=said,
        said_from=np.array([0, *accumulate(sizes)], np.int64),
        vectors=matrix,
        has_vector=has_vector,
    )


def hashed(names: Sequence[str]) -> NDArray[np.uint32]:
    """The same number for the same name in every segment; 0 for no name."""
    known = {name: crc32(name.encode("utf-8", "surrogatepass")) for name in set(names)} | {"": 0}
    return np.array([known[name] for name in names], np.uint32)


def _neighbours(
    thread: NDArray[np.uint32], at: NDArray[np.int64], row: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What was said before and after each memory in its thread, by time and then as it was written down."""
    before, after = np.full((2, len(thread)), -1, np.int32)
    members = np.flatnonzero(thread)
    order = members[np.lexsort((row[members], at[members], thread[members]))].astype(np.int32)
    first, second = order[:-1], order[1:]
    together = thread[first] == thread[second]
    before[second[together]], after[first[together]] = first[together], second[together]
    return before, after


def _or_never(values: Sequence[int | None]) -> NDArray[np.int64]:
    return np.array([NEVER if value is None else value for value in values], np.int64)


def _matrix(blobs: Sequence[bytes | None], dim: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    has_vector = np.array([blob is not None and len(blob) == 2 * dim for blob in blobs], np.bool_)
    empty = bytes(2 * dim)
    joined = b"".join([blob if has else empty for blob, has in zip(blobs, has_vector, strict=True)])  # type: ignore[misc]
    halves = np.frombuffer(joined, "<f2").reshape(len(blobs), dim)
    return halves.astype(np.float32), has_vector


def _postings(hashes: NDArray[np.uint32], blobs: Sequence[bytes], sizes: Sequence[int]) -> Postings:
    """Sorted by term, then document. All three numbers travel in one integer: numpy sorts integers in a
    fraction of the time it takes to sort places."""
    counts = np.frombuffer(b"".join([blob[4 * size :] for blob, size in zip(blobs, sizes, strict=True)]), "u1")
    docs = np.repeat(np.arange(len(blobs), dtype=np.uint64), sizes)
    packed = np.sort(hashes.astype(np.uint64) << np.uint64(32) | docs << np.uint64(8) | counts)
    terms = (packed >> np.uint64(32)).astype(np.uint32)
    starts = np.flatnonzero(np.append(True, terms[1:] != terms[:-1])) if len(terms) else np.empty(0, np.int64)
    return Postings(
        terms=terms[starts],
        starts=np.append(starts, len(terms)),
        docs=((packed >> np.uint64(8)) & np.uint64(MAX_DOCS - 1)).astype(np.int32),
        counts=(packed & np.uint64(0xFF)).astype(np.float32),
    )

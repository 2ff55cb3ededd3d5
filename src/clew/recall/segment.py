"""A block of memories as arrays: what search needs of each, and nothing else. Immutable once built."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import field
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from clew.lazy import LazyModule
from clew.model.memory import LAYERS, TYPES
from clew.recall.among import distinct
from clew.recall.vectors import Vectors
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.ports import Row
    from clew.recall import outline
    from clew.recall.outline import Outline
else:
    outline = LazyModule("clew.recall.outline")  # of many vectors

LARGE = 32_000  # vectors; fewer are compared whole in the time that two looks take
LEADING = FURTHER = 64  # components; tools/first_look.py prints what more and fewer of them find and take
NEVER = np.iinfo(np.int64).max
MAX_DOCS = 1 << 24  # of one segment; more are searched on disk
COLUMNS, ROWS_AT_ONCE = 16, 2_048
SORTED_AT_ONCE = 1 << 16  # terms said: some 3 ms
FEW_TERMS = 4
REPLACED, UNTOLD = 1, 2  # marks of a memory
BYTES_PER_POSTING = 12  # place, count, and its share of the terms
_LAYER = {name: code for code, name in enumerate(LAYERS)}
_TYPE = {name: code for code, name in enumerate(TYPES)}


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms in order; the documents of term i lie between starts[i] and starts[i + 1]."""

    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.float32]

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
    untold: NDArray[np.bool_]  # found by who asks, and never put before an agent unasked
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
    said: NDArray[np.uint32]  # the terms of one memory after the other, as they were indexed
    often: NDArray[np.uint8]  # how often each of them is said there
    said_from: NDArray[np.int64]  # where those of each begin; one more for the end
    vectors: Vectors
    has_vector: NDArray[np.bool_]
    _index: dict[str, int] = field(default_factory=dict)
    _postings: list[Postings] = field(default_factory=list)
    _repeated: Iterator[int] = field(default_factory=count)
    _outline: list[Outline] = field(default_factory=list)
    _questions: Iterator[int] = field(default_factory=count)
    _marked: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    def index(self) -> dict[str, int]:
        """Where each id stands; made when first asked for."""
        if not self._index:
            self._index.update({id: at for at, id in enumerate(self.ids)})
        return self._index

    def postings_of(self, terms: NDArray[np.uint32]) -> Postings:
        """Where these terms are, and perhaps others. Looked for in all that is said until it has been sorted: for
        the few terms of one question that takes a thirtieth of the time."""
        if self._postings:
            return self._postings[0]
        wanted = distinct(terms)
        at, owner = _among(self.said, wanted)
        in_each = np.diff(at.searchsorted(self.said_from))
        order = owner.argsort(kind="stable")  # numbers this small are sorted in one pass
        return Postings(
            terms=wanted,
            starts=np.append(0, np.bincount(owner, minlength=len(wanted)).cumsum()),
            docs=np.arange(len(self), dtype=np.int32).repeat(in_each)[order],
            counts=self.often[at][order].astype(np.float32),
        )

    @property
    def sorted_postings(self) -> Postings | None:
        """Of all terms, if they have been sorted."""
        return self._postings[0] if self._postings else None

    def marked(self, mark: int) -> NDArray[np.bool_]:
        """Which memories carry a mark: a term that stands for something about them. Looked up once."""
        if mark not in self._marked:
            found = self.postings_of(asked := np.array([mark], np.uint32))
            ((begin,), (often,)) = found.where(asked)
            marked = np.zeros(len(self), np.bool_)
            marked[found.docs[begin : begin + often]] = True
            self._marked[mark] = marked
        return self._marked[mark]

    def sort_terms(self) -> None:
        """For whoever asks again: a process that asks once has no use for it. Nobody waits for many."""
        if self._postings or next(self._repeated) > 0:
            return
        if len(self.said) <= SORTED_AT_ONCE:
            self._sort_terms()
            return
        try:
            threading.Thread(target=self._sort_terms, name="clew-postings", daemon=True).start()
        except RuntimeError:  # no thread to be had: once is better than looking through all of it each time
            self._sort_terms()

    def _sort_terms(self) -> None:
        self._postings.append(_sorted_by_term(self.said, self.often, np.diff(self.said_from)))

    @property
    def is_titled(self) -> bool:
        return any(self.titles)

    def outline(self) -> Outline | None:
        """For a first look at many vectors; None while they are few, or it is not there yet. The second question
        has it made in the background: a process that asks once has no use for it, and nobody waits for it."""
        if self._outline:
            return self._outline[0]
        if len(self) >= LARGE and self.vectors.dim >= 2 * LEADING and next(self._questions) == 1:
            # No daemon: one that Python ends in the middle of linear algebra leaves its library waiting for it, and
            # the process with it, for good.
            with suppress(RuntimeError):  # no thread to be had: all of them are compared each time
                threading.Thread(target=self._make_outline, name="clew-outline").start()
        return None

    def _make_outline(self) -> None:
        with suppress(np.linalg.LinAlgError):  # vectors that are no numbers: all of them are compared each time
            self._outline.append(outline.outline_of(self.vectors))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """With what there will be of it once it is asked again."""
        arrays = (self.said, self.often, self.vectors)
        outline = 4 * (LEADING + FURTHER) if len(self) >= LARGE else 0
        each = 150 + outline
        return sum(array.nbytes for array in arrays) + BYTES_PER_POSTING * len(self.said) + each * len(self.ids)


def build_segment(rows: Sequence[Row], dim: int) -> Segment:
    """From $segment_columns. A vector of another length than `dim` counts as missing."""
    ids, layer, type_, valid, invalid, expires, marks, updated, weight, *columns = _columns(rows)
    numbers, titles, authors, threads, length, terms, vectors = columns
    size, none = 2 * dim, bytes(2 * dim)
    halves = [blob if blob is not None and len(blob) == size else none for blob in vectors]
    thread, row, valid_at = hashed(threads), np.array(numbers, np.int64), np.array(valid, np.int64)
    before, after = _neighbours(thread, valid_at, row)
    said, often, said_from = _said(terms)
    marked = np.array(marks, np.int8)
    return Segment(
        ids=tuple(ids),
        layer=np.array([_LAYER[name] for name in layer], np.int8),
        type=np.array([_TYPE[name] for name in type_], np.int8),
        valid_at=valid_at,
        invalid_at=_or_never(invalid),
        expires_at=_or_never(expires),
        superseded=(marked & REPLACED) > 0,
        untold=(marked & UNTOLD) > 0,
        updated_at=np.array(updated, np.int64),
        weight=np.array(weight, np.float64),
        row=row,
        titles=tuple(titles),
        author=hashed(authors),
        thread=thread,
        before=before,
        after=after,
        authors=frozenset(authors) - {""},
        length=np.array(length, np.float32),
        said=said,
        often=often,
        said_from=said_from,
        vectors=Vectors.packed(halves, dim),
        has_vector=np.array([half is not none for half in halves], np.bool_),
    )


def _columns(rows: Sequence[Row]) -> list[list[Any]]:
    """Some rows at a time: each column of many would find them gone from the processor's cache. Not by `zip`, which
    makes an object for each row: they set the garbage collector off."""
    columns: list[list[Any]] = [[] for _ in range(COLUMNS)]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        for place, column in enumerate(columns):
            column += map(itemgetter(place), part)
    return columns


def _said(blobs: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]:
    """Of each memory its terms, then how often each is said: see model.memory.Indexed."""
    sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) // 5
    said_from = np.append(0, sizes.cumsum())
    said, often = np.empty(said_from[-1], np.uint32), np.empty(said_from[-1], np.uint8)
    for start in range(0, len(blobs), ROWS_AT_ONCE):
        many = sizes[start : start + ROWS_AT_ONCE]
        joined = np.frombuffer(b"".join(blobs[start : start + len(many)]), np.uint8)
        is_term = np.tile((True, False), len(many)).repeat(np.column_stack((4 * many, many)).ravel())
        here = slice(said_from[start], said_from[start + len(many)])
        said[here], often[here] = joined[is_term].view("<u4"), joined[~is_term]
    return said, often, said_from


def hashed(names: Sequence[str]) -> NDArray[np.uint32]:
    """The same number for the same name in every segment; 0 for no name."""
    known = {name: crc32(name.encode("utf-8", "surrogatepass")) for name in set(names)} | {"": 0}
    return np.array([known[name] for name in names], np.uint32)


def _neighbours(
    thread: NDArray[np.uint32], at: NDArray[np.int64], row: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What was said before and after each memory in its thread, by time and then as it was written down."""
    before, after = np.full((2, len(thread)), -1, np.int32)
    first, second = following(np.flatnonzero(thread), thread, at, row)
    before[second], after[first] = first, second
    return before, after


def members_of(threads: NDArray[np.uint32], thread: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Where the memories of some threads stand."""
    return _among(thread, distinct(threads))[0]


def following(
    members: NDArray[np.intp], thread: NDArray[np.uint32], at: NDArray[np.int64], row: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of these places each that has another after it in its thread, and that other."""
    order = members[np.lexsort((row[members], at[members], thread[members]))]
    first, second = order[:-1], order[1:]
    together = thread[first] == thread[second]
    return first[together], second[together]


def _or_never(values: Sequence[int | None]) -> NDArray[np.int64]:
    return np.array([NEVER if value is None else value for value in values], np.int64)


def _among(
    said: NDArray[np.uint32], wanted: NDArray[np.uint32]
) -> tuple[NDArray[np.intp], NDArray[np.unsignedinteger[Any]]]:
    """Where one of some terms is said, and which; they rise. Half of their bits tell many terms from nearly all
    others, in one pass for all; a few are found faster one by one."""
    if len(wanted) <= FEW_TERMS:
        hits = np.zeros(len(said), np.bool_)
        for term in wanted:
            hits |= said == term
    else:
        looks_alike = np.zeros(1 << 16, np.bool_)
        looks_alike[wanted.astype(np.uint16)] = True
        hits = looks_alike.take(said.astype(np.uint16))
    at = np.flatnonzero(hits)
    found = said[at]
    owner = wanted.searchsorted(found).astype(np.min_scalar_type(len(wanted)))
    is_same = wanted.take(owner, mode="clip") == found if len(wanted) else hits[:0]
    return at[is_same], owner[is_same]


def _sorted_by_term(said: NDArray[np.uint32], often: NDArray[np.uint8], sizes: NDArray[np.int64]) -> Postings:
    """Sorted by term, then document. All three numbers travel in one integer: numpy sorts integers in a
    fraction of the time it takes to sort places."""
    docs = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    packed = np.sort(said.astype(np.uint64) << np.uint64(32) | docs << np.uint64(8) | often)
    terms = (packed >> np.uint64(32)).astype(np.uint32)
    starts = np.flatnonzero(np.append(True, terms[1:] != terms[:-1])) if len(terms) else np.empty(0, np.int64)
    return Postings(
        terms=terms[starts],
        starts=np.append(starts, len(terms)),
        docs=((packed >> np.uint64(8)) & np.uint64(MAX_DOCS - 1)).astype(np.int32),
        counts=(packed & np.uint64(0xFF)).astype(np.float32),
    )

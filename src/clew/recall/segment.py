"""A block of memories as arrays: what search needs of each, and nothing else. Immutable once built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew.model.memory import LAYERS, TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    length: NDArray[np.float32]
    postings: Postings
    vectors: NDArray[np.float32]  # (n, dim)
    has_vector: NDArray[np.bool_]
    _index: dict[str, int] = field(default_factory=dict)

    def index(self) -> dict[str, int]:
        """Where each id stands; made when first asked for."""
        if not self._index:
            self._index.update({id: at for at, id in enumerate(self.ids)})
        return self._index

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        arrays = (
            self.postings.terms,
            self.postings.starts,
            self.postings.docs,
            self.postings.counts,
            self.vectors,
        )
        return sum(array.nbytes for array in arrays) + 150 * len(self.ids)


def build_segment(rows: Sequence[Row], dim: int) -> Segment:
    """From $segment_columns. A vector of another length than `dim` counts as missing."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 12
    ids, layer, type_, valid, invalid, expires, superseded, updated, weight, length, terms, vectors = columns
    matrix, has_vector = _matrix(vectors, dim)
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
        length=np.array(length, np.float32),
        postings=_postings(terms),
        vectors=matrix,
        has_vector=has_vector,
    )


def _or_never(values: Sequence[int | None]) -> NDArray[np.int64]:
    return np.array([NEVER if value is None else value for value in values], np.int64)


def _matrix(blobs: Sequence[bytes | None], dim: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    has_vector = np.array([blob is not None and len(blob) == 2 * dim for blob in blobs], np.bool_)
    empty = bytes(2 * dim)
    joined = b"".join([blob if has else empty for blob, has in zip(blobs, has_vector, strict=True)])  # type: ignore[misc]
    halves = np.frombuffer(joined, "<f2").reshape(len(blobs), dim)
    return halves.astype(np.float32), has_vector


def _postings(blobs: Sequence[bytes]) -> Postings:
    """Sorted by term, then document. All three numbers travel in one integer: numpy sorts integers in a
    fraction of the time it takes to sort places."""
    sizes = [len(blob) // 5 for blob in blobs]  # see model.memory.Indexed
    hashes = np.frombuffer(b"".join([blob[: 4 * size] for blob, size in zip(blobs, sizes, strict=True)]), "<u4")
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

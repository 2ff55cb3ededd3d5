"""The vectors of many memories as the read model keeps them, and how near they are to that of a question.

A vector is 1 long, and the store keeps half floats, of which those above 1/32 are whole multiples of 1/32768. So
whole numbers of 16 bits are about as exact, take half the memory that floats do, and are multiplied in less than
half the time. Cosines are off by some 1e-5.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNIT = 1 << 15  # what stands for 1
LARGEST = UNIT - 1
LONGEST = 1.01  # of half floats that were rounded; of longer vectors the products may not fit into 32 bits
FEW = 64  # numbers; vectors of fewer cost little as they are
AT_ONCE = 2_048  # rows that are read or made floats together, so that no second copy of all of them is made

Floats = NDArray[np.float32]
Places = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """`unit` stands for 1 in `rows`: whole numbers of 16 bits, which are kept as floats where nothing is compiled,
    or, with a unit of 1, the floats that the store has."""

    rows: NDArray[np.int16] | Floats
    unit: int = 1

    @classmethod
    def of(cls, floats: Floats) -> Vectors:
        return cls.packed([row.tobytes() for row in floats.astype("<f2")], floats.shape[1])

    @classmethod
    def packed(cls, halves: Sequence[bytes], dim: int) -> Vectors:
        """From half floats, `dim` of them each."""
        whole = _whole_rows(halves, dim) if dim >= FEW else None
        return cls(_float_rows(halves, dim)) if whole is None else cls(whole, UNIT)

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    def __len__(self) -> int:
        return len(self.rows)

    def cosines(self, vector: Floats, places: Places | None = None) -> Floats:
        """With one vector, of all or of those that stand at some places."""
        rows = self.rows if places is None else self.rows.take(places, axis=0)
        if native.compiled is not None and rows.dtype == np.int16:
            found = np.empty(len(rows), np.float32)
            if native.compiled.compare(rows, vector, LONGEST, found):
                return found
        scale, length = 1 / self.unit, math.sqrt(float(np.vecdot(vector, vector)))
        is_whole = self.unit == UNIT and math.isfinite(length)
        if is_whole:
            unit = UNIT / length if length > LONGEST else UNIT
            vector, scale = np.minimum(np.rint(vector * np.float32(unit)), LARGEST), 1 / UNIT / unit
        # Not `@`: for a matrix of this size BLAS wakes its threads, and on a busy machine waits for them.
        return np.asarray(np.vecdot(rows.astype(np.float32, copy=False), vector * np.float32(scale)), np.float32)

    def floats(self, places: Places | slice) -> Floats:
        rows = self.rows[places] if isinstance(places, slice) else self.rows.take(places, axis=0)
        floats = rows.astype(np.float32)
        floats *= np.float32(1 / self.unit)
        return floats

    def blocks(self) -> Iterator[Floats]:
        """All of them, some at a time."""
        for start in range(0, len(self.rows), AT_ONCE):
            yield self.floats(slice(start, start + AT_ONCE))


def _whole_rows(halves: Sequence[bytes], dim: int) -> NDArray[np.int16] | Floats | None:
    """None where one is too long, or no number."""
    if native.compiled is None or sys.byteorder != "little":
        rows = _float_rows(halves, dim)
        if not np.vecdot(rows, rows).max(initial=0) <= LONGEST**2:
            return None
        return np.minimum(np.rint(rows * UNIT, out=rows), LARGEST, out=rows)
    whole = np.empty((len(halves), dim), np.int16)
    for start in range(0, len(halves), AT_ONCE):
        part = whole[start : start + AT_ONCE]
        if not native.compiled.narrow(b"".join(halves[start : start + AT_ONCE]), part) <= LONGEST:
            return None
    return whole


def _float_rows(halves: Sequence[bytes], dim: int) -> Floats:
    rows = np.empty((len(halves), dim), np.float32)
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        part[:] = np.frombuffer(b"".join(halves[start : start + len(part)]), "<f2").reshape(part.shape)
    return rows

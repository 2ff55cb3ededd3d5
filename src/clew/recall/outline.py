"""A first look at many vectors: their leading components, read in a fraction of the time that all of them take.

The vectors are turned so that most of what tells them apart comes first; the cosine of the leading components is
an estimate of the whole one. Where that is not enough, the components that follow are added to it. The best by
estimate are scored again with the whole vectors (settle.py).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.recall.segment import FURTHER, LEADING
from clew.recall.vectors import Vectors
from clew.values import dataclass

# Numbers that are multiplied at once. For more BLAS wakes its threads, and on a busy machine waits for them.
AT_ONCE = 8_192
# Components of the compiled part are whole numbers of 16 bits, of which this stands for the length of the longest
# vector: half the memory to read, and nothing against what an estimate leaves out.
LONGEST = 1 << 14


# (rows, components) as whole numbers, or (blocks, rows at once, components)
Components = NDArray[np.int16] | NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The leading components of the vectors of one segment."""

    turn: NDArray[np.float32]  # (dim, dim): a component per row, those that vary most first
    leading: Components
    further: Components  # those that follow
    squares: NDArray[np.float32]  # the sum over all vectors of each component's square
    total: NDArray[np.float32]  # the sum of all vectors, turned
    count: int
    longest: float  # of the vectors

    def cosines(self, vector: NDArray[np.float32]) -> Estimate:
        turned, leading = np.vecdot(self.turn, vector), self.leading.shape[-1]
        cosine = self._compared(self.leading, turned[:leading])
        squares = self.squares * np.square(turned)
        return Estimate(
            turned,
            cosine,
            math.sqrt(float(squares[leading:].sum()) / self.count),
            float(np.vecdot(self.total, turned)),
            float(squares.sum()),
        )

    def rest(self, estimate: Estimate) -> NDArray[np.float32]:
        """What the components that follow add to the cosines."""
        first, further = self.leading.shape[-1], self.further.shape[-1]
        return self._compared(self.further, estimate.turned[first : first + further])

    def _compared(self, components: Components, turned: NDArray[np.float32]) -> NDArray[np.float32]:
        if components.dtype != np.int16:
            found: NDArray[np.float32] = np.matmul(components, turned).reshape(-1)[: self.count]
        elif native.compiled is None:
            found = np.matmul(components.astype(np.float32), turned) * np.float32(self.longest / LONGEST)
        else:
            found, length = np.empty(self.count, np.float32), _length(turned)
            native.compiled.scan(components, _whole(turned, length), self.longest * length / LONGEST**2, found)
        return found


class Estimate(NamedTuple):
    """Cosines by the leading components. The sums are those of the whole vectors, and need no scan."""

    turned: NDArray[np.float32]  # the question's vector
    cosine: NDArray[np.float32]
    error: float  # standard deviation
    total: float  # of all exact cosines
    squares: float  # of all exact cosines, squared


def outline_of(vectors: Vectors) -> Outline:
    """The turn is that of the principal components, not centred: a cosine is no difference from a mean."""
    products = np.zeros((vectors.dim, vectors.dim), np.float32)
    total, longest = np.zeros(vectors.dim), 0.0
    for block in vectors.blocks():
        products += block.T @ block
        total += block.sum(axis=0, dtype=np.float64)
        longest = max(longest, _length(block))
    values, components = np.linalg.eigh(products)
    turn = np.ascontiguousarray(components[:, ::-1].T)
    return Outline(
        turn,
        _blocks(vectors, turn[:LEADING], longest),
        _blocks(vectors, turn[LEADING : LEADING + FURTHER], longest),
        np.maximum(values[::-1], 0),
        turn @ total.astype(np.float32),
        len(vectors),
        longest,
    )


def _length(vectors: NDArray[np.float32]) -> float:
    """Of the longest; never 0."""
    return math.sqrt(max(1e-12, float(np.vecdot(vectors, vectors).max(initial=0))))


def _whole(components: NDArray[np.float32], longest: float) -> NDArray[np.int16]:
    return np.asarray(np.rint(components * np.float32(LONGEST / longest)), np.int16)


def _blocks(vectors: Vectors, turn: NDArray[np.float32], longest: float) -> Components:
    if native.compiled is not None:
        whole = [_whole(block @ turn.T, longest) for block in vectors.blocks()]
        return np.concatenate([np.empty((0, len(turn)), np.int16), *whole])
    rows = AT_ONCE // max(1, len(turn))
    blocks = np.zeros((-(-len(vectors) // rows), rows, len(turn)), np.float32)
    turned, start = blocks.reshape(len(blocks) * rows, len(turn)), 0
    for block in vectors.blocks():
        np.matmul(block, turn.T, out=turned[start : start + len(block)])
        start += len(block)
    return blocks

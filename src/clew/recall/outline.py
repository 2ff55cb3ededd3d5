"""A first look at many vectors: their leading components, read in a fraction of the time that all of them take.

The vectors are turned so that most of what tells them apart comes first; the cosine of the leading components is
an estimate of the whole one. Where that is not enough, the components that follow are added to it. The best by
estimate are scored again with the whole vectors (settle.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 20_000  # vectors; fewer are compared whole in the time that two looks take
LEADING = FURTHER = 64  # components; tools/first_look.py prints what more and fewer of them find and take
# Numbers that are multiplied at once. For more BLAS wakes its threads, and on a busy machine waits for them.
AT_ONCE = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The leading components of the vectors of one segment."""

    turn: NDArray[np.float32]  # (dim, dim): a component per row, those that vary most first
    leading: NDArray[np.float32]  # (blocks, rows at once, components)
    further: NDArray[np.float32]  # those that follow
    squares: NDArray[np.float32]  # the sum over all vectors of each component's square
    total: NDArray[np.float32]  # the sum of all vectors, turned
    count: int

    def cosines(self, vector: NDArray[np.float32]) -> Estimate:
        turned, leading = np.vecdot(self.turn, vector), self.leading.shape[2]
        cosine = np.matmul(self.leading, turned[:leading]).reshape(-1)[: self.count]
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
        first, further = self.leading.shape[2], self.further.shape[2]
        added: NDArray[np.float32] = np.matmul(self.further, estimate.turned[first : first + further])
        return added.reshape(-1)[: self.count]


class Estimate(NamedTuple):
    """Cosines by the leading components. The sums are those of the whole vectors, and need no scan."""

    turned: NDArray[np.float32]  # the question's vector
    cosine: NDArray[np.float32]
    error: float  # standard deviation
    total: float  # of all exact cosines
    squares: float  # of all exact cosines, squared


def outline_of(vectors: NDArray[np.float32], *, leading: int = LEADING, further: int = FURTHER) -> Outline:
    """The turn is that of the principal components, not centred: a cosine is no difference from a mean."""
    values, components = np.linalg.eigh(vectors.T @ vectors)
    turn = np.ascontiguousarray(components[:, ::-1].T)
    total = turn @ vectors.sum(axis=0, dtype=np.float64).astype(np.float32)
    return Outline(
        turn,
        _blocks(vectors, turn[:leading]),
        _blocks(vectors, turn[leading : leading + further]),
        np.maximum(values[::-1], 0),
        total,
        len(vectors),
    )


def _blocks(vectors: NDArray[np.float32], turn: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = AT_ONCE // max(1, len(turn))
    blocks = np.zeros((-(-len(vectors) // rows), rows, len(turn)), np.float32)
    np.matmul(vectors, turn.T, out=blocks.reshape(len(blocks) * rows, len(turn))[: len(vectors)])
    return blocks

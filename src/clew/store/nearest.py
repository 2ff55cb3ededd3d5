"""The nearest of many vectors: looked through block by block, all that were asked about at once.

Cosines are rounded: what lies behind the sixth digit depends on where in a matrix a vector lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.store.session import Row

Floats = NDArray[np.float32]
DIGITS = 6


def nearest_in(blocks: Iterable[Sequence[Row]], vectors: Floats, limit: int) -> list[Mapping[int, float]]:
    """Of (row, vector): the cosines of the nearest rows of each of `vectors`, at least `limit` if there are so
    many, and all that are as near as the last."""
    best: list[dict[int, float]] = [{} for _ in vectors]
    for block in blocks:
        cosines = (vectors @ _matrix(block).T).round(DIGITS)
        for at, scores in enumerate(cosines):
            best[at] = _nearest_of(best[at] | _top(block, scores, limit), limit)
    return list(best)


def _matrix(block: Sequence[Row]) -> Floats:
    halves = np.frombuffer(b"".join([blob for _row, blob in block]), "<f2")
    return halves.reshape(len(block), -1).astype(np.float32)


def _top(block: Sequence[Row], scores: NDArray[Any], limit: int) -> dict[int, float]:
    least = np.partition(scores, -limit)[-limit] if len(scores) > limit else scores.min()
    return {block[at][0]: float(scores[at]) for at in np.flatnonzero(scores >= least).tolist()}


def _nearest_of(rows: dict[int, float], limit: int) -> dict[int, float]:
    if len(rows) <= limit:
        return rows
    least = sorted(rows.values(), reverse=True)[limit - 1]
    return {row: cosine for row, cosine in rows.items() if cosine >= least}

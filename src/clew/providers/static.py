"""clew-static, the default embedder: one row per word piece, added up and normalised. Needs numpy alone.

In go texts, out come unit vectors; a text without a known word piece gives a zero row. The rows carry their
own weight (a rare piece has a long row, "the" a short one), so nothing has to be counted when a text is read.
Where the rows come from, and what they were measured to do, is in tools/embedder/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.model.space import VectorSpace
from clew.providers.wordpiece import WordPiece

DATA = Path(__file__).with_name("data")
NAME = "clew_static"
# Bounds the memory of one very long text: 4,096 pieces are 4 MB of float32.
PIECES_AT_ONCE = 4096


class StaticEmbedder:
    """Texts to vectors of `space`.

    The matrix stays int8 and mapped: a process that embeds one query reads a few pages of it, not 8 MB.
    """

    is_remote = False

    def __init__(self, data: Path = DATA) -> None:
        facts = json.loads((data / f"{NAME}.json").read_text())
        self.space = VectorSpace(
            name=facts["name"],
            revision=facts["revision"],
            dim=facts["dim"],
            unrelated=facts["unrelated"],
            same=facts["same"],
        )
        self._rows, self._scales = _map_rows(data / f"{NAME}.bin", count=facts["rows"], dim=facts["dim"])
        self._pieces = WordPiece.load()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order; the same text gives the same bits in any batch."""
        sums = np.zeros((len(texts), self.space.dim), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            self._add_pieces(self._pieces.ids(text), row)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        np.divide(sums, norms, out=sums, where=norms > 0)
        return sums

    def _add_pieces(self, ids: list[int], into: NDArray[np.float32]) -> None:
        # One small matrix product per text; gathering a whole batch first takes memory and saves no time.
        for start in range(0, len(ids), PIECES_AT_ONCE):
            # `take` costs half of what indexing with a list of rows does.
            where = np.array(ids[start : start + PIECES_AT_ONCE], dtype=np.intp)
            into += self._scales.take(where) @ self._rows.take(where, axis=0).astype(np.float32)


def _map_rows(path: Path, *, count: int, dim: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The file is the int8 matrix followed by one little-endian float32 scale per row."""
    mapped = np.memmap(path, dtype=np.int8, mode="r")
    # A plain view: indexing a memmap object runs Python code for each access.
    raw = mapped.view(np.ndarray)
    return raw[: count * dim].reshape(count, dim), raw[count * dim :].view("<f4")

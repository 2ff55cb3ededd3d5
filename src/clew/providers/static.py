"""clew-static, the default embedder: one row per word piece, added up and normalised. Needs numpy alone.

A text begins with what it is about: the first pieces count fully, and each one after them a little less.

In go texts, out come unit vectors; a text that is mostly unknown to the model (Thai, Hindi) gives a zero row, and
words alone find it. Other scripts are spelled in Latin letters first; Chinese characters and Korean syllables have
rows that follow those of the word pieces. The rows carry their own weight (a rare piece has a long row, "the" a
short one), so nothing has to be counted when a text is read.
Where the rows come from, and what they were measured to do, is in tools/embedder/README.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.model.space import VectorSpace
from clew.providers.letters import in_latin
from clew.providers.wordpiece import ID_BYTES, IDS, WordPiece

DATA = Path(__file__).with_name("data")
NAME = "clew_static"
CHARACTERS = "characters.txt"  # Chinese and Korean, one per line: more pieces, whose rows follow the vocabulary's
# Bounds the memory of one very long text: 4,096 pieces are 4 MB of float32.
PIECES_AT_ONCE = 4096
# Of several short texts: a call for each of them costs as much as the sums do. Measured with 128 to 4,096.
PIECES_TOGETHER = 256
# So many pieces count fully, and after so many more a piece counts half: measured in tools/embedder/README.md.
FULL, HALF = 12, 24
# What the pieces of a text tell of its language is added up, in parts of this: who tells more than so much is not
# English. So a short text has to tell it clearly: paths and names are not the words of any language.
TOLD = 32
ELSEWHERE = 2 * TOLD


class StaticEmbedder:
    """Texts to vectors of `space`.

    The matrix stays int8 and mapped: a process that embeds one query reads a few pages of it, not 11 MB.
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
        mapped = _map(data / f"{NAME}.bin", rows=facts["rows"], pieces=facts["pieces"], dim=facts["dim"])
        self._rows, self._scales, self._second, self._tells = mapped
        self._pieces = WordPiece.load(data / CHARACTERS)
        self._counts = counts_of(0, PIECES_AT_ONCE)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order; the same text gives the same bits in any batch."""
        packed = [self._pieces.packed(in_latin(text)) for text in texts]
        if native.compiled is None or sys.byteorder != "little":
            return self._by_arrays(packed)
        vectors = np.empty((len(packed), self.space.dim), np.float32)
        numbers = (self.space.dim, FULL, HALF, ELSEWHERE)
        native.compiled.embed(packed, self._rows, self._scales, self._second, self._tells, numbers, vectors)
        return vectors

    def _by_arrays(self, packed: list[bytes]) -> NDArray[np.float32]:
        """The same without what is compiled."""
        sums = np.zeros((len(packed), self.space.dim), dtype=np.float32)
        packed = self._by_language(packed)
        for start, stop in _groups(packed):
            self._add_up(packed[start:stop], sums[start:stop])
        norms = np.sqrt(np.add.reduce(sums * sums, axis=1, keepdims=True))  # of one text: half of linalg.norm
        np.divide(sums, norms, out=sums, where=norms > 0)
        return sums

    def _by_language(self, packed: list[bytes]) -> list[bytes]:
        """The rows that the pieces of each text are read by: those of English, unless the text tells otherwise."""
        told = self._tells.take(np.frombuffer(b"".join(packed), IDS)).cumsum(dtype=np.int64)
        before = end = 0
        for at, pieces in enumerate(packed):
            if pieces:
                end += len(pieces) // ID_BYTES
                so_far = int(told[end - 1])
                if so_far - before > ELSEWHERE:
                    packed[at] = self._second.take(np.frombuffer(pieces, IDS)).astype(IDS).tobytes()
                before = so_far
        return packed

    def _add_up(self, packed: Sequence[bytes], sums: NDArray[np.float32]) -> None:
        """The rows of a few short texts are gathered together, those of a very long one piece by piece."""
        ids = np.frombuffer(b"".join(packed), dtype=IDS)
        if len(ids) > PIECES_AT_ONCE:
            if not _is_mostly_known(self._scales.take(ids)):
                return
            for start in range(0, len(ids), PIECES_AT_ONCE):
                scales, rows = self._gather(ids[start : start + PIECES_AT_ONCE])
                sums[0] += (scales * counts_of(start, len(scales))) @ rows
            return
        scales, rows = self._gather(ids)
        is_known, end = bool(scales.all()), 0
        for pieces, into in zip(packed, sums, strict=True):
            start, end = end, end + len(pieces) // ID_BYTES
            if is_known or _is_mostly_known(scales[start:end]):
                np.dot(scales[start:end] * self._counts[: end - start], rows[start:end], out=into)

    def _gather(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        # `take` costs half of what indexing with a list of rows does.
        return self._scales.take(ids), self._rows.take(ids, axis=0).astype(np.float32)


def _is_mostly_known(scales: NDArray[np.float32]) -> bool:
    """Pieces that say nothing have no length. Of a text of which most is such, the few others would be all."""
    return 2 * int(np.count_nonzero(scales)) >= len(scales)


def counts_of(start: int, count: int) -> NDArray[np.float32]:
    """How much the pieces of a text count, from this one on."""
    beyond = np.maximum(np.arange(start, start + count) - FULL, 0)
    return (HALF / (HALF + beyond)).astype(np.float32)


def _groups(packed: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Neighbours whose pieces fit into the processor's cache together; a longer text is by itself."""
    start = gathered = 0
    for at, pieces in enumerate(packed):
        gathered += len(pieces)
        if gathered > PIECES_TOGETHER * ID_BYTES and at > start:
            yield start, at
            start, gathered = at, len(pieces)
    if packed:
        yield start, len(packed)


class _Mapped(NamedTuple):
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    second: NDArray[np.int32]  # of each piece the row by which other languages read it
    tells: NDArray[np.int8]  # of each piece how much it tells that a text is not English


def _map(path: Path, *, rows: int, pieces: int, dim: int) -> _Mapped:
    """The file is these arrays one after another, little-endian."""
    # A plain view: indexing a memmap object runs Python code for each access.
    raw = np.memmap(path, dtype=np.int8, mode="r").view(np.ndarray)
    matrix, scales, second, tells = np.split(raw, np.cumsum([rows * dim, 4 * rows, 4 * pieces]))
    return _Mapped(matrix.reshape(rows, dim), scales.view("<f4"), second.view("<i4"), tells)

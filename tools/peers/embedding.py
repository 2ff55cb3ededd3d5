"""all-MiniLM-L6-v2 in the process of whoever asks: documents are looked up, questions are encoded live and timed.

The encoder is the one of Clew's extra. Documents were encoded once into a file beside the results; a text that is
not there is encoded now and kept for the next process.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DIM = 384
DOCUMENTS, MADE_UP = "documents", "made-up"  # the two files: of the benchmark data, and for speed


def key_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class Vectors:
    """Vectors by the hash of their text: `NAME.npy` with the rows, `NAME.keys` with sixteen bytes for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[np.ndarray[Any, np.dtype[np.float32]]] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._new: dict[bytes, np.ndarray[Any, np.dtype[np.float32]]] = {}

    def load(self, name: str) -> None:
        """All into memory at once, so that later look-ups do not grow the process."""
        if not (self._folder / f"{name}.npy").is_file():
            return
        rows = np.load(self._folder / f"{name}.npy")
        keys = (self._folder / f"{name}.keys").read_bytes()
        number = len(self._files)
        self._files.append(rows)
        self._places |= {keys[16 * row : 16 * row + 16]: (number, row) for row in range(len(rows))}

    def get(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]] | None:
        key = key_of(text)
        if place := self._places.get(key):
            return self._files[place[0]][place[1]]
        return self._new.get(key)

    def add(self, texts: Sequence[str], rows: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        self._new |= {key_of(text): row for text, row in zip(texts, rows, strict=True)}

    def save_new(self, name: str) -> None:
        """What was added joins the file of that name."""
        if not self._new:
            return
        mine = Vectors(self._folder)
        mine.load(name)
        kept = {key: mine._files[number][row] for key, (number, row) in mine._places.items()} | self._new
        write_vectors(self._folder, name, list(kept), np.stack(list(kept.values())))
        self._new = {}


def write_vectors(folder: Path, name: str, keys: Sequence[bytes], rows: Any) -> None:
    np.save(folder / f"{name}.npy", np.asarray(rows, np.float32))
    (folder / f"{name}.keys").write_bytes(b"".join(keys))


class Embedding:
    """What an adapter gets. `query_s` holds the seconds of every question since it was last cleared."""

    def __init__(self, home: Path, vectors: Vectors | None = None) -> None:
        from clew.providers.minilm import MiniLmEmbedder

        self.home = home
        self.encode: Callable[[Sequence[str]], Any] = MiniLmEmbedder(home).embed
        self.query_s: list[float] = []
        self._vectors = vectors

    def either(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """For peers that embed documents and questions by one call: a lone text that is not known is a question."""
        if len(texts) == 1 and not self.knows(texts[0]):
            return self.query(texts[0])[None]
        return self.documents(texts)

    def knows(self, text: str) -> bool:
        return self._vectors is not None and self._vectors.get(text) is not None

    def documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        found = [self._vectors.get(text) if self._vectors else None for text in texts]
        missing = [number for number, row in enumerate(found) if row is None]
        if missing:
            rows = self.encode([texts[number] for number in missing])
            if self._vectors:
                self._vectors.add([texts[number] for number in missing], rows)
            for number, row in zip(missing, rows, strict=True):
                found[number] = row
        return np.stack([row for row in found if row is not None])

    def query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        started = time.perf_counter()
        [row] = self.encode([text])
        self.query_s.append(time.perf_counter() - started)
        return np.asarray(row, np.float32)

    def keep(self) -> None:
        """Documents that were not in a file yet are in one from now on."""
        if self._vectors:
            self._vectors.save_new(DOCUMENTS)

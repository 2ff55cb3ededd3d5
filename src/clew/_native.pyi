"""What is compiled; the sources are in native/."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

REVISION: int

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

def best(
    scores: Floats, allowed: Bools, count: int, above: float, relevance: Floats, floor: float,
    layer: NDArray[np.int8], without: int, row: Places, /,
) -> bytearray: ...  # fmt: skip
def embed(
    pieces: list[bytes], rows: NDArray[np.int8], scales: Floats, second: NDArray[np.int32], tells: NDArray[np.int8],
    numbers: tuple[int, ...], out: Floats, /,
) -> None: ...  # fmt: skip
def fuse(
    lexical: Floats, covered: Floats, cosine: Floats, allowed: Bools, alive: Bools | None, weights: Floats | None,
    words: Floats, meaning: Floats, relevance: Floats, rank_score: Floats, numbers: tuple[float, ...], /,
) -> tuple[int, int, float, float, float, float]: ...  # fmt: skip
def look(
    candidates: Places, vectors: Floats, out: Floats, segments: tuple[tuple[Any, ...], ...],
    corpus: tuple[Any, ...], run: tuple[Any, ...], matches: tuple[Any, ...], question: tuple[Any, ...],
    language: tuple[Any, ...], numbers: tuple[Any, ...], alive: Bools | None, /,
) -> None: ...  # fmt: skip
def match(
    terms: NDArray[np.uint32], segments: tuple[tuple[Any, ...], ...], length_norm: Floats, alive: Bools | None,
    language: tuple[Any, ...], numbers: tuple[float, ...], score: Floats, covered: Floats, /,
) -> tuple[bytearray, bytearray, bytearray, bytearray]: ...  # fmt: skip
def model(
    features: Floats, weights: Doubles, columns: NDArray[np.intp], thresholds: Doubles, gives: Doubles, depth: int,
    out: Doubles, /,
) -> None: ...  # fmt: skip
def halve(rows: NDArray[np.float32], dim: int, /) -> list[bytes] | None: ...
def narrow(halves: bytes, out: NDArray[np.int16], /) -> float: ...
def order(places: Places, lexical: Floats, cosine: Floats, row: Places, numbers: tuple[float, ...], /) -> None: ...
def scan(rows: NDArray[np.int16], vector: NDArray[np.int16], scale: float, out: Floats, /) -> None: ...
def ranks(scores: Floats, allowed: Bools, mine: Floats, /) -> list[int]: ...
def spread(
    arrays: tuple[Any, ...], changes: tuple[Any, ...], seeds: dict[int, float], settings: tuple[Any, ...], /,
) -> tuple[list[int], list[float], bytes, bytes] | list[int] | None: ...  # fmt: skip

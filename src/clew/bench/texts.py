"""Made-up memories of a given length: words of the embedder's vocabulary, common ones often, rare ones rarely."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import clew


@cache
def _vocabulary() -> list[str]:
    lines = (
        (Path(clew.__file__).parent / "providers" / "data" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    )
    return [word for word in lines if word.isascii() and word.isalpha() and len(word) > 2]


def texts(count: int, *, chars: int, seed: int = 1) -> Iterator[str]:
    """Zipf-like: the vocabulary is ordered by frequency, and a cubed draw prefers its beginning."""
    words, rng = _vocabulary(), random.Random(seed)
    for _ in range(count):
        picked: list[str] = []
        length = 0
        while length < chars:
            word = words[int(len(words) * rng.random() ** 3)]
            picked.append(word)
            length += len(word) + 1
        yield " ".join(picked)


def questions(count: int, *, seed: int = 2) -> list[str]:
    return list(texts(count, chars=40, seed=seed))

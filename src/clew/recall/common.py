"""How much a term can say, whatever the scope: common words of the language say less.

A scope of ten memories cannot know that "use" is everywhere and "PgBouncer" is not. The shares were counted by
tools/common_words.py; they weight queries only, never what is stored.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.recall.analyse import hash_term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# A word in one line of 3,000 counts fully: -ln(1/3000) = 8. Measured with 7 and 8, to the power of 0.5, 1 and 2:
# docs/performance.md.
FULL_WEIGHT = 8.0


# Memories of plain language that every scope is thought to hold besides its own, so that two memories do not
# make every word they lack a rare one.
BACKGROUND = 100


def weights_of(terms: NDArray[np.uint32], size: int, frequency: NDArray[np.int64]) -> Floats:
    """The IDF of each term in a scope, tempered by the language."""
    known, shares, factors = common_arrays()
    at = np.minimum(known.searchsorted(terms), len(known) - 1)
    is_common = known[at] == terms
    seen = frequency + np.where(is_common, BACKGROUND * shares[at], 0.0) + 0.5
    return np.asarray(np.where(is_common, factors[at], 1.0) * np.log1p((size + BACKGROUND + 1 - seen) / seen))


def informativeness(term: int) -> float:
    """How much a term can say by what the language tells: 1 for all but common words."""
    return common_terms().get(term, (0.0, 1.0))[1]


@cache
def common_terms() -> Mapping[int, tuple[float, float]]:
    """Term hash to its share of lines and a factor below 1; every other term counts fully."""
    words, shares = _listed()
    return dict(zip(map(hash_term, words), zip(shares, map(_factor, shares), strict=True), strict=True))


def _listed() -> tuple[list[str], list[float]]:
    """Words and their shares."""
    told = Path(__file__).with_name("common_words.txt").read_text(encoding="ascii").split()
    return told[::2], list(map(float, told[1::2]))


def _factor(share: float) -> float:
    return min(1.0, -math.log(share) / FULL_WEIGHT)


@cache
def common_arrays() -> tuple[NDArray[np.uint32], Floats, Floats]:
    """The same in the order of the hashes."""
    words, shares = _listed()
    terms = np.array(list(map(hash_term, words)), np.uint32)
    order = terms.argsort()
    return terms[order], np.array(shares)[order], np.array(list(map(_factor, shares)))[order]

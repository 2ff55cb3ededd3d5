"""Which numbers are among others, and each of them once; by sorting. numpy's own functions for that may go through
a hash table that is written in C++: if Python ends while a daemon thread is in there, the whole process aborts."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(numbers: NDArray[T]) -> NDArray[T]:
    """Rising. Nor by `np.unique` because that imports masked arrays, which takes longer than all of this."""
    rising = np.sort(numbers)
    is_first = np.ones(len(rising), np.bool_)
    is_first[1:] = rising[1:] != rising[:-1]
    return rising[is_first]


def are_among(numbers: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of them is one of those wanted."""
    rising = np.sort(wanted)
    if not len(rising):
        return np.zeros(len(numbers), np.bool_)
    return np.asarray(rising.take(rising.searchsorted(numbers), mode="clip") == numbers, np.bool_)


def not_among(numbers: NDArray[T], unwanted: NDArray[Any]) -> NDArray[T]:
    """Those that are left, rising."""
    found = distinct(numbers)
    return found[~are_among(found, unwanted)]

"""Which numbers are among others: as numpy says it, without its hash tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.recall.among import are_among, distinct, not_among

NUMBERS = st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 9), max_size=20).map(
    lambda one: np.array(one, np.int64)
)


@given(NUMBERS, NUMBERS)
def test_they_are_what_numpy_finds(numbers: np.ndarray, others: np.ndarray) -> None:
    assert distinct(numbers).tolist() == np.unique(numbers).tolist()
    assert are_among(numbers, others).tolist() == np.isin(numbers, others).tolist()
    assert not_among(numbers, others).tolist() == np.setdiff1d(numbers, others).tolist()

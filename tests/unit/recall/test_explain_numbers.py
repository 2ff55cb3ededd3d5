"""How numbers of an answer are told."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.recall.explain import _ranks, shown


@given(st.lists(st.floats(-50, 50, width=32), max_size=20))
def test_a_number_is_told_in_millionths(numbers: list[float]) -> None:
    told = shown(numbers)
    assert all(abs(one - other) <= 0.5e-6 + 1e-12 for one, other in zip(told, numbers, strict=True))
    assert all(round(one, 6) == one for one in told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-1, 5, width=32), min_size=1, max_size=60))
def test_what_has_no_evidence_has_no_place(by_both: None, numbers: list[float]) -> None:
    scores = np.array(numbers, np.float32)
    found = _ranks(scores, scores, np.ones(len(scores), np.bool_))
    assert found == [1 + sum(other > score for other in numbers) if score > 0 else 0 for score in scores.tolist()]

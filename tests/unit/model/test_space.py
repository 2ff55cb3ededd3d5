"""Which model made a vector."""

from __future__ import annotations

from clew.model.space import VectorSpace


def test_two_revisions_of_a_model_are_two_spaces() -> None:
    assert VectorSpace("toy", "1", 16, 0, 1).key != VectorSpace("toy", "2", 16, 0, 1).key

"""Parts of a question, and how near memories come to the best for each."""

from __future__ import annotations

import numpy as np
import pytest

from clew.recall.analyse import query_terms
from clew.recall.clauses import by_clause, parts_of


def parts(text: str) -> list[list[str]]:
    """As words."""
    terms = query_terms(text)
    found = parts_of(text, np.array(list(terms), np.uint32))
    words = np.array(list(terms.values()), object)
    return [words[row > 0].tolist() for row in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("letter, call and interview", [["letter"], ["call"], ["interview"]]),
        ("the port of the gateway", [["port", "gateway"]]),
        ("Who founded the label that released it?", [["found", "label"], ["releas"]]),
        ("gateway of main.py", [["gateway", "main", "py", "mainpi"]]),  # no sentence ends there
        ("port, port", [["port"], ["port"]]),
        ("and, or?", [["and", "or"]]),  # nothing but words that join
        ("船和港口", [["船和", "和港", "港口"]]),
    ],
)
def test_a_question_falls_apart_where_something_else_begins(text: str, expected: list[list[str]]) -> None:
    assert [sorted(part) for part in parts(text)] == [sorted(part) for part in expected]


def test_a_memory_is_measured_by_the_best_for_each_part() -> None:
    given = np.array([[4, 2, 0], [0, 2, 0], [0, 1, 0]], np.float32)  # terms, memories
    found = by_clause(np.array([[1, 1, 0], [0, 0, 1]], np.float32), given)
    assert found["clause_best"].tolist() == [1, 1, 0]
    assert found["clauses"].tolist() == [1, 2, 0]


def test_a_part_that_nobody_has_gives_nothing() -> None:
    found = by_clause(np.eye(2, dtype=np.float32), np.array([[0, 0], [1, 2]], np.float32))
    assert found["clause_best"].tolist() == [0.5, 1] and found["clauses"].tolist() == [0.25, 1]


def test_a_question_without_terms_and_a_look_without_candidates_are_no_error() -> None:
    nothing = parts_of("?", np.empty(0, np.uint32))
    assert by_clause(nothing, np.empty((0, 3), np.float32))["clauses"].tolist() == [0, 0, 0]
    assert by_clause(np.ones((1, 2), np.float32), np.empty((2, 0), np.float32))["clause_best"].size == 0

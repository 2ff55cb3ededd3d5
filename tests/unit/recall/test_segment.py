"""Memories as arrays: where a term is said is the same before and after everything was sorted by terms."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.recall import segment
from clew.recall.segment import Segment, build_segment
from toys import open_toy

# Some that differ in their upper half alone, which a first look does not see.
TERMS = st.sampled_from([1, 2, 3, 0x10001, 0x20001, 0x10002, 0xFFFF0003, 0xFFFFFFFF])
SAID = st.lists(st.dictionaries(TERMS, st.integers(1, 255), max_size=5), max_size=12)
ASKED = st.lists(TERMS, unique=True)


def segment_of(said: list[dict[int, int]]) -> Segment:
    return build_segment([_row(at, terms) for at, terms in enumerate(said)], 1)


def _row(at: int, terms: dict[int, int]) -> tuple[Any, ...]:
    blob = np.array(list(terms), "<u4").tobytes() + bytes(terms.values())
    return (f"id{at}", "long_term", "note", 0, None, None, 0, 0, 1.0, at, "", "", "", len(terms), blob, None)


def found(of: Segment, asked: NDArray[np.uint32]) -> list[dict[int, float]]:
    postings = of.postings_of(asked)
    begin, count = postings.where(asked)
    return [
        dict(zip(postings.docs[first : first + many].tolist(), postings.counts[first:].tolist(), strict=False))
        for first, many in zip(begin.tolist(), count.tolist(), strict=True)
    ]


@given(SAID, ASKED)
@settings(deadline=None)
def test_a_term_is_found_in_every_memory_that_says_it(said: list[dict[int, int]], asked: list[int]) -> None:
    of, terms = segment_of(said), np.array(asked, np.uint32)
    expected = [{at: float(has[term]) for at, has in enumerate(said) if term in has} for term in asked]
    assert found(of, terms) == expected
    of.sort_terms()
    assert of._postings and found(of, terms) == expected


def test_more_rows_than_are_taken_at_once_stay_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "ROWS_AT_ONCE", 3)
    of = segment_of([{at + 1: 1} for at in range(8)])
    assert of.ids == tuple(f"id{at}" for at in range(8))
    assert of.row.tolist() == list(range(8)) and of.said.tolist() == list(range(1, 9))


def test_one_question_sorts_nothing_and_the_next_does(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as memory:
        memory.remember("the gateway listens on port 8080")
        first = memory.recall("gateway port")
        [corpus] = memory._reader.corpora._kept.values()
        assert not corpus.segments[0]._postings
        assert memory.recall("gateway port").results == first.results
        assert corpus.segments[0]._postings


def test_many_are_sorted_while_questions_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SORTED_AT_ONCE", 0)
    of, asked = segment_of([{1: 2}, {2: 1}, {1: 1}]), np.array([1], np.uint32)
    before = set(threading.enumerate())
    of.sort_terms()
    of.sort_terms()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert len(of._postings) == 1 and found(of, asked) == [{0: 2.0, 2: 1.0}]

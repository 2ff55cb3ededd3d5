"""Ids sort by time and never repeat."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.model.ids import new_id

MILLIS = st.integers(0, 2**48 - 1)


@given(MILLIS, MILLIS)
def test_ids_sort_by_the_time_they_carry(one: int, other: int) -> None:
    if one != other:
        assert (new_id("mem", at_ms=one) < new_id("mem", at_ms=other)) == (one < other)


def test_an_id_is_its_prefix_and_26_characters_that_cannot_be_mistaken_for_each_other() -> None:
    assert re.fullmatch(r"mem_[0-9a-hjkmnp-tv-z]{26}", new_id("mem"))


def test_threads_never_get_the_same_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [new_id("mem", at_ms=0) for _ in range(1500)], range(8)))
    assert len({id for batch in batches for id in batch}) == 8 * 1500


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_repeat_its_parents_ids() -> None:
    new_id("mem")  # fills the pool that a child would inherit
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, "".join(new_id("mem", at_ms=0) for _ in range(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    from_child = os.read(reader, 100 * 30).decode()
    os.close(reader), os.close(writer)
    assert len(from_child) == 3000
    assert not any(new_id("mem", at_ms=0) in from_child for _ in range(100))

"""Marks: what a text is besides its words, kept as terms that no question can ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.clew import Clew
from clew.model.memory import Draft, Memory
from clew.model.scope import Scope
from clew.recall.analyse import REVISION, query_terms, term_hashes
from clew.recall.marks import ASKS, ENDS_ASKING, MARKS, TELLS_TIME
from clew.remember.prepare import WritePolicy, draft_memory, index_terms
from clew.store.sqlite import connect
from toys import START, ToldClock, ToyEmbedder, contents, open_toy

ASKING = "Where does the gateway listen?"
TALK = [ASKING, "It listens on port 8000 since yesterday", "Really? I thought it was 9000"]
FILLING = [f"nothing of the kind, part {number} of thirty" for number in range(30)]


def marked(content: str) -> set[int]:
    return terms_in(index_terms(replace(a_memory("x"), content=content)).terms) & MARKS


def a_memory(content: str, **fields: str) -> Memory:
    return draft_memory(Draft(content=content, **fields), Scope(), now=START, policy=WritePolicy())[0]  # type: ignore[arg-type]


def terms_in(blob: bytes) -> set[int]:
    return set(np.frombuffer(blob[: len(blob) // 5 * 4], "<u4").tolist())


# -- what is marked ------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["why?", "He asked 'why?'", "(is it so?)", 'She said: "Now?"\n', "why? "])
def test_what_ends_with_a_question_asks(content: str) -> None:
    assert marked(content) - {TELLS_TIME} == {ASKS, ENDS_ASKING}


def test_a_question_in_the_middle_asks_and_does_not_end_asking() -> None:
    assert marked("Why? Because of the gateway.") == {ASKS}


@pytest.mark.parametrize("content", ["", "no question", "why", "?!"[1:]])
def test_what_asks_nothing_has_no_mark(content: str) -> None:
    assert marked(content) == set()


@pytest.mark.parametrize(
    "content", ["we met yesterday", "back in 2023", "on MONDAY", "two weeks", "3 days ago", "in September", "1900"]
)
def test_what_tells_a_time_is_marked(content: str) -> None:
    assert marked(content) == {TELLS_TIME}


@pytest.mark.parametrize("content", ["port 8000", "the gateway is slow", "1899", "2101", "Sundance"])
def test_what_tells_none_is_not(content: str) -> None:
    assert marked(content) == set()


# -- no question asks for a mark -----------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(["\x01", "asks", "ends", "asking", "tells", "time", " ", "?", "\x01asks"]) | st.text())
)
@settings(max_examples=120)
def test_no_term_of_a_question_is_a_mark(parts: list[str]) -> None:
    assert MARKS.isdisjoint(query_terms("".join(parts)))
    assert MARKS.isdisjoint(term_hashes(" ".join(parts)))


@pytest.mark.parametrize("text", ["\x01asks", "\x01ends asking", "\x01tells time", "asks\x01", "\\x01asks"])
def test_not_even_one_that_is_written_as_a_mark(text: str) -> None:
    assert MARKS.isdisjoint(query_terms(text))
    assert MARKS.isdisjoint(query_terms(text[::-1]))


@pytest.mark.parametrize("content", [ASKING, "Really? I thought so, the day before", "gateway gateway"])
def test_marks_are_kept_beside_the_terms_and_add_nothing_to_the_length(content: str) -> None:
    indexed, words = index_terms(a_memory(content, title="On ports")), term_hashes(f"On ports\n{content}")
    assert indexed.length == len(words)
    assert terms_in(indexed.terms) == set(words) | marked(content)


def test_a_mark_counts_once_and_the_counts_of_words_stay_theirs() -> None:
    blob = index_terms(a_memory("gateway? gateway? gateway?")).terms
    size = len(blob) // 5
    found = dict(zip(np.frombuffer(blob[: 4 * size], "<u4").tolist(), blob[4 * size :], strict=True))
    [gateway] = query_terms("gateway")
    assert found == {gateway: 3, ASKS: 1, ENDS_ASKING: 1}


# -- a store from before -------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """As the first revision of the analyser left it: no memory has a mark."""
    path = tmp_path / "clew.db"
    with open_toy(path, embedder=ToyEmbedder(dim=64)) as memory:
        drafts = [Draft(content=text, thread="talk") for text in TALK] + [Draft(content=text) for text in FILLING]
        assert len(list(memory.remember_many(drafts))) == len(drafts)
    connection = connect(path)
    for row, blob in connection.execute("SELECT memory_row, terms FROM memory_terms").fetchall():
        connection.execute("UPDATE memory_terms SET terms = ? WHERE memory_row = ?", (without_marks(blob), row))
    connection.execute("UPDATE meta SET value = '1' WHERE key = 'analyser'")
    connection.close()
    return path


def without_marks(blob: bytes) -> bytes:
    size = len(blob) // 5
    hashes, counts = np.frombuffer(blob[: 4 * size], "<u4"), np.frombuffer(blob[4 * size :], "u1")
    kept = ~np.isin(hashes, sorted(MARKS))
    return hashes[kept].tobytes() + counts[kept].tobytes()


@pytest.fixture
def old(path: Path) -> Iterator[Clew]:
    later = ToldClock(START + timedelta(hours=1))
    with open_toy(path, embedder=ToyEmbedder(dim=64), clock=later) as memory:
        yield memory


def stored_marks(path: Path) -> set[int]:
    connection = connect(path)
    blobs = [blob for (blob,) in connection.execute("SELECT terms FROM memory_terms").fetchall()]
    connection.close()
    return MARKS & set().union(*map(terms_in, blobs))


def test_a_store_from_before_is_recalled_from(old: Clew, path: Path) -> None:
    assert stored_marks(path) == set()
    found = old.recall("where does the gateway listen", limit=40)
    assert contents(found)[0] == ASKING and "refinement" not in found.trace.notes
    assert "refine" in [stage.name for stage in found.trace.stages]
    assert set(TALK[:2]) <= set(contents(found))


def test_reindexing_it_adds_the_marks_and_only_once(old: Clew, path: Path) -> None:
    marked_before = sum(bool(marked(text)) for text in TALK + FILLING)
    assert old.reindex().changed == marked_before == 3
    assert stored_marks(path) == MARKS
    assert old.reindex().changed == 0
    [revision] = connect(path).execute("SELECT value FROM meta WHERE key = 'analyser'").fetchall()
    assert revision == (str(REVISION),)


def test_reindexing_makes_a_reply_known_as_one(old: Clew, path: Path) -> None:
    """The same question, before and after: only then is it known that the turn before asked."""
    query, reply = "where does the gateway listen", TALK[1]

    def score(memory: Clew) -> float:
        return {one.memory.content: one.rank_score for one in memory.recall(query, limit=40).results}[reply]

    before = score(old)
    old.reindex()
    assert score(old) != before

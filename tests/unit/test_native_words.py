"""Words by the compiled table and by the dictionary beside it, the terms of a memory, and ids."""

from __future__ import annotations

import gc
import threading
import weakref
from array import array
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import native
from clew.model import ids
from clew.recall import marks
from clew.remember.prepare import _tally

BLANKS = st.sampled_from(
    [" ", "  ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x1f", "\x85", "\u00a0", "\u2003", "\u3000"]
)
WORDS = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["port", "AuthService", "naïve", "设计", "x" * 70, "\ud800"]
)
TEXTS = st.lists(st.one_of(WORDS, BLANKS), max_size=40).map("".join)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> ModuleType:
    if native.compiled is None:
        pytest.skip("not compiled here")
    return native.compiled


def spelled(word: str) -> bytes:
    return f"<{word}>".encode("utf-8", "surrogatepass")


def tables(read: Callable[[str], bytes] = spelled, *, most: int = 20, longest: int = 16) -> list[native.Words]:
    return [native.words(read, most=most, longest=longest), native.KnownWords(read, most, longest)]


# -- the same of both ------------------------------------------------------------------------------------


@given(st.lists(TEXTS, max_size=8))
def test_both_join_the_bytes_of_all_words_however_often_they_begin_anew(texts: list[str]) -> None:
    ours, plain = tables()
    for text in texts:
        assert ours.join(text) == plain.join(text) == b"".join(map(spelled, text.split()))


@given(st.lists(TEXTS, max_size=4), st.sampled_from([0, 1, 8, 9, 40]))
def test_words_and_what_is_known_of_them_may_be_of_any_length(texts: list[str], size: int) -> None:
    """Both are kept in other places when they are long."""

    def read(word: str) -> bytes:
        return (spelled(word) * size)[:size]

    [ours, _plain] = tables(read, most=1_000)
    for text in (*texts, *texts):
        assert ours.join(text) == b"".join(map(read, text.split()))


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_what_is_unknown_is_what_would_be_read(texts: list[str], text: str) -> None:
    read: list[str] = []

    def noted(word: str) -> bytes:
        read.append(word)
        return b""

    for table in tables(noted, most=1_000):
        for known in texts:
            table.join(known)
        unknown = table.unknown(text)
        read.clear()
        table.join(text)
        assert set(read) <= set(unknown)
        assert not text.isascii() or list(dict.fromkeys(read)) == list(dict.fromkeys(unknown))


@given(st.lists(st.integers(0, 2**32 - 1) | st.sampled_from(sorted(marks.times())), max_size=400), st.booleans())
def test_terms_are_counted_alike(compiled: ModuleType, hashes: list[int], asks: bool) -> None:
    found = array("I", hashes + hashes[:5] * 300).tobytes()
    asking = array("I", [marks.ASKS] * asks).tobytes()
    told = compiled.tally(found, marks.times_in_order(), marks.TELLS_TIME, asking)
    assert told == _tally(found, asking)


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ids_are_spelled_alike(compiled: ModuleType, millis: int, ten: bytes) -> None:
    assert compiled.spell("mem", millis, ten) == ids._in_letters("mem", millis, ten)


# -- what is kept ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1])
def test_a_word_is_read_once(at: int) -> None:
    read: list[str] = []
    table = tables(lambda word: (read.append(word), spelled(word))[1])[at]
    table.join("one two one")
    table.join("two three naïve naïve")
    assert read == ["one", "two", "three", "naïve"]


@pytest.mark.parametrize("at", [0, 1])
def test_a_long_word_is_read_each_time(at: int) -> None:
    read: list[str] = []
    table = tables(lambda word: (read.append(word), b"")[1], longest=5)[at]
    table.join("longer longer")
    assert read == ["longer", "longer"]


def test_many_words_are_all_found_again() -> None:
    table, _plain = tables(most=100_000)
    words = [f"word{number}" for number in range(50_000)]
    assert table.join(" ".join(words)) == b"".join(map(spelled, words))
    assert table.unknown(" ".join(words)) == []
    assert len(table) == 50_000  # type: ignore[arg-type]


def test_a_full_table_begins_anew() -> None:
    table, _plain = tables(most=10)
    table.join(" ".join(f"word{number}" for number in range(1_000)))
    assert len(table) <= 10  # type: ignore[arg-type]


# -- whoever reads may do anything -----------------------------------------------------------------------


def test_reading_a_word_may_read_others() -> None:
    """The table grows and begins anew below whoever is in the middle of a text."""
    tables: list[native.Words] = []

    def read(word: str) -> bytes:
        if "-" in word:
            tables[0].join(" ".join(f"{part}{number}" for part in word.split("-") for number in range(300)))
        return spelled(word)

    tables.append(native.words(read, most=50, longest=16))
    text = "a-b c d-e f a-b g"
    assert tables[0].join(text) == b"".join(map(spelled, text.split()))


def test_a_word_that_cannot_be_read_fails_and_is_not_kept() -> None:
    answers: list[Any] = [ValueError("no"), "text", spelled("one")]

    def read(_word: str) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    table = native.words(read, most=10, longest=16)
    with pytest.raises(ValueError, match="no"):
        table.join("one")
    with pytest.raises(TypeError):
        table.join("one")
    assert table.join("one") == spelled("one")


def test_threads_share_a_table() -> None:
    table = native.words(spelled, most=64, longest=16)
    texts = [" ".join(f"w{(number * step) % 97}" for number in range(200)) for step in range(1, 9)]
    wrong: list[str] = []

    def work(text: str) -> None:
        wrong.extend(text for _ in range(50) if table.join(text) != b"".join(map(spelled, text.split())))

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_table_that_its_reader_holds_is_let_go() -> None:
    class Reader:
        def __init__(self) -> None:
            self.table = native.words(self.read, most=10, longest=16)

        def read(self, word: str) -> bytes:
            return spelled(word)

    reader = Reader()
    reader.table.join("one two")
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None


# -- what is not what it should be -----------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, b"bytes", 7, ["a"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    table = native.words(spelled, most=10, longest=16)
    for read in (table.join, table.unknown):
        with pytest.raises(TypeError):
            read(text)


@pytest.mark.parametrize(
    "given", [(spelled, 0, 5, 1), (spelled, 5, 0, 1), (spelled, 5, 9_999, 1), (None, 5, 5, 1), ()]
)
def test_a_table_of_odd_numbers_is_refused(compiled: ModuleType, given: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        compiled.Words(*given)


@pytest.mark.parametrize(
    "given",
    [(b"123", 0), (b"", 1), (b"", 2), (b"", 3), ("text", 0), (None, 1)],
)
def test_odd_terms_are_refused(compiled: ModuleType, given: tuple[Any, int]) -> None:
    asked: list[Any] = [b"1234", marks.times_in_order(), marks.TELLS_TIME, b""]
    asked[given[1]] = {1: b"123", 2: 2**32, 3: b"1"}.get(given[1], given[0]) if given[1] else given[0]
    with pytest.raises((TypeError, ValueError)):
        compiled.tally(*asked)


@pytest.mark.parametrize(
    "asked", [("mem", 1, b"short"), ("m" * 99, 1, bytes(10)), ("mem", "1", bytes(10)), (1, 1, bytes(10))]
)
def test_an_odd_id_is_refused(compiled: ModuleType, asked: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        compiled.spell(*asked)


def test_ids_of_one_moment_differ() -> None:
    made = {ids.new_id("mem", at_ms=5) for _ in range(2_000)}
    assert len(made) == 2_000
    assert len({id[:13] for id in made}) == 1


class Slotted:
    __slots__ = ("one", "other")


SLOTS = (Slotted.__dict__["one"], Slotted.__dict__["other"])


def test_slots_are_filled_in_their_order(compiled: ModuleType) -> None:
    value = Slotted()
    compiled.fill(value, SLOTS, (1, "two"))
    assert (value.one, value.other) == (1, "two")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "asked",
    [
        (Slotted(), SLOTS, (1,)),
        (Slotted(), list(SLOTS), (1, 2)),
        (Slotted(), (1, 2), (1, 2)),
        (object(), SLOTS, (1, 2)),
        (),
    ],
    ids=["too few", "a list", "no slots", "another value", "nothing"],
)
def test_what_does_not_fit_is_not_filled(compiled: ModuleType, asked: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        compiled.fill(*asked)

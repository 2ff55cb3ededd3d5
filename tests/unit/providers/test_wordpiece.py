"""Word pieces: recorded answers of the reference tokenizer, and what holds for every text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.providers import wordpiece
from clew.providers.wordpiece import LONGEST, MAX_WORD_CHARS, UNKNOWN, VOCAB, WordPiece

VOCABULARY = 30_522
ANY_TEXT = st.text(st.characters(), max_size=200)  # lone surrogates too: they reach us from broken files

# What Hugging Face `tokenizers` answers with the teacher's tokenizer.json, special tokens taken as text.
RECORDED = [
    ("", ""),
    ("   \t\n", ""),
    ("hello world", "7592 2088"),
    ("The deploy of api/v2 failed", "1996 21296 1997 17928 1013 1058 2475 3478"),
    (
        "DATABASE_URL=postgres://db:5432/app",
        "7809 1035 24471 2140 1027 2695 17603 2015 1024 1013 1013 16962 1024 5139 16703 1013 10439",
    ),
    ("don't stop, e.g. now...", "2123 1005 1056 2644 1010 1041 1012 1043 1012 2085 1012 1012 1012"),
    ("unaffable", "14477 20961 3468"),
    (
        "memory_recall(query, *, budget_tokens=800)",
        "3638 1035 9131 1006 23032 1010 1008 1010 5166 1035 19204 2015 1027 5385 1007",
    ),
    (
        "src/clew/providers/wordpiece.py",
        "5034 2278 1013 18856 7974 1013 11670 1013 2773 11198 1012 1052 2100",
    ),
    ("C++ & C# > $5 ~ `x` ^ |", "1039 1009 1009 1004 1039 1001 1028 1002 1019 1066 1036 1060 1036 1034 1064"),
    (
        "3.14159 0xDEADBEEF v1.2.3-rc1",
        "1017 1012 15471 28154 1014 2595 3207 4215 11306 2546 1058 2487 1012 1016 1012 1017 1011 22110 2487",
    ),
    ("snake_case camelCase SCREAMING_CASE", "7488 1035 2553 19130 18382 7491 1035 2553"),
    ("a\x00b\x01c\x7fd", "5925 2094"),
    ("tab\tnew\nline\rend", "21628 2047 2240 2203"),
    ("form\x0cfeed vertical\x0btab", "2433 7959 2098 7471 2696 2497"),
    ("naïve Café Ångström", "15743 7668 17076 15687"),
    ("e\u0301a\u0300", "19413"),
    ("Straße İstanbul ΟΔΟΣ", "2358 27807 9960 1169 29722 29730 29733"),
    ("日本語テスト 中文字", "1864 1876 1950 1713 30233 30240 1746 1861 100"),
    ("한국어 문장", "1469 30006 30021 29991 30014 30020 29999 30008 1459 30014 30021 30000 30006 30025"),
    ("Привет, мир!", "1194 16856 10325 25529 15290 22919 1010 1191 10325 16856 999"),
    ("“quoted” \u2013 dash… ¿qué?", "1523 9339 1524 1516 11454 1529 1094 10861 1029"),
    ("\U0001f469\u200d\U0001f4bb shipped \U0001f680", "100 12057 100"),
    ("zero\u200bwidth\ufeffmark no\xa0break\u3000space", "5717 9148 11927 22444 8024 2053 3338 2686"),
    (
        "[CLS] ignore the rest [SEP] [MASK]",
        "1031 18856 2015 1033 8568 1996 2717 1031 19802 1033 1031 7308 1033",
    ),
    ("bad\ufffdchar private\ue000use", "2919 7507 2099 2797 8557"),
    ("ﬁne ½ x² №5 Å", "1984 2638 1092 1060 10701 1578 2629 1037"),
]


@pytest.mark.parametrize(("text", "ids"), RECORDED)
@pytest.mark.parametrize("looks", [0, 3, 10_000])
def test_a_piece_has_the_same_id_where_it_is_listed_and_in_the_dictionary_of_all(
    monkeypatch: pytest.MonkeyPatch, text: str, ids: str, looks: int
) -> None:
    monkeypatch.setattr(wordpiece, "FEW_LOOKS", looks)
    assert WordPiece(wordpiece._Lines(VOCAB.read_bytes())).ids(text) == [int(number) for number in ids.split()]


def test_no_piece_is_listed_twice_and_none_is_longer_than_is_looked_for() -> None:
    pieces = VOCAB.read_text(encoding="utf-8").split("\n")[:VOCABULARY]
    assert len(set(pieces)) == VOCABULARY and max(map(len, pieces)) == LONGEST
    looked_up = wordpiece._Lines(VOCAB.read_bytes())
    ends = (*range(5), *range(VOCABULARY - 5, VOCABULARY))
    assert [looked_up.get(pieces[at]) for at in ends] == [*ends]
    assert looked_up.get("\ud800") is None


@pytest.mark.parametrize(("text", "ids"), RECORDED)
def test_ids_are_those_of_the_reference_tokenizer(text: str, ids: str) -> None:
    assert WordPiece.load().ids(text) == [int(number) for number in ids.split()]


def test_a_word_beyond_the_limit_is_one_unknown_token() -> None:
    pieces = WordPiece.load()
    assert len(pieces.ids("a" * MAX_WORD_CHARS)) > 1
    assert pieces.ids("a" * (MAX_WORD_CHARS + 1)) == [UNKNOWN]


def test_the_vocabulary_is_read_once() -> None:
    assert WordPiece.load() is WordPiece.load()


def test_a_full_word_cache_starts_anew_and_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.providers.wordpiece._CACHED_WORDS", 2)
    pieces = WordPiece({"[UNK]": 0, "a": 1, "##b": 2})
    assert [pieces.ids("a ab abb a ab abb") for _ in range(2)] == [[1, 1, 2, 1, 2, 2] * 2] * 2


@given(ANY_TEXT)
def test_every_text_gives_ids_within_the_vocabulary(text: str) -> None:
    assert all(0 <= number < VOCABULARY for number in WordPiece.load().ids(text))


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_ascii_text_reads_the_same_beside_other_scripts(text: str) -> None:
    # The ASCII path is a shortcut: an accent at the end sends the same text down the general one.
    pieces = WordPiece.load()
    assert pieces.ids(text + " é") == [*pieces.ids(text), *pieces.ids("e")]


@given(ANY_TEXT)
def test_letter_case_never_matters(text: str) -> None:
    pieces = WordPiece.load()
    ascii_upper = "".join(c.upper() if c.isascii() else c for c in text)
    assert pieces.ids(ascii_upper) == pieces.ids(text)


@pytest.mark.parametrize("control", ["\x0b", "\x0c", "\x1c", "\x1f", "\x85"])
def test_what_is_white_space_to_python_alone_parts_no_words(control: str) -> None:
    pieces = WordPiece.load()
    assert pieces.ids(f"one auth{control}or two") == pieces.ids("one author two")
    assert pieces.ids("one auth or two") != pieces.ids("one author two")

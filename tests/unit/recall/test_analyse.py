"""The one analyser: the same terms for what is stored and what is asked, whatever the text."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.recall.analyse import MAX_TERM_CHARS, hash_term, query_terms, term_hashes, terms

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # lone surrogates and NUL included
# Letters of many scripts and everything that joins identifiers, so that most examples exercise the splitting.
TRICKY = st.text(st.sampled_from("aBc1_-./\\:#@,+'’🚀 é́ßﬁ漢字かなカﾅ한ก่हिع\u0651\u00b2Ⅻ\ud800\x00\n"), max_size=80)


@given(ANY_TEXT | TRICKY)
@settings(max_examples=300)
def test_any_text_has_terms_and_the_same_ones_each_time(text: str) -> None:
    assert terms(text) == terms(text)
    assert all(isinstance(term, str) and term for term in terms(text))


@given(ANY_TEXT | TRICKY)
@settings(max_examples=300)
def test_hashes_are_those_of_the_terms(text: str) -> None:
    assert term_hashes(text) == [hash_term(term) for term in terms(text)]


@given(ANY_TEXT | TRICKY)
@settings(max_examples=300)
def test_a_text_normalised_beforehand_has_the_same_terms(text: str) -> None:
    assert terms(text) == terms(unicodedata.normalize("NFKC", text))


@given(ANY_TEXT | TRICKY)
@settings(max_examples=300)
def test_what_is_asked_is_among_what_is_stored(text: str) -> None:
    """A memory is found by its own text: a query never asks for a term that the index would not have."""
    assert set(query_terms(text)) <= set(term_hashes(text))
    assert bool(query_terms(text)) == bool(terms(text))


@pytest.mark.parametrize(
    "one", ["AuthService", "auth_service", "src/auth/service.py", "auth-service", "Auth.Service"]
)
@pytest.mark.parametrize("other", ["AuthService", "auth_service", "src/auth/service.py", "the auth services"])
def test_spellings_of_one_name_find_each_other(one: str, other: str) -> None:
    assert len(set(terms(one)) & set(terms(other))) >= 2


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("認証サービスを再起動する", "認証"),
        ("数据库连接池已满", "连接池"),
        ("데이터베이스 연결", "연결"),
        ("ฐานข้อมูลเต็ม", "ข้อมูล"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
        ("設定 config を読む", "config"),
        ("Ёлка растёт", "ёлка"),
        ("naïve café", "NAIVE CAFE"),
        ("Straße", "STRASSE"),
        ("Łukasz Sørensen, Þór und Æneas", "lukasz sorensen thor aeneas"),
        ("at most 12,400 e-mails a day", "12400 emails"),
        ("AuthServices keeps WebSockets open", "authservice websocket"),
        ("ＡＰＩ　ｋｅｙ", "api"),
    ],
)
def test_text_of_any_script_is_found_by_a_part_of_it(written: str, asked: str) -> None:
    assert set(query_terms(asked)) <= set(term_hashes(written))


@pytest.mark.parametrize(
    ("one", "other"), [("12,400", "12400"), ("authservices", "AuthService"), ("e-mail", "emails")]
)
def test_what_is_written_in_one_word_or_in_parts_shares_the_whole(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


def test_a_lone_character_of_a_script_without_spaces_is_found() -> None:
    assert set(query_terms("鍵")) <= set(term_hashes("秘密鍵を保存"))


def test_a_longer_run_asks_for_its_pairs_only() -> None:
    assert list(query_terms("認証局").values()) == ["認証", "証局"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deploying deployed deploys", ["deploy"] * 3),
        ("the and of", ["the", "and", "of"]),  # nothing else there: then they count
        ("the port", ["port"]),
        ("mw.py:42", ["mw", "py", "42", "mwpi"]),
        ("JIRA-1234", ["jira", "1234", "jira1234"]),
        ("user's", ["user"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("v1.2.3", ["v", "1", "v1", "2", "3", "v123"]),
        ("1,234,567/s", ["1", "234", "567", "s", "1234567s"]),
        ("12,5 12,3456 x,400", ["12", "5", "12", "3456", "x", "400"]),
        ("?!… —", []),
        ("", []),
    ],
)
def test_terms_of_typical_texts(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_blob_is_one_term_and_not_hundreds() -> None:
    assert len(terms("aB1" * MAX_TERM_CHARS)) == 1


def grows_with_its_length(piece: str, size: int) -> bool:
    """Processor time of this thread, the best of three: what a busy machine adds is no growth. Eight times the
    text, not eight squared."""
    short, long = (piece * (size // len(piece) + 1))[: size // 8], (piece * (size // len(piece) + 1))[:size]
    limit = 4 * 8 * max(min(timed(short) for _ in range(3)), 0.001)
    return any(timed(long) < limit for _ in range(3))


def timed(text: str) -> float:
    started = time.thread_time()
    term_hashes(text)
    return time.thread_time() - started


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        ".",
        "a" + "." * 50,
        "é_",
        "aA1",
        "漢",
        "ก็",
        "'",
        "a'",
        "क्",
        "1:1",
        ":1",
        "_-./\\:#@",
        "\u0301",
        "x" * 99 + " ",
    ],
)
def test_hostile_text_costs_no_more_per_character_when_it_is_longer(piece: str) -> None:
    assert grows_with_its_length(piece, 64_000)


@pytest.mark.parametrize("piece", ["a._-", "é"])
def test_a_megabyte_is_analysed_at_the_price_of_eight_parts(piece: str) -> None:
    assert grows_with_its_length(piece, 1_000_000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("C++", ["c++"]),
        ("we write C#, not F#.", ["write", "c#", "f#"]),
        ("C++/CLI", ["c++", "cli"]),
        ("c++17 and c#7", ["c++", "17", "c#", "7"]),
        ("C/C++ and Objective-C++", ["c", "c++", "object", "c++"]),
        ("für C# (größer: C++)", ["fur", "c#", "grosser", "c++"]),
        ("issue #12, abc# and PR#3", ["issu", "12", "abc", "pr", "3", "pr3"]),
        ("for (;;) i++;", ["i++"]),
    ],
)
def test_languages_keep_their_signs(text: str, found: list[str]) -> None:
    assert terms(text) == found


def test_an_emoji_is_a_term_whatever_the_tone_of_its_skin() -> None:
    assert terms("🚀 deploys, 👍🏽 approves") == ["🚀", "deploy", "👍", "approv"]
    assert terms("👍") == terms("👍🏿")
    assert [*query_terms("❌").values()] == ["❌"]

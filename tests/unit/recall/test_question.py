"""What a question says besides its words: whom it names, which time it is about, whose words it is after."""

from __future__ import annotations

from datetime import UTC, datetime
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.recall.analyse import query_terms
from clew.recall.question import ROLES, Asked, Date, in_words, name_terms, read_question, span_of

PEOPLE = ["Ann", "Bob", "Melanie", "Caroline", "Ann Lee", "Jean-Luc", "Zoë"]
WORDS = "which tea does the gateway like after lunch and why deploy port 8000 index.py 漢字".split()


def named(*authors: str) -> dict[int, set[int]]:
    """As a corpus keeps them."""
    found: dict[int, set[int]] = {}
    for author in authors:
        for term in name_terms(author):
            found.setdefault(term, set()).add(crc32(author.encode()))
    return found


def asked(text: str, *authors: str) -> Asked:
    return read_question(text, named(*authors))


def hashes(*authors: str) -> frozenset[int]:
    return frozenset(crc32(author.encode()) for author in authors)


def words(text: str) -> list[str]:
    return list(query_terms(text).values())


# -- whom it names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "what tea does Ann like",
        "what is Ann's tea like",
        "what is Ann’s tea like",
        "what tea does ann like",
        "Ann: what tea like?",
        "ANN, tea, like",
    ],
)
def test_the_name_of_an_author_is_taken_out_and_becomes_a_reason(text: str) -> None:
    found = asked(text, "Ann", "Bob")
    assert words(found.text) == ["tea", "like"] and found.authors == hashes("Ann")


def test_a_first_name_stands_for_everybody_who_has_it() -> None:
    found = asked("what tea does Ann like", "Ann Lee", "Ann Kay", "Bob")
    assert words(found.text) == ["tea", "like"] and found.authors == hashes("Ann Lee", "Ann Kay")


def test_a_full_name_and_a_name_of_two_parts_go_as_a_whole() -> None:
    found = asked("tea of Ann Lee and Jean-Luc", "Ann Lee", "Jean-Luc")
    assert words(found.text) == ["tea"] and found.authors == hashes("Ann Lee", "Jean-Luc")


def test_accents_do_not_matter() -> None:
    assert asked("tea of Zoe", "Zoë").authors == hashes("Zoë")
    assert words(asked("tea of Zoë's", "Zoë").text) == ["tea"]


@pytest.mark.parametrize("text", ["what tea does Carl like", "tea of Annabel", "what tea is there", ""])
def test_a_name_that_nobody_has_stays(text: str) -> None:
    found = asked(text, "Ann", "Bob")
    assert found.text == text and not found.authors


def test_where_nobody_has_a_name_nothing_is_taken_out() -> None:
    text = "what tea does Ann like"
    assert asked(text) == Asked(text, frozenset(), False, False, False, False, ())


@pytest.mark.parametrize("text", ["Ann", "Ann?", "who is Ann Lee", "Ann's and Ann"])
def test_a_question_that_is_nothing_but_a_name_keeps_it(text: str) -> None:
    found = asked(text, "Ann Lee", "Bob")
    assert found.text == text and found.authors == hashes("Ann Lee")


@pytest.mark.parametrize("role", [*sorted(ROLES), "User", "ASSISTANT"])
def test_what_somebody_is_is_no_name(role: str) -> None:
    text = f"what did the {role} say about tea"
    found = asked(text, role)
    assert found.text == text and not found.authors


@given(
    st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from([*PEOPLE, *WORDS, "Ann's", "(Bob)", "Ann,", "\x01", "Lee"]), max_size=8),
)
@settings(max_examples=80)
def test_the_bare_text_names_nobody_and_keeps_every_other_word(authors: list[str], parts: list[str]) -> None:
    text, known = " ".join(parts), named(*authors)
    found, terms = asked(text, *authors), query_terms(text).keys()
    assert found.authors == frozenset(author for term in terms & known.keys() for author in known[term])
    if terms <= known.keys():
        assert found.text == text
    else:
        assert query_terms(found.text).keys() == terms - known.keys()


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=3))
@settings(max_examples=100)
def test_no_text_and_no_name_makes_it_fail(text: str, authors: list[str]) -> None:
    known: dict[int, set[int]] = {}
    for author in authors:
        for term in name_terms(author):
            known.setdefault(term, set()).add(1)
    found = read_question(text, known)
    assert found == read_question(text, known)
    assert query_terms(found.text).keys() or not query_terms(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\x01\x01asks", "?" * 200, "'s 's", "1" * 8_000, "1 " + " " * 7_998, "\ud800"]
)
def test_hostile_text_says_nothing(text: str) -> None:
    found = asked(text, "Ann")
    assert found == Asked(text, frozenset(), False, False, False, False, ())


@pytest.mark.parametrize(
    ("text", "author", "kept"),
    [
        ("how do I set max_tokens", "Max", "max_tokens"),
        ("what is AnnService", "Ann", "AnnService"),
        ("where is src/ann.py", "Ann", "src/ann.py"),
        ("田中さんは何と言った", "田中", "言った"),
    ],
)
def test_a_word_that_only_contains_a_name_stays(text: str, author: str, kept: str) -> None:
    """An identifier, or a sentence of a script without spaces, does not go with the name that is in it."""
    assert query_terms(asked(text, author).text).keys() >= query_terms(kept).keys() - set(name_terms(author))


@pytest.mark.parametrize(
    ("text", "author"),
    [
        ("what happened in step 7", "agent-7"),
        ("does example.com answer", "kim@example.com"),
        ("which com port", "kim@example.com"),
    ],
)
def test_a_number_or_a_host_is_no_name(text: str, author: str) -> None:
    """Those who sign with an address are not named by its parts."""
    found = asked(text, author)
    assert found.text == text and not found.authors


def test_a_name_with_an_apostrophe_goes_however_it_is_written() -> None:
    for name in ("o'brien", "O'Brien"):
        assert words(asked(f"what tea does {name} like", name).text) == ["tea", "like"]


# -- which time it is about ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "When did Ann arrive?",
        "WHEN",
        "since when",
        "what day was it",
        "what year is it from",
        "which month was that",
        "what time is lunch",
        "How long did it take?",
        "how many weeks are left",
    ],
)
def test_it_asks_for_a_time(text: str) -> None:
    assert asked(text).about_time


@pytest.mark.parametrize(
    "text", ["whenever", "how many bicycles", "what a daylight", "how longing", "the time is now"]
)
def test_it_does_not_ask_for_a_time(text: str) -> None:
    assert not asked(text).about_time


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("what happened in May", Date(5, None, None)),
        ("in May 2023", Date(5, None, 2023)),
        ("in May, 2023", Date(5, None, 2023)),
        ("on 7 May", Date(5, 7, None)),
        ("on 7 may", Date(5, 7, None)),
        ("on May 7", Date(5, 7, None)),
        ("on May 7th", Date(5, 7, None)),
        ("on may 7th", Date(5, 7, None)),
        ("on 7 May 2023", Date(5, 7, 2023)),
        ("on 7 May, 2023", Date(5, 7, 2023)),
        ("on May 7, 2023", Date(5, 7, 2023)),
        ("on May 7th, 2023", Date(5, 7, 2023)),
        ("on MAY 7 2023", Date(5, 7, 2023)),
        ("on the 1st of January 2024", Date(1, 1, 2024)),
        ("the 2nd of february", Date(2, 2, None)),
        ("23rd June", Date(6, 23, None)),
        ("31 December 1999", Date(12, 31, 1999)),
        ("by may 2023", Date(5, None, 2023)),
        ("on 7 Sept 2023", Date(9, 7, 2023)),
        ("on Mar. 7, 2023", Date(3, 7, 2023)),
        ("in dec 2023", Date(12, None, 2023)),
        ("why was it slow in september", Date(9, None, None)),
        ("October release notes", Date(10, None, None)),
        ("on 2023-05-07", Date(5, 7, 2023)),
        ("since 2023-05-07T10:30:00Z", Date(5, 7, 2023)),
        ("on 2023/5/7", Date(5, 7, 2023)),
        ("am 7.5.2023?", Date(5, 7, 2023)),
        ("on 5/27/2023", Date(5, 27, 2023)),
        ("on 27/5/2023", Date(5, 27, 2023)),
    ],
)
def test_dates_as_they_are_written(text: str, date: Date) -> None:
    assert asked(text).dates == (date,)


def test_several_dates_come_in_their_order_and_once() -> None:
    found = asked("between 3 March and 5 April 2024, or April 5, 2024, or in March").dates
    assert found == (Date(3, 3, None), Date(4, 5, 2024), Date(3, None, None))


def test_where_nobody_knows_which_number_is_the_month_both_are_asked_about() -> None:
    assert asked("on 5/7/2023").dates == (Date(7, 5, 2023), Date(5, 7, 2023))


def test_a_day_with_a_year_is_a_span_of_time_and_nothing_else_is() -> None:
    first, last = span_of(Date(5, 7, 2023)) or (0, 0)
    noon = round(datetime(2023, 5, 7, 12, tzinfo=UTC).timestamp() * 1e6)
    assert first < noon < last and last - first == 52 * 3_600_000_000  # the day as it is anywhere on earth
    for date in (Date(5, None, 2023), Date(5, 7, None), Date(2, 30, 2023), Date(5, 7, 0), Date(12, 31, 9999)):
        assert span_of(date) is None


@pytest.mark.parametrize(
    "text",
    [
        "v2023-05-07-2",
        "2023-13-07",
        "10.0.5.2023",
        "1.2.3",
        "the jan branch",
        "mar 3:20",
        "what may go wrong",
        "we may 'deploy'",
        "march to the sea",
        "Mayor",
        "maybe",
        "Marching",
        "in 2023",
        "8000",
        "7 maypoles",
    ],
)
def test_what_only_looks_like_a_month_is_no_date(text: str) -> None:
    assert asked(text).dates == ()


@pytest.mark.parametrize("text", ["APRİL 5", "aprıl 5", "Auguſt 5"])
def test_letters_that_only_resemble_those_of_a_month_make_none(text: str) -> None:
    """Regular expressions that ignore case take ı, İ and ſ for i and s."""
    assert read_question(text, {}) == Asked(text, frozenset(), False, False, False, False, ())


@pytest.mark.parametrize("text", ["May I deploy on Fridays", "Well. May I deploy?", "March on"])
def test_the_capital_of_a_first_word_makes_no_month(text: str) -> None:
    assert asked(text).dates == ()


# -- whose words it is after ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "what did you recommend",
        "Which book did you suggest?",
        "the café you mentioned",
        "what have you said about tea",
        "remind me of your advice",
        "what was your answer",
        "the recipe you gave me",
    ],
)
def test_it_asks_what_the_agent_said(text: str) -> None:
    assert asked(text).of_agent


@pytest.mark.parametrize(
    "text", ["what did I recommend", "did Ann suggest it", "thank you", "your house", "did youth"]
)
def test_it_does_not_ask_what_the_agent_said(text: str) -> None:
    assert not asked(text).of_agent


def test_it_speaks_of_whoever_asks() -> None:
    for text in ("what did I say", "which port do i use", "what's my address", "I’ve moved, where to"):
        assert asked(text).of_self, text
    for text in ("which port do we use", "Where are our rows?", "We’ve moved, where to"):
        assert asked(text).of_self, text
    for text in (
        "what did the US team decide",
        "the us-east region",
        "web/we.py",
        "the i/o error",
        "src/me/app.py",
        "Mystery",
        "what did Ann say",
    ):
        assert not asked(text).of_self, text


def test_courtesy_around_a_question_is_none_of_its_words() -> None:
    for text in (
        "Please tell me, which port does the gateway use?",
        "Can you remind me: which port does the gateway use?",
        "hey, could you please tell me again which port does the gateway use?",
        "Search your memory for this and answer: which port does the gateway use?",
        "i'd like you to tell me which port does the gateway use?",
    ):
        found = asked(text)
        assert words(found.text) == words("which port does the gateway use?"), text
        assert not found.of_agent and not found.of_self, text
    for text in ("tell me about tea", "what did you tell me", "tell me", "please", "can you list my ports"):
        assert asked(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "How did I fix the gateway",
        "why is it slow",
        "what steps are left",
        "What strategies were there",
        "how to deploy",
        "what did you say",
    ],
)
def test_it_asks_for_what_explains(text: str) -> None:
    assert asked(text).of_manner


@pytest.mark.parametrize("text", ["how many ports", "how long", "what is the port", "when did it start", "show to"])
def test_it_asks_for_a_fact(text: str) -> None:
    assert not asked(text).of_manner


@pytest.mark.parametrize(
    ("text", "author"),
    [("when will the gateway move", "Will"), ("why don't the jobs run", "Don"), ("is there a port", "A")],
)
def test_a_function_word_is_no_name(text: str, author: str) -> None:
    found = asked(text, author)
    assert found.text == text and not found.authors


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("how do I get a grant", ["get", "grant"]),
        ("what does Grant want", ["want"]),
        ("what does grant hill want", ["want"]),
    ],
)
def test_in_small_letters_a_part_of_a_name_is_a_word(question: str, left: list[str]) -> None:
    assert words(asked(question, "Grant Hill").text) == left


@pytest.mark.parametrize("name", ["Build Bot", "Platform Team"])
def test_bots_and_teams_are_nobody(name: str) -> None:
    assert words(asked(f"which {name} cache", name).text) == words(f"which {name} cache")


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("create src/geo/distance.py now", "create geo distance now"),
        ("why does ./deploy.sh fail", "why does deploy fail"),
        ("tests/unit/test_pay.py::test_vat fails", "unit test_pay::test_vat fails"),
        ("see https://example.com/a/b.html", "see https://example.com/a/b.html"),
        ("up ../.. and on", "up  and on"),
        ("src/geo/distance.py", "src/geo/distance.py"),
    ],
)
def test_of_a_path_among_words_what_tells_it_from_others_is_compared(text: str, compared: str) -> None:
    assert in_words(text) == compared


@given(st.text(alphabet="ab./\\ -_:@", max_size=40))
def test_nothing_is_added_to_what_is_compared_and_a_text_without_paths_stays(text: str) -> None:
    letters = [letter for letter in in_words(text) if letter.isalpha()]
    assert all(letters.count(letter) <= text.count(letter) for letter in "ab")
    assert "/" in text or "\\" in text or in_words(text) == text

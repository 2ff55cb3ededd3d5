"""Every number of the last look beside what it must be, on corpora small enough to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.model.memory import Draft
from clew.model.recalled import RecallOptions
from clew.model.scope import Reach, Scope
from clew.model.times import to_micros
from clew.recall.analyse import hash_term
from clew.recall.corpus import Corpus
from clew.recall.features import BRIDGE, HOPS_FROM, NAMES, RARE_COUNT, RARE_TERMS, features
from clew.recall.graph import Reached
from clew.recall.question import read_question
from clew.recall.ranker import best_first
from clew.recall.recall import Question, Reader, score
from clew.recall.segment import build_segment
from clew.remember.prepare import WritePolicy, draft_memory, embedding_text, index_terms
from toys import START, ToyEmbedder, weight_of

pytestmark = pytest.mark.usefixtures("by_both")

TOY = ToyEmbedder(dim=64)
READER = Reader(cast(Any, None), cast(Any, None), TOY, cast(Any, None))
FILLING = "amber basil cedar daisy ember fern garnet heron iris jade koala lemon mango nectar olive poppy".split()
AROUND = ("words_before", "words_after", "meaning_before", "meaning_after", "answers", "answers_words")


@dataclass(frozen=True)
class Turn:
    """A memory, as a row of the read model."""

    text: str
    id: str
    thread: str = ""
    author: str = ""
    title: str = ""
    at: datetime = START
    row: int = 0

    @cache  # noqa: B019
    def as_row(self) -> tuple[Any, ...]:
        draft = Draft(content=self.text, author=self.author or None, title=self.title or None)
        indexed = index_terms(draft_memory(draft, Scope(), now=START, policy=WritePolicy())[0])
        vector = TOY.embed([embedding_text(draft.title, self.text)])[0].astype("<f2").tobytes()
        fields = (self.id, "long_term", "note", to_micros(self.at), None, None, 0, 0, 1.0, self.row)
        return (*fields, self.title, self.author, self.thread, indexed.length, indexed.terms, vector)


def turns(*texts: str, prefix: str = "", **fields: Any) -> list[Turn]:
    """One after the other, named by number."""
    return [Turn(text, f"{prefix}{number}", row=number, **fields) for number, text in enumerate(texts)]


def filling(count: int = 16) -> list[Turn]:
    return [Turn(f"{word} by itself", f"filling {word}", row=1_000 + at) for at, word in enumerate(FILLING[:count])]


@dataclass(frozen=True)
class Table:
    """Features by memory. `base` is what the candidates come by."""

    values: Mapping[str, NDArray[np.float32]]
    ids: Sequence[str]
    base: NDArray[np.float32]
    corpus: Corpus

    def of(self, id: str) -> dict[str, float]:
        return {name: float(column[self.ids.index(id)]) for name, column in self.values.items()}


def table(
    query: str,
    *blocks: Sequence[Turn],
    dead: Sequence[str] = (),
    reached: Mapping[str, float] | None = None,
    seeds: int = HOPS_FROM,
) -> Table:
    """Each block is a segment; every living memory is a candidate."""
    segments = tuple(build_segment([turn.as_row() for turn in block], TOY.dim) for block in blocks)
    ids = [turn.id for block in blocks for turn in block]
    corpus = Corpus(segments, np.array([id not in dead for id in ids]), 1)
    asked = read_question(query, corpus.named)
    question = Question(
        query, asked, Reach.of(Scope()), RecallOptions(), START + timedelta(days=3_650), TOY.embed([asked.text])[0]
    )
    run = score(question, corpus, {}, READER, 0.0)
    run.reached = {
        ids.index(id): Reached(id, activation, cast(Any, None), 0, {}) for id, activation in (reached or {}).items()
    }
    base = run.scales[0].of(run.evidence.lexical) + run.scales[1].of(run.evidence.cosine)
    places = best_first(run, np.flatnonzero(corpus.alive))
    found = dict(zip(NAMES, features(run, asked, places, run.matches, hops_from=seeds), strict=True))
    return Table(found, [ids[at] for at in places.tolist()], base[places], corpus)


# -- the memory itself ---------------------------------------------------------------------------------


def test_a_memory_that_says_everything_that_is_asked_covers_it() -> None:
    found = table("gateway port", turns("gateway port", "gateway", "lunch"), filling())
    both, one, none = (found.of(id) for id in "012")
    weights = [weight_of(hash_term(term), 19, often) for term, often in (("gateway", 2), ("port", 1))]
    assert (both["covered"], none["covered"]) == (pytest.approx(1), 0)
    assert one["covered"] == pytest.approx(weights[0] / sum(weights), rel=1e-5)
    assert (both["words_relative"], both["meaning_relative"]) == (1, 1) and none["words"] == 0


def test_the_best_for_one_part_of_a_question_is_as_good_as_the_best_for_another() -> None:
    found = table("gateway port, bicycle colour", turns("gateway port", "bicycle", "gateway", "lunch"), filling())
    both, other, half, none = (found.of(id) for id in "0123")
    assert both["clause_best"] == other["clause_best"] == 1 and none["clause_best"] == 0
    assert 0 < half["clause_best"] < 1 and half["clauses"] == pytest.approx(half["clause_best"] ** 2)


def test_what_is_like_all_candidates_is_typical_in_whichever_segment_it_lies() -> None:
    rows = turns("tea cup", "tea pot", "tea leaf", "anchor")
    together, apart = table("tea", rows, filling()), table("tea", rows[:2], [*rows[2:], *filling()])
    vectors = np.array([TOY.embed([text])[0] for text in ("tea cup", "tea pot", "tea leaf", "anchor")])
    others = TOY.embed([f"{word} by itself" for word in FILLING])
    expected = vectors @ np.concatenate((vectors, others)).mean(axis=0)
    for found in (together, apart):
        assert [found.of(id)["typical"] for id in "0123"] == pytest.approx(expected.tolist(), abs=1e-3)
    assert together.of("0")["typical"] > together.of("3")["typical"]


# -- neighbours ----------------------------------------------------------------------------------------

TALK = ("where is the bicycle ?", "behind mill", "thank them", "goodbye then", "farewell")


def test_what_was_said_before_and_after_is_that_of_the_neighbour() -> None:
    found = table("bicycle", turns(*TALK, thread="a"), filling())
    question, reply, thanks = (found.of(id) for id in "012")
    assert question["words"] > 0 and question["meaning"] > 0 and reply["words"] == 0
    assert reply["words_before"] == question["words"] and reply["meaning_before"] == question["meaning"]
    assert question["words_after"] == 0 and thanks["words_before"] == 0
    assert question["meaning_after"] == pytest.approx(reply["meaning"])


def test_a_reply_answers_what_asked_just_before() -> None:
    found = table("bicycle", turns(*TALK, thread="a"), filling())
    question, reply, thanks = (found.of(id) for id in "012")
    assert (question["asks"], question["ends_asking"], question["answers"]) == (1, 1, 0)
    assert (reply["asks"], reply["answers"], thanks["answers"]) == (0, 1, 0)
    assert reply["answers_words"] == question["words"] and thanks["answers_words"] == 0


def test_the_window_reaches_two_turns_and_takes_each_word_where_it_is_said_best() -> None:
    found = table("bicycle", turns(*TALK, thread="a"), filling())
    own = found.of("0")["words_share"]
    assert [found.of(id)["window"] for id in "01234"] == pytest.approx([own, own, own, 0, 0])
    apart = table("bicycle mill", turns(*TALK, thread="a"), filling())
    both = apart.of("0")["words_share"] + apart.of("1")["words_share"]
    assert [apart.of(id)["window"] for id in "012"] == pytest.approx([both] * 3)


def test_both_ends_of_a_thread_have_nothing_beyond() -> None:
    """Not even the end of another thread, nor the last of the corpus, where -1 would point to."""
    blocks = turns("bicycle", "bicycle", thread="a"), [*filling(3), Turn("bicycle?", "last", thread="b", row=99)]
    found = table("bicycle", [*blocks[0], *blocks[1]])
    first, second, last = (found.of(id) for id in ("0", "1", "last"))
    assert first["words_before"] == first["meaning_before"] == first["answers"] == 0
    assert second["words_after"] == second["meaning_after"] == 0
    assert all(last[name] == 0 for name in AROUND)
    assert first["words_after"] == second["words"] > 0


def test_turns_follow_each_other_by_time_and_then_as_they_were_written_down() -> None:
    later = START + timedelta(minutes=1)
    rows = [
        Turn("mill", "third", thread="a", at=later, row=1),
        Turn("barn", "second", thread="a", row=7),
        Turn("bicycle?", "first", thread="a", row=5),
    ]
    found = table("bicycle", rows, filling())
    assert (found.of("second")["answers"], found.of("third")["answers"]) == (1, 0)
    assert found.of("third")["window"] == pytest.approx(found.of("first")["words_share"])


def test_another_thread_and_no_thread_are_no_neighbours() -> None:
    rows = [Turn("bicycle?", "asks"), Turn("mill", "alone", row=1), Turn("barn", "other", thread="b", row=2)]
    found = table("bicycle", rows, filling())
    for id in ("alone", "other"):
        assert {found.of(id)[name] for name in (*AROUND, "window")} == {0}


def test_where_nothing_has_a_thread_nothing_stands_around_anything() -> None:
    found = table("bicycle mill", turns(*TALK), filling())
    for name in (*AROUND, "thread_best", "thread_mass"):
        assert not found.values[name].any()
    assert found.values["window"] == pytest.approx(found.values["words_share"])


def test_neighbours_are_found_in_whichever_segment_they_lie() -> None:
    """A thread that went on since the first segment was made is one thread; places are not mistaken for others."""
    first, second = turns("bicycle?", "mill", thread="a"), turns("barn", "bicycle", thread="b", prefix="new ")
    moved = Turn("cellar", "moved", thread="a", row=9)
    found = table("bicycle", [*first, *filling()], [*second, moved])
    assert found.of("1")["words_before"] == found.of("0")["words"] > 0
    assert found.of("new 0")["words_after"] == found.of("new 1")["words"] > 0
    assert found.of("moved")["window"] == found.of("1")["window"] == found.of("0")["words_share"] > 0
    assert found.of("1")["meaning_after"] == pytest.approx(found.of("moved")["meaning"])
    assert {found.of("moved")[name] for name in ("words_after", "meaning_after")} == {0}


def test_around_what_is_gone_the_thread_closes() -> None:
    found = table("bicycle", [*turns("bicycle?", "mill", "barn", thread="a"), *filling()], dead=["1"])
    assert found.of("2")["words_before"] == found.of("0")["words"] > 0 and found.of("2")["answers"] == 1


# -- threads -------------------------------------------------------------------------------------------


def test_a_thread_is_as_good_as_its_best_and_weighs_what_was_found_in_it() -> None:
    found = table(
        "bicycle gateway",
        turns("bicycle gateway", "bicycle", "lunch", thread="a"),
        turns("gateway", prefix="x"),
        filling(),
    )
    base = dict(zip(found.ids, found.base.tolist(), strict=True))
    mass = float(np.sqrt(sum((base[id] - min(base.values())) ** 2 for id in "012")))
    for id in "012":
        assert found.of(id)["thread_best"] == pytest.approx(base["0"])
        assert found.of(id)["thread_mass"] == pytest.approx(mass, rel=1e-5)
    assert found.of("x0")["thread_best"] == found.of("x0")["thread_mass"] == 0


# -- who said it ---------------------------------------------------------------------------------------


def test_the_named_author_is_told_from_others_and_from_nobody() -> None:
    rows = [
        Turn("green tea", "hers", author="Ann Lee"),
        Turn("black tea", "his", author="Bob", row=1),
        Turn("white tea", "nobody's", row=2),
    ]
    found = table("which tea does Ann like", rows, filling())
    assert [(found.of(id)["author"], found.of(id)["other_author"]) for id in ("hers", "his", "nobody's")] == [
        (1, 0), (0, 1), (0, 1),
    ]  # fmt: skip
    unnamed = table("which tea is fine", rows, filling())
    assert not unnamed.values["author"].any() and not unnamed.values["other_author"].any()
    assert found.corpus.author[2] == 0


def test_what_an_assistant_said_is_known_and_asked_for() -> None:
    rows = [
        Turn("which tea?", "asks", thread="a", author="user"),
        Turn("green tea", "tells", thread="a", author="assistant", row=1),
    ]
    found = table("what tea did you recommend", rows, filling())
    tells, asks = found.of("tells"), found.of("asks")
    assert (tells["assistant"], tells["assistant_asked"], asks["assistant"]) == (1, 1, 0)
    assert (tells["assistant_words"], tells["assistant_meaning"]) == (tells["words"], tells["meaning"])
    assert tells["assistant_replies"] == pytest.approx(asks["words"] + asks["meaning"])
    assert not table("what tea do I like", rows, filling()).values["assistant_asked"].any()
    assert not found.values["author"].any() and not found.values["other_author"].any()


def test_who_asks_how_or_why_is_answered_by_replies() -> None:
    rows = [
        Turn("how do I make tea?", "asks", thread="a", author="user"),
        Turn("green tea", "tells", thread="a", author="assistant", row=1),
        Turn("black tea", "alone", author="assistant", row=2),
    ]
    found = table("how do I make tea", rows, filling())
    tells, asks, alone = (found.of(id) for id in ("tells", "asks", "alone"))
    assert (tells["manner_assistant"], asks["manner_assistant"], alone["manner_assistant"]) == (1, 0, 0)
    assert tells["manner_before"] == asks["meaning"] > 0 and asks["manner_before"] == 0
    fact = table("how many kinds of tea", rows, filling())
    assert not fact.values["manner_assistant"].any() and not fact.values["manner_before"].any()


def test_who_asks_neither_of_themselves_nor_of_the_agent_is_answered_by_either() -> None:
    rows = [Turn("green tea", "tells", thread="a", author="assistant")]
    assert table("what tea did I like", rows, filling()).of("tells")["assistant"] == 1
    assert table("which tea is fine", rows, filling()).of("tells")["assistant"] == 0


@pytest.mark.parametrize("author", ["Assistant", "AI"])
def test_an_assistant_is_one_however_it_is_written(author: str) -> None:
    """As what somebody is is no name, however it is written."""
    found = table("what tea did you recommend", [Turn("green tea", "tells", author=author)], filling())
    assert found.of("tells")["assistant"] == 1


# -- when ----------------------------------------------------------------------------------------------


def near(asked: str, *moments: datetime) -> list[tuple[float, float]]:
    """Whether each moment lies in the month, and near the day, that is asked about."""
    rows = [Turn("the garage", str(at), at=moment, row=at) for at, moment in enumerate(moments)]
    found = table(f"garage on {asked}", rows, filling())
    return [(found.of(str(at))["month"], found.of(str(at))["day"]) for at in range(len(moments))]


def test_the_year_ends_when_it_ends_in_utc() -> None:
    moments = [
        datetime(2023, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2023, 12, 31, 20, tzinfo=timezone(timedelta(hours=-5))),
        datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        datetime(2025, 1, 1, tzinfo=UTC),
    ]
    assert [month for month, _day in near("January 2024", *moments)] == [0, 1, 1, 0, 0]
    assert [month for month, _day in near("December 2023", *moments)] == [1, 0, 0, 1, 0]
    assert [month for month, _day in near("January", *moments)] == [0, 1, 1, 0, 1]


def test_a_day_is_met_within_a_day() -> None:
    days = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (5, 6, 7, 8, 9)]
    assert [day for _month, day in near("7 May 2024", *days)] == [0, 1, 1, 1, 0]
    assert [day for _month, day in near("7 May 2023", *days)] == [0] * 5
    assert near("May 2024", *days) == [(1, 0)] * 5


def test_moments_before_1970_have_their_month_too() -> None:
    moments = [datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)]
    assert near("31 December 1969", *moments) == [(1, 1), (0, 0)]


def test_what_tells_a_time_counts_only_where_one_is_asked_for() -> None:
    rows = turns("garage painted yesterday", "garage painted blue")
    asked, unasked = (table(query, rows, filling()) for query in ("when was the garage painted", "garage painted"))
    assert [asked.of(id)["tells_time"] for id in "01"] == [1, 0]
    assert not unasked.values["tells_time"].any()


# -- titles --------------------------------------------------------------------------------------------


def test_a_title_counts_by_the_share_of_it_that_is_named() -> None:
    titles = ("Harbour Bridge", "Harbour Bridge of Sydney", "Opera House", "", "of the")
    rows = [Turn("it stands there", str(at), title=title, row=at) for at, title in enumerate(titles)]
    found = table("where is the Harbour Bridge", rows, filling())
    assert [found.of(str(at))["title"] for at in range(5)] == pytest.approx([1, 2 / 3, 0, 0, 0])
    assert [found.of(str(at))["title_whole"] for at in range(5)] == [1, 0, 0, 0, 0]


def test_a_title_that_names_an_author_is_named_by_the_whole_question() -> None:
    rows = [Turn("it stands there", "hers", title="Garden of Ann", author="Ann")]
    assert table("where is the garden of Ann", rows, filling()).of("hers")["title_whole"] == 1


# -- hops ----------------------------------------------------------------------------------------------

BAKERY, MAYOR, ALIKE = "bakery moved to Quimper", "mayor of Quimper: Dubois", "mayor of Rennes: Lambert"


def test_a_rare_word_leads_from_one_to_what_says_the_rest() -> None:
    """The bakery is the only seed: it lacks the mayor, whom two have, and of these one has its town."""
    found = table("bakery bakery bakery mayor", turns(BAKERY, MAYOR, ALIKE), filling(), seeds=1)
    assert found.ids[0] == "0"
    town = weight_of(hash_term("quimper"), found.corpus.count, 2)
    mayor, bakery = (weight_of(hash_term(word), found.corpus.count, n) for word, n in (("mayor", 2), ("bakeri", 1)))
    bridge, rest = town / BRIDGE, mayor / (mayor + bakery)
    led, alike, seed = (found.of(id) for id in "120")
    assert (led["bridge"], led["complement"]) == (pytest.approx(bridge, rel=1e-4), pytest.approx(rest, rel=1e-4))
    assert led["hop"] == pytest.approx(bridge * rest, rel=1e-4)
    assert led["hop_root"] == pytest.approx(np.sqrt(bridge * rest), rel=1e-4)
    assert (alike["bridge"], alike["hop"]) == (0, 0) and alike["complement"] == pytest.approx(rest, rel=1e-4)
    assert (seed["bridge"], seed["complement"]) == (0, 0)  # nothing leads to where it comes from


def test_a_hop_counts_by_how_good_its_seed_is() -> None:
    """Two lead on: the second is not as good as the first, and what it leads to has less of it."""
    first, second = "bakery bakery moved to Quimper", "bakery near the old mill of the village Rennes"
    found = table("bakery mayor", turns(first, second, MAYOR, ALIKE), filling(), seeds=4)
    base = dict(zip(found.ids, found.base.tolist(), strict=True))
    assert found.of("3")["bridge"] / found.of("2")["bridge"] == pytest.approx(base["1"] / base["0"], abs=0.2)
    assert found.of("3")["bridge"] < found.of("2")["bridge"]


def test_articles_lead_on_by_the_titles_that_they_name() -> None:
    """The bakery is the only seed: it names the town, half of the river, and the guild names it."""
    told = {"bakery": ("Ker Bakery", BAKERY), "town": ("Quimper", "old walls"), "river": ("Quimper Odet", "water"),
            "guild": ("Guild", "founded in the Ker by bakery hands"), "other": ("Rennes", "no walls")}  # fmt: skip
    rows = [Turn(text, name, title=title, row=at) for at, (name, (title, text)) in enumerate(told.items())]
    found = table("bakery moved", rows, filling(), seeds=1)
    assert found.ids[0] == "bakery"
    named = {name: (found.of(name)["title_said"], found.of(name)["says_title"]) for name in told}
    assert named == {"bakery": (0, 0), "town": (1, 0), "river": (0.5, 0), "guild": (0, 1), "other": (0, 0)}


def test_titles_lead_on_by_how_good_the_seed_is_and_not_by_what_is_asked_or_both_are_called() -> None:
    named = ("Quimper Bakery", "Mayor of Quimper", "Bakery Mayor")  # of each other: the town, which both are called
    rows = [Turn(text, str(at), title=title, row=at) for at, (title, text) in enumerate(
        zip(named, ("bakery moved to Quimper", "mayor of Quimper", "of the bakery"), strict=True))]  # fmt: skip
    alike = table("bakery mayor", rows, filling())
    assert not alike.values["title_said"].any() and not alike.values["says_title"].any()
    further = [Turn("bakery near Rennes", "near", row=9), Turn("by the river", "town", title="Rennes", row=10)]
    found = table("bakery bakery mayor", rows, further, filling(), seeds=8)
    share = found.base[found.ids.index("near")] / found.base[0]
    assert share < 1 and found.of("town")["title_said"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([BAKERY, "mayor unknown"], "no word in common"),
        (["bakery and mayor", "mayor and bakery"], "only words of the question in common"),
        (["bakery?", "mayor?"], "only marks in common"),
        (["bakery in town", *["mayor in town"] * (RARE_COUNT + 1)], "a word that many have"),
    ],
)
def test_what_does_not_lead_on(rows: list[str], why: str) -> None:
    found = table("bakery mayor", turns(*rows), filling())
    assert not found.values["bridge"].any() and not found.values["hop"].any(), why


def test_what_is_gone_makes_no_word_common_and_takes_no_words_place() -> None:
    """The bakery was edited, and many that named the town are forgotten; what remains is as if read just now."""
    bakery = f"{BAKERY} beside {' '.join(f'shop{number}' for number in range(RARE_TERMS))}"
    rows = [*turns(MAYOR, ALIKE), *filling()]
    before = [Turn(bakery, "old", row=7), *turns(*["Quimper"] * RARE_COUNT, prefix="gone ")]
    gone = [turn.id for turn in before]
    ask, edited = "bakery mayor", Turn(bakery, "new", row=7)
    kept, fresh = table(ask, [*rows, *before], [edited], dead=gone), table(ask, [*rows, edited])
    assert kept.ids == fresh.ids and fresh.of("new")["bridge"] > 0 and fresh.of("0")["bridge"] > 0
    for id in fresh.ids:
        assert kept.of(id) == pytest.approx(fresh.of(id), rel=1e-4), id


def test_without_seeds_nothing_leads_anywhere() -> None:
    found = table("bakery mayor", turns(BAKERY, MAYOR), filling(), seeds=0)
    assert not any(found.values[name].any() for name in ("bridge", "complement", "hop", "hop_root"))


def test_what_the_graph_gave_is_taken_over() -> None:
    found = table("bakery mayor", turns(BAKERY, MAYOR, ALIKE), filling(), reached={"1": 0.25, "2": 0.5})
    led, best, other = (found.of(id) for id in "120")
    assert (led["activation"], best["activation"], other["activation"]) == (0.25, 0.5, 0)
    assert (led["activation_relative"], best["activation_relative"]) == (0.5, 1)
    assert led["activation_covering"] == pytest.approx(0.25 * led["covered"])
    assert led["activation_complementing"] == pytest.approx(0.25 * led["complement"])


def test_what_leads_to_a_turn_of_a_thread_is_told_from_what_leads_to_anything_else() -> None:
    rows = turns(BAKERY, MAYOR, "mayor of Quimper: Dubois again")
    rows[2] = replace(rows[2], thread="a")
    found = table("bakery bakery bakery mayor", rows, filling(), seeds=1, reached={"2": 0.5})
    alone, turn = found.of("1"), found.of("2")
    assert not any(value for name, value in alone.items() if name.endswith("_in_thread"))
    for name in ("bridge", "complement", "hop", "hop_root"):
        assert turn[f"{name}_in_thread"] == pytest.approx(alone[name]) and alone[name] > 0
    assert turn["activation_in_thread"] == 0.5


# -- whatever is in a corpus ---------------------------------------------------------------------------

VOCABULARY = "bicycle gateway port mayor bakery tea yesterday may 2024 why? Ann bob's 漢字 the".split()
texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6).map(" ".join)
corpora = st.lists(
    st.builds(
        Turn,
        texts,
        id=st.just(""),
        thread=st.sampled_from(["", "a", "b"]),
        author=st.sampled_from(["", "Ann", "Bob Lee", "assistant"]),
        title=st.sampled_from(["", "Bicycle", "the", "port of tea"]),
        at=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    ),
    min_size=2,
    max_size=12,
)


def numbered(rows: list[Turn]) -> list[Turn]:
    return [replace(turn, id=str(at), row=at) for at, turn in enumerate(rows)]


@given(corpora, texts, st.integers(0, 12))
@settings(max_examples=40)
def test_every_feature_is_a_finite_number_for_every_candidate(rows: list[Turn], query: str, cut: int) -> None:
    made = numbered(rows)
    found = table(f"{query} in May 2024", made[:cut], made[cut:])
    for name, column in found.values.items():
        assert column.shape == (len(rows),) and np.isfinite(column).all(), name


@given(corpora, texts, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_where_a_memory_stands_in_a_segment_does_not_matter(rows: list[Turn], query: str, random: Any) -> None:
    made = numbered(rows)
    shuffled = made.copy()
    random.shuffle(shuffled)
    one, other = table(query, made), table(query, shuffled)
    gaps = -np.diff(one.base[: HOPS_FROM + 1])
    assume((gaps > 1e-4).all())  # which of equal ones lead on has a test of its own
    for id in one.ids:
        assert other.of(id) == pytest.approx(one.of(id), abs=1e-3)


def test_a_neighbour_that_is_forgotten_says_nothing_any_more() -> None:
    found = table("bicycle", [*turns("bicycle?", "behind mill", thread="a"), *filling()], dead=["0"])
    reply = found.of("1")
    assert {name: reply[name] for name in (*AROUND, "window")} == dict.fromkeys((*AROUND, "window"), 0)


def test_words_weigh_here_what_they_weigh_in_the_search() -> None:
    gone = [Turn("bicycle", f"gone {at}", row=50 + at) for at in range(12)]
    rows = [*turns("bicycle lane", "mill"), *filling(), *gone]
    found, without = table("bicycle mill", rows, dead=[turn.id for turn in gone]), table("bicycle mill", rows[:-12])
    assert found.of("0")["covered"] == pytest.approx(without.of("0")["covered"], rel=1e-4)


def test_which_of_equal_candidates_lead_on_does_not_depend_on_where_they_stand() -> None:
    rows = [Turn("bakery bakery", f"alike {at}", title=f"t{word}", row=at) for at, word in enumerate(FILLING[:8])]
    rows += [Turn(f"mayor t{word}", f"led {at}", row=20 + at) for at, word in enumerate(FILLING[:8])]
    one, other = table("bakery mayor", rows), table("bakery mayor", rows[::-1])
    assert np.ptp(one.base[:8]) < 1e-3
    for at in range(8):
        assert one.of(f"led {at}")["bridge"] == pytest.approx(other.of(f"led {at}")["bridge"], abs=1e-3)


def test_the_day_before_the_first_of_a_month_is_within_a_day_of_it() -> None:
    moments = [datetime(2023, 12, 31, 23, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)]
    assert [day for _month, day in near("1 January 2024", *moments)] == [1, 1]


def test_where_nothing_is_in_a_thread_the_shorter_way_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*turns("where is the bicycle?", "bicycle behind mill", "mill by the river", author="Ann"), *filling()]
    short = table("bicycle mill", rows, reached={"2": 0.5})
    assert not short.corpus.is_threaded
    monkeypatch.setattr(Corpus, "is_threaded", True)
    long = table("bicycle mill", rows, reached={"2": 0.5})
    assert list(short.values) == list(long.values)
    for name, column in long.values.items():
        assert short.values[name] == pytest.approx(column, abs=1e-6), name

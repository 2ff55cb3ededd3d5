"""Who asks for a kind of tool finds what names one, and no other question does."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import clew
from clew.recall.analyse import query_terms, term_hashes, terms
from clew.recall.kinds import kinds_asked
from clew.recall.tools import kinds

LABELLED = Path(__file__).parents[2] / "labelled" / "kinds"
BY_TERM = {kind.term: kind.asked_as[0] for kind in kinds()}


def asked(question: str) -> list[str]:
    return [BY_TERM[term] for term in kinds_asked(question)]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("which package manager?", "package manager"),
        ("what package managers do we use here?", "package manager"),
        ("package manager", "package manager"),
        ("Which db do we use", "database"),
        ("what database does billing use", "database"),
        ("how do users log in", "authentication"),
        ("where do errors get reported", "error tracking"),
        ("who translates the strings?", "translation"),
        ("where can I see crashes, what error tracker do we have?", "error tracking"),
        ("which CDN sits in front of the site?", "cdn"),
    ],
)
def test_a_question_for_a_kind_is_known(question: str, kind: str) -> None:
    assert kind in asked(question)


@pytest.mark.parametrize(
    "question",
    [
        "why is the package manager slow on CI",
        "where is the database schema",
        "what cache ttl do we use",
        "what did Bob say about the cache bug",
        "when was the login page redesigned",
        "run the tests",
        "log in with the test user and look",
        "pnpm install",
        "",
        "which " * 60 + "package manager",
    ],
)
def test_a_question_about_something_else_asks_for_no_kind(question: str) -> None:
    assert asked(question) == []


def test_a_name_is_known_however_it_is_written_and_only_as_a_whole() -> None:
    message_broker = next(kind.term for kind in kinds() if kind.asked_as[0] == "message broker")
    for text in ("we use Kafka.", "KAFKA's topics", "(kafka)", "kafka"):
        assert message_broker in term_hashes(text), text
    for text in ("src/kafka/consumer.py", "kafkaesque", "kafka-consumer"):
        assert message_broker not in term_hashes(text), text


def test_a_kind_is_a_term_of_what_is_kept_and_of_no_words_that_are_compared() -> None:
    assert not set(BY_TERM) & set(query_terms("pnpm install kafka")) and terms("Kafka") == ["kafka"]


def test_the_table_has_names_in_one_word_and_each_kind_once() -> None:
    for kind in kinds():
        assert kind.names and all(re.fullmatch(r"[a-z0-9]+", name) for name in kind.names), kind
        assert not [name for name, count in Counter(kind.names).items() if count > 1], kind
    assert len(BY_TERM) == len(kinds())


FILLER = [f"The {thing} page was redesigned in week {week}." for week, thing in enumerate(
    "login cart order profile search basket invoice address settings help".split() * 3)]  # fmt: skip


@pytest.mark.parametrize("count", [5, 30])
def test_what_names_a_tool_of_the_kind_is_found_first(tmp_path: Path, count: int) -> None:
    with clew.open(tmp_path / "clew.db") as memory:
        for text in [*FILLER[:count], "Domain events go over Kafka.", "pnpm in the frontend, please."]:
            memory.remember(text)
        found = memory.recall("which package manager do we use?").results[0]
        assert found.memory.content.startswith("pnpm") and found.relevance > 0.4
        assert memory.recall("which message broker?").results[0].memory.content.endswith("Kafka.")
        unknown = memory.recall("which feature flag service?", limit=3).results
        assert {one.relevance for one in unknown} <= {0} and not memory.recall(
            "feature flag service?", floor=0.1
        ).results


def test_what_says_the_kind_in_words_stands_beside_what_names_one(tmp_path: Path) -> None:
    with clew.open(tmp_path / "clew.db") as memory:
        for text in [*FILLER, "Our package manager is Frobnicate.", "pnpm, since npm was slow."]:
            memory.remember(text)
        found = [one.memory.content for one in memory.recall("which package manager?", limit=2).results]
        assert found == ["Our package manager is Frobnicate.", "pnpm, since npm was slow."]


def test_questions_of_another_author_find_what_they_are_after(tmp_path: Path) -> None:
    """Sixty questions that name no product, each for one of sixty memories; twenty that ask for no kind."""
    lines = (LABELLED / "asked.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert not [row["question"] for row in rows if not row["memory"] and asked(row["question"])]
    with clew.open(tmp_path / "clew.db") as memory:
        wanted = {row["question"]: memory.remember(row["memory"]).id for row in rows if row["memory"]}
        found = Counter(_place(memory, question, id) for question, id in wanted.items())
    assert len(wanted) == 60 and found[1] >= 28 and 60 - found[0] >= 46, found


def _place(memory: clew.Clew, question: str, id: str) -> int:
    """Among the first five, from 1; 0 for nowhere."""
    places = [one.memory.id for one in memory.recall(question, limit=5).results]
    return places.index(id) + 1 if id in places else 0

"""The key of a ticket is one thing: another ticket gains nothing by it, and where nothing names it, it is as if it
were not said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.model.memory import Draft
from clew.providers.static import StaticEmbedder
from clew.recall.analyse import keys_in, query_terms, term_hashes
from clew.recall.keys import key_of
from clew.recall.question import in_words
from toys import contents, open_toy

FLOOR = 0.4  # above which a memory is told unasked
DECISION = "Finance changed their mind: the total is rounded once, and not per line."
NOTES = (
    DECISION,
    "The webhook worker polls the outbox every 5 s, since LISTEN dies behind the load balancer.",
    "INV-63: the retry of the webhook worker waits twice as long each time.",
    "WEB-20 moved the invoices page to src/features.",
    "WEB-20: the table of invoices is virtualised, 30 rows at a time.",
    "Settings are read once when the page is opened.",
)


@pytest.fixture(params=["in memory", "on disk"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, by_both: None) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", embedder=StaticEmbedder()) as clew:
        list(clew.remember_many([Draft(content=text) for text in NOTES]))
        if request.param == "on disk":
            clew._reader.corpora._max_bytes = 1
        yield clew


def relevance(memory: Clew, query: str) -> dict[str, float]:
    return {one.memory.content: one.relevance for one in memory.recall(query, limit=10).results}


@pytest.mark.parametrize("question", ["INV-71 rounding total", "INV-71: rounding total", "rounding total (INV-71)"])
def test_a_key_that_nothing_names_changes_no_relevance(memory: Clew, question: str) -> None:
    found, plain = relevance(memory, question), relevance(memory, "rounding total")
    assert found[DECISION] == pytest.approx(plain[DECISION], abs=0.02) and plain[DECISION] > FLOOR
    assert contents(memory.recall(question))[0] == DECISION


def test_another_ticket_gains_nothing_by_the_prefix_nor_by_the_number(memory: Clew) -> None:
    found, plain = relevance(memory, "WEB-30 settings page"), relevance(memory, "settings page")
    for other in (text for text in NOTES if text.startswith("WEB-20")):
        assert found.get(other, 0) == pytest.approx(plain.get(other, 0), abs=0.02)
    assert not [one for one, relevant in relevance(memory, "WEB-30").items() if relevant > 0]
    assert not [one for one, relevant in relevance(memory, "what about WEB-30?").items() if relevant > 0]


def test_the_ticket_that_is_named_is_found_however_much_else_is_asked(memory: Clew) -> None:
    for question in ("INV-63", "what about INV-63?", "INV-63 export the monthly statements of all customers again"):
        assert relevance(memory, question)[NOTES[2]] > FLOOR
        assert contents(memory.recall(question))[0] == NOTES[2]


def test_a_key_that_something_names_leaves_the_rest_of_the_question_its_answers(memory: Clew) -> None:
    assert relevance(memory, "INV-63 rounding total")[DECISION] > FLOOR


def test_a_memory_that_is_gone_names_nothing(memory: Clew) -> None:
    before = relevance(memory, "rounding total")[DECISION]
    memory.forget(memory.recall("INV-63").results[0].memory.id)
    assert relevance(memory, "INV-63 rounding total")[DECISION] == pytest.approx(before, abs=0.02)


def test_by_meaning_alone_a_key_is_compared(memory: Clew) -> None:
    assert contents(memory.recall("INV-63", retrieval="semantic"))[0] == NOTES[2]


def test_one_ticket_among_thousands_of_alike_ones_comes_first(tmp_path: Path, by_both: None) -> None:
    with open_toy(tmp_path / "clew.db", embedder=StaticEmbedder()) as clew:
        tickets = [Draft(content=f"OPS-{n} the export of the invoices failed") for n in range(3_000)]
        list(clew.remember_many(tickets))
        found = clew.recall("OPS-1234 export of the invoices").results
    assert found[0].memory.content.startswith("OPS-1234 ") and found[0].relevance > FLOOR


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("INV-71 rounding", ["inv71", "round"]),
        ("E2E-7's order", ["e2e7", "order"]),
        ("fix/INV-71-totals", ["fix", "inv", "71", "total", "fixinv71tot"]),  # a name of its own
        ("inv-71", ["inv", "71", "inv71"]),  # in small letters it is any word and a number
        ("UTF-8 and GPT-4", ["utf", "8", "utf8", "gpt", "4", "gpt4"]),
        ("python 3.12", ["python", "3", "12", "312"]),
        ("src/auth_service.py", ["src", "auth", "servic", "py", "srcauthservicepi"]),
        ("AuthService", ["auth", "servic", "authservic"]),
        ("2024-01", ["2024", "01", "202401"]),
    ],
)
def test_only_keys_are_asked_for_as_wholes(text: str, asked: list[str]) -> None:
    assert sorted(query_terms(text).values()) == sorted(asked)


@given(st.from_regex(r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,6}", fullmatch=True))
def test_a_key_is_found_by_what_is_asked_for_it(key: str) -> None:
    assert set(query_terms(key)) <= set(term_hashes(f"see {key}."))
    assert keys_in(key) <= query_terms(key).keys()
    assert len(keys_in(key)) == (key_of(key) is not None)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("INV-71 rounding total", "rounding total"),
        ("rounding (INV-71)", "rounding (  )"),
        ("what is INV-71?", ""),
        ("INV-71", ""),
        ("INV-71 解約", "解約"),
        ("what is this?", "what is this?"),
        ("INV-71-totals now", "INV-71-totals now"),
        ("UTF-8 names", "UTF-8 names"),
    ],
)
def test_by_meaning_the_rest_is_compared(text: str, left: str) -> None:
    assert in_words(text).split() == left.split()

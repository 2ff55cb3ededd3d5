"""Whoever names a ticket, a version or an identifier gets that one first, however many others are alike."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew import Clew, Draft, RecallOptions, Scope, native
from clew.model.scope import Reach
from clew.recall.ranker import CANDIDATES, _exact
from clew.recall.recall import search
from clew.recall.settle import best

WHERE = ("on iOS", "in Safari", "after a deploy", "for admins", "at night")
WHAT = "login cart search invoice export upload payment refund webhook cache email report".split()
MANY = 4_000


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    folder, rng = tmp_path_factory.mktemp("tickets"), random.Random(5)
    with clew.open(folder / "clew.db", home=folder, relate={"in_process": False}) as memory:
        texts = (
            f"OPS-{number}: {rng.choice(WHAT)} fails {rng.choice(WHERE)}." for number in range(1_000, 1_000 + MANY)
        )
        list(memory.remember_many(Draft(content=text) for text in texts))
        yield memory


@pytest.mark.parametrize("question", ["OPS-{}", "what was OPS-{}?", "why did OPS-{} happen to the customers"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_one_ticket_among_thousands_that_are_alike_comes_first(
    tickets: Clew, question: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(native, "compiled", None)
    for number in (1_000, 2_345, 4_999):
        first = tickets.recall(question.format(number), limit=1).results[0].memory.content
        assert first.startswith(f"OPS-{number}:")


def test_what_was_replaced_shares_no_ticket_with_what_replaced_it(tickets: Clew) -> None:
    for content in ("OPS-9001: invoice fails at night.", "OPS-9001: invoice fails at night. Fixed."):
        stored = tickets.remember(content, upsert_key="ops-9001")
    run = search(
        "why did OPS-9001 happen to the customers", Reach.of(Scope()), RecallOptions(),
        reader=tickets._reader, now=tickets.now(), refined=False,
    )  # fmt: skip
    places = best(run, CANDIDATES)
    meant = _exact(run, places)
    assert meant is not None and run.corpus.ids[places[meant]] == stored.memory.id


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("2.3.1", "Release 2.3.1 was rolled back because of the cart."),
        ("what about release 1.3.2?", "Release 1.3.2 fixed the login."),
        ("parse_date_to_string", "parse_date_to_string formats days."),
        ("what is parse_string_to_date?", "parse_string_to_date reads days."),
        ("2025-04-17", "The freeze starts on 2025-04-17."),
    ],
)
def test_the_parts_in_another_order_are_something_else(tmp_path: Path, question: str, answer: str) -> None:
    rng = random.Random(1)
    known = [
        "Release 2.3.1 was rolled back because of the cart.", "Release 1.3.2 fixed the login.",
        "Release 3.2.1 brought dark mode.", "parse_date_to_string formats days.",
        "parse_string_to_date reads days.",
        "date_to_parse_string is unused.", "The freeze starts on 2025-04-17.", "The freeze ended on 2025-17-04.",
    ]  # fmt: skip
    others = [
        f"The {rng.choice(WHAT)} of the {rng.choice(WHAT)} was moved {rng.choice(WHERE)}, {n}." for n in range(60)
    ]
    with clew.open(tmp_path / "clew.db", home=tmp_path, relate={"in_process": False}) as memory:
        list(memory.remember_many(Draft(content=text) for text in known + others))
        assert memory.recall(question, limit=1).results[0].memory.content == answer

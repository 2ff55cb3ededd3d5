"""The last look gives the same order and the same scores whichever engine keeps the memories: what stands around
them, who said them, when, and what leads to them comes from the store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from clew import Draft, Scope
from clew.clew import Clew
from clew.model.ids import stable_id
from clew.model.recalled import Recalled
from clew.ports import Store
from toys import START, ToldClock, ToyEmbedder, open_toy

SHOP = Scope(project="shop", user="kim")
WORDS = "gateway portal queue cache shard bakery mayor bicycle lantern kettle harbour meadow anchor piano".split()
AUTHORS = ("Ann", "Bob Lee", "assistant", None)
ASKED = [
    "where is the bicycle of Ann",
    "what did you recommend about the kettle",
    "when did the gateway move",
    "what happened to the bakery in May 2024",
    "harbour meadow lantern",
    "mayor of the bakery near the anchor",
]


def write(memory: Clew) -> None:
    """Threads with turns in between that belong to another; some are said otherwise later, and one is gone."""
    rng = random.Random(3)
    ids = [saved.id for saved in memory.remember_many([draft(number, rng) for number in range(60)], scope=SHOP)]
    memory.forget(ids[7])
    memory.edit(ids[11], content="the bicycle of the mayor moved yesterday")
    memory.edit(ids[4], content="is the kettle in the harbour?")
    others = [Draft(content="bicycle bicycle?", thread="a", author="Ann", id=an_id(f"other {n}")) for n in range(3)]
    list(memory.remember_many(others[:1], scope=Scope(project="elsewhere")))
    list(memory.remember_many(others[1:2], scope=Scope(project="shop", user="robin")))


def draft(number: int, rng: random.Random) -> Draft:
    asks = "?" if rng.random() < 0.3 else ""
    return Draft(
        content=" ".join(rng.choices(WORDS, k=rng.randint(2, 9))) + f" {number}{asks}",
        thread=rng.choice(["a", "b", "c", None]),
        author=rng.choice(AUTHORS),
        title=rng.choice([None, None, "Harbour Meadow", "Bakery"]),
        valid_at=datetime(2024, rng.randint(4, 6), rng.randint(1, 28), tzinfo=UTC),
        weight=rng.choice([1.0, 1.0, 1.5]),
        id=an_id(str(number)),
    )


def an_id(name: str) -> str:
    return stable_id("mem", at_ms=1, digest=blake2b(name.encode()).digest())


def opened(place: Path | str, **rank: bool) -> Clew:
    return open_toy(place, clock=ToldClock(START + timedelta(hours=2)), embedder=ToyEmbedder(dim=64), rank=rank)


@pytest.fixture
def pair(place: Path | str, store: Store, tmp_path: Path) -> Iterator[list[Clew]]:
    """The engine under test, and a file beside it."""
    places: list[Path | str] = [place, tmp_path / "beside" / "clew.db"]
    for one in places:
        with open_toy(one, clock=ToldClock(), embedder=ToyEmbedder(dim=64)) as memory:
            write(memory)
    with ExitStack() as stack:
        yield [stack.enter_context(opened(one)) for one in places]


def told(recalled: Recalled) -> list[tuple[str, float, float]]:
    return [(one.memory.id, round(one.rank_score, 4), round(one.relevance, 4)) for one in recalled.results]


def test_order_and_scores_are_those_of_a_file(pair: list[Clew], place: Path | str) -> None:
    for query in ASKED:
        here, beside = (memory.recall(query, scope=SHOP, limit=40) for memory in pair)
        assert told(here) == told(beside), query
        assert "refine" in [stage.name for stage in here.trace.stages] and "refinement" not in here.trace.notes
    with opened(place, refine=False) as memory:
        plain: list[Any] = [told(memory.recall(query, scope=SHOP, limit=40)) for query in ASKED]
    assert plain != [told(pair[0].recall(query, scope=SHOP, limit=40)) for query in ASKED]

    assert_alike_after_a_change(pair)


def assert_alike_after_a_change(pair: list[Clew]) -> None:
    """What changes while a store is open is in a segment of its own."""
    for memory in pair:
        new = Draft(content="bicycle in the meadow", thread="a", author="Ann", id=an_id("new"))
        memory.remember(new, scope=SHOP)
        memory.forget(an_id("20"))
    here, beside = (memory.recall(ASKED[0], scope=SHOP, limit=40) for memory in pair)
    assert told(here) == told(beside) and an_id("new") in [one.memory.id for one in here.results]

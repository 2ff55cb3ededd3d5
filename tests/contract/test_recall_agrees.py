"""The same memories on both engines give the same answers, in the same order and with the same scores, whether a
scope is kept in memory or searched where it lies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from clew import Draft, Scope
from clew.clew import Clew
from clew.model.ids import stable_id
from clew.model.scope import Reach
from clew.recall import disk
from clew.recall.corpus import Corpus
from toys import START, ToldClock, ToyEmbedder, open_toy

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

WORDS = [
    head + tail for head in ("gate", "port", "queue", "cache", "shard") for tail in ("way", "al", "ing", "let")
]
PLACES = [Scope(), Scope(project="a"), Scope(user="x"), Scope(project="a", user="x"), Scope(project="b", user="y")]
TYPES, LAYERS = ("note", "fact", "decision", "skill"), ["long_term"] * 8 + ["rule", "working"]
IN_A, IN_B = Scope(project="a", user="x"), Scope(project="b", user="y")
ASKED: list[tuple[str, Scope, dict[str, Any]]] = [
    ("gateway", IN_A, {}),
    ("gateway", IN_B, {}),
    ("portal queueing", IN_A, {}),
    ("cachelet gatelet shardal portway", IN_A, {}),
    ("cachelet gatelet shardal portway", Scope(), {}),
    ("shardway of the portlet", IN_A, {"retrieval": "lexical"}),
    ("shardway of the portlet", IN_A, {"retrieval": "semantic"}),
    ("queueway", IN_A, {"tags": ("red",)}),
    ("queueway", IN_A, {"types": ("fact", "decision")}),
    ("anew portal", IN_A, {}),
    ("anew portal", IN_A, {"as_of": START + timedelta(milliseconds=400)}),
    ("漢字 gateway", IN_B, {}),
    ("OPS-7 gateway", IN_A, {}),
    ("OPS-8 gateway", IN_A, {}),
    ("nothing of the kind", IN_A, {}),
    ("", IN_A, {}),
    ("gateway moved", Scope(project="a"), {"limit": 3}),
]


@dataclass
class StillClock(ToldClock):
    """For those who only ask: they all ask at the same moment."""

    time: datetime = START + timedelta(hours=2)

    def now(self) -> datetime:
        return self.time


@pytest.fixture(scope="module")
def places(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path | str]]:
    with postgres.fresh_database(user="clew_app") as url:
        found: list[Path | str] = [tmp_path_factory.mktemp("agree") / "clew.db", url]
        for place in found:
            with open_toy(place, clock=ToldClock(), embedder=ToyEmbedder(dim=64)) as memory:
                write(memory)
        yield found


def write(memory: Clew) -> None:
    rng = random.Random(7)
    for number, scope in enumerate(PLACES):
        drafts = [draft(f"{number} {n}", rng) for n in range(28)]
        ids = [saved.id for saved in memory.remember_many(drafts, scope=scope)]
        memory.forget(ids[0])
        memory.edit(ids[1], content=f"gateway moved {number}, see OPS-7", tags=("red",), type="fact")
        memory.remember(f"portal anew {number}", id=an_id(f"anew {number}"), supersedes=ids[2], scope=scope)
        memory.remember("gateway", id=an_id(f"short {number}"), expires_at=START + timedelta(hours=1), scope=scope)


def draft(name: str, rng: random.Random) -> Draft:
    return Draft(
        content=" ".join(rng.choices(WORDS, k=rng.randint(2, 12))) + f" {name}",
        type=rng.choice(TYPES),
        layer=rng.choice(LAYERS),
        tags=("red",) if rng.random() < 0.3 else ("blue",),
        weight=rng.choice([1.0, 1.0, 1.5]),
        id=an_id(name),
    )


def an_id(name: str) -> str:
    """Equal scores are put in order by id, so both engines must have the same."""
    return stable_id("mem", at_ms=1, digest=blake2b(name.encode()).digest())


@pytest.fixture(scope="module", params=[{}, {"read_model_mb": 0}], ids=["kept in memory", "searched where it lies"])
def pair(request: pytest.FixtureRequest, places: list[Path | str]) -> Iterator[list[Clew]]:
    with ExitStack() as opened, pytest.MonkeyPatch.context() as patch:
        for name, few in (("MAX_LEXICAL", 15), ("MAX_SEMANTIC", 12), ("MAX_NEWEST", 5)):
            patch.setattr(disk, name, few)  # fewer than there are: what is cut must be cut alike
        toy = {"clock": StillClock(), "embedder": ToyEmbedder(dim=64), "recall": request.param}
        yield [opened.enter_context(open_toy(place, **toy)) for place in places]


@pytest.mark.parametrize(("query", "scope", "options"), ASKED)
def test_both_engines_give_the_same_answer(
    pair: list[Clew], query: str, scope: Scope, options: dict[str, Any]
) -> None:
    lite, server = (memory.recall(query, scope=scope, **{"limit": 30} | options) for memory in pair)
    assert [result.memory for result in server.results] == [result.memory for result in lite.results]
    assert lite.results or query == "nothing of the kind"
    for mine, theirs in zip(server.results, lite.results, strict=True):
        assert (mine.relevance, mine.rank_score) == pytest.approx((theirs.relevance, theirs.rank_score), abs=1e-9)
        assert mine.why == theirs.why


def test_a_query_whose_vector_says_nothing_names_the_same_candidates(pair: list[Clew]) -> None:
    """Nothing is near to it: otherwise any would do, and each engine would take others."""
    reach, nothing = Reach.of(IN_A), np.zeros(64, np.float32)
    readers = [memory._reader for memory in pair]
    lite, server = (disk.corpus_of_candidates("gateway", nothing, reach, reader, {}) for reader in readers)
    without = disk.corpus_of_candidates("gateway", None, reach, readers[0], {})
    assert ids(server) == ids(lite) == ids(without)


def ids(corpus: Corpus) -> list[str]:
    return [id for segment in corpus.segments for id in segment.ids]

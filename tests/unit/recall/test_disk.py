"""A scope too large to keep in memory is searched on disk and answers the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from clew import Draft, Identity, Scope
from clew.recall import disk
from clew.store.index import IndexTable
from toys import ToldClock, ToyEmbedder, contents, open_toy

HEADS, TAILS = ("gate", "port", "queue", "cache", "shard"), ("way", "al", "ing", "let", "er")
WORDS = [head + tail for head in HEADS for tail in TAILS]
LAYERS = ["long_term"] * 8 + ["rule", "working"]
SCOPE = Scope(project="a", user="x")
PLACES = [Scope(), Scope(project="a"), Scope(user="x"), SCOPE, Scope(project="b"), Scope(user="y")]
ASKED = ["gateway", "portal queueing", "cacheer gatelet shardal portway", "nothing here", "", "漢字 gateway"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same file, kept in memory and searched on disk."""
    path: Path = tmp_path_factory.mktemp("disk") / "c.db"
    rng, clock, toy = random.Random(7), ToldClock(), ToyEmbedder(dim=64)
    with open_toy(path, clock=clock, embedder=toy) as memory:
        for place in PLACES:
            drafts = [
                Draft(
                    content=" ".join(rng.choices(WORDS, k=rng.randint(2, 12))),
                    layer=rng.choice(LAYERS),
                )
                for _ in range(60)
            ]
            ids = [saved.id for saved in memory.remember_many(drafts, scope=place)]
            memory.forget(ids[0])
            memory.edit(ids[1], content="gateway moved " + ids[1], tags=("t",), type="rule")
            memory.remember("portal anew " + ids[2], supersedes=ids[2], scope=place)
    with (
        open_toy(path, clock=clock, embedder=toy) as kept,
        open_toy(path, clock=clock, embedder=toy, recall={"read_model_mb": 0}) as searched,
    ):
        yield kept, searched


def evidence(memory: Any, query: str, **options: Any) -> dict[str, dict[str, Any]]:
    limit = 500 if query else 100  # without a question only the newest are looked at
    results = memory.recall(query, scope=SCOPE, limit=limit, **options).results
    return {
        result.memory.id: {"relevance": result.relevance} | {why.source: why.raw or 0 for why in result.why}
        for result in results
    }


@pytest.mark.parametrize("query", ASKED)
@pytest.mark.parametrize("retrieval", ["lexical", "semantic", "hybrid"])
def test_the_same_memories_come_back_with_the_same_evidence(pair: Any, query: str, retrieval: str) -> None:
    kept, searched = (evidence(memory, query, retrieval=retrieval) for memory in pair)
    assert kept.keys() == searched.keys()
    for id, expected in kept.items():
        assert searched[id] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "options", [{"types": ("note",)}, {"tags": ("t",)}, {"include_superseded": True}, {"mode": "working"}]
)
def test_filters_act_the_same(pair: Any, options: dict[str, Any]) -> None:
    kept, searched = (evidence(memory, "gateway", **options) for memory in pair)
    assert kept and kept.keys() == searched.keys()


@pytest.mark.parametrize("query", ASKED)
def test_the_best_come_in_the_same_order(pair: Any, query: str) -> None:
    kept, searched = (contents(memory.recall(query, scope=SCOPE, retrieval="lexical", limit=20)) for memory in pair)
    assert kept == searched


def test_the_trace_says_that_the_disk_was_searched_and_counts_the_whole_scope(pair: Any) -> None:
    kept, searched = (memory.recall("gateway", scope=SCOPE).trace for memory in pair)
    assert "read_model" in searched.notes and "read_model" not in kept.notes
    assert searched.stages[0].into == kept.stages[0].into


def test_scores_do_not_depend_on_how_many_candidates_were_taken(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MAX_LEXICAL", 20)
    monkeypatch.setattr(disk, "MAX_SEMANTIC", 10)
    monkeypatch.setattr(disk, "MAX_NEWEST", 5)
    monkeypatch.setattr(disk, "_looked_through", WeakKeyDictionary())
    kept, searched = (evidence(memory, "portal queueing", mode="long_term") for memory in pair)
    assert 0 < len(searched) < len(kept)
    for id, found in searched.items():
        assert found == pytest.approx(kept[id], abs=1e-5)


def test_when_candidates_are_cut_the_rarest_words_are_kept(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _kept, searched = pair
    monkeypatch.setattr(disk, "MAX_LEXICAL", 3)
    saved = searched.remember("zebra portal", scope=SCOPE)
    found = searched.recall("portal zebra", scope=SCOPE, retrieval="lexical").results
    assert saved.id in {result.memory.id for result in found}
    searched.forget(saved.id, hard=True)


def test_what_was_forgotten_is_gone_at_once(pair: Any) -> None:
    _kept, searched = pair
    saved = searched.remember("zebra crossing", scope=SCOPE)
    assert contents(searched.recall("zebra", scope=SCOPE, retrieval="lexical", rules=False)) == ["zebra crossing"]
    searched.forget(saved.id)
    assert contents(searched.recall("zebra", scope=SCOPE, retrieval="lexical", rules=False)) == []


def test_rules_are_answered_however_many_newer_memories_there_are(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", recall={"read_model_mb": 0}) as memory:
        memory.remember("never deploy on Fridays", type="rule")
        for _ in memory.remember_many([Draft(content=f"note {n}", layer="working") for n in range(150)]):
            pass
        assert memory.recall("note 7").results[0].memory.content == "never deploy on Fridays"


def test_a_scope_is_looked_through_once_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    newest = IndexTable.newest
    monkeypatch.setattr(
        IndexTable, "newest", lambda *given, **named: looked.append(text) or newest(*given, **named)
    )
    with open_toy(tmp_path / "d.db", recall={"read_model_mb": 0}) as memory:
        for content in ("AuthService is slow", "the portal is not"):
            memory.remember(content, scope=SCOPE)
        for text in ("first: AuthService", "second: slow"):
            assert memory.recall(text, scope=SCOPE).results
        memory.remember("the gateway is new", scope=SCOPE)
        for text in ("third: gateway", "fourth: gateway"):
            assert "the gateway is new" in contents(memory.recall(text, scope=SCOPE))
    assert looked == ["first: AuthService", "third: gateway"]


@pytest.mark.parametrize("asked", [{"tags": ("runbook",)}, {"types": ("skill",)}, {"namespace": "ops"}])
@pytest.mark.parametrize("query", ["deploy", ""])
def test_what_a_filter_leaves_is_found_however_many_stand_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], query: str
) -> None:
    for name, value in (("MAX_LEXICAL", 5), ("MAX_SEMANTIC", 2), ("MAX_NEWEST", 3)):
        monkeypatch.setattr(disk, name, value)
    with open_toy(tmp_path / "c.db", recall={"read_model_mb": 0}) as memory:
        memory.remember("how to deploy", tags=("runbook",), type="skill", scope=Scope(namespace="ops"))
        list(memory.remember_many(Draft(content=f"deploy {number} done") for number in range(40)))
        assert contents(memory.recall(query, **asked)) == ["how to deploy"]


@pytest.mark.parametrize(
    "asked", [{}, {"tags": ("runbook",)}, {"retrieval": "semantic"}, {"retrieval": "lexical"}], ids=str
)
@pytest.mark.parametrize("query", ["deploy", ""])
def test_what_may_not_be_read_takes_nobodys_place_and_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], query: str
) -> None:
    for name, value in (("MAX_LEXICAL", 5), ("MAX_SEMANTIC", 2), ("MAX_NEWEST", 3)):
        monkeypatch.setattr(disk, name, value)
    clock, toy, runbook = ToldClock(), ToyEmbedder(dim=64), ("runbook",)
    plans = [Draft(content=f"deploy plan {n}", tags=runbook, classification="restricted") for n in range(40)]
    with (
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as kept,
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy, recall={"read_model_mb": 0}) as searched,
    ):
        kept.remember("how to deploy told at length", tags=runbook)
        list(kept.remember_many(plans))
        in_memory, on_disk = (
            memory.recall(query, identity=Identity(agent="bot", roles=()), **asked) for memory in (kept, searched)
        )
        assert contents(on_disk) == contents(in_memory) == ["how to deploy told at length"]
        assert on_disk.results[0].why == in_memory.results[0].why

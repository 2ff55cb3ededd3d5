"""A scope too large to keep in memory is searched on disk and answers the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from clew import Draft, Identity, Scope
from clew.clew import Clew
from clew.recall import alone, disk
from clew.store.index import IndexTable
from toys import ToldClock, ToyEmbedder, contents, open_toy

HEADS, TAILS = ("gate", "port", "queue", "cache", "shard"), ("way", "al", "ing", "let", "er")
WORDS = [head + tail for head in HEADS for tail in TAILS]
LAYERS = ["long_term"] * 8 + ["rule", "working"]
SCOPE = Scope(project="a", user="x")
PLACES = [Scope(), Scope(project="a"), Scope(user="x"), SCOPE, Scope(project="b"), Scope(user="y")]
WAYS = ["by a scan", "vectors in memory"]
ASKED = ["gateway", "portal queueing", "cacheer gatelet shardal portway", "nothing here", "", "漢字 gateway"]


def on_disk(memory: Clew, way: str) -> Clew:
    """A scope of which nothing is kept, or its vectors alone."""
    memory._reader.corpora._max_bytes = 1
    memory._reader.corpora.alone._max_bytes = 0 if way == "by a scan" else 1 << 20
    return memory


@pytest.fixture(scope="module", params=WAYS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
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
        open_toy(path, clock=clock, embedder=toy) as searched,
    ):
        yield kept, on_disk(searched, request.param)


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


def test_a_large_scope_is_not_counted_anew_for_a_few_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is new is among the newest all the same, and what is gone is gone."""
    counted: list[object] = []
    size = IndexTable.size
    monkeypatch.setattr(IndexTable, "size", lambda *given: counted.append(given) or size(*given))
    monkeypatch.setattr(disk, "COUNT_AFTER", 0.1)
    with open_toy(tmp_path / "d.db", recall={"read_model_mb": 0}) as memory:
        list(memory.remember_many([Draft(content=f"note {n}") for n in range(100)], scope=SCOPE))
        memory.recall("note", scope=SCOPE)
        new = memory.remember("the gateway is new", scope=SCOPE)
        assert contents(memory.recall("", scope=SCOPE, limit=1)) == ["the gateway is new"]
        memory.forget(new.id)
        assert contents(memory.recall("gateway", scope=SCOPE)) == []
        assert len(counted) == 1
        list(memory.remember_many([Draft(content=f"more {n}") for n in range(20)], scope=SCOPE))
        assert memory.recall("more", scope=SCOPE).trace.stages[0].into == 120
        assert len(counted) == 2


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
@pytest.mark.parametrize("way", WAYS)
def test_what_may_not_be_read_takes_nobodys_place_and_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, asked: dict[str, Any], query: str
) -> None:
    for name, value in (("MAX_LEXICAL", 5), ("MAX_SEMANTIC", 2), ("MAX_NEWEST", 3)):
        monkeypatch.setattr(disk, name, value)
    clock, toy, runbook = ToldClock(), ToyEmbedder(dim=64), ("runbook",)
    plans = [Draft(content=f"deploy plan {n}", tags=runbook, classification="restricted") for n in range(40)]
    with (
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as kept,
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as searched,
    ):
        kept.remember("how to deploy told at length", tags=runbook)
        list(kept.remember_many(plans))
        in_memory, found = (
            memory.recall(query, identity=Identity(agent="bot", roles=()), **asked)
            for memory in (kept, on_disk(searched, way))
        )
        assert contents(found) == contents(in_memory) == ["how to deploy told at length"]
        assert found.results[0].why == in_memory.results[0].why


def test_what_is_hidden_since_the_scope_was_looked_through_tells_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what was written since nor what got its label since stands among the newest."""
    monkeypatch.setattr(disk, "COUNT_AFTER", 1.0)
    bot = Identity(agent="bot", roles=())
    with open_toy(tmp_path / "c.db", recall={"read_model_mb": 0}) as memory:
        ids = [saved.id for saved in memory.remember_many([Draft(content=f"note {n}") for n in range(10)])]
        assert len(memory.recall("", identity=bot).results) == 10
        memory.remember("payroll vault rotation", classification="restricted")
        memory.edit(ids[0], classification="restricted")
        found = memory.recall("payroll vault", identity=bot, retrieval="lexical")
        assert contents(found) == []
        assert len(memory.recall("", identity=bot, limit=5).results) == 5
        assert sorted(contents(memory.recall("", identity=bot))) == [f"note {n}" for n in range(1, 10)]


def test_vectors_alone_are_read_once_and_kept_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes, and whatever becomes of what was read."""
    monkeypatch.setattr(alone, "MAX_RECENT", 3)
    monkeypatch.setattr(disk, "MAX_NEWEST", 1)
    read: list[object] = []
    vectors = IndexTable.vectors
    monkeypatch.setattr(IndexTable, "vectors", lambda *given: read.append(given) or vectors(*given))
    clock, toy, rng = ToldClock(), ToyEmbedder(dim=64), random.Random(3)
    with (
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as kept,
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as other,
    ):
        searched = on_disk(other, "vectors in memory")
        ids = [kept.remember(" ".join(rng.choices(WORDS, k=6)), scope=SCOPE).id for _ in range(40)]
        for turn in range(8):
            kept.forget(ids[turn])
            kept.edit(ids[-1], content=f"{WORDS[turn]} {WORDS[turn + 1]} moved")
            (kept if turn % 2 else searched).remember(f"{WORDS[turn]} {WORDS[turn + 2]} is new", scope=SCOPE)
            expected, found = (evidence(memory, WORDS[turn], retrieval="semantic") for memory in (kept, searched))
            assert found.keys() == expected.keys()
    assert len(read) == 1


@pytest.mark.parametrize("change", ["forgotten", "erased", "edited"])
def test_vectors_of_what_is_gone_take_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(disk, "MAX_SEMANTIC", 5)
    monkeypatch.setattr(disk, "MAX_NEWEST", 1)
    clock, toy = ToldClock(), ToyEmbedder(dim=64, synonyms={"door": "gateway"})
    with (
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as kept,
        open_toy(tmp_path / "c.db", clock=clock, embedder=toy) as other,
    ):
        searched = on_disk(other, "vectors in memory")
        near = [kept.remember(f"gateway gateway gateway {number}", scope=SCOPE).id for number in range(30)]
        kept.remember("gateway gateway of a portal", scope=SCOPE)
        list(kept.remember_many([Draft(content=f"shard {n} queueing") for n in range(50)], scope=SCOPE))
        assert searched.recall("door", scope=SCOPE, retrieval="semantic").results
        for id in near:
            if change == "edited":
                kept.edit(id, content=f"cacheer {id}")
            else:
                kept.forget(id, hard=change == "erased")
        found = contents(searched.recall("door", scope=SCOPE, retrieval="semantic"))
        assert found[:1] == ["gateway gateway of a portal"]


def test_vectors_alone_are_read_anew_when_too_much_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "MAX_CHANGES", 5)
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(dim=64)) as opened:
        memory = on_disk(opened, "vectors in memory")
        for content in ("the gateway is slow", "the gateway is old"):
            memory.remember(content, scope=SCOPE)
        assert memory.recall("gateway", scope=SCOPE, retrieval="semantic").results
        list(memory.remember_many([Draft(content=f"the portal {n} is new") for n in range(20)], scope=SCOPE))
        memory.recall("portal", scope=SCOPE, retrieval="semantic")
        [kept] = memory._reader.corpora.alone._kept.values()
        assert sum(len(part.rows) for part in kept.parts) == 22 and not kept.recent


def test_vectors_alone_of_more_scopes_than_there_is_room_for_go_the_oldest_first(
    tmp_path: Path, by_both: None
) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(dim=64)) as opened:
        memory = on_disk(opened, "vectors in memory")
        for project in ("a", "b", "c"):
            for number in range(10):
                memory.remember(f"note {number} of {project}", scope=Scope(project=project))
        vectors = memory._reader.corpora.alone
        for project in ("a", "b", "c", "b"):
            vectors._max_bytes = 5 * sum(kept.nbytes for kept in list(vectors._kept.values())[:1]) // 2 or 1 << 20
            assert memory.recall("note", scope=Scope(project=project), retrieval="semantic").results
        assert [sorted(reach.projects or ()) for reach in vectors._kept] == [["", "c"], ["", "b"]]


def test_a_scope_whose_vectors_have_no_room_either_is_scanned(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(dim=64), recall={"read_model_mb": 0}) as memory:
        memory.remember("the gateway is slow", scope=SCOPE)
        assert contents(memory.recall("gateway", scope=SCOPE, retrieval="semantic")) == ["the gateway is slow"]
        assert not memory._reader.corpora.alone._kept

"""The last look: when it is taken, what it may change, and what it never does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.clew import Clew
from clew.model.memory import Draft
from clew.model.recalled import Recalled, RecallOptions
from clew.model.scope import Identity, Reach, Scope
from clew.recall import choose as choosing
from clew.recall import ranker
from clew.recall.choose import choose
from clew.recall.features import NAMES, PLACE, by_name
from clew.recall.ranker import LEADS, LEAST, REFINEMENTS, RankOptions, look_at, model, switched_off
from clew.recall.recall import search
from clew.recall.run import Run
from toys import START, ToldClock, ToyEmbedder, contents, open_toy

pytestmark = pytest.mark.usefixtures("by_both")

WORDS = (
    "amber basil cedar daisy ember fern garnet heron iris jade koala lemon mango nectar olive "
    "poppy quartz raven sable tulip umber violet willow xenon yarrow zinnia"
).split()
QUERY = "bicycle parked yesterday"
TALK = [
    Draft(content="where has the bicycle gone?", thread="a", author="Ann"),
    Draft(content="parked behind mill", thread="a", author="Bob"),
    Draft(content="parked behind barn", thread="b", author="Bob"),
    Draft(content="bicycle lamp", title="Bicycle", thread="c"),
]


def filled(count: int) -> list[Draft]:
    """So many memories: those of the talk, and others that say a word of it each."""
    words = [f"{word} {other}" for word in WORDS for other in WORDS if word < other]
    more = [Draft(content=f"{word} {['bicycle', 'parked', 'lunch'][at % 3]}") for at, word in enumerate(words)]
    return [*TALK, *more][:count]


@contextmanager
def store(path: Path, count: int = 60, embedder: Any = None, **rank: bool) -> Iterator[Clew]:
    """Filled when it is opened for the first time; after that it is an hour later."""
    embedder = ToyEmbedder(dim=128) if embedder is None else embedder or None
    is_new, off = not path.exists(), {"recall": False, "write": False}
    clock = ToldClock(START if is_new else START + timedelta(hours=1))
    with open_toy(path, embedder=embedder, clock=clock, graph=off, rank=rank) as memory:
        if is_new:
            list(memory.remember_many(filled(count)))
        yield memory


def ranked(recalled: Recalled) -> list[tuple[str, float]]:
    return [(result.memory.content, result.rank_score) for result in recalled.results]


def stages(recalled: Recalled) -> list[str]:
    return [stage.name for stage in recalled.trace.stages]


def on_and_off(path: Path, query: str = QUERY, count: int = 60, **options: Any) -> tuple[Recalled, Recalled]:
    """The same store with the last look and without it."""
    options = {"limit": 200, **options}
    embedder = options.pop("embedder", None)
    with store(path, count, embedder):
        pass
    with store(path, count, embedder) as memory:
        on = memory.recall(query, **options)
    with store(path, count, embedder, refine=False) as memory:
        return on, memory.recall(query, **options)


# -- when it is taken ----------------------------------------------------------------------------------


def test_a_scope_that_is_not_tiny_is_looked_at(tmp_path: Path) -> None:
    on, off = on_and_off(tmp_path / "clew.db", count=LEAST)
    assert "refine" in stages(on) and "refine" not in stages(off)
    assert ranked(on) != ranked(off) and set(contents(on)) >= set(contents(off))


def test_a_tiny_scope_is_left_as_it_is(tmp_path: Path) -> None:
    on, off = on_and_off(tmp_path / "clew.db", count=LEAST - 1)
    assert "refine" not in stages(on) and ranked(on) == ranked(off)


@pytest.mark.parametrize("retrieval", ["lexical", "semantic"])
def test_one_kind_of_evidence_alone_decides(tmp_path: Path, retrieval: str) -> None:
    on, off = on_and_off(tmp_path / "clew.db", retrieval=retrieval)
    assert "refine" not in stages(on) and ranked(on) == ranked(off) and on.results


def test_without_a_model_words_decide(tmp_path: Path) -> None:
    on, off = on_and_off(tmp_path / "clew.db", embedder=False)
    assert "refine" not in stages(on) and ranked(on) == ranked(off) and on.results


@pytest.mark.parametrize("query", ["", "   ", "nothingatall"])
def test_where_nothing_is_asked_or_found_nothing_is_looked_at(tmp_path: Path, query: str) -> None:
    on, off = on_and_off(tmp_path / "clew.db", query)
    assert ranked(on) == ranked(off) and "refinement" not in on.trace.notes


@pytest.mark.parametrize(
    ("count", "options"),
    [(12, {}), (40, {"retrieval": "lexical"}), (40, {"embedder": False})],
    ids=["tiny scope", "by words alone", "no model"],
)
def test_a_name_is_only_taken_out_where_it_becomes_a_reason(
    tmp_path: Path, count: int, options: dict[str, Any]
) -> None:
    """Where no last look is taken, only the name itself says whose words are asked for."""
    path = tmp_path / "clew.db"
    with store(path, count, options.get("embedder")) as memory:
        memory.remember("green tea", author="Zelda")
        memory.remember("black tea", author="Bob")
    on, off = on_and_off(path, "which tea does Zelda like", count, **options)
    assert contents(off)[0] == "green tea"
    assert ranked(on) == ranked(off)


# -- what it may change --------------------------------------------------------------------------------


def test_relevance_is_the_same_with_it_and_without_it(tmp_path: Path) -> None:
    on, off = on_and_off(tmp_path / "clew.db")
    assert ranked(on) != ranked(off)
    told = [{one.memory.id: one.relevance for one in recalled.results} for recalled in (on, off)]
    assert told[0].items() >= told[1].items()


def test_the_best_has_the_score_that_the_best_had(tmp_path: Path) -> None:
    on, off = on_and_off(tmp_path / "clew.db")
    assert on.results[0].rank_score == pytest.approx(off.results[0].rank_score)
    scores = [round(one.rank_score, 5) for one in on.results]  # as they are compared
    assert scores == sorted(scores, reverse=True) and min(scores) > 0


def test_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    answers = []
    for _opened in range(2):
        with store(tmp_path / "clew.db") as memory:
            answers += [ranked(memory.recall(QUERY, limit=50)) for _asked in range(2)]
    assert answers[0] == answers[1] == answers[2] == answers[3]


def test_a_limit_does_not_change_the_order(tmp_path: Path) -> None:
    with store(tmp_path / "clew.db") as memory:
        assert contents(memory.recall(QUERY, limit=3)) == contents(memory.recall(QUERY, limit=50))[:3]


def test_what_is_no_candidate_comes_after_all_that_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranker, "CANDIDATES", 8)
    with store(tmp_path / "clew.db") as memory:
        run = searched(memory, QUERY, limit=5)
        plain = searched(memory, QUERY, limit=5, refined=False).rank_score
    assert run.refined is not None and len(run.refined) == 8
    rest = run.allowed.copy()
    rest[run.refined] = False
    assert run.rank_score[rest].max() < run.rank_score[run.refined].min()
    assert (np.argsort(-plain[rest], kind="stable") == np.argsort(-run.rank_score[rest], kind="stable")).all()
    run.options = replace(run.options, limit=50)
    choose(run, 50, 0.0)
    assert set(run.chosen[:8]) == set(run.refined.tolist()) and len(run.chosen) > 8


def searched(memory: Clew, query: str, *, limit: int = 50, refined: bool = True) -> Run:
    options = RecallOptions(limit=limit, rules=False, counted=False)
    return search(query, Reach.of(Scope()), options, reader=memory._reader, now=memory.now(), refined=refined)


def test_what_feedback_has_taught_still_moves_a_memory_up(tmp_path: Path) -> None:
    """Two that are alike in everything but a word and their weight."""

    def share(weight: float) -> float:
        with store(tmp_path / f"{weight}.db") as memory:
            for word, of in (("chimney", weight), ("balcony", 1.0)):
                memory.remember(f"bicycle parked {word}", weight=of)
            scores = dict(ranked(memory.recall(QUERY, limit=50)))
        return scores["bicycle parked chimney"] / scores["bicycle parked balcony"]

    alike = share(1.0)
    assert alike == pytest.approx(1, abs=0.05)
    assert share(2.0) == pytest.approx(2 * alike, rel=1e-3) and share(0.5) == pytest.approx(alike / 2, rel=1e-3)


def test_where_no_memory_weighs_anything_there_is_no_candidate(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder()) as memory:
        list(memory.remember_many(Draft(content=draft.content, weight=0) for draft in filled(40)))
        found = memory.recall(QUERY, limit=50)
        assert found.results and "refinement" not in found.trace.notes


# -- what stands around a memory -----------------------------------------------------------------------

LONG = "the " + " ".join(f"{word}s" for word in WORDS)  # so little like the question that it counts as unrelated
ASKS = "bicycle ?"


@contextmanager
def with_a_reply(path: Path, **rank: bool) -> Iterator[Clew]:
    with store(path, **rank) as memory:
        list(memory.remember_many([Draft(content=ASKS, thread="z"), Draft(content=LONG, thread="z")]))
        yield memory


def test_a_reply_that_has_nothing_of_the_question_is_brought_in_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "where is the bicycle"
    monkeypatch.setattr(choosing, "ENOUGH", 1_000)
    with with_a_reply(tmp_path / "on.db") as memory:
        found = {one.memory.content: one for one in memory.recall(query, limit=90).results}
        assert found[LONG].relevance == 0 and "neighbours" in [why.via for why in found[LONG].why]
        assert all(why.via != "neighbours" for why in found[ASKS].why)
        assert LONG not in contents(memory.recall(query, limit=90, floor=0.1))
    with with_a_reply(tmp_path / "off.db", neighbours=False) as memory:
        assert LONG not in contents(memory.recall(query, limit=90))


def test_what_stands_next_to_the_best_comes_in_whatever_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "ENOUGH", 1_000)
    monkeypatch.setattr(ranker, "BESIDE", 1_000)
    with with_a_reply(tmp_path / "clew.db") as memory:
        found = {one.memory.content: one for one in memory.recall("where is the bicycle", limit=90).results}
        assert [why.via for why in found[LONG].why if why.source == "boost"] == ["neighbours"]
        monkeypatch.setattr(ranker, "AROUND", 0)
        assert LONG not in contents(memory.recall("where is the bicycle", limit=90))


@pytest.mark.parametrize(
    ("query", "reason"), [("which unicorn does Cleo have", "author"), ("which unicorn on 3 March 2024", "day")]
)
def test_a_named_author_or_day_answers_where_no_other_word_is_known(
    tmp_path: Path, query: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "ENOUGH", 1_000)
    at = datetime(2024, 3, 3, 12, tzinfo=UTC)
    with store(tmp_path / "clew.db") as memory:
        memory.remember("a quiet evening", author="Cleo", at=at)
        found = {one.memory.content: one for one in memory.recall(query, limit=90).results}
        assert reason in [why.via for why in found["a quiet evening"].why]
        others = memory.recall("which unicorn does Zoë have", limit=90).results
        assert not [one for one in others if {"author", "day"} & {why.via for why in one.why}]


def test_before_enough_that_has_something_of_the_question_the_last_look_may_put_what_has_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told that it has nothing of its own, and a floor keeps it out."""
    query = "where is the bicycle"
    with with_a_reply(tmp_path / "clew.db", neighbours=False) as memory:
        found = {one.memory.content: one for one in memory.recall(query, limit=90).results}
        assert found[LONG].relevance == 0 and "context" in [why.via for why in found[LONG].why]
        assert [one.relevance for one in found.values() if any(why.via == "context" for why in one.why)] == [0]
        assert LONG not in contents(memory.recall(query, limit=90, floor=0.1))
        monkeypatch.setattr(choosing, "ENOUGH", len(found))
        assert LONG not in contents(memory.recall(query, limit=90))


# -- what it never does --------------------------------------------------------------------------------


def test_an_error_in_it_leaves_the_order_and_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any) -> Any:
        raise FloatingPointError

    with store(tmp_path / "clew.db", refine=False) as memory:
        plain = ranked(memory.recall(QUERY, limit=50))
    monkeypatch.setattr(ranker, "features", broken)
    with store(tmp_path / "clew.db") as memory:
        found = memory.recall(QUERY, limit=50)
    assert ranked(found) == plain
    assert found.trace.notes["refinement"] == "failed: FloatingPointError"


def test_an_error_half_way_leaves_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = ranker._put

    def broken(run: Run, *args: Any) -> None:
        put(run, *args)
        raise ValueError

    with store(tmp_path / "clew.db", refine=False) as memory:
        plain = ranked(memory.recall(QUERY, limit=50))
    monkeypatch.setattr(ranker, "_put", broken)
    with store(tmp_path / "clew.db") as memory:
        assert ranked(memory.recall(QUERY, limit=50)) == plain


@pytest.mark.parametrize(
    "other",
    [Scope(user="bob"), Scope(org="other"), Scope(project="elsewhere", user="ann"), Scope(project="elsewhere")],
)
def test_what_one_may_not_see_changes_nothing(tmp_path: Path, other: Scope) -> None:
    """Another's private memories in the same thread, of the same author, with the same words."""
    mine = Scope(user="ann")

    def answers(path: Path, *, with_other: bool) -> dict[str, float]:
        with open_toy(path, embedder=ToyEmbedder(dim=128), graph={"recall": False, "write": False}) as memory:
            drafts = filled(40)
            if with_other:
                told = [Draft(content=f"bicycle bicycle {word}?", thread="a", author="Quinn") for word in WORDS]
                list(memory.remember_many(told, scope=other, identity=Identity(org=other.org)))
            list(memory.remember_many(drafts[:2], scope=mine))
            if with_other:
                between = Draft(content="bicycle parked here?", thread="a", author="Quinn")
                memory.remember(between, scope=other, identity=Identity(org=other.org))
            list(memory.remember_many(drafts[2:], scope=mine))
            return dict(ranked(memory.recall(f"{QUERY} Quinn", scope=mine, limit=50)))

    alone = answers(tmp_path / "alone.db", with_other=False)
    assert answers(tmp_path / "beside.db", with_other=True) == alone and len(alone) > 20


def test_what_has_hardly_a_word_of_the_question_leads_nowhere(tmp_path: Path) -> None:
    """What is next to the nearest of what was not found is next to anything."""
    hops = [PLACE[name] for name in REFINEMENTS["hops"]]
    with store(tmp_path / "clew.db") as memory:
        found = []
        for query in ("bicycle parked", "bicycle unicorn pegasus griffin wyvern"):
            run = searched(memory, query, refined=False)
            assert run.asked is not None
            found.append((run.evidence.covered.max() >= LEADS, look_at(run, run.asked).features[hops].any()))
    assert found == [(True, True), (False, False)]


# -- the weights ---------------------------------------------------------------------------------------


def test_there_is_a_weight_for_every_feature_and_for_nothing_else(tmp_path: Path) -> None:
    with store(tmp_path / "clew.db") as memory:
        run = searched(memory, QUERY, refined=False)
        assert run.asked is not None
        looked = look_at(run, run.asked)
        assert by_name(run, run.asked, looked.places, run.matches).keys() == set(NAMES)
    assert looked.features.shape == (len(NAMES), len(looked.places)) and len(model().weights) == len(NAMES)
    told = json.loads(Path(ranker.__file__).with_name("ranker.json").read_text(encoding="utf-8"))
    assert list(told["weights"]) == list(NAMES)


def test_the_file_of_weights_holds_finite_numbers() -> None:
    told = json.loads(Path(ranker.__file__).with_name("ranker.json").read_text(encoding="utf-8"))
    assert told["made_by"] == "clew bench learn"
    given = [number for tree in told["trees"] for number in (*tree["gives"], *(at for _name, at in tree["above"]))]
    assert given and all(isinstance(number, float) and np.isfinite(number) for number in given)
    assert all(isinstance(weight, float) and np.isfinite(weight) for weight in told["weights"].values())


def test_every_refinement_is_an_option_and_switches_features_that_exist() -> None:
    assert set(REFINEMENTS) == {option.name for option in fields(RankOptions)} - {"refine"}
    named = [name for names in REFINEMENTS.values() for name in names]
    assert len(named) == len(set(named)) and set(named) < set(NAMES)


@pytest.mark.parametrize("group", sorted(REFINEMENTS))
def test_an_option_takes_its_features_away_and_no_others(group: str) -> None:
    off = {NAMES[at] for at in switched_off(RankOptions(**{group: False}))}
    assert off == set(REFINEMENTS[group]) and switched_off(RankOptions()) == []


def test_weights_and_trees_are_added_up() -> None:
    told = json.loads(Path(ranker.__file__).with_name("ranker.json").read_text(encoding="utf-8"))
    features = np.random.default_rng(2).random((len(NAMES), 5), np.float32)
    for candidate, score in zip(features.T, model().scores(features), strict=True):
        named = dict(zip(NAMES, candidate.tolist(), strict=True))
        expected = sum(weight * named[name] for name, weight in told["weights"].items())
        for tree in told["trees"]:
            expected += tree["gives"][sum(2**k for k, (name, at) in enumerate(tree["above"]) if named[name] > at)]
        assert score == pytest.approx(expected)


def test_what_is_forgotten_brings_nothing_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "ENOUGH", 1_000)
    with with_a_reply(tmp_path / "clew.db") as memory:
        found = {
            one.memory.content: one.memory.id for one in memory.recall("where is the bicycle", limit=90).results
        }
        memory.forget(found[ASKS])
        assert LONG not in contents(memory.recall("where is the bicycle", limit=90))


def test_the_first_of_many_are_the_first_of_few(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(dim=32)) as memory:
        for number in range(150):
            memory.remember(f"The parser of part {number % 29} reads ticket {number}, see line {number * 7 % 31}.")
        for question in ("which parser reads ticket 12", "part 7 line 3", "tickets of the parser"):
            few, many = memory.recall(question, limit=10), memory.recall(question, limit=140)
            assert contents(few) == contents(many)[:10]
            scores = [result.rank_score for result in many.results]
            assert scores == sorted(scores, reverse=True)

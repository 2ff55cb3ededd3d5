"""The read model: kept current by the change log, it answers as one that was built a moment ago."""

from __future__ import annotations

import random
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clew import Conflict, Draft, NotFound, Scope
from clew.clew import Clew
from clew.model.scope import Reach
from clew.recall import corpus as corpus_module
from clew.recall.corpus import Corpora
from toys import ToldClock, ToyEmbedder, contents, open_toy

WORDS = "gateway port queue cache deploy index".split()
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
SCOPES = [Scope(), Scope(project="a"), Scope(project="a", user="x")]
ASKED = ["gateway", "port queue cache", ""]


def answers(memory: Any) -> dict[tuple[Any, ...], dict[str, tuple[float, float]]]:
    """Every answer by question and scope: id to scores."""
    return {
        (at, query): {
            result.memory.id: (result.relevance, result.rank_score)
            for result in memory.recall(query, scope=scope, limit=200).results
        }
        for at, scope in enumerate(SCOPES)
        for query in ASKED
    }


def assert_same(kept: Any, fresh: Any) -> None:
    found = answers(kept)
    for question, expected in answers(fresh).items():
        assert found[question].keys() == expected.keys(), question
        for id, scores in expected.items():
            assert found[question][id] == pytest.approx(scores, rel=1e-5, abs=2e-6), question


class Changes(RuleBasedStateMachine):
    """Any sequence of writes: the kept model, patched by deltas, against one opened just now."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ToldClock()
        self.kept = self.open()
        self.ids: list[str] = []
        self.max_delta = corpus_module.MAX_DELTA
        corpus_module.MAX_DELTA = 3  # rebuilds and deltas take turns

    def open(self) -> Any:
        return open_toy(Path(self.folder.name) / "c.db", clock=self.clock, embedder=ToyEmbedder())

    def teardown(self) -> None:
        corpus_module.MAX_DELTA = self.max_delta
        self.kept.close()
        self.folder.cleanup()

    @rule(
        texts=st.lists(TEXTS, min_size=1, max_size=3),
        scope=st.sampled_from(SCOPES),
        layer=st.sampled_from(["long_term", "working", "rule"]),
    )
    def remember(self, texts: list[str], scope: Scope, layer: str) -> None:
        drafts = [Draft(content=text, layer=layer) for text in texts]
        self.ids += [saved.id for saved in self.kept.remember_many(drafts, scope=scope)]

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), text=TEXTS, weight=st.sampled_from([1.0, 3.0]))
    def edit(self, data: Any, text: str, weight: float) -> None:
        self.attempt("edit", data.draw(st.sampled_from(self.ids)), content=text, weight=weight)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), hard=st.booleans())
    def forget(self, data: Any, hard: bool) -> None:
        self.attempt("forget", data.draw(st.sampled_from(self.ids)), hard=hard)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def revert(self, data: Any) -> None:
        self.attempt("revert", data.draw(st.sampled_from(self.ids)), version=1)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), text=TEXTS)
    def supersede(self, data: Any, text: str) -> None:
        self.attempt("remember", text, supersedes=data.draw(st.sampled_from(self.ids)))

    @rule()
    def let_a_day_pass(self) -> None:
        self.clock.pass_by(hours=25)

    def attempt(self, verb: str, *arguments: Any, **more: Any) -> None:
        try:
            changed = getattr(self.kept, verb)(*arguments, **more)
        except (Conflict, NotFound):
            return
        if verb == "remember":
            self.ids.append(changed.id)

    @invariant()
    def answers_like_a_fresh_one(self) -> None:
        with self.open() as fresh:
            assert_same(self.kept, fresh)


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)


def test_conversations_that_went_on_are_answered_as_if_read_just_now(tmp_path: Path) -> None:
    """With a last look, which asks what was said around a memory and which rare words it shares with others."""
    clock, rng = ToldClock(), random.Random(3)

    def turn(number: int) -> Draft:
        words = rng.choices(WORDS, k=3) + rng.choices([f"rare{n}" for n in range(12)], k=3)
        return Draft(content=f"{' '.join(words)} {number}", thread=f"chat {number % 3}")

    with open_toy(tmp_path / "c.db", clock=clock, embedder=ToyEmbedder()) as kept:
        ids = [saved.id for saved in kept.remember_many(map(turn, range(45)))]
        answers(kept)
        for number in range(45, 53):
            kept.edit(ids[number % 20], content=turn(number).content)
            kept.forget(ids[number - 20], hard=bool(number % 2))
            kept.remember(turn(number))
            with open_toy(tmp_path / "c.db", clock=clock, embedder=ToyEmbedder()) as fresh:
                assert_same(kept, fresh)


@pytest.mark.usefixtures("by_both")
def test_of_equals_the_same_lead_into_the_graph_wherever_they_lie(tmp_path: Path) -> None:
    """Half of them were there when the process first looked; one that begins anew reads place by place."""
    clock, few = ToldClock(), {"max_seeds": 3}
    with open_toy(tmp_path / "c.db", clock=clock, embedder=ToyEmbedder(), graph=few) as kept:
        for number in range(8):
            kept.remember(f"gateway rare{number}", scope=SCOPES[2 * (number % 2)], thread=f"chat {number}")
            kept.remember(f"port follows rare{number}", scope=SCOPES[0], thread=f"chat {number}")
            answers(kept)
        with open_toy(tmp_path / "c.db", clock=clock, embedder=ToyEmbedder(), graph=few) as fresh:
            assert_same(kept, fresh)


# -- who changes what others have read -----------------------------------------------------------------


def test_two_objects_on_one_file_see_each_others_changes(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as one, open_toy(tmp_path / "c.db") as other:
        saved = one.remember("gateway one")
        assert contents(other.recall("gateway")) == ["gateway one"]
        other.edit(saved.id, content="queue one")
        assert contents(one.recall("queue")) == ["queue one"] and contents(one.recall("gateway")) == []
        one.forget(saved.id)
        assert contents(other.recall("queue")) == []


def test_changes_elsewhere_in_the_org_cost_no_rebuild(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("gateway one", scope=Scope(project="a"))
        reach = Reach.of(Scope(project="a"))
        before = memory._reader.corpora.get(reach)
        memory.remember("gateway two", scope=Scope(project="b"))
        after = memory._reader.corpora.get(reach)
    assert after.segments[0] is before.segments[0] and after.ids == before.ids


def test_a_small_change_shares_the_large_segment_and_many_changes_rebuild_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "MAX_DELTA", 4)
    with open_toy(tmp_path / "c.db") as memory:
        list(memory.remember_many(Draft(content=f"gateway {n}") for n in range(10)))
        reach, corpora = Reach.of(Scope()), memory._reader.corpora
        first = corpora.get(reach)
        memory.remember("gateway 10")
        second = corpora.get(reach)
        list(memory.remember_many(Draft(content=f"queue {n}") for n in range(5)))
        third = corpora.get(reach)
    assert second.segments[0] is first.segments[0] and second.count == 11
    assert len(third.segments) == 1 and third.count == 16


def test_nothing_is_read_again_while_nothing_changed(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("gateway one")
        corpora, reach = memory._reader.corpora, Reach.of(Scope())
        assert corpora.get(reach) is corpora.get(reach)


def test_the_least_recently_used_scopes_go_first_when_memory_runs_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "BYTES_BESIDE_VECTOR", 1)  # each scope alone is small enough to keep
    with open_toy(tmp_path / "c.db") as memory:
        a, b, c = (Scope(project=name) for name in "abc")
        for scope in (a, b, c):
            list(memory.remember_many((Draft(content=f"gateway {n}") for n in range(20)), scope=scope))
        size = memory._reader.corpora.get(Reach.of(a)).nbytes
        corpora = Corpora(memory.store, space=None, max_bytes=int(2.5 * size))
        kept = {scope.project: corpora.get(Reach.of(scope)) for scope in (a, b, a, c)}
        assert corpora.get(Reach.of(a)) is kept["a"]
        assert corpora.get(Reach.of(c)) is kept["c"]
        assert corpora.get(Reach.of(b)) is not kept["b"]


# -- threads -------------------------------------------------------------------------------------------


def test_readers_never_fail_while_others_write_and_never_see_what_was_forgotten(tmp_path: Path) -> None:
    done = threading.Event()
    forgotten: set[str] = set()

    def read(memory: Any) -> int:
        rounds = 0
        while not done.is_set() or rounds < 3:
            gone = set(forgotten)  # forget had returned for these before the question was asked
            shown = {result.memory.id for result in memory.recall("gateway", limit=500).results}
            assert not shown & gone
            rounds += 1
        return rounds

    def write(memory: Any, seed: int) -> None:
        rng = random.Random(seed)
        own: list[str] = []
        for number in range(25):
            own.append(memory.remember(f"gateway {seed} {number}").id)
            if number % 2:
                id = own.pop(rng.randrange(len(own)))
                memory.forget(id, hard=bool(number % 3))
                forgotten.add(id)

    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder()) as memory, ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read, memory) for _ in range(3)]
        writers = [pool.submit(write, memory, seed) for seed in range(2)]
        for writer in writers:
            writer.result()
        done.set()
        assert all(reader.result() >= 3 for reader in readers)
        assert len(memory.recall("gateway", limit=500).results) == 26


def test_a_thread_that_comes_after_another_sees_what_was_written_in_between(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        for n in range(8):
            memory.remember(f"gateway number {n}")
            with ThreadPoolExecutor(1) as fresh:  # each round a new thread, with a connection of its own
                found = fresh.submit(memory.recall, "gateway", limit=50).result()
            assert len(found.results) == n + 1


def test_scopes_that_were_asked_about_once_do_not_stay_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "MAX_CORPORA", 5)
    with open_toy(tmp_path / "c.db") as memory:
        for n in range(20):
            memory.recall("anything", scope=Scope(project=f"p{n}"))
        kept = memory._reader.corpora
        assert len(kept._kept) <= 5 and len(kept._building) <= 6


def test_what_is_known_of_scopes_that_are_too_large_does_not_grow_with_the_names_of_projects(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.recall.corpus.MAX_CORPORA", 3)
    for text in ("everybody sees this", "and this"):
        memory.remember(text)
    corpora = Corpora(memory.store, space=None, max_bytes=1)
    for number in range(10):
        assert corpora.get(Reach.of(Scope(project=f"p{number}"))) is None
    assert len(corpora._too_large) <= 3 and not corpora._building


def test_a_scope_that_outgrew_its_room_gives_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MAX_DELTA", 8)
    big, small = Scope(project="big"), Scope(project="small")
    with open_toy(tmp_path / "c.db") as memory:
        corpora = memory._reader.corpora
        corpora._max_bytes = 20 * (4 * corpora._dim + corpus_module.BYTES_BESIDE_VECTOR)
        for scope in (big, small):
            list(memory.remember_many([Draft(content=f"gateway {n}") for n in range(5)], scope=scope))
            memory.recall("gateway", scope=scope)
        list(memory.remember_many([Draft(content=f"port {n}") for n in range(40)], scope=big))
        assert "read_model" in memory.recall("gateway", scope=big).trace.notes
        assert list(corpora._kept) == [Reach.of(small)]


def test_a_scope_found_too_large_is_not_loaded_again_for_every_question(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", recall={"read_model_mb": 0}) as memory:
        for n in range(5):
            memory.remember(f"gateway {n}")
        memory.recall("gateway")
        assert memory._reader.corpora._too_large
        memory.remember("gateway 5")
        assert len(memory.recall("gateway").results) == 6

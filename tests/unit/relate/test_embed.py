"""Vectors are made with the write, made up for where they are missing, and never mixed between models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew import Draft, Scope, Unavailable
from clew.model.scope import Identity, Reach
from clew.relate.embed import BackfillPolicy, backfill_state, embed_missing, pack_vectors
from toys import ToyEmbedder, contents, open_toy

ONE = ToyEmbedder(name="one", synonyms={"automobile": "car"})
OTHER = ToyEmbedder(name="other", dim=24, synonyms={"automobile": "car"})


class DownEmbedder(ToyEmbedder):
    def embed(self, texts: Any) -> Any:
        raise Unavailable("the endpoint is down", code="EMBED_DOWN")


def fill(path: Path, embedder: Any, count: int = 12) -> None:
    with open_toy(path, embedder=embedder) as memory:
        list(
            memory.remember_many(
                [Draft(content="automobile"), *(Draft(content=f"text {n}") for n in range(count - 1))]
            )
        )


def spaces(memory: Any) -> dict[str, int]:
    with memory.store.read() as tx:
        return tx.index.vector_counts(Reach.everything("local"))


def test_a_vector_is_packed_as_half_floats_of_its_space() -> None:
    [(vector, space)] = pack_vectors(ONE, ["automobile"])
    assert vector is not None and space == ONE.space.key
    assert np.frombuffer(vector, "<f2") == pytest.approx(ONE.embed(["car"])[0], abs=1e-3)


def test_without_a_model_there_is_no_vector() -> None:
    assert pack_vectors(None, ["a", "b"]) == [(None, ""), (None, "")]


def test_a_model_that_is_down_gives_no_vectors_and_no_error() -> None:
    assert pack_vectors(DownEmbedder(), ["a"]) == [(None, "")]


def test_missing_vectors_are_made_up_for(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None)
    with open_toy(tmp_path / "c.db", embedder=ONE) as memory:
        assert contents(memory.recall("car")) == []
        assert embed_missing(memory.store, memory.embedder) == 12
        assert contents(memory.recall("car"))[0] == "automobile"
        assert embed_missing(memory.store, memory.embedder) == 0


def test_after_a_switch_of_model_old_vectors_are_not_compared_with_new_ones(tmp_path: Path) -> None:
    """The dimensions agree here, so only the name of the space keeps them apart."""
    fill(tmp_path / "c.db", ONE)
    twin = ToyEmbedder(name="twin", synonyms={"automobile": "car"})
    with open_toy(tmp_path / "c.db", embedder=twin) as memory:
        recalled = memory.recall("car", retrieval="semantic")
        assert contents(recalled) == [] and recalled.trace.notes["semantic"] == "vectors_unavailable"


def test_a_switch_is_made_up_for_batch_by_batch_with_progress(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", ONE)
    seen: list[tuple[int, int]] = []
    with open_toy(tmp_path / "c.db", embedder=OTHER) as memory:
        by_five = BackfillPolicy(batch=5, pause_ms=0)
        embed_missing(memory.store, OTHER, policy=by_five, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(5, 12), (10, 12), (12, 12)]
        assert spaces(memory) == {OTHER.space.key: 12}
        assert contents(memory.recall("car"))[0] == "automobile"


def test_half_way_through_a_switch_each_memory_is_compared_in_the_new_space_or_by_words(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", ONE)

    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with open_toy(tmp_path / "c.db", embedder=OTHER) as memory:
        with pytest.raises(InterruptedError):
            embed_missing(memory.store, OTHER, policy=BackfillPolicy(batch=5), progress=stop)
        assert spaces(memory) == {ONE.space.key: 7, OTHER.space.key: 5}
        recalled = memory.recall("text", retrieval="semantic", limit=50)
        assert recalled.trace.notes["semantic"] == "partial_vector_coverage"
        assert len(recalled.results) <= 5
        assert embed_missing(memory.store, memory.embedder) == 7  # it goes on where it stopped


def test_the_newest_memories_come_first(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None, count=3)
    texts: list[str] = []

    class Noting(ToyEmbedder):
        def embed(self, given: Any) -> Any:
            texts.extend(given)
            return super().embed(given)

    with open_toy(tmp_path / "c.db", embedder=Noting()) as memory:
        embed_missing(memory.store, memory.embedder, policy=BackfillPolicy(batch=1, pause_ms=0))
    assert texts == ["text 1", "text 0", "automobile"]


def test_a_memory_edited_meanwhile_keeps_the_vector_of_its_new_text(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None, count=1)

    class Slow(ToyEmbedder):
        edit: Any = None

        def embed(self, given: Any) -> Any:
            vectors = super().embed(given)
            if self.edit:
                edit, self.edit = self.edit, None
                edit()
            return vectors

    slow = Slow()
    with open_toy(tmp_path / "c.db", embedder=slow) as memory:
        [saved] = memory.list()
        slow.edit = lambda: memory.edit(saved.id, content="gateway ports")
        embed_missing(memory.store, memory.embedder)
        [result] = memory.recall("gateway ports", retrieval="semantic").results
    assert result.relevance == 1


def test_two_processes_with_two_models_share_a_store_without_mixing(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=ONE) as one, open_toy(tmp_path / "c.db", embedder=OTHER) as other:
        one.remember("automobile")
        other.remember("lunch at noon")
        assert contents(one.recall("car", retrieval="semantic")) == ["automobile"]
        assert contents(other.recall("car", retrieval="semantic")) == []


# -- in the background ---------------------------------------------------------------------------------


def test_a_recall_that_misses_vectors_has_them_made_in_the_background(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", ONE)
    with open_toy(tmp_path / "c.db", embedder=OTHER, in_background=True) as memory:
        assert memory.recall("car").trace.notes["semantic"] == "vectors_unavailable"
        memory.background.wait()
        assert (memory.background.done, memory.background.total) == (12, 12)
        assert contents(memory.recall("car"))[0] == "automobile"


def test_the_background_makes_vectors_for_every_org_and_scope(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("automobile")
        memory.remember("automobile", scope=Scope(project="a", user="x"))
    with open_toy(tmp_path / "c.db", embedder=ONE, in_background=True) as memory:
        memory.recall("car")
        memory.background.wait()
        assert spaces(memory) == {ONE.space.key: 2}


def test_closing_stops_the_background_between_two_batches(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None)
    one_by_one = {"backfill_batch": 1, "backfill_pause_ms": 60_000}
    with open_toy(tmp_path / "c.db", embedder=ONE, in_background=True, relate=one_by_one) as memory:
        memory.recall("car")
    assert not memory.background.is_running
    with open_toy(tmp_path / "c.db", embedder=ONE) as memory:
        assert embed_missing(memory.store, memory.embedder) <= 12
        assert spaces(memory) == {ONE.space.key: 12}


def test_a_model_that_is_down_ends_the_background_and_recall_goes_on(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None)

    class DownForMany(ToyEmbedder):
        def embed(self, texts: Any) -> Any:
            if len(texts) > 1:
                raise Unavailable("the endpoint is down", code="EMBED_DOWN")
            return super().embed(texts)

    with open_toy(tmp_path / "c.db", embedder=DownForMany(), in_background=True) as memory:
        memory.recall("car")
        memory.background.wait()
        assert memory.background.failed == "EMBED_DOWN"
        assert contents(memory.recall("automobile")) == ["automobile"]


def test_every_org_gets_its_vectors_and_the_progress_is_of_all(tmp_path: Path) -> None:
    fill(tmp_path / "c.db", None, count=3)
    seen: list[tuple[int, int]] = []
    with open_toy(tmp_path / "c.db") as memory:
        for number in range(3):
            memory.remember(f"theirs {number}", scope=Scope(org="acme"), identity=Identity(org="acme"))
    with open_toy(tmp_path / "c.db", embedder=ONE) as memory:
        by_two = BackfillPolicy(batch=2, pause_ms=0)
        assert backfill_state(memory.store, ONE.space.key).remaining == 6
        embed_missing(memory.store, ONE, policy=by_two, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(2, 6), (3, 6), (5, 6), (6, 6)]
        with memory.store.read() as tx:
            found = [tx.index.vector_counts(Reach.everything(org)) for org in ("acme", "local")]
        assert found == [{ONE.space.key: 3}] * 2 and backfill_state(memory.store, ONE.space.key).remaining == 0

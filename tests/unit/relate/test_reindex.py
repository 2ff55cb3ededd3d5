"""Re-indexing makes everything findable again, changes what is stale and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.progress import no_progress
from clew.model.scope import Identity, Scope
from clew.relate import reindex as module
from clew.relate.reindex import reindex
from clew.remember.graph import GraphPolicy
from clew.store.sqlite import connect
from toys import ToldClock, ToyEmbedder, contents, open_toy

ANIMALS = ("bears", "cats", "dogs", "eels", "foxes", "geese", "hares")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder()) as opened:
        for animal in ANIMALS:
            opened.remember(f"A statement about {animal}")
        yield opened


def spoil_terms(memory: Clew) -> None:
    """As if another analyser had made them: terms and full text agree, but say something else."""

    def spoil(tx):  # type: ignore[no-untyped-def]
        from clew.model.memory import Indexed

        for row, found in tx.memories.rows_after("local", 0, limit=100):
            tx.index.put_terms(row, found, Indexed(length=1, terms=b"abcd\x01"))
            tx.changes.note(found.org, found.project, "memory", found.id, "put")

    memory.store.write(spoil)


def test_a_store_that_is_up_to_date_is_left_alone(memory: Clew) -> None:
    before = memory.stats().last_change
    report = memory.reindex()
    assert report.as_json() == {
        "memories": 7,
        "changed": 0,
        "rebuilt": False,
        "vectors": 0,
        "graph": 0,
        "jobs": 7,
        "redated": 0,
    }
    assert memory.stats().last_change == before


def test_every_live_memory_is_related_anew(memory: Clew) -> None:
    """Those from before there were jobs have none."""
    memory.forget(memory.list()[0].id)
    memory.jobs.run()
    assert memory.reindex().jobs == 6
    assert [job.operation for job in memory.jobs.list()] == ["backfill"] * 6


def test_while_no_graph_is_written_nothing_is_related(tmp_path: Path) -> None:
    with open_toy(tmp_path / "off.db", graph={"write": False}) as clew:
        clew.remember("A statement")
        clew.jobs.run()
        assert (clew.reindex().jobs, clew.jobs.list()) == (0, [])


def test_stale_terms_are_made_anew_and_vectors_stay(memory: Clew) -> None:
    spoil_terms(memory)
    assert contents(memory.recall("eels", retrieval="lexical")) == []
    report = memory.reindex()
    assert (report.changed, report.rebuilt, report.vectors) == (7, False, 0)
    assert contents(memory.recall("eels", retrieval="lexical")) == ["A statement about eels"]
    assert memory.stats().vectors == {"toy@1": 7}


def test_read_models_of_other_processes_are_told(memory: Clew, tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(), clock=_same_clock(memory)) as other:
        spoil_terms(memory)
        assert contents(other.recall("eels", retrieval="lexical")) == []
        memory.reindex()
        assert contents(other.recall("eels", retrieval="lexical")) == ["A statement about eels"]


def test_the_full_text_index_can_be_searched_afterwards(tmp_path: Path) -> None:
    """A scope too large for memory is searched on disk."""
    with open_toy(tmp_path / "disk.db", recall={"read_model_mb": 0}) as memory:
        for animal in ANIMALS:
            memory.remember(f"A statement about {animal}")
        spoil_terms(memory)
        memory.reindex()
        assert contents(memory.recall("dogs")) == ["A statement about dogs"]
        assert failing_index(memory) == {}


def failing_index(memory: Clew) -> dict[str, int]:
    with memory.store.read() as tx:
        return tx.index.damage("local")


def test_interrupted_it_goes_on_where_it_stopped(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    spoil_terms(memory)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(progress=interrupt)
    assert failing_index(memory) == {}
    assert memory.reindex().changed == 4


def test_progress_is_told(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    seen: list[tuple[int, int]] = []
    memory.reindex(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 7), (6, 7), (7, 7)]


def test_a_memory_changed_meanwhile_is_left_to_whoever_changed_it(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil_terms(memory)
    id = memory.list(limit=1)[0].id
    stale = module._stale

    def edit_then(store, batch):  # type: ignore[no-untyped-def]
        found = stale(store, batch)
        memory.edit(id, content="Something about giraffes")
        return found

    monkeypatch.setattr(module, "_stale", edit_then)
    assert memory.reindex().changed == 6
    assert contents(memory.recall("giraffes", retrieval="lexical")) == ["Something about giraffes"]
    assert failing_index(memory) == {}


def test_a_new_embedder_gets_its_vectors(memory: Clew, tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(name="better"), clock=_same_clock(memory)) as other:
        assert other.reindex().vectors == 7
        assert other.stats().coverage == 1.0


def test_without_an_embedder_the_terms_are_made_all_the_same(memory: Clew) -> None:
    spoil_terms(memory)
    assert reindex(memory.store, None, graph=GraphPolicy(), clock=memory.clock, progress=no_progress).changed == 7


def test_terms_that_were_lost_are_made_again(memory: Clew, tmp_path: Path) -> None:
    connection = connect(tmp_path / "clew.db")
    connection.execute("DELETE FROM memory_terms WHERE memory_row IN (2, 3)")
    connection.close()
    assert memory.reindex().changed == 2
    assert failing_index(memory) == {}
    assert contents(memory.recall("cats", retrieval="lexical")) == ["A statement about cats"]


def _same_clock(memory: Clew) -> ToldClock:
    assert isinstance(memory.clock, ToldClock)
    return memory.clock


def test_what_a_clock_that_was_ahead_has_dated_is_found_from_now_on(memory: Clew) -> None:
    assert isinstance(memory.clock, ToldClock)
    now = memory.clock.time
    memory.clock.time += timedelta(days=30)
    old = memory.remember("The gateway lives in Paris", upsert_key="gateway").memory
    new = memory.remember("The gateway lives in Frankfurt", upsert_key="gateway").memory
    planned = memory.remember("The gateway moves", valid_at=memory.clock.time + timedelta(days=9)).memory
    memory.clock.time = now + timedelta(minutes=1)
    assert memory.why("gateway", new.id).next.endswith("run: clew reindex")
    assert memory.reindex().redated == 3
    assert [found.memory.id for found in memory.recall("gateway").results] == [new.id]
    assert memory.show(old.id).invalid_at == memory.show(new.id).valid_at < memory.clock.time
    assert memory.show(planned.id).valid_at == planned.valid_at
    assert not memory.recall("gateway", as_of=now).results
    assert all(check.ok for check in memory.doctor() if check.name == "clock")
    assert memory.reindex().redated == 0


def test_what_others_write_while_an_earlier_org_is_done_keeps_its_dates(memory: Clew) -> None:
    zoo, keeper = Scope(org="zoo"), Identity(org="zoo")
    memory.remember("A statement about owls", scope=zoo, identity=keeper)
    written: list[Memory] = []

    def write_later(done: int, total: int) -> None:
        if not written:
            _same_clock(memory).pass_by(minutes=10)
            written.append(memory.remember("A statement about newts", scope=zoo, identity=keeper).memory)

    assert memory.reindex(progress=write_later).redated == 0
    assert memory.show(written[0].id, scope=zoo, identity=keeper).created_at == written[0].created_at


def test_what_a_clock_a_little_ahead_has_dated_stays(memory: Clew) -> None:
    _same_clock(memory).pass_by(minutes=4)
    early = memory.remember("A statement about newts").memory
    _same_clock(memory).pass_by(minutes=-4)
    assert memory.reindex().redated == 0
    assert memory.show(early.id).created_at == early.created_at

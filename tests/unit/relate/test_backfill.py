"""Vectors made up for: paused, resumed, with what remains and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew import Conflict, Denied, Draft, Misconfigured, Unavailable
from clew.clew import Clew
from clew.model.job import RELATE, BackfillState
from clew.model.scope import Identity
from clew.relate.embed import LEASE_S, BackfillPolicy, Turn, embed_missing
from lease_clock import LeaseClock
from toys import ToyEmbedder, open_toy

OLD, NEW = ToyEmbedder(name="old"), ToyEmbedder(name="new")
BY_FIVE = BackfillPolicy(batch=5, pause_ms=0)


@pytest.fixture
def switched(tmp_path: Path, clew_at: Callable[..., Clew]) -> Clew:
    """Twelve memories with vectors of another model, and nothing left to be done."""
    with open_toy(tmp_path / "clew.db", embedder=OLD) as memory:
        list(memory.remember_many(Draft(content=f"text {number}") for number in range(12)))
        memory.jobs.run()
    return clew_at(tmp_path, embedder=NEW, relate={"backfill_batch": 5, "backfill_pause_ms": 0})


def operations(memory: Clew) -> list[str]:
    return [job.operation for job in memory.jobs.list(limit=100)]


def test_a_switch_is_told_with_what_remains(switched: Clew) -> None:
    status = switched.jobs.backfill.status()
    assert (status.status, status.remaining, status.remaining_s) == ("idle", 12, None)


def test_a_run_makes_every_vector_and_asks_for_the_relations_that_rest_on_it(switched: Clew) -> None:
    status = switched.jobs.backfill.run()
    assert (status.status, status.done, status.total, status.remaining) == ("completed", 12, 12, 0)
    assert status.remaining_s == 0 and status.seconds > 0
    assert operations(switched) == ["backfill"] * 12


def test_paused_from_elsewhere_it_ends_after_its_batch_and_goes_on_when_resumed(
    switched: Clew, tmp_path: Path
) -> None:
    with open_toy(tmp_path / "clew.db", embedder=NEW) as elsewhere:

        def pause(_done: int, _total: int) -> None:
            elsewhere.jobs.backfill.pause()

        status = switched.jobs.backfill.run(pause)
    assert (status.status, status.done, status.remaining) == ("paused", 5, 7)
    assert status.remaining_s == pytest.approx(7 * status.seconds / 5)
    switched.jobs.backfill.resume()
    status = switched.jobs.backfill.run()
    assert (status.status, status.done, status.total) == ("completed", 12, 12)


def test_a_pause_survives_the_process_and_refuses_a_run(switched: Clew, tmp_path: Path) -> None:
    switched.jobs.backfill.pause()
    switched.close()
    with open_toy(tmp_path / "clew.db", embedder=NEW) as memory:
        with pytest.raises(Conflict) as refused:
            memory.jobs.backfill.run()
        assert (refused.value.code, refused.value.next) == ("BACKFILL_PAUSED", "go on: clew jobs backfill resume")
        assert embed_missing(memory.store, NEW) == 0
        assert memory.reindex().vectors == 0


def test_the_background_honours_a_pause(switched: Clew, tmp_path: Path) -> None:
    switched.jobs.backfill.pause()
    with open_toy(tmp_path / "clew.db", embedder=NEW, in_background=True) as memory:
        memory.recall("text")
        assert memory.background
        memory.background.wait()
        assert memory.jobs.backfill.status().remaining == 12


def test_a_pause_is_for_one_space(switched: Clew, tmp_path: Path) -> None:
    switched.jobs.backfill.pause()
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(name="third")) as memory:
        assert memory.jobs.backfill.run().status == "completed"


def test_a_model_that_fails_is_told_and_what_was_made_is_kept(switched: Clew) -> None:
    class Tiring(ToyEmbedder):
        batches = 0

        def embed(self, texts: Any) -> Any:
            self.batches += 1
            if self.batches > 1:
                raise Unavailable("the endpoint is down", code="EMBED_DOWN")
            return super().embed(texts)

    with pytest.raises(Unavailable):
        embed_missing(switched.store, Tiring(name="new"), policy=BY_FIVE)
    status = switched.jobs.backfill.status()
    assert (status.status, status.done, status.remaining, status.last_error) == ("idle", 5, 7, "EMBED_DOWN")
    assert switched.jobs.backfill.run().last_error == ""


def test_two_processes_do_not_make_the_same_vectors(switched: Clew, tmp_path: Path) -> None:
    counts: list[int] = []
    with open_toy(tmp_path / "clew.db", embedder=NEW) as elsewhere:

        def meanwhile(_done: int, _total: int) -> None:
            counts.append(embed_missing(elsewhere.store, NEW))
            told = elsewhere.jobs.backfill.run()
            assert (told.status, told.remaining) in (("running", 7), ("running", 2), ("running", 0))

        assert switched.jobs.backfill.run(meanwhile).status == "completed"
        assert counts == [0, 0, 0]
        assert elsewhere.jobs.backfill.status().done == 12


def test_whoever_was_killed_is_succeeded_when_the_lease_ran_out(switched: Clew) -> None:
    leases = LeaseClock(switched.store)  # type: ignore[arg-type]
    begun = switched.store.write(Turn(NEW.space.key).begin(12))
    assert begun and embed_missing(switched.store, NEW) == 0
    leases.pass_by(LEASE_S)
    assert embed_missing(switched.store, NEW) == 12


def test_whoever_was_succeeded_stops_and_ends_nothing(switched: Clew) -> None:
    leases = LeaseClock(switched.store)  # type: ignore[arg-type]
    other = Turn(NEW.space.key)

    class Slow(ToyEmbedder):
        def embed(self, texts: Any) -> Any:
            leases.pass_by(LEASE_S)
            assert switched.store.write(other.begin(12))
            return super().embed(texts)

    assert embed_missing(switched.store, Slow(name="new"), policy=BY_FIVE) == 0
    status = switched.jobs.backfill.status()
    assert (status.status, status.remaining) == ("running", 12)


def test_it_rests_between_batches(switched: Clew) -> None:
    rests: list[float] = []
    policy = BackfillPolicy(batch=5, pause_ms=25)
    embed_missing(switched.store, NEW, policy=policy, rest=rests.append)
    assert rests == [0.025] * 3


def test_a_memory_that_changed_meanwhile_is_not_asked_for_twice(switched: Clew) -> None:
    """Its own edit has asked already; the vector of the old text is not stored."""
    [newest] = switched.list(limit=1)

    class Slow(ToyEmbedder):
        def embed(self, texts: Any) -> Any:
            if len(texts) > 1:
                switched.edit(newest.id, tags=("late",), content="changed")
            return super().embed(texts)

    embed_missing(switched.store, Slow(name="new"), policy=BackfillPolicy(batch=2, pause_ms=0), should_stop=_once())
    with switched.store.read() as tx:
        job = tx.jobs.of("local", RELATE, newest.id)
    assert job and (job.operation, job.generation) == ("edit", 1)


def _once() -> Callable[[], bool]:
    looks = iter([False])
    return lambda: next(looks, True)


def test_the_remaining_time_follows_from_the_rate() -> None:
    assert BackfillState("s", "idle", done=100, seconds=20.0, remaining=50).remaining_s == 10.0
    assert BackfillState("s", "idle", remaining=50).remaining_s is None


def test_it_is_for_the_operator_and_needs_a_model(
    switched: Clew, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    with pytest.raises(Denied):
        switched.jobs.backfill.status(identity=Identity(org="acme"))
    with pytest.raises(Misconfigured):
        clew_at(tmp_path / "other").jobs.backfill.status()

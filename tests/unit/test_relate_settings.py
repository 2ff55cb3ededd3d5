"""Every setting of the section 'relate' changes what Clew does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from clew.clew import Clew
from clew.model.job import RELATE, Failed
from clew.model.space import VectorSpace
from clew.relate.queue import claim_batch
from clew.relate.worker import JobRunner
from lease_clock import LeaseClock
from toys import ToyEmbedder, open_toy


class Circle:
    """A model that sees numbers as degrees; unrelated is 0 and the same is 1."""

    is_remote = False
    space = VectorSpace("circle", "1", 2, 0.0, 1.0)

    def embed(self, texts: Any) -> NDArray[np.float32]:
        angles = np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def similar(folder: Path, *degrees: int, **relate: Any) -> set[tuple[str, str]]:
    """Who is similar to whom, of memories at these degrees."""
    with open_toy(folder / f"{len(list(folder.iterdir()))}.db", embedder=Circle(), relate=relate) as clew:
        for degree in degrees:
            clew.remember(str(degree))
        clew.jobs.run()
        return found(clew, "similar_to")


def found(clew: Clew, kind: str) -> set[tuple[str, str]]:
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    query = """SELECT m.content, o.content FROM graph_edges e
        JOIN graph_nodes a ON a.row = e.from_row JOIN memories m ON m.row = a.memory_row
        JOIN graph_nodes b ON b.row = e.to_row JOIN memories o ON o.row = b.memory_row WHERE e.edge_type = ?"""
    return set(connection.execute(query, (kind,)).fetchall())


def test_relate_similarity_threshold_is_live(tmp_path: Path) -> None:
    assert not similar(tmp_path, 0, 40)
    assert similar(tmp_path, 0, 40, similarity_threshold=0.7) == {("0", "40"), ("40", "0")}


def test_relate_max_k_is_live(tmp_path: Path) -> None:
    assert len(similar(tmp_path, 0, 2, 4, 6)) == 12
    assert len(similar(tmp_path, 0, 2, 4, 6, max_k=1)) < 12
    assert not similar(tmp_path, 0, 2, max_k=0)


def test_relate_max_similar_is_live(tmp_path: Path) -> None:
    assert len(similar(tmp_path, 0, 2, 4, max_similar=1)) == 2
    assert not similar(tmp_path, 0, 2, 4, max_similar=0)


def test_relate_rules_is_live(tmp_path: Path) -> None:
    counts = []
    for number, rules in enumerate((True, False)):
        with open_toy(tmp_path / f"rules {number}.db", relate={"rules": rules}) as clew:
            clew.remember("AuthService listens on port 1.")
            clew.remember("AuthService listens on port 2.")
            clew.jobs.run()
            counts.append(len(found(clew, "contradicts")))
    assert counts == [2, 0]


# -- jobs ----------------------------------------------------------------------------------------------------


def failing(folder: Path, **relate: Any) -> tuple[Clew, LeaseClock]:
    """A memory whose job fails whenever it is tried, and the clock it goes by."""
    clew = open_toy(folder / f"{len(list(folder.iterdir()))}.db", relate=relate)
    leases = LeaseClock(clew.store)  # type: ignore[arg-type]
    clew.remember("one")
    handlers: Any = {RELATE: lambda jobs: [Failed("DOWN")] * len(jobs)}
    clew.jobs.runner = lambda: JobRunner(  # type: ignore[method-assign]
        clew.store, handlers, clew.jobs.policy, clock=clew.clock, jitter=lambda: 0.0
    )
    return clew, leases


def test_relate_in_process_is_live(tmp_path: Path) -> None:
    for in_process in (True, False):
        path = tmp_path / f"{in_process}.db"
        with open_toy(path, in_background=True, relate={"in_process": in_process}) as clew:
            clew.remember("one")
            assert ("background_jobs" in clew.__dict__) is in_process
            assert in_process or clew.jobs.portion().processed == 0
        with open_toy(path, relate={"in_process": True}) as clew:
            assert in_process or clew.jobs.portion().processed == 1


def test_relate_max_attempts_is_live(tmp_path: Path) -> None:
    for most in (1, 3):
        clew, leases = failing(tmp_path, max_attempts=most)
        with clew:
            for attempt in range(1, most + 1):
                assert clew.jobs.run().dead_letters == (attempt == most)
                leases.pass_by(60)


def test_relate_retry_base_s_is_live(tmp_path: Path) -> None:
    for base_s in (2.0, 10.0):
        clew, _leases = failing(tmp_path, retry_base_s=base_s)
        with clew:
            clew.jobs.run()
            assert clew.jobs.runner().next_due_s() == base_s


def test_relate_retry_max_s_is_live(tmp_path: Path) -> None:
    clew, leases = failing(tmp_path, retry_max_s=3.0)
    with clew:
        for pause_s in (1.0, 2.0, 3.0, 3.0):
            clew.jobs.run()
            assert clew.jobs.runner().next_due_s() == pause_s
            leases.pass_by(pause_s)


def test_relate_lease_s_is_live(tmp_path: Path) -> None:
    clew, leases = failing(tmp_path, lease_s=7.0)
    with clew:
        clew.store.write(lambda tx: claim_batch(tx, "local", clew.jobs.policy, holder="gone", limit=1))
        leases.pass_by(6.9)
        assert clew.jobs.run().processed == 0
        leases.pass_by(0.1)
        assert clew.jobs.run().processed == 1


def backfilled(folder: Path, **relate: Any) -> Clew:
    """Three memories without vectors, opened with a model."""
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with open_toy(path) as clew:
        for text in ("one", "two", "three"):
            clew.remember(text)
    return open_toy(path, embedder=ToyEmbedder(), relate=relate)


def test_relate_backfill_batch_is_live(tmp_path: Path) -> None:
    for batch, steps in ((2, [2, 3]), (64, [3])):
        seen: list[int] = []
        with backfilled(tmp_path, backfill_batch=batch, backfill_pause_ms=0) as clew:
            clew.jobs.backfill.run(lambda done, _total, seen=seen: seen.append(done))  # type: ignore[misc]
        assert seen == steps


def test_relate_backfill_pause_ms_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    with backfilled(tmp_path, backfill_pause_ms=250) as clew:
        assert clew.background
        monkeypatch.setattr(clew.background._stopping, "wait", rests.append)
        clew.background._work()
    assert rests == [0.25]

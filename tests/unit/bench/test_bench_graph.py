"""The graph's bench runs through the public surface and tells what it measured."""

from __future__ import annotations

from clew.bench import graph


def test_a_small_run_measures_every_part() -> None:
    told: list[tuple[int, int]] = []
    report = graph.run([1_000, 3_000], asks=5, progress=lambda done, total: told.append((done, total)))
    small, large = report["graphs"].values()
    assert 0 < small["edges"] < large["edges"]
    assert all(row["walk_p50_ms"] > 0 and row["written_per_s"] > 0 for row in (small, large))
    assert report["growth"] > 0
    assert told[-1] == (400, 400)
    assert "growth of the walk" in graph.table(report)

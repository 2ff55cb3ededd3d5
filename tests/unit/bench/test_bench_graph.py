"""The graph's bench runs through the public surface and tells what it measured."""

from __future__ import annotations

from clew.bench import graph


def test_a_small_run_measures_every_part() -> None:
    told: list[tuple[int, int]] = []
    report = graph.run([1_000, 3_000], asks=5, progress=lambda done, total: told.append((done, total)))
    small, large = report["graphs"].values()
    assert 0 < small["edges"] < large["edges"]
    for row in (small, large):
        assert row["written_per_s"] > 0
        assert all(row[part]["p99_ms"] >= row[part]["p50_ms"] > 0 for part in ("expansion", "in_recall"))
    assert all(factor > 0 for factor in report["growth"].values())
    assert told[-1] == (400, 400)
    assert "growth: " in graph.table(report)

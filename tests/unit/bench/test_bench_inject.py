"""The injector's bench runs through the public surface and tells what it measured."""

from __future__ import annotations

from clew.bench import inject


def test_a_small_run_measures_calls_that_are_pushed_and_calls_that_are_not() -> None:
    told: list[tuple[int, int]] = []
    report = inject.run(300, calls=20, in_project=200, progress=lambda done, total: told.append((done, total)))
    assert sum(report["outcomes"].values()) == 20
    assert 0 < report["ms"]["p50"] <= report["ms"]["p99"]
    assert report["bare_full_commit_ms"]["p50"] > 0
    assert told[-1] == (320, 320)
    assert "goal: p99 below 8 ms" in inject.table(report)

"""The queue's bench runs through the public surface and tells what it measured."""

from __future__ import annotations

from clew.bench import queue


def test_a_small_run_measures_every_part() -> None:
    told: list[tuple[int, int]] = []
    report = queue.run(quick=True, progress=lambda done, total: told.append((done, total)))
    assert report["saturation"]["cycles"] == 500
    assert report["saturation"]["cycles_per_s"] > 0
    assert report["open_loop"]["cycles"] == 300
    assert report["open_loop"]["claim_ms"]["p99"] >= report["open_loop"]["claim_ms"]["p50"] > 0
    assert told[-1] == (4, 4)
    assert "cycles/s" in queue.table(report)


def test_the_goal_for_a_claim_is_ten_milliseconds_or_three_bare_commits() -> None:
    def met(per_s: int, claim_ms: float, bare_ms: float) -> bool:
        steady = {"claim_ms": {"p99": claim_ms}, "bare_full_ms": {"p99": bare_ms}}
        return queue._goals_met({"cycles_per_s": per_s}, steady)

    assert met(3_000, 9.9, 1.0)
    assert not met(2_999, 9.9, 1.0)
    assert not met(3_000, 10.1, 1.0)
    assert met(3_000, 29.0, 10.0)

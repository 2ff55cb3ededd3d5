"""`clew bench speed` on stores of a few memories: what it reports, not how fast it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.bench import speed

DAEMON = {"ms": {"p50": 1.0, "p99": 2.0}, "rate": {"connections": 4, "recalls": 500, "shows": 900}}
COLD = {"ms": 1.0, "import_numpy_ms": 1.0, "times_import_numpy": 1.0}


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(speed, "PROJECT_SIZE", 20)
    monkeypatch.setattr(speed, "cold_recall", lambda home: COLD)
    monkeypatch.setattr(speed, "_rounds", lambda quick: speed.Rounds(ingest=20, writes=3, asks=10, processes=2))
    monkeypatch.setattr(speed.surfaces, "over_socket", lambda home, asks, seconds: DAEMON)
    monkeypatch.setattr(speed, "plugged_in", lambda runs: {})


@pytest.mark.skipif(not speed.surfaces.CAN_SERVE, reason="no unix sockets here")
def test_a_daemon_its_hooks_and_mcp_are_measured_as_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    with speed.clew.open(home=tmp_path) as memory:
        memory.remember("government water service", scope=speed.PROJECT)
    asked = speed.surfaces.over_socket(tmp_path, asks=3, seconds=0.1)
    assert asked["ms"]["p50"] > 0 and asked["rate"]["recalls"] > 0 and asked["rate"]["shows"] > 0
    told = speed.surfaces.plugged_in(tmp_path, runs=2)
    assert len(list(speed.surfaces.lines(told))) == 3
    assert not (tmp_path / "run" / "daemon.json").exists(), "a hook without a daemon started one"


def test_writes_are_measured_one_by_one_and_by_several_threads_at_once() -> None:
    report = speed.single_writes(3)
    assert report["threads"] == 8
    assert report["concurrent_per_second"] > 0 and report["concurrent_share_of_bare"] > 0


def test_recall_is_also_measured_right_after_a_write() -> None:
    report = speed.recall_at(40, asks=10)
    assert report["in_project"] == 20
    assert report["after_write_ms"]["p50"] > 0


def test_every_step_is_told_and_every_number_has_its_line() -> None:
    seen: list[tuple[int, int]] = []
    report = speed.run([40, 60], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 8) for done in range(9)]
    text = speed.table(report)
    assert "8 threads" in text and "after a write" in text and "500 recalls/s" in text
    assert "recall growth 40 -> 60" in text


@pytest.mark.parametrize(("sizes", "is_told"), [([20, 40], True), ([10, 40], False), ([40], False)])
def test_growth_is_told_only_between_projects_of_one_size(sizes: list[int], is_told: bool) -> None:
    recall: dict[str, Any] = speed.run(sizes)["recall"]
    assert ("growth" in recall) == is_told

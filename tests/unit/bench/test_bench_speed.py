"""`clew bench speed` on stores of a few memories: what it reports, not how fast it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from clew.bench import speed, speed_cold, speed_plot, speed_steps, speed_store, speed_table, surfaces
from clew.bench.speed_figures import Taken, figure, figures, growth
from clew.errors import InvalidInput

FEW = speed_store.Rounds(ingest=20, writes=3, asks=5, walks=3, calls=5, cycles=3, processes=1, starts=1)
SIZES = [40, 60]
TAKEN = Taken(0.03, 0.02)  # of a process that a test does not start
RATE = {"connections": 4, "recalls": 500, "shows": 900}
HOOK = figure([TAKEN]) | {"times_bare_python": {"p50": 1.5, "p95": 1.6}}
SERVED = {"runs": 1, "ms": {"p50": 3.0, "p95": 4.0}, "cpu_ms": {"mean": 2.0}}


@pytest.fixture(scope="module")
def seen() -> list[tuple[int, int]]:
    return []


@pytest.fixture(scope="module")
def report(seen: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two sizes in this process, without the processes that they would start."""

    def daemon() -> dict[str, Any]:
        return {"hook": {"cold": figure([TAKEN]), "warm": HOOK}, "daemon": {"recall": SERVED | {"rate": RATE}}}

    def here(size: int, rounds: speed_store.Rounds, told: speed_store.Told) -> dict[str, Any]:
        return speed_store.measure(size, tmp_path_factory.mktemp("store"), rounds, told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(speed, "QUICK", FEW)
        patch.setattr(speed_store, "in_process", here)
        patch.setattr(speed_steps, "PROJECT_SIZE", 20)
        patch.setattr(speed_steps, "cold", lambda home, step, asked: (figure([TAKEN]) | {"peak_mb": 9.0}, [TAKEN]))
        patch.setattr(speed_steps, "timed_process", lambda command, env: TAKEN)
        patch.setattr(surfaces, "CAN_SERVE", True)
        patch.setattr(surfaces, "with_daemon", lambda home, asks, runs, starts: daemon())
        patch.setattr(surfaces, "mcp_call", lambda home, calls: SERVED)
        patch.setattr(surfaces, "without_daemon", lambda home, runs: HOOK)
        return speed.run([*SIZES, SIZES[0]], quick=True, progress=lambda done, of: seen.append((done, of)))


def test_every_step_is_measured_once_in_every_size(report: dict[str, Any]) -> None:
    assert list(report["stores"]) == ["40", "60"]
    for row in report["stores"].values():
        assert {" ".join(path) for path, _told in figures(row)} == set(speed_table.TITLES)


def test_every_figure_is_positive_and_its_high_end_is_not_below_its_median(report: dict[str, Any]) -> None:
    for row in report["stores"].values():
        for path, told in figures(row):
            assert 0 < told["ms"]["p50"] <= told["ms"]["p95"], path
            assert all(value > 0 for value in told["cpu_ms"].values()), path


def test_one_store_is_asked_in_a_project_and_in_one_scope_that_sees_all(tmp_path: Path) -> None:
    with speed_cold.opened(tmp_path) as memory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed_steps, "PROJECT_SIZE", 5)
        told: list[int] = []
        row = speed_steps.fill(memory, 12, tmp_path, told=told.append)
        few, all = (len(memory.list(scope=scope)) for scope in (speed_cold.PROJECT, speed_cold.ONE_SCOPE))
    assert (few, all) == (5, 12)
    assert row["memories"] == 12 == told[-1] and row["bare_fts5_per_second"] > 0


def test_every_step_is_told_up_to_the_last(report: dict[str, Any], seen: list[tuple[int, int]]) -> None:
    total = 5 + 2 * speed_store.STEPS
    done = [place for place, _of in seen]
    assert report and {of for _done, of in seen} == {total}
    assert done == sorted(done) and done[-3:] == [total - 1, total, total]


def test_every_number_has_its_place_in_the_table(report: dict[str, Any]) -> None:
    text = speed.table(report)
    assert all(title in text for title in (*speed_table.TITLES.values(), "40 memories", "60 memories"))
    assert "8 threads" in text and "500 recalls/s" in text and "20 of 40, 20 of 60" in text
    if report["stores"]["40"]["memory"]["peak_mb"]:
        assert "peak" in text.splitlines()[-8]


def test_growth_is_told_between_neighbours_with_both_sizes() -> None:
    def row(ms: float, in_project: int) -> dict[str, Any]:
        told = {"ms": {"p50": ms}, "cpu_ms": {"p50": ms / 2}}
        return {"in_project": in_project, "graph": {"warm": told}, "memory": {"peak_mb": 10 * ms}}

    found = growth({"10": row(1.0, 5), "100": row(3.0, 5), "1000": row(6.0, 50)})
    assert [(told["step"], told["from"], told["to"]) for told in found] == [
        ("graph warm", 10, 100), ("memory peak", 10, 100), ("graph warm", 100, 1_000), ("memory peak", 100, 1_000),
    ]  # fmt: skip
    assert found[0] == {"step": "graph warm", "from": 10, "to": 100, "in_project": [5, 5], "wall": 3.0, "cpu": 3.0}
    assert found[3]["mb"] == 2.0 and found[3]["in_project"] == [5, 50]


def test_of_few_runs_the_95th_percentile_is_told_and_of_many_the_99th() -> None:
    assert set(figure([TAKEN] * 99)["ms"]) == {"p50", "p95"}
    assert set(figure([TAKEN] * 100)["cpu_ms"]) == {"p50", "p99"}
    assert "cpu_ms" not in figure([Taken(0.1, None)]), "a platform that does not tell it"


@pytest.mark.parametrize("sizes", [SIZES, SIZES[:1]])
def test_every_step_has_its_line_in_the_plot(report: dict[str, Any], sizes: list[int]) -> None:
    stores = {str(size): report["stores"][str(size)] for size in sizes}
    drawn = speed_plot.growth_svg(report | {"stores": stores})
    root = ElementTree.fromstring(drawn)
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for title, unit, named in speed_plot.PANELS:
        assert f"{title}, {unit}" in texts
        if unit == "ms":
            assert all(any(text.startswith(f"{name} ") for text in texts) for name in named), title
    assert texts.count("memories in the store") >= 3 and "nan" not in drawn


def test_names_of_lines_are_moved_apart_within_the_panel() -> None:
    assert speed_plot._apart([10.0, 12.0, 90.0, 99.0], 100.0) == [10.0, 24.0, 86.0, 100.0]


def test_a_plot_is_written_or_refused_before_anything_is_measured(
    report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "run", lambda sizes, *, quick, progress: report)
    asked = Namespace(url=None, sizes=None, quick=True, plot=str(tmp_path / "growth.svg"))
    assert speed.measure(asked) is report
    assert (tmp_path / "growth.svg").read_text().startswith("<svg")
    monkeypatch.delattr(speed, "run")
    for place in (str(tmp_path / "no" / "growth.svg"), str(tmp_path), "", "-"):
        with pytest.raises(InvalidInput, match=r"no directory|cannot be written|names no file"):
            speed.measure(Namespace(url=None, sizes=None, quick=True, plot=place))
    with pytest.raises(InvalidInput, match="not drawn"):
        speed.measure(Namespace(url="postgres", sizes=None, quick=True, plot="growth.svg"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_figures_are_told_also_when_the_plot_cannot_be_written(
    report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "run", lambda sizes, *, quick, progress: dict(report))
    told = speed.measure(Namespace(url=None, sizes=None, quick=True, plot="/dev/full"))
    assert told["not_written"] == {"file": "/dev/full", "reason": "No space left on device"}
    assert speed.table(told) == speed.table(report)


def test_writes_are_measured_one_by_one_and_by_several_threads_at_once(report: dict[str, Any]) -> None:
    row = report["single_writes"]
    assert row["runs"] == FEW.writes and row["threads"] == 8 and row["share_of_bare"] > 0
    assert row["concurrent_per_second"] > 0 and row["concurrent_share_of_bare"] > 0


def test_an_import_is_measured_beside_bare_full_text_with_the_graph_and_without(report: dict[str, Any]) -> None:
    assert list(report["ingest"]) == ["250", "250 with graph", "2000", "2000 with graph"]
    assert [row["memories"] for row in report["ingest"].values()] == [20, 20, 4, 4]
    assert all(row["times_bare_fts5"] > 0 and row["bytes_per_memory"] > 0 for row in report["ingest"].values())


def test_a_size_is_measured_in_a_process_that_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    says = "import sys; print(1); print(2); print(sys.argv[1])"
    monkeypatch.setattr(speed_store, "COMMAND", (sys.executable, "-I", "-S", "-c", says))
    row = speed_store.in_process(7, FEW, told.append)
    assert told == [1, 2] and row["size"] == 7 and speed_store.Rounds(**row["rounds"]) == FEW
    assert not Path(row["home"]).exists()
    monkeypatch.setattr(speed_store, "COMMAND", (sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="7 memories ended with 3"):
        speed_store.in_process(7, FEW, told.append)


def interrupted(monkeypatch: pytest.MonkeyPatch, folder: Path, says: str) -> None:
    """As a terminal does, by the process itself or by its first word."""

    def interrupt(_done: int) -> None:
        raise KeyboardInterrupt

    up = "import os, signal, sys"
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(speed_store, "COMMAND", (sys.executable, "-I", "-S", "-c", f"{up}\n{says}"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            speed_store.in_process(7, FEW, interrupt)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_process_that_is_interrupted_before_it_measures_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    interrupted(monkeypatch, tmp_path, "os.kill(os.getppid(), signal.SIGINT); signal.pause()")
    assert not capfd.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_process_that_is_interrupted_ends_with_all_that_it_has_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it has started holds a pipe open, as nobody does in the end."""
    pipe, stores = tmp_path / "pipe", tmp_path / "stores"
    stores.mkdir()
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    says = f"""
import subprocess
kept = os.open({str(pipe)!r}, os.O_WRONLY)
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=[kept])
print(0, flush=True)
signal.pause()
"""
    interrupted(monkeypatch, stores, says)
    os.set_blocking(held, True)
    assert os.read(held, 1) == b"" and not list(stores.iterdir())
    os.close(held)


def test_each_step_can_be_the_first_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this one; that a process is started for it is seen in test_speed_invariants."""
    done: list[str] = []

    def here(home: Path, asked: dict[str, Any]) -> dict[str, Any]:
        done.append(asked["step"])
        told: dict[str, Any] = json.loads(json.dumps(speed_cold.first(home, json.loads(json.dumps(asked)))))
        return told

    monkeypatch.setattr(speed_cold, "_process", here)
    with speed_cold.opened(tmp_path) as memory:
        memory.remember("government water service", scope=speed_cold.PROJECT)
        colds = speed_steps.colds(tmp_path, memory, 10, 1)
    for _path, measured in colds:
        row, [opening] = measured()
        assert row["ms"]["p50"] >= 1_000 * opening.wall_s > 0
    assert done == list(speed_cold.STEPS)


@pytest.mark.skipif(not surfaces.CAN_SERVE, reason="no unix sockets here")
def test_a_daemon_and_hooks_are_measured_as_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(surfaces, "mcp_call", lambda home, calls: {})
    with speed_cold.opened(tmp_path) as memory:
        memory.remember("government water service", scope=speed_cold.PROJECT)
    told = speed_steps.plugged_in(tmp_path, asks=2, runs=1, starts=1)
    assert told["daemon"]["recall"]["rate"]["recalls"] > 0 and told["daemon"]["recall"]["rate"]["shows"] > 0
    assert all(shown["ms"]["p50"] > 0 for _path, shown in figures(told)) and "mcp" not in told
    assert told["hook"]["warm"]["times_bare_python"]["p50"] > 0
    assert not (tmp_path / "run" / "daemon.json").exists(), "a hook without a daemon started one"


@pytest.mark.parametrize("command", [(sys.executable, "-m", "clew", "--version"), (*speed_store.COMMAND, "{}")])
def test_processes_that_are_measured_take_nothing_from_the_directory_they_start_in(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken from here')")
    (tmp_path / "clew.py").write_text("raise SystemExit('taken from here')")
    env = speed_cold.environment(tmp_path) if "clew" in command else os.environ
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "taken from here" not in done.stderr


MCP = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    is_call = asked["method"] == "tools/call"
    print(json.dumps({"method": "notifications/message"}), flush=True)
    result = {"isError": is_call and asked["params"]["name"] != "memory_recall"}
    print(json.dumps({"id": asked["id"], "result": result}), flush=True)
"""


def test_mcp_is_asked_over_lines_and_an_error_is_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surfaces, "find_spec", lambda name: True)
    monkeypatch.setattr(surfaces, "MCP", (sys.executable, "-I", "-S", "-c", MCP))
    told = surfaces.mcp_call(tmp_path, calls=3)
    assert told["runs"] == 3 and told["ms"]["p50"] > 0
    monkeypatch.setattr(surfaces, "TOOL", "memory_guess")
    with pytest.raises(RuntimeError, match="isError"):
        surfaces.mcp_call(tmp_path, calls=1)


def test_the_tool_that_is_asked_over_mcp_exists() -> None:
    from clew.surfaces.mcp.table import BY_NAME

    assert surfaces.TOOL in BY_NAME


def test_what_is_set_otherwise_is_told_and_where_somebody_keeps_memories_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_SERVE__THREADS", "3")
    monkeypatch.setenv("CLEW_URL", "/home/ann/clew.db")
    assert speed._conditions()["settings"] == {"serve.threads": 3}

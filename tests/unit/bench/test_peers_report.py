"""The comparison with peers: what was measured and what failed both reach the page, and a failing peer is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.bench.texts import questions, texts

PEERS = Path(__file__).parents[3] / "tools" / "peers"
BEGIN, END = "<!-- peers: begin, written by tools/peers/report.py -->", "<!-- peers: end -->"
INSTALL = {"mb": 124.0, "compiled_mb": 20.0, "packages": 11, "install_s": 22.1, "python": "3.11"}
SCORES = {"corpora": 5, "units": 2960, "questions": 1018, "recall@5": 0.7, "recall@10": 0.8, "ndcg@10": 0.625}
SEARCH = {
    "ingest_s": 4.0, "per_s": 2500.0, "questions": 200, "ms_p50": 1.52, "ms_p95": 2.49, "embed_ms_p50": 0.11,
    "rss_growth_mb": 60.4,
}  # fmt: skip
FIRST = {"s": 0.81, "rss_mb": 54.2, "import_s": 0.01, "open_s": 0.34, "store_s": 0.28, "search_s": 0.08}


def clew_row(**changes: Any) -> dict[str, Any]:
    row = {"title": "Clew", "note": "as it comes", "version": "0.1.0"}
    dates = {"first": {"date": "2026-11-16", "load": 0.4}, "quality": {"date": "2026-11-15", "load": 3.5}}
    measured = {
        "measured": dates,
        "install": INSTALL,
        "first": FIRST,
        "quality": {"talks": SCORES},
        "speed": {"10000": SEARCH},
    }
    return row | measured | changes


def written(folder: Path, **peers: dict[str, Any]) -> str:
    """The page after report.py has been run over these rows."""
    machine = {"cores": 2, "cpu": "some CPU", "system": "Linux"}
    results = folder / "results.json"
    results.write_text(
        json.dumps(
            {"machine": machine, "embedder": {"onnxruntime": "1.31", "chars": 250, "per_s": 120.4}, "peers": peers}
        )
    )
    (folder / "benchmarks.md").write_text(f"Before.\n{BEGIN}\nold table\n{END}\nAfter.\n")
    report(folder, check=True)
    return (folder / "benchmarks.md").read_text()


def report(folder: Path, *words: str, check: bool) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PEERS / "report.py", "--results", folder / "results.json", "--docs", folder, *words]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def test_the_tables_stand_between_the_markers_and_the_prose_around_survives(tmp_path: Path) -> None:
    page = written(tmp_path, clew=clew_row())
    assert page.startswith(f"Before.\n{BEGIN}") and page.endswith(f"{END}\nAfter.\n")
    assert "old table" not in page
    assert "| Clew | .700 / .800 / .625 |" in page
    assert "| Clew | 1.5 / 2.5 | 0.11 | 200 |" in page
    assert "| Clew | 124 | 104 | 11 | 22 | 0.81 | 0.01 / 0.34 / 0.28 / 0.08 | 54 |" in page
    assert "Quality: 2026-11-15, load average 3.5 to 3.5." in page and "start: 2026-11-16, load average 0.4" in page
    assert "What failed" not in page


def test_every_failure_is_shown_with_its_reason(tmp_path: Path) -> None:
    slow = {"10000": {"error": "OverLimit: 450 of 10,000 stored at 4.5/s", "per_s": 4.5, "stored": 450}}
    broken = clew_row(title="Slow", quality={"talks": {"error": "ValueError: no such thing"}}, speed=slow)
    absent = {"title": "Absent", "install": {"error": "needs Python 3.12 or newer"}}
    page = written(tmp_path, clew=clew_row(), slow=broken, absent=absent)
    assert "| Slow | failed [1] |" in page and "1. Slow, talks: ValueError: no such thing" in page
    assert "Slow, 10,000 memories: OverLimit: 450 of 10,000 stored at 4.5/s" in page
    assert "| Slow | 4.5, failed [" in page
    assert "Absent, install: needs Python 3.12 or newer" in page


def test_a_peer_with_a_background_is_shown_in_both_states(tmp_path: Path) -> None:
    settled = SEARCH | {"ms_p50": 0.92, "waited_s": 60.1}
    late = {"error": "not run: 900 of 9,000 jobs of its background done in 46 s; the rest would pass the limit"}
    speed = {"10000": SEARCH | {"settled": settled}, "100000": SEARCH | {"settled": late}}
    page = written(tmp_path, clew=clew_row(speed=speed), other=clew_row(title="Other"))
    assert "| Clew, right after the import | 1.5 / 2.5 | 0.11 | 200 | 1.5 / 2.5 | 0.11 | 200 |" in page
    assert "| Clew, once its background is done | 0.9 / 2.5 | 0.11 | 200 | not run [1] | - | - |" in page
    assert "| Other | 1.5 / 2.5 | 0.11 | 200 | - | - | - |" in page
    assert "1. Clew, once its background is done, 100,000 memories: not run: 900 of 9,000 jobs" in page


def test_a_part_of_a_file_stands_beside_clew_on_the_same_part_only(tmp_path: Path) -> None:
    part = SCORES | {"corpora": 1, "units": 419, "questions": 150, "recall@10": 0.5, "max_units": 450}
    same = {"talks": part | {"recall@10": 0.85}}
    page = written(tmp_path, clew=clew_row(subset=same), notes=clew_row(title="Notes", quality={"talks": part}))
    assert "| Notes | in part, below |" in page
    assert "| talks, first 1: 419 units, 150 questions | Notes | .700 / .500 / .625 |" in page
    assert "| talks, first 1: 419 units, 150 questions | Clew | .700 / .850 / .625 |" in page
    other = {"talks": part | {"units": 300}}
    page = written(tmp_path, clew=clew_row(subset=other), notes=clew_row(title="Notes", quality={"talks": part}))
    assert "419 units, 150 questions | Clew |" not in page


def test_the_plot_has_a_bar_for_each_figure_and_a_word_for_each_failure(tmp_path: Path) -> None:
    failed = {"10000": {"error": "ran out of time"}}
    written(tmp_path, clew=clew_row(), slow=clew_row(title="Slow", speed=failed))
    plot = (tmp_path / "benchmarks.svg").read_text()
    assert plot.count("<rect") == 1 + 4 and plot.count(">.80</text>") == 2
    assert plot.count(">failed</text>") == 1 and ">1.5</text>" in plot


def reported_again(folder: Path, *words: str, **peers: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Over the page that is there."""
    results = json.loads((folder / "results.json").read_text()) | {"peers": peers}
    (folder / "results.json").write_text(json.dumps(results))
    return report(folder, *words, check=False)


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"other": None}, "Other in 'peers'; Other in 'Quality'; Other in 'Search, ten results"),
        ({"other": {"quality": {}}}, "Other in 'Quality'. Measure"),
        ({"other": {"speed": {"10000": SEARCH}}}, "Other in 'Search, ten results"),
    ],
)
def test_a_run_of_a_part_does_not_take_the_other_figures_from_the_page(
    tmp_path: Path, changes: dict[str, Any], lost: str
) -> None:
    both = {"10000": SEARCH, "100000": SEARCH}
    page = written(tmp_path, clew=clew_row(speed=both), other=clew_row(title="Other", speed=both))
    other = changes["other"]
    left = {} if other is None else {"other": clew_row(title="Other", **{"speed": both} | other)}
    refused = reported_again(tmp_path, clew=clew_row(speed=both), **left)
    assert refused.returncode and lost in refused.stderr and "--anew" in refused.stderr
    assert (tmp_path / "benchmarks.md").read_text() == page
    assert not reported_again(tmp_path, "--anew", clew=clew_row(speed=both), **left).returncode


def test_a_peer_that_fails_now_or_is_asked_in_two_states_loses_nothing(tmp_path: Path) -> None:
    written(tmp_path, clew=clew_row(), other=clew_row(title="Other"))
    failed = clew_row(title="Other", speed={"10000": {"error": "ran out of time"}})
    twice = clew_row(speed={"10000": SEARCH | {"settled": SEARCH}})
    assert not reported_again(tmp_path, clew=twice, other=failed).returncode
    assert "| Clew, once its background is done |" in (tmp_path / "benchmarks.md").read_text()


def test_each_peer_says_when_it_was_measured(tmp_path: Path) -> None:
    once = {stage: {"date": "2026-11-17", "load": 0.4} for stage in ("first", "speed")}
    page = written(tmp_path, clew=clew_row(), other=clew_row(title="Other", measured=once))
    assert "| as it comes | first 2026-11-16, quality 2026-11-15 |" in page
    assert "| as it comes | 2026-11-17 |" in page


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, clew=clew_row())
    (tmp_path / "benchmarks.md").write_text("my own page")
    refused = report(tmp_path, check=False)
    assert refused.returncode and "lacks its markers" in refused.stderr
    assert (tmp_path / "benchmarks.md").read_text() == "my own page"


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    corpus = {
        "corpus": "one",
        "units": [{"id": "u1", "text": "The cat sleeps on the stove."}, {"id": "u2", "text": "Rain is forecast."}],
        "questions": [{"id": "q", "text": "where does the cat sleep?", "gold": ["u1"], "category": "fact"}],
    }
    (tmp_path / "talks.jsonl").write_text(json.dumps(corpus) + "\n")
    folders = {"scratch": str(tmp_path), "environment": str(tmp_path), "out": str(tmp_path / "out.jsonl")}
    asked = {"stage": "quality", "file": str(tmp_path / "talks.jsonl"), "max_units": None, "limit_s": 60}
    return folders | asked | {"adapter": "clew_store", "variant": "", "embeds": False, "python_path": []}


def measured(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that measure.py wrote."""
    file = Path(spec["scratch"]) / "spec.json"
    file.write_text(json.dumps(spec))
    subprocess.run([sys.executable, PEERS / "measure.py", file], check=False, capture_output=True, cwd=PEERS)
    return [json.loads(line) for line in Path(spec["out"]).read_text().splitlines()]


def test_a_measurement_tells_what_each_question_brought_up(spec: dict[str, Any]) -> None:
    events = measured(spec)
    assert [event["event"] for event in events] == ["corpus", "answer", "done"]
    assert events[1]["ranked"][0] == "u1" and events[1]["gold"] == ["u1"]


def test_a_peer_that_raises_leaves_its_reason_behind(spec: dict[str, Any]) -> None:
    [*_, last] = measured(spec | {"adapter": "no_such_store"})
    assert last["event"] == "error" and last["error"].startswith("ModuleNotFoundError")


@pytest.fixture
def speed_spec(spec: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "texts.txt").write_text("\n".join(texts(40, chars=80)), encoding="utf-8")
    (tmp_path / "questions.txt").write_text("\n".join(questions(450)), encoding="utf-8")
    files = {"texts": str(tmp_path / "texts.txt"), "questions": str(tmp_path / "questions.txt")}
    return spec | files | {"stage": "speed", "sizes": [20, 40]}


def test_a_store_with_a_background_is_asked_again_when_that_is_done(speed_spec: dict[str, Any]) -> None:
    events = measured(speed_spec)
    of_each = ["stored", "size", "settled"]
    assert [(event["event"], event["size"]) for event in events] == [
        (event, size) for size in (20, 40) for event in of_each
    ]
    assert all(event["questions"] == 50 and event["waited_s"] >= 0 for event in events[2::3])

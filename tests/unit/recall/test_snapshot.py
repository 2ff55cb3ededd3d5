"""What the graph did in a recall, kept as a file: bounded, without any text, never at the answer's expense."""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clew import Denied, Identity, InvalidInput, Scope
from clew.recall.snapshot import LAST, MAX_ENTRIES, Expansion, Ranked, Snapshot, read_snapshot
from traces import raw_bytes, traces

CHECKOUT, AUTH = "The checkout depends on AuthService", "AuthService depends on Redis"
MEM = "mem_" + "a" * 26


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def open_with(clew_at: Callable[..., Any], home: Path) -> Callable[..., Any]:
    """A store of two memories; only the graph leads from the first to the second."""

    def opened(**graph: Any) -> Any:
        memory = clew_at(home, graph={"snapshot": True, **graph})
        memory.remember(CHECKOUT)
        memory.remember(AUTH)
        return memory

    return opened


def files(home: Path) -> list[Path]:
    return sorted((home / "state" / "graph").glob("[0-9]*.json"))


def last(home: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((home / "state" / "graph" / LAST).read_text())
    return document


# -- when one is written -------------------------------------------------------------------------------


def test_a_recall_through_the_graph_leaves_one_file_and_the_last(open_with: Any, home: Path) -> None:
    open_with().recall("checkout", plan="graph_mode")
    [file] = files(home)
    assert json.loads(file.read_text()) == last(home)
    assert re.fullmatch(rf"20260301120000\d{{3}}-{sha256(b'checkout').hexdigest()[:16]}\.json", file.name)


def test_it_tells_counts_seeds_ways_and_results(open_with: Any, home: Path) -> None:
    memory = open_with()
    [found, reached] = memory.recall("checkout", plan="graph_mode", scope=Scope(project="shop")).results
    told = last(home)
    assert (told["mode"], told["status"], told["shadowMode"]) == ("graph_mode", "completed", False)
    assert (told["seedCount"], told["expandedCount"]) == (1, 1)
    assert (told["project"], told["namespaces"], told["queryLength"]) == ("shop", [], 8)
    assert told["seeds"] == [found.memory.id]
    [expanded] = told["expanded"]
    assert (expanded["id"], expanded["seed"], expanded["hopDepth"]) == (reached.memory.id, found.memory.id, 1)
    assert expanded["score"] == pytest.approx(reached.rank_score, abs=1e-5) and expanded["edgeConfidence"] == 1.0
    assert expanded["graphType"] == "entity" and expanded["decayedWeight"] > 0
    assert [(entry["id"], entry["sourceLabels"]) for entry in told["finalResults"]] == [
        (found.memory.id, ["baseline"]), (reached.memory.id, ["graph_expanded"])
    ]  # fmt: skip


def test_an_ordinary_recall_that_ran_the_graph_is_told_so(open_with: Any, home: Path) -> None:
    memory = open_with()
    ran = memory.recall("checkout").trace.notes["graph"]
    assert ran["status"] == "completed" and last(home)["mode"] == ran["mode"]


def test_the_intent_of_the_query_is_inferred(open_with: Any, home: Path) -> None:
    open_with().recall("review the timeline of the outage", plan="auto")
    assert last(home)["queryIntent"]["goal"] == "stabilize"
    assert last(home)["queryIntent"]["actionType"] == "review"


def test_a_recall_that_was_planned_for_the_graph_is_told_even_if_it_could_not(open_with: Any, home: Path) -> None:
    open_with(recall=False).recall("the timeline of checkout", plan="auto")
    told = last(home)
    assert (told["mode"], told["status"]) == ("full", "skipped")
    assert told["reason"] == "graph recall disabled by config"


def test_a_walk_that_breaks_off_is_told_with_its_seeds(open_with: Any, home: Path) -> None:
    memory = open_with()
    with closing(sqlite3.connect(home / "clew.db")) as connection:
        connection.execute("ALTER TABLE memory_node_links RENAME TO elsewhere")
    assert len(memory.recall("checkout", plan="graph_mode").results) == 1
    told = last(home)
    assert (told["status"], told["seedCount"], told["expandedCount"]) == ("aborted", 1, 0)
    assert told["reason"].startswith("graph expansion failed: ")


@pytest.mark.parametrize(
    "options", [{"plan": "full"}, {"plan": "minimal"}, {"plan": "no_recall"}, {"graph": False}]
)
def test_a_recall_without_the_graph_leaves_no_file(open_with: Any, home: Path, options: dict[str, Any]) -> None:
    open_with().recall("checkout", **options)
    assert not (home / "state").exists()


def test_switched_off_nothing_is_written_and_nothing_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from toys import open_toy\n"
        "with open_toy(Path(sys.argv[2]) / 'clew.db') as memory:\n"
        f"    memory.remember({CHECKOUT!r}); memory.remember({AUTH!r})\n"
        "    assert len(memory.recall('checkout', plan='graph_mode').results) == 2\n"
        "print([name for name in ('clew.recall.snapshot', 'clew.recall.xray') if name in sys.modules])"
    )
    tests = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code, tests, str(tmp_path)], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
    assert not (tmp_path / "state").exists()


def test_only_so_many_are_kept_oldest_first(open_with: Any, home: Path) -> None:
    memory = open_with(snapshots_kept=2)
    directory = home / "state" / "graph"
    for query in ("checkout", "the checkout", "checkout?"):
        memory.recall(query, plan="graph_mode")
    hashes = [file.stem.split("-")[1] for file in files(home)]
    assert hashes == [sha256(query).hexdigest()[:16] for query in (b"the checkout", b"checkout?")]
    (directory / "20200101000000000.1-1.tmp").touch()  # a draft that a crash left behind
    memory.recall("checkout", plan="graph_mode")
    assert len(list(directory.iterdir())) == 3


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_only_the_owner_can_read_them(open_with: Any, home: Path) -> None:
    open_with().recall("checkout", plan="graph_mode")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home / "state").rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert not [path for path in modes if path.suffix == ".tmp"]


# -- what is not in it ---------------------------------------------------------------------------------


def test_neither_the_query_nor_a_memory_is_in_it(open_with: Any, home: Path) -> None:
    open_with().recall("Quizzical checkout", plan="graph_mode")
    left = raw_bytes(home / "state").lower()
    assert files(home) and not [
        word for word in (b"quizzical", b"checkout", b"authservice", b"redis") if word in left
    ]


def test_a_hard_forget_leaves_nothing_of_the_memory(open_with: Any, home: Path) -> None:
    memory = open_with()
    [found, reached] = memory.recall("checkout", plan="graph_mode").results
    for result in (found, reached):
        memory.forget(result.memory.id, hard=True)
    memory.close()
    assert reached.memory.id in (home / "state" / "graph" / LAST).read_text()
    assert traces(home, ["authservice", "checkout", "Redis"]) == []


def test_lists_are_cut_and_counts_are_not(clew_at: Any, home: Path) -> None:
    memory = clew_at(home, graph={"snapshot": True, "max_expanded": 100, "fan_out": 200, "max_entity_edges": 100})
    memory.remember(CHECKOUT)
    for number in range(70):
        memory.remember(f"AuthService was seen by witness number {number}")
    memory.recall("checkout", plan="graph_mode", limit=90)
    told = last(home)
    assert told["expandedCount"] > MAX_ENTRIES
    assert len(told["expanded"]) == MAX_ENTRIES and len(told["finalResults"]) == MAX_ENTRIES


# -- failing -------------------------------------------------------------------------------------------


def test_a_snapshot_that_cannot_be_written_costs_nothing_but_a_line_in_the_log(
    open_with: Any, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_with()
    (home / "state").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        assert len(memory.recall("checkout", plan="graph_mode").results) == 2
    [record] = caplog.records
    assert "no snapshot was written" in record.getMessage() and "checkout" not in record.getMessage()


# -- reading -------------------------------------------------------------------------------------------


def test_what_was_written_is_what_is_read(open_with: Any, home: Path) -> None:
    memory = open_with(shadow=True, shadow_sample=1.0)
    memory.recall("checkout", plan="graph_mode")
    assert memory.last_graph_recall().as_json() == last(home)


def test_there_is_none_yet(open_with: Any) -> None:
    assert open_with().last_graph_recall() is None


def test_it_is_for_the_operator_because_anybody_may_have_asked(open_with: Any) -> None:
    with pytest.raises(Denied):
        open_with().last_graph_recall(identity=Identity(org="acme", user="bob", roles=()))


def written(tmp_path: Path, document: Any) -> Snapshot:
    (tmp_path / LAST).write_text(json.dumps(document))
    snapshot = read_snapshot(tmp_path / LAST)
    assert snapshot is not None
    return snapshot


def test_values_out_of_range_are_brought_into_it(tmp_path: Path) -> None:
    entry = {"id": MEM, "seed": "s", "score": float("nan"), "hopDepth": 2.9, "decayedWeight": -1,
             "graphType": "<script>", "edgeConfidence": 7}  # fmt: skip
    read = written(tmp_path, {"mode": "turbo", "status": "odd", "seedCount": -3, "expanded": [entry]})
    assert (read.mode, read.status, read.seed_count) == ("full", "skipped", 0)
    assert read.expanded == (Expansion(MEM, 0.0, "s", 2, 0.0, "entity", 1.0),)


def test_entries_that_are_none_are_dropped(tmp_path: Path) -> None:
    entries = ["text", None, {"id": MEM}, {"id": " ", "seed": "s"}, {"id": MEM, "seed": "s"}]
    read = written(tmp_path, {"expanded": entries, "seeds": ["a", 7, ""], "finalResults": [{"id": 3}, {"id": MEM}]})
    assert [(entry.memory, entry.edge_confidence) for entry in read.expanded] == [(MEM, None)]
    assert read.seeds == ("a",) and read.final_results == (Ranked(MEM, 0.0),)


def test_labels_keep_their_order_and_long_lists_are_cut(tmp_path: Path) -> None:
    results = [{"id": MEM, "score": 10**400, "sourceLabels": ["graph_expanded", "odd", "baseline"]}] * 100
    read = written(tmp_path, {"seedResults": results})
    assert read.seed_results == (Ranked(MEM, 0.0, ("baseline", "graph_expanded")),) * MAX_ENTRIES


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / LAST).write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_snapshot(tmp_path / LAST)
    assert refused.value.code == "SNAPSHOT_UNREADABLE"


# -- telling -------------------------------------------------------------------------------------------


def test_the_last_graph_recall_is_told_in_lines(open_with: Any) -> None:
    memory = open_with()
    [found, reached] = memory.recall("checkout", plan="graph_mode").results
    lines = list(memory.last_graph_recall().explain())
    assert lines[0] == "Last Graph Recall" and "Mode: graph_mode" in lines and "Status: completed" in lines
    assert "Expanded: 1 (showing 1)" in lines
    [line] = [line for line in lines if f"seed={found.memory.id} hop=1 " in line]
    assert line.startswith(f"  {reached.memory.id} score=") and line.endswith("type=entity conf=1.00")


@pytest.mark.parametrize(("limit", "shown"), [(0, 1), (1, 1), (10, 10), (99, 50)])
def test_only_so_many_entries_are_told(tmp_path: Path, limit: int, shown: int) -> None:
    entries = [{"id": f"{MEM}{number}", "seed": "s"} for number in range(60)]
    read = written(tmp_path, {"expanded": entries, "expandedCount": 200})
    lines = list(read.explain(limit=limit))
    assert f"Expanded: 200 (showing {shown})" in lines
    assert len([line for line in lines if " conf=n/a" in line]) == shown


def test_the_shadow_is_told(open_with: Any) -> None:
    memory = open_with(shadow=True, shadow_sample=1.0)
    memory.recall("checkout", plan="graph_mode")
    lines = list(memory.last_graph_recall().explain())
    assert "Status: completed (shadow)" in lines
    assert "Shadow comparison: on b=1 g=2 ov=1 (1.00) avgDelta=0.000" in lines

"""Looking inside from the command line: xray, graph explain, and the graph in recall and why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_driver import Cli

GRAPH = ("--plan", "graph_mode")


@pytest.fixture
def chain(cli: Cli) -> tuple[str, str]:
    """Two memories; only the graph leads from a question about the first to the second."""
    return cli.remember("The checkout depends on AuthService"), cli.remember("AuthService depends on Redis")


# -- xray ----------------------------------------------------------------------------------------------


def test_xray_lays_a_recall_open(cli: Cli, chain: tuple[str, str]) -> None:
    text = cli("xray", "checkout", *GRAPH).out
    assert re.search(r"bm25=\d+\.\d{4} final=\d\.\d{4}\n", text)
    assert f"{chain[1]}  served by graph" in text
    assert f"graph-path: memory:{chain[0]} -> memory:{chain[1]}" in text
    assert "edge-confidences: 1.00" in text and "conf=1.00" in text


def test_json_is_a_format_and_an_option(cli: Cli, chain: tuple[str, str]) -> None:
    documents = [cli("xray", "checkout", *GRAPH, *words).json for words in (["--json"], ["--format", "json"])]
    for document in documents:
        del document["snapshotId"], document["capturedAt"]
    assert documents[0] == documents[1]
    assert [entry["memoryId"] for entry in documents[0]["results"]] == list(chain)


def test_markdown(cli: Cli, chain: tuple[str, str]) -> None:
    assert cli("xray", "checkout", "--format", "markdown").out.startswith("# Recall X-ray\n")


def test_a_limit_and_a_budget(cli: Cli, chain: tuple[str, str]) -> None:
    document = cli("xray", "checkout", *GRAPH, "--limit", "1", "--budget", "20", "--json").json
    assert [(entry["memoryId"], entry["rejectedBy"]) for entry in document["results"]] == [(chain[0], "budget")]
    assert document["budget"] == {"chars": 20, "used": 0}


def test_a_recall_that_is_planned_away_has_an_xray(cli: Cli) -> None:
    outcome = cli("xray", "thanks", "--plan", "auto")
    assert outcome.code == 0 and "planner-mode: 0 -> 0 (no_recall)" in outcome.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["checkout", "--format", "yaml"], "text, markdown, json"),
        (["checkout", "--budget", "0"], "--budget"),
        (["checkout", "--budget", "1.5"], "--budget"),
        (["  "], "the query is empty"),
        (["checkout", "--plan", "turbo"], "auto, no_recall, minimal, full, graph_mode"),
    ],
)
def test_what_cannot_be_xrayed_is_refused(cli: Cli, words: list[str], said: str) -> None:
    outcome = cli("xray", *words)
    assert outcome.code == 2 and said in outcome.err and not outcome.out


def test_control_characters_do_not_reach_the_terminal(cli: Cli) -> None:
    cli.remember("red \x1b[31malert", "--tag", "red\x1b[31m")
    for words in ([], ["--format", "markdown"], ["--json"]):
        assert "\x1b" not in cli("xray", "red\x1b[31m alert", *words).out


# -- recall and why ------------------------------------------------------------------------------------


def test_recall_shows_the_way_with_and_without_explain(cli: Cli, chain: tuple[str, str]) -> None:
    line = f"via entity · 1 hop · conf=1.00 · from {chain[0]}\n"
    assert line in cli("recall", "checkout", *GRAPH).out
    assert line in cli("recall", "checkout", *GRAPH, "--explain").out
    assert "via" not in cli("recall", "checkout", *GRAPH, "--no-graph").out


def test_a_way_names_what_lies_between(cli: Cli, chain: tuple[str, str]) -> None:
    cli.remember("Redis was moved to eu-west")
    assert f"via memory:{chain[1]} · entity · 2 hops · conf=" in cli("recall", "checkout", *GRAPH).out


def test_explain_tells_the_graphs_stage_and_the_plan(cli: Cli, chain: tuple[str, str]) -> None:
    planned = cli("recall", "checkout", *GRAPH, "--explain").out
    assert re.search(r"\n  graph +1 -> 1 ", planned) and "\n  plan: graph_mode\n" in planned
    assert "\n  graph: completed from 1 to 1 memory: graph expansion merged into recall ranking\n" in planned
    plain = cli("recall", "checkout", "--explain").out
    assert "\n  graph: completed" in plain and "plan:" not in plain
    assisted = cli("recall", "checkout", "--plan", "full", "--explain").out
    assert "\n  graph: skipped: too few seeds: 1 of 3" in assisted


def test_explain_tells_a_plan_that_could_not_be_followed(cli: Cli, chain: tuple[str, str]) -> None:
    cli.patch.setenv("CLEW_GRAPH__RECALL", "off")
    text = cli("recall", "history of checkout", "--plan", "auto", "--explain").out
    assert "plan: full, planned as graph_mode: graph recall disabled by config" in text


def test_explain_tells_what_the_shadow_compared(cli: Cli, chain: tuple[str, str]) -> None:
    cli.patch.setenv("CLEW_GRAPH__SHADOW", "on")
    cli.patch.setenv("CLEW_GRAPH__SHADOW_SAMPLE", "1")
    text = cli("recall", "checkout", *GRAPH, "--explain").out
    assert "graph shadow: on b=1 g=2 ov=1 (1.00) avgDelta=0.000" in text and chain[1] not in text


def test_edges_that_are_barely_believed_need_to_be_asked_for(cli: Cli) -> None:
    for name in ("ENTITY_EDGES", "TIME_EDGES", "INHIBITION"):  # what is left is a way over a stated relation
        cli.patch.setenv(f"CLEW_GRAPH__{name}", "off")
    cli.patch.setenv("CLEW_GRAPH__CONFIDENCE_FLOOR", "1")
    cli.remember("The checkout depends on AuthService")
    moved = cli.remember("Redis was moved to eu-west")
    cli.remember("AuthService depends on Redis")
    assert moved not in cli("recall", "checkout", *GRAPH).out
    text = cli("recall", "checkout", *GRAPH, "--include-low-confidence").out
    assert moved in text and "via service:authservice -> service:redis · shared_node · 3 hops · " in text


def test_a_wrong_plan_is_refused_with_the_choices(cli: Cli) -> None:
    outcome = cli("recall", "x", "--plan", "turbo", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "MODE_UNKNOWN")
    assert "auto, no_recall, minimal, full, graph_mode" in outcome.error["next"]


def test_why_knows_the_graph(cli: Cli, chain: tuple[str, str]) -> None:
    assert "only by the graph" in cli("why", "checkout", "--expect", chain[1], *GRAPH).out
    lost = cli("why", "checkout", "--expect", chain[1], *GRAPH, "--no-graph", "--json").json
    assert (lost["found"], lost["lost_at"]) == (False, "rank")


# -- graph explain -------------------------------------------------------------------------------------


def test_without_a_snapshot_graph_explain_says_so(cli: Cli) -> None:
    outcome = cli("graph", "explain")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "No graph-recall snapshot found yet.")
    assert cli("graph", "explain", "--json").json == {"snapshotFound": False}


def test_without_a_snapshot_graph_explain_names_the_setting_that_keeps_them(cli: Cli) -> None:
    cli("xray", "anything")
    assert "graph.snapshot keeps one" in cli("graph", "explain").out
    assert "clew config show graph.snapshot" in cli("graph", "explain").out
    cli.patch.setenv("CLEW_GRAPH__SNAPSHOT", "on")
    assert "graph.snapshot is on" in cli("graph", "explain").out


def test_graph_explain_tells_the_last_recall(cli: Cli, chain: tuple[str, str]) -> None:
    cli.patch.setenv("CLEW_GRAPH__SNAPSHOT", "on")
    cli("recall", "checkout", *GRAPH)
    text = cli("graph", "explain", "--limit", "1").out
    assert text.startswith("Last Graph Recall\n") and "\nMode: graph_mode\n" in text
    assert "Final results: 2 (showing 1)" in text
    assert f"seed={chain[0]} hop=1 " in text and "type=entity" in text
    assert cli("graph", "explain", "--json").json["expandedCount"] == 1


def test_a_tampered_snapshot_does_not_reach_the_terminal_raw(cli: Cli) -> None:
    file: Path = cli.home / "state" / "graph" / "last_graph_recall.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"reason": "\\u001b[31mred", "seeds": 7}')
    assert "\x1b" not in cli("graph", "explain").out
    file.write_text("not json")
    assert cli("graph", "explain").code == 2

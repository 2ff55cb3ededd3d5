"""The graph on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_driver import Cli

CASES = Path(__file__).parents[1] / "unit" / "graph" / "graph_activation.json"


@pytest.fixture
def shop(cli: Cli) -> Cli:
    cli.remember(
        "AuthService depends on PostgresDB. PostgresDB uses ReplicaStore.", "--project", "shop", "--tag", "auth"
    )
    cli.remember("BillingService depends on AuthService", "--project", "shop")
    return cli


def test_status_as_document_and_as_text(shop: Cli) -> None:
    document = shop("graph", "status", "--json").json
    assert document["health"] == "ok" and document["counts"]["edges"] == document["counts"]["active_edges"] > 0
    assert set(document["counts"]) == {
        "nodes", "edges", "memory_links", "active_edges", "expired_edges", "orphan_nodes",
    }  # fmt: skip
    text = shop("graph", "status").out
    assert text.startswith("graph ok") and "depends_on" in text and "service:authservice" in text


def test_neighbors_as_document_and_as_text(shop: Cli) -> None:
    document = shop("graph", "neighbors", "AuthService", "--project", "shop", "--json").json
    assert {one["node"]["label"] for one in document["neighbors"]} == {"PostgresDB", "BillingService"}
    text = shop("graph", "neighbors", "AuthService", "--project", "shop").out
    assert "depends_on →" in text and "← depends_on" in text and "“AuthService depends on PostgresDB.”" in text


def test_a_type_without_edges_is_not_a_node_without_edges(shop: Cli) -> None:
    text = shop("graph", "neighbors", "AuthService", "--project", "shop", "--type", "nosuch").out
    assert "no edges of type 'nosuch' here" in text and "clew remember" not in text


def test_path_as_document_and_as_text(shop: Cli) -> None:
    document = shop("graph", "path", "BillingService", "ReplicaStore", "--json").json
    assert (document["hops"], [node["label"] for node in document["nodes"]][1]) == (3, "AuthService")
    text = shop("graph", "path", "BillingService", "ReplicaStore").out
    assert "depends_on → AuthService" in text and "3 hops, confidence 0." in text


def test_no_path_and_no_node_exit_with_not_found(shop: Cli) -> None:
    none = shop("graph", "path", "BillingService", "ReplicaStore", "--max-hops", "1", "--json")
    assert (none.code, none.error["code"]) == (3, "GRAPH_PATH_NOT_FOUND")
    unknown = shop("graph", "explore", "AuthServise", "--json")
    assert (unknown.code, unknown.error["code"]) == (3, "GRAPH_NODE_NOT_FOUND")
    assert "AuthService" in unknown.error["next"]


def test_explore_as_documented(shop: Cli) -> None:
    assert list(shop("graph", "explore", "--json").json) == ["node", "nodes", "edges", "memories"]
    document = shop("graph", "explore", "service:authservice", "--json").json
    assert document["node"] == {"nodeType": "service", "nodeKey": "authservice", "label": "AuthService"}
    assert "BillingService" in shop("graph", "explore", "AuthService").out


def test_triplets_as_document_and_as_text(shop: Cli) -> None:
    first = shop("graph", "triplets", "AuthService", "--json").json["triplets"][0]
    assert (first["source"], first["relation"]) in {("AuthService", "depends_on"), ("BillingService", "depends_on")}
    assert first["relevance_score"] == pytest.approx(1 - first["importance"])
    assert first["evidence_memory_ids"] and first["sentence"]
    assert "AuthService → depends_on → PostgresDB" in shop("graph", "triplets").out


def test_a_question_may_come_from_stdin(shop: Cli) -> None:
    assert shop("graph", "triplets", "-", "--json", stdin=b"AuthService").json["query"] == "AuthService"


def test_where_there_is_nothing_the_next_move_is_named(cli: Cli) -> None:
    for words in (["explore"], ["triplets"], ["status"]):
        outcome = cli("graph", *words)
        assert outcome.code == 0 and "clew remember" in outcome.out
    assert "clew graph triplets" in cli("graph", "triplets", "nothing known").out


def test_without_a_project_in_sight_every_project_is_looked_at(shop: Cli) -> None:
    assert shop("graph", "neighbors", "AuthService").code == 0
    assert shop("graph", "neighbors", "AuthService", "--no-project").code == 3
    assert shop("graph", "neighbors", "AuthService", "--project", "elsewhere").code == 3
    assert shop("graph", "neighbors", "AuthService", "--project", "elsewhere", "--all-projects").code == 0


@pytest.mark.parametrize(
    "place", [["--user", "bob"], ["--project", "shop", "--user", "bob"], ["--project", "shop"], []]
)
def test_no_command_shows_what_another_user_keeps_private(shop: Cli, place: list[str]) -> None:
    id = shop.remember("AuthService calls VaultService, hush", "--project", "shop", "--user", "alice")
    for words in (["neighbors", "AuthService"], ["explore"], ["explore", "AuthService"], ["triplets"],
                  ["triplets", "AuthService"], ["path", "AuthService", "PostgresDB"]):  # fmt: skip
        outcome = shop("graph", *words, *place, "--json")
        assert outcome.code == 0 and "vault" not in outcome.out.lower() and "alice" not in outcome.out
    for words in (["neighbors", "VaultService"], ["explore", id], ["path", "AuthService", "VaultService"]):
        assert shop("graph", *words, *place).code == 3


def test_output_is_safe_to_print(cli: Cli) -> None:
    cli.remember("AuthService depends on PostgresDB \x1b[31m", "--title", "red\x1b[31m AuthService")
    for words in (["neighbors", "AuthService"], ["explore", "AuthService"], ["triplets"], ["status"]):
        assert "\x1b" not in cli("graph", *words).out


# -- activate ----------------------------------------------------------------------------------------


def test_activate_runs_one_case_and_needs_no_store(cli: Cli) -> None:
    case = json.loads(CASES.read_text())["activation"][0]
    (cli.directory / "case.json").write_text(json.dumps(case))
    result = cli("graph", "activate", "case.json", "--json").json
    assert [row["node"] for row in result] == [row["node"] for row in case["expected"]]
    for row, expected in zip(result, case["expected"], strict=True):
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert cli("graph", "activate", "-", "--json", stdin=json.dumps(case).encode()).json == result
    assert not cli.home.exists()


def test_activate_runs_every_case_of_a_file(cli: Cli) -> None:
    cases = json.loads(CASES.read_text())["activation"]
    results = cli("graph", "activate", str(CASES), "--json").json
    assert [one["case"] for one in results] == [case["case"] for case in cases]
    for one, case in zip(results, cases, strict=True):
        assert [row["node"] for row in one["result"]] == [row["node"] for row in case["expected"]]
    assert cases[0]["case"] in cli("graph", "activate", str(CASES)).out


def test_activate_tells_what_is_wrong_with_a_file(cli: Cli) -> None:
    (cli.directory / "bad.json").write_text("{")
    (cli.directory / "empty.json").write_text("{}")
    assert cli("graph", "activate", "missing.json").code == 3
    assert cli("graph", "activate", "bad.json", "--json").error["code"] == "INVALID_JSON"
    assert cli("graph", "activate", "empty.json", "--json").error["code"] == "GRAPH_CASE_INVALID"

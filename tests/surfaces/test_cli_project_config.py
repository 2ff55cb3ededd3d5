"""Switches in the store on the command line: projects, the recall matrix, orgs."""

from __future__ import annotations

import pytest
from cli_driver import Cli


def test_a_project_is_listed_shown_and_set(cli: Cli) -> None:
    cli.remember("a", "--project", "shop")
    [listed] = cli("project", "list", "--json").json["projects"]
    switches = ("memory_enabled", "graph_enabled", "runtime_inject_enabled")
    assert listed["project"] == "shop" and all(listed[name] is True for name in switches)
    assert cli("project", "set", "shop", "runtime-inject", "off").code == 0
    shown = cli("project", "show", "shop", "--json").json
    assert shown["runtime_inject_enabled"] is False
    assert shown["gates"]["runtime_inject"]["reason"] == "inject_off"


def test_a_switch_of_a_project_in_which_nothing_is_says_so(cli: Cli) -> None:
    cli.remember("a", "--project", "shop")
    assert "did you mean 'shop'?" in cli("project", "set", "shpo", "memory", "off").out
    assert "did you mean" not in cli("project", "set", "shop", "memory", "off").out
    assert "clew project list" in cli("project", "show", "elsewhere").out
    cli("project", "alias", "github.com/acme/shop", "shop")
    assert "goes on as 'shop'" in cli("project", "set", "github.com/Acme/Shop", "memory", "off").out


@pytest.mark.parametrize(
    ("switch", "reason"), [("memory", "memory_off"), ("graph", "graph_off"), ("runtime-inject", "inject_off")]
)
def test_show_explains_each_gate_in_words_and_by_code(cli: Cli, switch: str, reason: str) -> None:
    cli("project", "set", "shop", switch, "off")
    text = cli("project", "show", "shop").out
    assert reason in text and "closed" in text and "work_type_excluded" in text


def test_the_plan_of_the_org_opens_the_graph_of_a_project_that_is_off(cli: Cli) -> None:
    cli("project", "set", "shop", "graph", "off")
    assert cli("org", "features", "--kg", "on", "--json").json["kg_enabled"] is True
    assert "the org's plan grants the graph" in cli("project", "show", "shop").out


def test_the_matrix_is_shown_and_set(cli: Cli) -> None:
    asked = "--org local --graph on --budget 120 --graph-budget 0 --top-k 3 --depth 1".split()
    outcome = cli("matrix", "set", "chore", *asked, "--json").json
    [chore] = [row for row in cli("matrix", "show", "--json").json["matrix"] if row["work_type"] == "chore"]
    for row in (outcome, chore):
        assert (row["graph_enabled"], row["observation_budget"], row["graph_budget"]) == (True, 120, 0)
        assert (row["top_k"], row["depth"]) == (3, 1)
    assert "graph on (org)" in cli("matrix", "show").out


def test_a_row_with_nothing_to_set_is_refused_with_the_options_there_are(cli: Cli) -> None:
    outcome = cli("matrix", "set", "chore", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "USAGE")
    assert all(option in cli("matrix", "set", "--help").out for option in outcome.error["next"][12:].split(", "))
    assert "--graph-budget" in outcome.error["next"]


def test_a_row_for_all_orgs_and_one_for_another(cli: Cli) -> None:
    cli("org", "create", "acme")
    cli("matrix", "set", "spike", "--budget", "50")
    cli("matrix", "set", "spike", "--budget", "70", "--org", "acme")
    budgets = [
        next(row["observation_budget"] for row in cli("matrix", "show", *org, "--json").json["matrix"]
             if row["work_type"] == "spike")
        for org in ((), ("--org", "acme"))
    ]  # fmt: skip
    assert budgets == [50, 70]


def test_orgs_and_features(cli: Cli) -> None:
    cli("org", "create", "acme")
    cli("org", "features", "acme", "--weighting", "off")
    assert cli("org", "list", "--json").json["orgs"] == ["acme", "local"]
    assert cli("org", "features", "acme", "--json").json["feedback_weighting_disabled"] is True
    assert "weighting by outcomes: on" in cli("org", "features").out


@pytest.mark.parametrize(
    "words",
    [("org", "features", "NOPE"), ("org", "features", "NOPE", "--kg", "on"), ("matrix", "show", "--org", "NOPE"),
     ("matrix", "set", "development", "--org", "NOPE", "--graph", "on")],
)  # fmt: skip
def test_an_org_that_is_not_there_is_not_found_and_not_made(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words)
    assert outcome.code == 3 and "ORG_NOT_FOUND" in outcome.err and "clew org list" in outcome.err
    assert cli("org", "list", "--json").json["orgs"] == ["local"]


def test_an_org_is_named_by_its_slug_too(cli: Cli) -> None:
    cli("org", "create", "Labs", "--id", "org-1")
    assert cli("org", "features", "labs", "--kg", "on").code == 0
    assert cli("org", "features", "org-1", "--json").json["kg_enabled"] is True
    assert cli("org", "list", "--json").json["orgs"] == ["local", "org-1"]


@pytest.mark.parametrize(
    "words",
    [("project", "set", "shop", "memory", "perhaps"), ("project", "set", "shop", "colour", "on"),
     ("matrix", "set", "chore", "--depth", "9"), ("matrix", "set", "chore"), ("project", "show", " ")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words)
    assert outcome.code == 2 and "Next:" in outcome.err

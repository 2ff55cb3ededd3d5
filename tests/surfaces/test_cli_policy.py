"""Policies as typed: check, load, show, drop, agent."""

from __future__ import annotations

import pytest
from cli_driver import Cli

CLOSED = '@id("closed")\nforbid (principal, action, resource in Mem::Project::"local/shop");\n'
BAD = """permit (principal, action, resource);

@id("odd")
permit (principal, action, resource) when { resource.foo };
"""


def test_a_policy_from_check_to_drop(cli: Cli) -> None:
    (cli.directory / "closed.cedar").write_text(CLOSED)
    cli.remember("gateway is red", "--project", "shop")
    assert cli("policy", "check", "closed.cedar").out == "valid closed.cedar\n"
    loaded = cli("policy", "load", "closed.cedar")
    assert (loaded.code, loaded.out) == (0, "loaded: closed is in force for org local, version 1\n")
    assert "closed" in cli("policy", "show").out
    assert cli("recall", "gateway", "--project", "shop", "--json").json["results"] == []
    denied = cli("remember", "gateway is blue", "--project", "shop", "--json")
    assert (denied.code, denied.error["code"]) == (4, "WRITE_DENIED")
    assert cli("policy", "drop", "closed").out == "dropped closed of org local\n"
    assert len(cli("recall", "gateway", "--project", "shop", "--json").json["results"]) == 1


def test_a_bad_file_says_what_is_wrong_and_where(cli: Cli) -> None:
    (cli.directory / "bad.cedar").write_text(BAD)
    checked = cli("policy", "check", "bad.cedar")
    assert checked.code == 2 and "bad.cedar:3: [odd]" in checked.out and "foo" in checked.out
    document = cli("policy", "check", "bad.cedar", "--json").json
    assert document["valid"] is False and document["problems"][0]["line"] == 3
    refused = cli("policy", "load", "bad.cedar", "--json")
    assert (refused.code, refused.error["code"]) == (2, "POLICY_INVALID")
    assert cli("policy", "show", "--json").json["added"] == []


def test_the_shipped_policies_can_be_read_and_checked_by_their_own_rules(cli: Cli) -> None:
    shipped = cli("policy", "show", "--shipped").out
    assert '@id("forbid.cross_org")' in shipped
    checked = cli("policy", "check", "-", "--json", stdin=shipped.encode())
    assert {problem["message"] for problem in checked.json["problems"]} == {"another policy has this id"}


def test_a_file_that_is_too_deep_ends_nothing_but_its_own_check(cli: Cli) -> None:
    (cli.directory / "deep.cedar").write_text(
        f"permit (principal, action, resource) when {{ {'true && ' * 3000}true }};"
    )
    checked = cli("policy", "check", "deep.cedar")
    assert checked.code == 2 and "100 are allowed" in checked.out
    assert cli("policy", "load", "deep.cedar", "--json").error["code"] == "POLICY_INVALID"


def test_a_policy_for_all_orgs_from_stdin(cli: Cli) -> None:
    loaded = cli("policy", "load", "-", "--name", "common", "--org", "*", "--json", stdin=CLOSED.encode()).json
    assert (loaded["name"], loaded["org"], loaded["version"]) == ("common", "*", 1) and "text" not in loaded
    [added] = cli("policy", "show", "--org", "acme", "--json").json["added"]
    assert (added["org"], added["ids"]) == ("*", ["closed"])
    assert cli("policy", "drop", "common", "--org", "*").code == 0


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["load", "gone.cedar"], 3, "FILE_NOT_FOUND"), (["drop", "gone"], 3, "POLICY_NOT_FOUND"),
        (["load", "latin.cedar"], 2, "INVALID_UTF8"), (["load", "latin.cedar", "--name", "a b"], 2, "INVALID_UTF8"),
        (["agent", "bot", "--suspend", "--resume"], 2, "USAGE"),
        (["agent", "bot", "--clearance", "7"], 2, "CLEARANCE_INVALID"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(cli: Cli, words: list[str], code: int, name: str) -> None:
    (cli.directory / "latin.cedar").write_bytes(b"// caf\xe9")
    outcome = cli("policy", *words, "--json")
    assert (outcome.code, outcome.error["code"]) == (code, name) and outcome.error["next"]


def test_an_agent_is_suspended_and_goes_on(cli: Cli) -> None:
    assert cli("policy", "agent", "bot", "--suspend", "--json").json["suspended"] is True
    assert cli("policy", "agent", "bot", "--resume", "--read-only", "--clearance", "1", "--json").json == {
        "agent": "bot", "clearance": 1, "suspended": False, "can_write": False,
    }  # fmt: skip
    assert "clearance  1" in cli("policy", "agent", "bot").out

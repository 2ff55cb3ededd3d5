"""Grants, fingerprints, retention and the audit log at the terminal."""

from __future__ import annotations

import json

import apsw
from cli_driver import Cli


def manifest(cli: Cli, **packages: str) -> None:
    (cli.directory / "package.json").write_text(json.dumps({"dependencies": packages}))


# -- transfer ------------------------------------------------------------------------------------------------


def test_a_transfer_is_set_up_in_three_commands(cli: Cli) -> None:
    manifest(cli, next="15", pg="8")
    for project in ("shop", "web"):
        outcome = cli("transfer", "fingerprint", "--project", project, "--json")
        assert outcome.json["components"] == [
            "framework:next",
            "framework:next@15",
            "language:javascript",
            "lib:pg",
            "lib:pg@8",
        ]
        assert outcome.json["databases"] == ["postgresql"]
    assert cli("grant", "transfer", "shop", "web", "--json").json == {
        "source": "shop", "dest": "web", "granted": True, "changed": True,
    }  # fmt: skip
    [grant] = cli("transfer", "list", "--json").json["grants"]
    assert (grant["similarity_pct"], grant["works"]) == (100, True)
    assert "shop -> web  100 % alike  works" in cli("transfer", "list").out


def test_the_list_says_why_a_grant_brings_nothing(cli: Cli) -> None:
    assert cli("transfer", "list").out.startswith("nothing is granted")
    cli("grant", "transfer", "shop", "web")
    assert "what shop is built with is not known" in cli("transfer", "list").out
    assert "revoked" in cli("grant", "transfer", "shop", "web", "--revoke").out
    assert cli("grant", "transfer", "shop", "web", "--revoke").code == 3


def test_a_fingerprint_needs_a_directory_a_manifest_and_a_project(cli: Cli) -> None:
    assert cli("transfer", "fingerprint", "nowhere", "--project", "shop").code == 3
    outcome = cli("transfer", "fingerprint", "--project", "shop", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "MANIFEST_NOT_FOUND")
    manifest(cli)
    assert cli("transfer", "fingerprint", "--no-project").code == 2
    assert "languages" in cli("transfer", "fingerprint", "--project", "shop").out


# -- the audit log ---------------------------------------------------------------------------------------------


def tamper(cli: Cli, statement: str) -> None:
    apsw.Connection(str(cli.home / "clew.db")).execute(statement)


def test_the_audit_log_is_listed_and_verified(cli: Cli) -> None:
    id = cli.remember("the cache is Redis")
    cli("forget", id)
    entries = cli("audit", "list", "--json").json["entries"]
    assert [(entry["seq"], entry["action"], entry["id"]) for entry in entries] == [
        (2, "forget", id),
        (1, "remember", id),
    ]
    assert [entry["action"] for entry in cli("audit", "list", "--action", "forget", "--json").json["entries"]] == [
        "forget"
    ]
    assert cli("audit", "list", "--since", "1h", "--limit", "1").out.count("\n") == 1
    assert cli("audit", "verify", "--json").json == {"ok": True, "entries": 2}
    assert cli("audit", "verify").out == "2 entries, each as it was written\n"


def test_a_broken_log_is_exit_1_and_names_the_entry(cli: Cli) -> None:
    for n in range(3):
        cli.remember(f"note {n}")
    tamper(cli, "UPDATE audit SET actor = 'mallory' WHERE seq = 2")
    outcome = cli("audit", "verify", "--json")
    assert (outcome.code, outcome.json["first_bad_seq"], outcome.json["problem"]) == (1, 2, "it was changed")
    assert "entry 2: it was changed" in cli("audit", "verify").out
    assert cli("doctor").code == 1


def test_a_head_kept_elsewhere_shows_what_was_written_anew(cli: Cli) -> None:
    assert cli("audit", "head").code == 3
    cli.remember("one")
    head = cli("audit", "head").out.strip()
    assert cli("audit", "verify", "--head", head).code == 0
    tamper(cli, "DELETE FROM audit; DELETE FROM counters WHERE name = 'audit'; DELETE FROM meta")
    cli.remember("two")
    assert cli("audit", "verify").code == 0
    assert cli("audit", "verify", "--head", head).code == 1
    assert cli("audit", "verify", "--head", "nonsense").code == 2


# -- retention -------------------------------------------------------------------------------------------------


def test_a_policy_is_set_listed_run_and_dropped(cli: Cli) -> None:
    assert "kept without limit" in cli("retention", "list").out
    cli.remember("a note", "--project", "shop")
    policy = cli("retention", "set", "0.000000001", "--project", "shop", "--hard", "--json").json
    assert (policy["project"], policy["action"]) == ("shop", "hard")
    assert "project=shop" in cli("retention", "list").out
    assert cli("retention", "run", "--dry-run", "--json").json["erased"] == 1
    assert cli("retention", "run").out == "of 1 memories 0 were forgotten, 1 were erased\n"
    assert cli("retention", "drop", policy["id"]).code == 0
    assert cli("retention", "drop", policy["id"]).code == 3
    assert cli("retention", "list", "--json").json == {"policies": []}


def test_a_policy_that_makes_no_sense_is_a_usage_error(cli: Cli) -> None:
    for words in (("0",), ("-1",), ("soon",), ("1", "--type", "poem"), ("1", "--classification", "secret")):
        assert cli("retention", "set", *words).code == 2

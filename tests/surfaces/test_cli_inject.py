"""Injection on the command line."""

from __future__ import annotations

import pytest
from cli_driver import Cli


@pytest.fixture
def session(cli: Cli) -> str:
    cli.remember("AuthService depends on PostgresDB", "--project", "shop")
    asked = ("--project", "shop", "--work-type", "bug_fix", "--issue", "SHOP-7", "--title", "Fix AuthService")
    return str(cli("session", "start", *asked, "--json").json["id"])


def test_start_prints_the_block(cli: Cli, session: str) -> None:
    assert cli("session", "claim", session, "--worker", "w", "--json").code == 0
    block = cli("inject", "start", session, "--json").json
    assert block["text"].startswith("## Relevant Past Observations\n- [mem_")
    assert block["text"].endswith("## Knowledge Graph Triplets\n- AuthService → depends_on → PostgresDB")
    assert (block["tokens"], block["budget_tokens"]) == (-(-len(block["text"]) // 4), 750)
    assert len(block["memory_ids"]) == 1 and len(block["graph_node_ids"]) == 2 and block["skipped"] == []
    assert len(cli("queue", "list", session, "--json").json) == 1


def test_a_dry_run_leaves_no_trace(cli: Cli, session: str) -> None:
    assert "AuthService → depends_on" in cli("inject", "start", session, "--dry-run").out
    assert cli("inject", "log", session, "--json").json == []
    assert "nothing was computed" in cli("inject", "log", session).out


def test_the_log_as_document_and_as_text(cli: Cli, session: str) -> None:
    cli("session", "claim", session, "--worker", "w")
    cli("inject", "start", session)
    [entry] = cli("inject", "log", session, "--json").json
    assert entry["delivered"] is False and entry["graph_status"] == "ok" and entry["session_id"] == session
    assert entry["state"] == "pending" and "injected, pending in the queue" in cli("inject", "log", session).out


def test_the_log_calls_delivered_what_was_handed_over(cli: Cli, session: str) -> None:
    token = str(cli("session", "claim", session, "--worker", "w", "--json").json["fencing_token"])
    cli("inject", "start", session)
    cli("queue", "claim", session, "--worker", "w", "--token", token)
    [entry] = cli("inject", "log", session, "--json").json
    assert (entry["delivered"], entry["state"]) == (True, "delivered")


def test_the_log_tells_what_each_memory_says(cli: Cli, session: str) -> None:
    cli("session", "claim", session, "--worker", "w")
    cli("inject", "start", session)
    [line] = [line for line in cli("inject", "log", session).out.splitlines() if "mem_" in line]
    assert line.endswith("  AuthService depends on PostgresDB")
    cli("forget", line.split()[0], "--yes")
    assert line.split()[0] + "  (no longer to be read)" in cli("inject", "log", session).out


def test_the_log_names_what_policies_withheld(cli: Cli, session: str) -> None:
    id = cli.remember("AuthService has a PCI scope", "--project", "shop")
    cli("session", "claim", session, "--worker", "w")
    cli("inject", "start", session)
    [entry] = cli("inject", "log", session, "--json").json
    assert entry["denied_ids"] == [id] and id not in entry["observation_ids"]
    told = cli("inject", "log", session).out
    assert "withheld by policies: 1; " in told and f"{id}  AuthService has a PCI scope" in told
    cli("edit", id, "--classification", "internal")
    cli("inject", "start", session)
    last = cli("inject", "log", session, "--json").json[-1]
    assert last["denied_ids"] == [] and id in last["observation_ids"]


def test_a_session_that_has_ended_gets_no_advice_to_claim_it(cli: Cli, session: str) -> None:
    cli("session", "claim", session, "--worker", "w")
    cli("session", "end", session)
    ended = cli("inject", "start", session, "--json")
    assert (ended.code, ended.error["code"]) == (1, "SESSION_ENDED") and "claim" not in ended.error["next"]


def test_an_unclaimed_and_an_unknown_session_are_refused(cli: Cli, session: str) -> None:
    unclaimed = cli("inject", "start", session, "--json")
    assert (unclaimed.code, unclaimed.error["code"]) == (1, "SESSION_NOT_CLAIMED")
    assert cli("inject", "start", "ses_nowhere").code == 3
    assert cli("inject", "log", "ses_nowhere").code == 3

"""The verbs about memories, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_driver import Cli

import clew
from clew.model import memory, recalled
from clew.recall import plan, xray
from clew.remember import forget as forgetting
from clew.surfaces.cli import arguments

UNKNOWN = "mem_00000000000000000000000000"


def test_remember_and_recall_as_two_processes(cli: Cli) -> None:
    stored = cli.process("remember", "We chose PostgreSQL for orders", "--type", "decision", "--json")
    found = cli.process("recall", "PostgreSQL", "--json")
    assert (stored.code, found.code, stored.err, found.err) == (0, 0, "", "")
    assert found.json["results"][0]["id"] == stored.json["id"]
    assert found.json["results"][0]["content"] == "We chose PostgreSQL for orders"
    assert 0 < found.json["results"][0]["score"] <= 1
    assert found.json["trace"]["stages"][0]["name"] == "gather"


def test_recall_by_meaning_with_the_model_in_the_package(cli: Cli) -> None:
    if not (Path(clew.__file__).parent / "providers" / "data" / "clew_static.json").exists():
        pytest.skip("the default model is not built")
    cli.patch.delenv("CLEW_EMBED__PROVIDER")
    id = cli.remember("The login page rejects valid passwords")
    found = cli("recall", "users cannot sign in with their password", "--json").json["results"]
    assert found[0]["id"] == id and "semantic" in [reason["source"] for reason in found[0]["why"]]


def test_remember_keeps_every_field_that_was_given(cli: Cli) -> None:
    parent = cli.remember("the parent")
    words = {
        "--project": "acme/shop", "--user": "ada", "--type": "fact", "--layer": "working", "--title": "T",
        "--category": "ops", "--author": "bob", "--thread": "PAY-1", "--at": "2026-05-01", "--origin": "import",
        "--agent": "coder", "--session": "ses_1", "--namespace": "n", "--upsert-key": "k", "--parent": parent,
        "--valid-at": "2026-05-02", "--invalid-at": "2030-01-01", "--expires-at": "2031-01-01T00:00:00Z",
        "--confidence": "0.5", "--weight": "2", "--metadata": '{"a": 1}', "--classification": "restricted",
    }  # fmt: skip
    flat = [word for pair in words.items() for word in pair]
    stored = cli("remember", "text", *flat, "--tag", "x", "--tag", "y", "--path", "a.py", "--json").json["memory"]
    expected = {
        "project": "acme/shop", "user": "ada", "type": "fact", "layer": "working", "title": "T",
        "category": "ops", "author": "bob", "thread": "PAY-1", "at": "2026-05-01T00:00:00.000Z",
        "origin": "import", "agent": "coder", "session": "ses_1", "namespace": "n", "upsert_key": "k",
        "parents": [parent], "valid_at": "2026-05-02T00:00:00.000Z", "invalid_at": "2030-01-01T00:00:00.000Z",
        "expires_at": "2031-01-01T00:00:00.000Z", "confidence": 0.5, "weight": 2.0, "metadata": {"a": 1},
        "classification": "restricted", "tags": ["x", "y"], "paths": ["a.py"],
    }  # fmt: skip
    assert {name: stored.get(name) for name in expected} == expected


def test_remember_says_what_it_did_in_one_line(cli: Cli) -> None:
    first = cli("remember", "hello", "--project", "acme/shop")
    again = cli("remember", "hello", "--project", "acme/shop")
    secret = cli("remember", "use ghp_" + "a1B2" * 9 + " here")
    assert first.out.startswith("remembered mem_") and "(note, project acme/shop)" in first.out
    assert again.out.startswith("already known mem_")
    assert "masked: " in secret.out and "no project" in secret.out
    assert all(outcome.out.count("\n") == 1 for outcome in (first, again, secret))


def test_remember_tells_a_label_that_words_have_raised_and_what_to_do(cli: Cli) -> None:
    told = cli("remember", "PCI scope: keep 5432 closed")
    id = told.out.split()[1]
    assert "(note, restricted, no project)" in told.out
    assert "\nlabelled restricted because it speaks of pci: it is not injected; if it holds no such" in told.out
    assert told.out.endswith(f"data: clew edit {id} --classification internal\n")
    assert cli("edit", id, "--classification", "internal").out == f"edited {id} (version 2)\n"
    assert "labelled" not in cli("remember", "PCI scope: keep 80 closed", "--classification", "internal").out


def test_remember_hints_at_no_lowering_of_what_holds_such_data(cli: Cli) -> None:
    told = cli("remember", "the ssn is 123-45-6789", "--classification", "internal")
    assert "labelled restricted because it holds" in told.out and "clew edit" not in told.out
    assert cli("remember", "PCI scope", "--json").json["label_because"] == "it speaks of pci"


def test_an_edit_without_effect_says_so_and_why(cli: Cli) -> None:
    id = cli.remember("deploy with ghp_" + "a1B2" * 9)
    told = cli("edit", id, "--classification", "internal")
    assert told.out == (
        f"nothing changed: {id} is as it was (version 1)\nit stays restricted: a secret was masked in it\n"
    )
    assert cli("edit", id, "--type", "note", "--json").json["changed"] is False
    assert cli("edit", id, "--type", "fact", "--json").json["changed"] is True


def test_remember_reads_stdin(cli: Cli) -> None:
    stored = cli("remember", "-", "--json", stdin="\ufeffGrüße\nzweite Zeile\n".encode())
    assert stored.json["memory"]["content"] == "Grüße\nzweite Zeile"


def test_supersedes_replaces_and_recall_can_look_back(cli: Cli) -> None:
    old = cli.remember("the database is MySQL")
    new = cli("remember", "the database is PostgreSQL", "--supersedes", old, "--json")
    assert new.json["superseded"] == old
    now = [entry["id"] for entry in cli("recall", "database", "--json").json["results"]]
    then = [entry["id"] for entry in cli("recall", "database", "--include-superseded", "--json").json["results"]]
    assert now == [new.json["id"]] and set(then) == {old, new.json["id"]}


def test_recall_explain_shows_reasons_and_what_was_left_out(cli: Cli) -> None:
    old = cli.remember("the database is MySQL")
    cli.remember("the database is PostgreSQL", "--supersedes", old)
    text = cli("recall", "database", "--explain").out
    assert "why: lexical #1" in text
    assert "stages" in text and f"left out 1 superseded ({old})" in text
    assert "why:" not in cli("recall", "database").out


def test_recall_says_so_where_the_order_is_not_that_of_the_numbers(cli: Cli) -> None:
    cli.patch.delenv("CLEW_EMBED__PROVIDER")
    for text in ("Password reset tokens expire after one hour", "AuthService depends on Redis",
                 "AuthService keeps sessions in Redis, see src/auth/session.py."):  # fmt: skip
        cli("remember", text)
    by_more = "the number is for its text alone"
    assert by_more in cli("recall", "auth token lifetime").out
    assert by_more not in cli("recall", "where are sessions kept").out


def test_recall_options_reach_the_core(cli: Cli) -> None:
    cli.remember("never deploy the shop on Fridays", "--type", "rule")
    for number in range(4):
        cli.remember(f"shop fact {number}", "--type", "fact", "--tag", f"t{number}", "--agent", f"a{number}")

    def ids(*words: str) -> list[str]:
        return [entry["content"] for entry in cli("recall", "shop", *words, "--json").json["results"]]

    assert len(ids()) == 5
    assert len(ids("--limit", "2")) == 3 and len(ids("--limit", "2", "--no-rules")) == 2
    assert ids("--mode", "rules_only") == ["never deploy the shop on Fridays"]
    assert ids("--tag", "t1") == ["shop fact 1"] == ids("--agent", "a1")
    assert ids("--type", "decision") == []
    assert ids("--as-of", "2001-01-01") == []
    assert ids("--floor", "1", "--no-rules", "--type", "note") == []


def test_recall_of_nothing_is_no_failure(cli: Cli) -> None:
    outcome = cli("recall", "anything")
    assert (outcome.code, "nothing is remembered here yet: clew remember" in outcome.out) == (0, True)
    cli.remember("Cards are charged by Stripe")
    assert "nothing is known about that" in cli("recall", "zebra").out


def test_what_is_merely_the_nearest_is_said_to_be(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_EMBED__PROVIDER", "static")
    cli.remember("The monks distil a liqueur of gentian.")
    told = "these are merely the nearest"
    assert told in cli("recall", "which drink do they make?").out
    assert told not in cli("recall", "which liqueur do they make?").out


def test_rules_that_come_along_do_not_hide_that_nothing_is_known(cli: Cli) -> None:
    cli.remember("Everybody signs commits", "--type", "rule")
    cli.remember("Cards are charged by Stripe", "--project", "acme/shop")
    assert "nothing else is known about that" in cli("recall", "stripe", "--project", "acme/web").out
    assert "nothing" not in cli("recall", "who signs commits?", "--project", "acme/web").out
    assert "nothing" not in cli("recall", "stripe", "--project", "acme/shop").out


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{id}"),
        ("history", "{id}"),
        ("edit", "{id}", "--title", "Gateway"),
        ("feedback", "--memory", "{id}", "up"),
        ("learn", "show", "{id}"),
        ("link", "{id}", "depends_on", "{other}"),
        ("forget", "{id}"),
    ],
)
def test_a_user_alone_is_meant_in_every_project(cli: Cli, words: tuple[str, ...]) -> None:
    id, other = (cli.remember(f"GatewayService {text}", "--project", "shop", "--user", "ann") for text in "xy")
    called = [word.format(id=id, other=other) for word in words]
    assert cli(*called, "--user", "bob").code == 3
    assert cli(*called, "--user", "ann", "--no-project").code == 3
    assert cli(*called, "--user", "ann").code == 0


def test_the_graph_of_a_user_is_that_of_every_project(cli: Cli) -> None:
    cli.remember("GatewayService depends on PostgresDB", "--project", "shop", "--user", "ann")

    def nodes(*words: str) -> int:
        return int(cli("graph", "status", *words, "--json").json["counts"]["nodes"])

    assert nodes("--user", "ann") == nodes("--user", "ann", "--project", "shop") > 0
    assert nodes("--user", "bob") == nodes("--user", "ann", "--no-project") == 0


def test_whoever_finds_nothing_here_is_told_how_to_look_in_every_project(cli: Cli) -> None:
    cli.remember("kept elsewhere", "--project", "acme/shop")
    for words in (("list",), ("recall", "zebra")):
        outcome = cli(*words, "--project", "acme/web")
        assert outcome.code == 0 and "clew list --all-projects" in outcome.out
    assert "kept elsewhere" in cli("list", "--all-projects").out
    assert cli("list", "--all-projects", "--tag", "none").out == "no memories\n"


def test_why_names_the_stage_and_the_next_move(cli: Cli) -> None:
    id = cli.remember("PostgreSQL it is", "--project", "acme/shop")
    found = cli("why", "PostgreSQL", "--expect", id, "--project", "acme/shop", "--json").json
    lost = cli("why", "PostgreSQL", "--expect", id, "--project", "other")
    assert (found["found"], found["rank"]) == (True, 1)
    assert (
        lost.code == 0 and "lost at scope" in lost.out and "next: ask in its scope: --project acme/shop" in lost.out
    )
    assert "found" in cli("why", "PostgreSQL", "--expect", id, "--project", "acme/shop").out


def test_list_tells_what_a_titled_memory_says(cli: Cli) -> None:
    """Notes of one heading share their title."""
    cli("remember", "Use tabs", "--title", "Rules")
    assert "Rules: Use tabs" in cli("list").out


@pytest.mark.parametrize(
    ("words", "mark"),
    [
        (["--valid-at", "2020-01-01", "--invalid-at", "2021-01-01"], "[ended 2021-01-01]"),
        (["--invalid-at", "2999-01-01"], "[until 2999-01-01]"),
        (["--valid-at", "2999-01-01"], "[from 2999-01-01]"),
    ],
)
def test_list_marks_what_does_not_hold_now_or_not_for_good(cli: Cli, words: list[str], mark: str) -> None:
    cli.remember("The freeze is on", *words)
    assert mark in cli("list").out


def test_list_pages_through_everything_once(cli: Cli) -> None:
    ids = [cli.remember(f"memory {number}") for number in range(5)]
    seen: list[str] = []
    words: list[str] = []
    while True:
        page = cli("list", "--limit", "2", *words, "--json").json
        seen += [entry["id"] for entry in page["memories"]]
        if "cursor" not in page:
            break
        words = ["--cursor", page["cursor"]]
    assert sorted(seen) == sorted(ids) and len(seen) == 5


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--type", "fact"], ["b"]),
        (["--tag", "x"], ["a"]),
        (["--layer", "working"], ["c"]),
        (["--pattern", "b"], ["b"]),
        (["--agent", "bot"], ["c"]),
        (["--older-than", "30d"], []),
        (["--before", "2099-01-01"], ["a", "b", "c"]),
        (["--all-projects"], ["a", "b", "c", "d"]),
        (["--project", "other"], ["a", "b", "c", "d"]),
    ],
)
def test_list_filters(cli: Cli, words: list[str], expected: list[str]) -> None:
    cli.remember("a", "--tag", "x")
    cli.remember("b", "--type", "fact")
    cli.remember("c", "--layer", "working", "--agent", "bot")
    cli.remember("d", "--project", "other")
    assert sorted(entry["content"] for entry in cli("list", *words, "--json").json["memories"]) == expected


def test_edit_history_and_revert(cli: Cli) -> None:
    id = cli.remember("first", "--tag", "keep")
    edited = cli("edit", id, "--content", "-", "--title", "T", "--version", "1", "--json", stdin=b"second")
    assert (edited.json["content"], edited.json["title"], edited.json["tags"]) == ("second", "T", ["keep"])
    states = cli("history", id, "--json").json["versions"]
    assert [state["memory"]["content"] for state in states] == ["first", "second"]
    assert "edited" in cli("history", id).out
    assert cli("revert", id, "1", "--json").json["content"] == "first"
    assert "first" in cli("show", id).out


def test_edit_says_that_tags_take_the_place_of_those_before(cli: Cli) -> None:
    id = cli.remember("first", "--tag", "a", "--tag", "b")
    assert cli("edit", id, "--tag", "c", "--json").json["tags"] == ["c"]
    assert cli("edit", id, "--tag", "", "--json").json["tags"] == []
    assert "take the place of all that it had" in cli("edit", "--help").out


def test_edit_of_an_old_version_is_a_conflict(cli: Cli) -> None:
    id = cli.remember("first")
    cli("edit", id, "--content", "second")
    late = cli("edit", id, "--content", "third", "--version", "1", "--json")
    assert (late.code, late.error["code"]) == (1, "MEMORY_CHANGED")
    assert cli("show", id, "--json").json["content"] == "second"


def test_forget_softly_and_bring_back(cli: Cli) -> None:
    id = cli.remember("passing")
    receipt = cli("forget", id, "--json").json
    assert (receipt["forgotten"], receipt["ids"], receipt["hard"]) == (1, [id], False)
    assert cli("show", id).code == 3
    assert cli("list", "--deleted", "--json").json["memories"][0]["id"] == id
    assert cli("revert", id, "1").code == 0
    assert cli("show", id).code == 0


def test_a_soft_forget_tells_how_to_undo_it(cli: Cli) -> None:
    said = cli("forget", cli.remember("passing")).out
    assert "clew revert ID N" in said and "clew history ID" in said


def test_forget_hard_leaves_no_byte_of_the_text(cli: Cli) -> None:
    id = cli.remember("the passphrase is xyzzyplugh")
    outcome = cli("forget", "--hard", id, "--yes")
    assert outcome.code == 0 and "forgotten 1 memory for good" in outcome.out
    assert all(b"xyzzyplugh" not in file.read_bytes() for file in cli.home.rglob("*") if file.is_file())
    assert cli("history", id).code == 3


def test_forget_many_tells_what_stays_because_it_was_changed_meanwhile(cli: Cli) -> None:
    ids = [cli.remember(text, "--tag", "stale") for text in ("net 30", "net 20")]
    forget = forgetting.forget

    def somebody_edits_it_first(store: Any, found: Any, **named: Any) -> Any:
        with clew.open() as memory:
            memory.edit(ids[0], content="net 45")
        return forget(store, found, **named)

    cli.patch.setattr(forgetting, "forget", somebody_edits_it_first)
    said = cli("forget", "--tag", "stale", "--yes").out
    assert "forgotten 1 memory" in said and "changed meanwhile: 1 memory" in said and ids[0] in said


def test_forget_many_tells_first_and_then_does_it(cli: Cli) -> None:
    for number in range(3):
        cli.remember(f"old {number}", "--tag", "stale")
    kept = cli.remember("kept")
    told = cli("forget", "--tag", "stale", "--dry-run", "--json").json
    assert (told["would_forget"], len(cli("list", "--json").json["memories"])) == (3, 4)
    assert cli("forget", "--tag", "stale", "--yes", "--json").json["forgotten"] == 3
    assert [entry["id"] for entry in cli("list", "--json").json["memories"]] == [kept]


def test_a_hard_forget_by_filter_counts_what_was_softly_forgotten_before_it_asks(cli: Cli) -> None:
    for number in range(3):
        cli.remember(f"stale {number}", "--tag", "stale")
    cli("forget", "--tag", "stale", "--yes")
    told = cli("forget", "--tag", "stale", "--hard", "--dry-run", "--json").json
    assert (told["would_forget"], len(told["memories"])) == (3, 3)
    unasked = cli("forget", "--tag", "stale", "--hard", "--json")
    assert (unasked.code, unasked.error["code"]) == (2, "USAGE") and "3 memories" in unasked.error["message"]
    assert len(cli("list", "--deleted", "--json").json["memories"]) == 3


def test_a_dry_run_of_a_hard_forget_finds_what_was_softly_forgotten(cli: Cli) -> None:
    id = cli.remember("forgotten once")
    cli("forget", id)
    assert cli("forget", id, "--dry-run").code == 3
    told = cli("forget", id, "--hard", "--dry-run", "--json").json
    assert (told["would_forget"], told["memories"][0]["id"]) == (1, id)


def test_a_shortened_id_is_enough(cli: Cli) -> None:
    id = cli.remember("hello")
    assert cli("show", id[:-2], "--json").json["id"] == id


def test_json_and_home_stand_before_or_after_the_command(cli: Cli) -> None:
    elsewhere = str(cli.home / "other")
    before = cli("--json", "--home", elsewhere, "remember", "here")
    after = cli("recall", "here", "--home", elsewhere, "--json")
    assert after.json["results"][0]["id"] == before.json["id"]
    assert cli("recall", "here", "--json").json["results"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["xray", "x"], ["graph", "explain"],
        ["init"], ["remember", "x"], ["recall", "x"], ["list"], ["show", "ID"], ["history", "ID"],
        ["edit", "ID", "--title", "t"], ["revert", "ID", "1"], ["why", "x", "--expect", "ID"],
        ["forget", "ID", "--dry-run"], ["forget", "ID"], ["forget", "--all", "--yes"], ["config", "show"],
        ["config", "show", "recall.floor"], ["completion", "bash"], ["migrate"], ["stats"], ["doctor"],
        ["reindex"], ["export", "out.jsonl"], ["backup", "copy.db"], ["show", UNKNOWN], ["nonsense"],
        ["list", "--nonsense"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_json_is_always_one_document(cli: Cli, words: list[str]) -> None:
    id = cli.remember("something to work on")
    outcome = cli(*[id if word == "ID" else word for word in words], "--json")
    assert isinstance(json.loads(outcome.out), dict)
    assert ("error" in outcome.json) == (outcome.code != 0) == (UNKNOWN in words or "nonsense" in words[-1])


def test_closed_lists_are_those_of_the_model() -> None:
    assert (arguments.TYPES, arguments.LAYERS) == (memory.TYPES, memory.LAYERS)
    assert arguments.CLASSIFICATIONS == memory.CLASSIFICATIONS
    assert (arguments.MODES, arguments.RETRIEVALS) == (recalled.MODES, recalled.RETRIEVALS)
    assert (plan.AUTO, *plan.MODES) == arguments.PLANS and arguments.FORMATS == xray.FORMATS

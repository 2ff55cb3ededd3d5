"""Conflicts, merges and corroboration at the terminal."""

from __future__ import annotations

import pytest
from cli_driver import Cli


@pytest.fixture
def pair(cli: Cli) -> tuple[str, str]:
    older = cli.remember("The API listens on port 8080", "--project", "shop", "--at", "2026-01-01")
    newer = cli.remember("The API listens on port 9090", "--project", "shop", "--at", "2026-02-01")
    assert cli("link", newer, "contradicts", older).code == 0
    return older, newer


def conflict_id(cli: Cli) -> str:
    [one] = cli("conflicts", "--json").json["conflicts"]
    return str(one["id"])


# -- conflicts -------------------------------------------------------------------------------------------


def test_the_list_shows_both_texts_why_and_how_to_decide(cli: Cli, pair: tuple[str, str]) -> None:
    out = cli("conflicts").out
    id = conflict_id(cli)
    assert out.splitlines()[0] == f"{id}  1.00  contradicts, linked by a person"
    assert f"  A {pair[0]}" in out and "The API listens on port 8080" in out
    assert f"  B {pair[1]}" in out and "The API listens on port 9090" in out
    assert f"  decide: clew conflicts resolve {id} --keep A|B|both|neither" in out


def test_without_conflicts_the_list_says_so(cli: Cli) -> None:
    assert cli("conflicts").out == "no open conflicts; those that are settled: clew conflicts --all\n"
    assert cli("conflicts", "--all").out == "no conflicts\n"
    assert cli("conflicts", "--json").json == {"conflicts": [], "more": False}


def test_a_conflict_is_decided_in_one_command_and_undone_in_one(cli: Cli, pair: tuple[str, str]) -> None:
    id = conflict_id(cli)
    outcome = cli("conflicts", "resolve", id, "--keep", "B")
    assert f"resolved {id}: {pair[1]} holds, {pair[0]} is replaced by it" in outcome.out
    undo = outcome.out.splitlines()[1].removeprefix("  undo: clew ").split()
    assert "[resolved: B, by owner]" in cli("conflicts", "--all").out
    assert cli("conflicts", "resolve", id, "--keep", "B").out.startswith("already resolved")
    assert cli(*undo).code == 0
    assert conflict_id(cli) == id


@pytest.mark.parametrize(("keep", "said"), [("both", "both hold"), ("neither", "have ended"), ("a", "holds")])
def test_every_decision_is_told_in_words(cli: Cli, pair: tuple[str, str], keep: str, said: str) -> None:
    document = cli("conflicts", "resolve", conflict_id(cli), "--keep", keep, "--json").json
    assert (document["keep"], document["changed"]) == (keep, True)
    assert said in cli("conflicts", "resolve", document["id"], "--keep", keep).out


def test_one_conflict_is_shown_in_full(cli: Cli, pair: tuple[str, str]) -> None:
    id = conflict_id(cli)
    document = cli("conflicts", "show", id[:20], "--json").json
    assert (document["a"]["id"], document["b"]["id"], document["state"]) == (*pair, "open")
    assert "      The API listens on port 8080" in cli("conflicts", "show", id).out


def test_what_is_wrong_is_refused_with_a_next_move(cli: Cli, pair: tuple[str, str]) -> None:
    id = conflict_id(cli)
    for words, code, error in (
        (("conflicts", "show", "con_nothing"), 3, "CONFLICT_NOT_FOUND"),
        (("conflicts", "resolve", id, "--keep", "c"), 2, "KEEP_INVALID"),
        (("conflicts", "resolve", id), 2, "USAGE"),
        (("conflicts", "solve"), 2, "USAGE"),
    ):
        outcome = cli(*words, "--json")
        assert (outcome.code, outcome.error["code"]) == (code, error)
        assert outcome.error["next"]
    cli("conflicts", "resolve", id, "--keep", "A")
    assert cli("conflicts", "resolve", id, "--keep", "B", "--json").error["code"] == "CONFLICT_RESOLVED"


def test_a_project_narrows_the_list(cli: Cli, pair: tuple[str, str]) -> None:
    assert len(cli("conflicts", "--project", "shop", "--json").json["conflicts"]) == 1
    assert cli("conflicts", "--project", "blog", "--json").json["conflicts"] == []


def test_unlinking_closes_it(cli: Cli, pair: tuple[str, str]) -> None:
    cli("unlink", pair[0], "contradicts", pair[1])
    assert cli("conflicts", "--all", "--json").json["conflicts"] == []


def test_recall_tells_of_the_conflict_and_names_the_next_move(cli: Cli, pair: tuple[str, str]) -> None:
    out = cli("recall", "API port", "--project", "shop").out
    one, other = sorted(pair)
    assert f"{one} and {other} are in conflict (1.00)" in out
    assert f"clew conflicts resolve {conflict_id(cli)} --keep ID, both or neither" in out
    [told] = cli("recall", "API port", "--project", "shop", "--json").json["conflicts"]
    assert told["conflict_id"] == conflict_id(cli)


def test_a_hostile_text_stays_text(cli: Cli) -> None:
    one, other = (cli.remember(f"tea is {word}\x1b[2J\nreally") for word in ("green", "black"))
    cli("link", one, "contradicts", other)
    assert "\x1b" not in cli("conflicts").out + cli("conflicts", "show", conflict_id(cli)).out


# -- merges ----------------------------------------------------------------------------------------------


def test_duplicates_are_suggested_merged_listed_and_undone(cli: Cli) -> None:
    kept = cli.remember("Deploys happen on Mondays", "--project", "shop")
    other = cli.remember("deploys happen on mondays!", "--project", "shop", "--tag", "ops")
    assert f"  clew merge {kept} {other}" in cli("merge", "--suggest").out
    assert f"would merge {other} into {kept}" in cli("merge", kept, other, "--dry-run").out
    merged = cli("merge", kept, other).out
    assert f"merged {other} into {kept}" in merged and "tags taken over: ops" in merged
    assert cli("merge", kept, other).out.startswith("nothing to merge")
    [run] = cli("merge", "--list", "--json").json["merges"]
    assert f"{other} -> {kept}" in cli("merge", "--list").out
    assert f"undone {run['id']}: {other} is back" in cli("merge", "--undo", run["id"]).out
    assert cli("merge", "--undo", run["id"]).out.endswith("was undone already\n")
    assert "superseded_by" not in cli("show", other, "--json").json


def test_merging_needs_two_memories_or_one_wish(cli: Cli) -> None:
    id = cli.remember("tea is green")
    for words in (("merge",), ("merge", id), ("merge", id, id, "--suggest"), ("merge", "--list", "--suggest")):
        assert cli(*words, "--json").error["code"] == "USAGE"
    assert cli("merge", "--undo", "run_nothing", "--json").error["code"] == "MERGE_NOT_FOUND"
    assert cli("merge", "--suggest").out == "no near-duplicates\n"
    assert cli("merge", "--list").out.startswith("nothing was merged")


# -- corroboration ---------------------------------------------------------------------------------------


def test_a_memory_is_shown_with_how_many_others_say_the_same(cli: Cli) -> None:
    one, other = cli.remember("tea is green", "--author", "ada"), cli.remember("Green tea!", "--author", "bob")
    assert cli("show", one, "--json").json["corroborated_by"] == 0
    assert "corroborated_by" not in cli("show", one).out
    cli("merge", one, other)
    assert cli("show", one, "--json").json["corroborated_by"] == 1
    assert "1 more independent of it" in cli("show", one).out


@pytest.mark.parametrize("words", [("conflicts",), ("conflicts", "resolve"), ("merge",)])
def test_the_help_says_what_happens_and_how_it_is_undone(cli: Cli, words: tuple[str, ...]) -> None:
    text = " ".join(cli(*words, "--help").out.split())
    assert "by itself" in text if words == ("conflicts",) else "Nothing is deleted" in text or "clew revert" in text

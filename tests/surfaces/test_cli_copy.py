"""`clew copy` as its users meet it."""

from __future__ import annotations

import pytest
from cli_driver import Cli

from clew import compose


def test_a_store_is_copied_to_another_file_and_used_there(cli: Cli) -> None:
    cli.remember("The gateway is red")
    told = cli("copy", str(cli.home / "clew.db"), "other/clew.db")
    assert (
        told.code == 0
        and told.out.startswith("copied ")
        and "checksums of every table and org are equal" in told.out
    )
    assert "The gateway is red" in cli("list", "--home", str(cli.directory / "other")).out


def test_a_copy_as_one_document(cli: Cli) -> None:
    cli.remember("The gateway is red")
    document = cli("copy", str(cli.home / "clew.db"), "sqlite:///" + str(cli.directory / "to.db"), "--json").json
    assert document["target"] == str(cli.directory / "to.db") and not document["resumed"]
    [memories] = [table for table in document["tables"] if table["name"] == "memories"]
    assert (memories["rows"], memories["orgs"]) == (1, 1) and len(memories["checksum"]) == 16
    assert document["rows"] == sum(table["rows"] for table in document["tables"])


def test_a_target_that_is_in_use_is_refused_with_the_next_move(cli: Cli) -> None:
    cli.remember("The gateway is red")
    cli("copy", str(cli.home / "clew.db"), "to.db")
    again = cli("copy", str(cli.home / "clew.db"), "to.db", "--json")
    assert again.code == 1 and again.error["code"] == "COPY_TARGET_NOT_EMPTY" and again.error["next"]


def test_an_unfinished_copy_says_how_to_finish_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_told: object, **_options: object) -> None:
        raise KeyboardInterrupt

    cli.remember("The gateway is red")
    with monkeypatch.context() as patch:
        patch.setattr("clew.store.sqlite_copy.SqliteSide.finish", stopped)
        assert cli("copy", str(cli.home / "clew.db"), "other/clew.db").code == 130
    told = cli("list", "--home", str(cli.directory / "other"), "--json")
    assert told.error["code"] == "COPY_UNFINISHED" and "clew copy" in told.error["next"]
    assert "unfinished copy" in cli("doctor", "--home", str(cli.directory / "other")).out


def test_the_example_names_no_place_that_a_platform_does_not_have(cli: Cli) -> None:
    assert "example: clew copy clew.db postgresql://" in " ".join(cli("copy", "--help").out.split())


def test_ctrl_c_says_that_the_same_command_goes_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_names: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compose, "copy_store", stopped)
    told = cli("copy", "from.db", "to.db")
    assert told.code == 130 and "the same command goes on" in told.err

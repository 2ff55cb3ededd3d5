"""`clew off` and `clew on`."""

from __future__ import annotations

from pathlib import Path

from cli_driver import Cli

from clew.hosts.off import is_off, switch_off, switch_on


def test_off_holds_for_the_directory_and_all_below_and_nowhere_else(tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "project"
    (place / "src").mkdir(parents=True)
    assert not is_off(home, place)
    assert switch_off(home, place) and not switch_off(home, place)
    assert is_off(home, place) and is_off(home, place / "src") and is_off(home, place / "not" / "there")
    assert not is_off(home, tmp_path) and not is_off(home, tmp_path / "project2")
    assert switch_on(home, place) and not switch_on(home, place)
    assert not is_off(home, place / "src")


def test_a_way_through_a_link_leads_to_the_same_switch(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    switch_off(tmp_path / "home", tmp_path / "link")
    assert is_off(tmp_path / "home", tmp_path / "real")


def test_the_switch_is_kept_under_the_home_and_not_in_the_directory(cli: Cli) -> None:
    assert cli("off", "--json").json == {"directory": str(cli.directory), "off": True, "changed": True}
    assert is_off(cli.home, cli.directory) and list(cli.directory.iterdir()) == []
    assert cli("on", "--json").json == {"directory": str(cli.directory), "off": False, "changed": True}
    assert not is_off(cli.home, cli.directory)


def test_on_below_a_directory_that_is_off_says_where_to_go(cli: Cli) -> None:
    cli("off")
    below = cli.directory / "below"
    below.mkdir()
    cli.patch.chdir(below)
    told = cli("on", "--json").json
    assert told["off"] and told["off_at"] == str(cli.directory)
    assert f"still off: {cli.directory} is off" in cli("on").out

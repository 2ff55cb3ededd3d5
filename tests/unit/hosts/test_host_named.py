"""A file that comes with a repository does not say which project hooks act for, unless the user says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.hosts.named import allow_name, may_name
from clew.surfaces.hooks.telling import directory_settings

OWN = "github.com/acme/shop"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return cloned(tmp_path / "shop")


def cloned(place: Path) -> Path:
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    return place


@pytest.mark.parametrize(
    ("named", "may"),
    [
        (OWN, True),
        (f"{OWN}/web", True),
        (f"{OWN}-web", False),
        ("github.com/acme/bank", False),
        ("github.com/acme", False),
    ],
)
def test_a_repository_names_itself_and_its_parts(shop: Path, tmp_path: Path, named: str, may: bool) -> None:
    assert may_name(tmp_path / "home", shop, named) is may


def test_what_the_user_said_holds_for_this_repository_and_this_name(shop: Path, tmp_path: Path) -> None:
    home, other = tmp_path / "home", cloned(tmp_path / "other")
    for _time in range(2):
        allow_name(home, shop, "bank")
    (shop / "src").mkdir()
    assert may_name(home, shop, "bank") and may_name(home, shop / "src", "bank")
    assert not may_name(home, shop, "till") and not may_name(home, other, "bank")


def test_it_holds_in_every_working_tree_of_the_repository(shop: Path, tmp_path: Path) -> None:
    own = shop / ".git" / "worktrees" / "fix"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "fix"
    (own / "gitdir").write_text(f"{tree}/.git\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    allow_name(tmp_path / "home", shop, "bank")
    assert may_name(tmp_path / "home", tree, "bank")


def test_it_does_not_hold_where_a_file_only_leads_to_the_repository(shop: Path, tmp_path: Path) -> None:
    home, evil = tmp_path / "home", tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").write_text("gitdir: ../shop/.git\n")
    allow_name(home, shop, "bank")
    assert not may_name(home, evil, "bank")
    allow_name(home, evil, "till")
    assert may_name(home, evil, "till") and not may_name(home, shop, "till")


def test_without_a_repository_it_holds_for_the_directory_of_the_file(tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "notes"
    place.mkdir()
    assert not may_name(home, place, "bank")
    allow_name(home, place, "bank")
    assert may_name(home, place, "bank") and not may_name(home, tmp_path, "bank")


def test_a_name_that_is_not_heeded_leaves_the_repositorys_own(shop: Path, tmp_path: Path) -> None:
    (shop / ".clew.toml").write_text('project = "bank"\n[hooks]\ncapture = false\n')
    told = directory_settings(shop, home=tmp_path / "home")
    assert (told.project, told.inject, told.capture) == (None, True, False)
    allow_name(tmp_path / "home", shop, "bank")
    assert directory_settings(shop, home=tmp_path / "home").project == "bank"


def test_where_there_is_no_repository_a_name_that_is_not_heeded_leaves_nothing_on(tmp_path: Path) -> None:
    (tmp_path / ".clew.toml").write_text('project = "bank"\n')
    told = directory_settings(tmp_path, home=tmp_path / "home")
    assert (told.project, told.inject, told.capture) == (None, False, False)


def test_a_file_that_names_no_project_leaves_hooks_on(tmp_path: Path) -> None:
    (tmp_path / ".clew.toml").write_text('project = ""\n')
    told = directory_settings(tmp_path, home=tmp_path / "home")
    assert not told.project and told.inject and told.capture


def test_a_project_that_the_users_own_file_names_is_heeded(shop: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('project = "mine"\n')
    (shop / ".clew.toml").write_text("[hooks]\ncapture = false\n")
    assert directory_settings(shop, home=home).project == "mine"

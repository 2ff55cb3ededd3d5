"""A repository goes on as the project it was when its name changes, on this machine, and no other one does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.hosts import known
from clew.hosts.named import may_name
from clew.hosts.repository import folded

SHOP, UPPER, LOWER = "host.example/acme/shop", "github.com/Acme/Web", "github.com/acme/web"
LOCAL = "shop"

Name = Callable[..., str | None]


@pytest.fixture
def named(tmp_path: Path) -> Name:
    """What a repository is called, when these projects have memories."""

    def name(directory: Path, *projects: str, shared: bool = False) -> str | None:
        return known.project_at(directory, home=tmp_path / "home", holds=projects.__contains__, shared=shared)

    return name


@pytest.fixture
def shop(tmp_path: Path, named: Name) -> Path:
    """A repository without a remote that Clew has seen."""
    made = repository(tmp_path / LOCAL)
    assert named(made) == LOCAL
    return made


def repository(folder: Path, remote: str | None = None) -> Path:
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text("[core]\n")
    return set_remote(folder, remote) if remote else folder


def set_remote(folder: Path, remote: str) -> Path:
    (folder / ".git" / "config").write_text(f'[core]\n[remote "origin"]\n\turl = https://{remote}.git\n')
    return folder


def test_the_first_remote_of_a_repository_changes_nothing_and_other_clones_of_it_follow(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    set_remote(shop, SHOP)
    assert named(shop, LOCAL) == named(shop) == LOCAL
    assert named(repository(tmp_path / "second", SHOP)) == LOCAL


def test_a_repository_that_began_here_keeps_its_name_on_another_host_and_a_clone_does_not(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    assert named(set_remote(shop, SHOP), LOCAL) == named(set_remote(shop, LOWER), LOCAL) == LOCAL
    clone = repository(tmp_path / "clone", "host.example/acme/till")
    assert named(clone, "host.example/acme/till") == "host.example/acme/till"
    assert named(set_remote(clone, "host.example/me/till"), "host.example/acme/till") == "host.example/me/till"


def test_a_clone_of_something_else_in_a_directory_of_the_same_name_reaches_nothing(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    assert named(repository(tmp_path / "evil" / LOCAL, "host.example/evil/shop"), LOCAL) == "host.example/evil/shop"
    shutil.rmtree(shop)
    assert named(repository(shop, "host.example/evil/till"), LOCAL) == "host.example/evil/till"


def test_a_mark_that_this_home_does_not_know_reaches_nothing(shop: Path, tmp_path: Path, named: Name) -> None:
    forged = repository(tmp_path / "evil", "host.example/evil/shop")
    (forged / ".git" / "clew").write_text("0" * 32)
    assert named(forged, LOCAL) == "host.example/evil/shop"


def test_a_repository_that_was_moved_keeps_its_name_and_a_copy_gets_its_own(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    copy = Path(shutil.copytree(shop, tmp_path / "till"))
    assert named(copy) == "till" and named(shop) == LOCAL
    moved = shop.rename(tmp_path / "store")
    assert named(moved) == LOCAL
    assert named(set_remote(moved, SHOP), LOCAL) == LOCAL
    assert named(set_remote(copy, "host.example/acme/till"), LOCAL, "till") == "till"


def worktree(main: Path, tree: Path, gitdir: str | None = None) -> Path:
    own = main / ".git" / "worktrees" / tree.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{gitdir or tree / '.git'}\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    return tree


@pytest.mark.parametrize("gitdir", [None, "../../../../fix/.git"])
def test_a_worktree_goes_by_the_mark_of_its_repository(
    shop: Path, tmp_path: Path, named: Name, gitdir: str | None
) -> None:
    moved = shop.rename(tmp_path / "store")
    assert named(worktree(moved, tmp_path / "fix", gitdir)) == LOCAL


@pytest.mark.parametrize("way", ["file", "link", "worktree", "linked worktree", "own worktree"])
def test_a_git_file_or_link_that_leads_to_another_repository_reaches_nothing_of_it(
    shop: Path, tmp_path: Path, named: Name, way: str
) -> None:
    """An archive may bring one along, with paths from there."""
    evil, fix = tmp_path / "evil", worktree(shop, tmp_path / "fix")
    evil.mkdir()
    if way in ("link", "linked worktree"):
        (evil / ".git").symlink_to(shop / ".git" if way == "link" else fix / ".git")
    else:
        leads = {"file": "../shop/.git", "worktree": "../shop/.git/worktrees/fix", "own worktree": "own"}[way]
        (evil / ".git").write_text(f"gitdir: {leads}\n")
        (evil / "own").mkdir()
        (evil / "own" / "commondir").write_text("../../shop/.git\n")
        (evil / "own" / "gitdir").write_text("../.git\n")
    assert named(evil, LOCAL) == "evil"
    set_remote(shop, SHOP)
    assert named(evil, LOCAL) == SHOP  # which anybody may say, and is not the mark's


def test_a_link_to_the_mark_of_a_repository_that_was_moved_reaches_nothing(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    evil, moved = repository(tmp_path / "evil"), shop.rename(tmp_path / "store")
    (evil / ".git" / "clew").symlink_to(moved / ".git" / "clew")
    assert named(evil, LOCAL) == "evil"


def test_nothing_is_written_through_a_link_beside_the_mark(tmp_path: Path, named: Name) -> None:
    evil, precious = repository(tmp_path / "evil"), tmp_path / "profile"
    precious.write_text("precious")
    (evil / ".git" / f"clew.{os.getpid()}.new").symlink_to(precious)
    assert named(evil) == "evil"
    assert precious.read_text() == "precious"
    assert not (evil / ".git" / "clew").is_symlink()


@pytest.mark.parametrize("was", ["a program", "nothing of git"])
def test_nothing_is_written_over_what_is_no_mark_nor_where_git_keeps_nothing(
    tmp_path: Path, named: Name, was: str
) -> None:
    till = repository(tmp_path / "till")
    if was == "a program":
        (till / ".git" / "clew").write_text("#!/bin/sh\n")
    else:
        (till / ".git" / "HEAD").unlink()
    before = sorted(till.rglob("*"))
    assert named(till) == "till"
    assert sorted(till.rglob("*")) == before
    assert was != "a program" or (till / ".git" / "clew").read_text() == "#!/bin/sh\n"


def test_nothing_goes_on_where_nothing_was_kept(shop: Path, named: Name) -> None:
    assert named(set_remote(shop, LOWER)) == named(set_remote(shop, UPPER)) == LOWER
    assert named(shop, LOWER) == named(shop, LOWER, LOCAL) == LOWER


def test_a_first_remote_is_decided_only_when_something_is_kept(shop: Path, named: Name) -> None:
    """What was said before it came is kept when the session has ended."""
    assert named(set_remote(shop, SHOP)) == SHOP
    assert named(shop, LOCAL) == named(shop, LOCAL, SHOP) == LOCAL


@pytest.mark.parametrize("seen", ["with memories", "beside another one", "by a team"])
def test_what_may_have_come_from_another_repository_of_the_same_name_is_not_followed_but_told(
    tmp_path: Path, named: Name, seen: str
) -> None:
    first, second = repository(tmp_path / "work" / "app"), repository(tmp_path / "other" / "app")
    if seen == "beside another one":
        assert named(first) == named(second) == "app"
    elif seen == "with memories":
        assert named(second, "app") == "app"
    else:
        assert named(second, shared=True) == "app"
    assert named(set_remote(second, SHOP), "app") == SHOP
    assert named(repository(tmp_path / "clone", SHOP), "app") == SHOP
    news = known.news_at(second, home=tmp_path / "home")
    assert news is not None and (news.project, news.was) == (SHOP, "app")


def test_a_repository_that_was_moved_before_its_first_remote_is_still_the_first_of_its_name(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    moved = shop.rename(tmp_path / "store")
    assert named(moved, LOCAL) == LOCAL
    assert named(set_remote(moved, SHOP), LOCAL) == LOCAL


@pytest.mark.parametrize("shared", [False, True])
def test_of_two_names_with_memories_neither_is_given_up_and_the_user_is_told_once(
    shop: Path, tmp_path: Path, named: Name, shared: bool
) -> None:
    others = (LOCAL,) if shared else (LOCAL, SHOP)  # a store of several machines follows the remote in any case
    assert named(set_remote(shop, SHOP), *others, shared=shared) == SHOP
    news = known.news_at(shop, home=tmp_path / "home", shared=shared)
    assert news is not None and (news.name, news.project, news.was) == (SHOP, SHOP, LOCAL)
    assert known.news_at(shop, home=tmp_path / "home", shared=shared) is None
    assert known.note_at(shop, home=tmp_path / "home", shared=shared) is not None


def test_what_goes_on_here_goes_by_its_remote_in_the_store_of_a_team(
    shop: Path, tmp_path: Path, named: Name
) -> None:
    assert named(set_remote(shop, SHOP), LOCAL) == LOCAL
    assert named(shop, LOCAL, shared=True) == SHOP
    assert known.news_at(shop, home=tmp_path / "home", shared=True) is not None
    assert named(shop) == LOCAL


def test_without_a_look_at_the_store_nothing_is_decided(shop: Path, tmp_path: Path, named: Name) -> None:
    set_remote(shop, SHOP)
    assert known.project_at(shop, home=tmp_path / "home") == SHOP
    assert named(shop, LOCAL) == LOCAL


def test_whoever_only_asks_leaves_no_trace(shop: Path, tmp_path: Path) -> None:
    home, till = tmp_path / "home", repository(tmp_path / "till")
    moved = shop.rename(tmp_path / "store")
    before = [(file, file.read_bytes()) for file in sorted(tmp_path.rglob("*")) if file.is_file()]
    assert may_name(home, moved, LOCAL) and may_name(home, till, "till")
    assert known.project_at(moved, home=home) == LOCAL
    assert known.project_at(set_remote(moved, UPPER), home=home) == UPPER
    (moved / ".git" / "config").write_text("[core]\n")
    assert [(file, file.read_bytes()) for file in sorted(tmp_path.rglob("*")) if file.is_file()] == before


def test_spellings_that_a_host_knows_as_one_are_one_project(tmp_path: Path, named: Name) -> None:
    assert named(repository(tmp_path / "a", UPPER)) == named(repository(tmp_path / "b", LOWER)) == LOWER
    assert folded(SHOP.upper()) == SHOP.upper()


def test_memories_under_another_spelling_do_not_vanish(tmp_path: Path, named: Name) -> None:
    upper, lower = repository(tmp_path / "a", UPPER), repository(tmp_path / "b", LOWER)
    assert named(upper, UPPER) == named(lower, UPPER) == UPPER


def test_two_spellings_with_memories_of_their_own_stay_two(tmp_path: Path, named: Name) -> None:
    upper, lower = repository(tmp_path / "a", UPPER), repository(tmp_path / "b", LOWER)
    assert (named(upper, UPPER, LOWER), named(lower, UPPER, LOWER)) == (UPPER, LOWER)
    news = known.news_at(upper, home=tmp_path / "home")
    assert news is not None and (news.project, news.was) == (UPPER, LOWER)


def test_what_the_user_said_is_heeded_and_taken_back(tmp_path: Path, named: Name) -> None:
    home, site = tmp_path / "home", repository(tmp_path / "site", "github.com/acme/Site")
    known.alias(home, "github.com/Acme/site", LOWER)
    assert named(site) == LOWER
    assert may_name(home, site, LOWER) and may_name(home, site, "github.com/acme/Site")
    known.alias(home, "github.com/acme/Site", None)
    assert named(site) == "github.com/acme/site" and known.aliases(home) == []


def test_a_repository_that_cannot_be_marked_is_no_failure(tmp_path: Path) -> None:
    shop, home = repository(tmp_path / LOCAL), tmp_path / "home"
    home.write_text("a file where the home should be")
    assert known.project_at(shop, home=home, holds=bool) == LOCAL
    assert known.project_at(set_remote(shop, UPPER), home=home, holds=bool) == UPPER


@pytest.mark.parametrize("written", ["", "[]", "{", '{"name": 1}', "\0"])
def test_a_damaged_note_counts_as_none(tmp_path: Path, named: Name, written: str) -> None:
    home, upper = tmp_path / "home", repository(tmp_path / "a", UPPER)
    assert named(upper, UPPER) == UPPER
    [note] = (home / "names").iterdir()
    note.write_text(written)
    assert named(upper, UPPER) == UPPER

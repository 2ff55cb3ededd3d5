"""Which project a directory belongs to, read from git's files alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_driver import Cli

from clew.hosts.known import project_at
from clew.hosts.repository import normalised, origin_url


def project_of(directory: Path) -> str | None:
    return project_at(directory, home=directory / "home")


def repository(folder: Path, url: str | None = None) -> Path:
    git = folder / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    remote = f'[remote "upstream"]\n\turl = https://x.org/other\n[remote "origin"]\n\turl = {url}\n' if url else ""
    (git / "config").write_text(f"[core]\n\tbare = false\n{remote}")
    return folder


@pytest.mark.parametrize(
    ("url", "project"),
    [
        ("https://GitHub.com/Acme/Shop.git", "github.com/Acme/Shop"),
        ("https://user:token@github.com/acme/shop", "github.com/acme/shop"),
        ("https://user:p@ssw0rd@github.com/acme/shop", "github.com/acme/shop"),
        ("https://github.com/acme/shop@2", "github.com/acme/shop@2"),
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("ann@corp@github.com:acme/shop.git", "github.com/acme/shop"),
        ("github.com:acme/shop", "github.com/acme/shop"),
        ("ssh://git@host.example:2222/acme/shop.git/", "host.example/acme/shop"),
        ("git://host.example/group/sub/shop", "host.example/group/sub/shop"),
        ("ssh://git@[::1]:22/acme/shop", "[::1]/acme/shop"),
        ("file:///srv/git/shop.git", None),
        ("/srv/git/shop.git", None),
        ("../shop.git", None),
        ("C:\\git\\shop", None),
        ("https://host.example/", None),
        ("", None),
    ],
)
def test_one_name_for_every_way_to_reach_a_repository(url: str, project: str | None) -> None:
    assert normalised(url) == project


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ('[remote "origin"]\n url = a:b\n url = c:d', "a:b"),
        ('[Remote "origin"] url = "a:b"', "a:b"),
        ('[remote "origin"]\n; url = no\n# url = no\n pushurl = no\n URL=yes', "yes"),
        ('[remote "other"]\nurl = no', None),
        ("\x00\xff [[[", None),
    ],
)
def test_origin_url(config: str, url: str | None) -> None:
    assert origin_url(config) == url


def test_a_repository_with_an_origin(tmp_path: Path) -> None:
    deep = repository(tmp_path / "clone", "git@host.example:acme/shop.git") / "src" / "deep"
    deep.mkdir(parents=True)
    assert project_of(deep) == "host.example/acme/shop"


@pytest.mark.parametrize("url", [None, "/srv/git/shop.git"])
def test_a_repository_without_an_origin_elsewhere_has_its_directorys_name(tmp_path: Path, url: str | None) -> None:
    assert project_of(repository(tmp_path / "shop", url)) == "shop"


@pytest.mark.parametrize("url", [None, "https://host.example/acme/shop"])
def test_a_worktree_belongs_to_its_main_repository(tmp_path: Path, url: str | None) -> None:
    main = repository(tmp_path / "shop", url)
    linked = main / ".git" / "worktrees" / "fix"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    tree = tmp_path / "shop-fix"
    (linked / "gitdir").write_text(f"{tree}/.git\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {linked}\n")
    assert project_of(tree) == project_of(main) == ("host.example/acme/shop" if url else "shop")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    module = main / ".git" / "modules" / "lib"
    module.mkdir(parents=True)
    (module / "config").write_text('[remote "origin"]\nurl = https://host.example/acme/lib\n')
    (main / "lib").mkdir()
    (main / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    assert project_of(main / "lib") == "host.example/acme/lib"


@pytest.mark.parametrize("content", ["", "gitdir:", "nonsense", "gitdir: /does/not/exist"])
def test_a_broken_git_file_is_no_failure(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert project_of(tmp_path) in (None, tmp_path.name)


def test_the_nearest_word_wins(cli: Cli) -> None:
    """Option, then CLEW_PROJECT, then .clew.toml, then git; --no-project beats them all."""
    repository(cli.directory, "https://host.example/acme/shop")

    def project(*words: str) -> str | None:
        stored = cli("remember", f"said with {words}", *words, "--json").json["memory"]
        return stored.get("project")

    assert project() == "host.example/acme/shop"
    (cli.directory / ".clew.toml").write_text('project = "from file"')
    assert project("--tag", "1") == "from file"
    cli.patch.setenv("CLEW_PROJECT", "from environment")
    assert project("--tag", "2") == "from environment"
    assert project("--project", "given") == "given"
    assert project("--no-project") is None
    assert "project from environment" in cli("recall", "x").out


def test_no_project_finds_only_what_belongs_to_none(cli: Cli) -> None:
    inside, outside = cli.remember("of the shop", "--project", "shop"), cli.remember("of nobody")
    for words in (["show"], ["history"]):
        assert cli(*words, outside, "--no-project").code == 0
        assert cli(*words, inside, "--no-project").code == 3
    assert cli("forget", inside, "--no-project").code == 3
    assert [entry["id"] for entry in cli("list", "--no-project", "--json").json["memories"]] == [outside]
    assert cli("export", "out.jsonl", "--no-project", "--json").json["count"] == 1
    assert cli("why", "shop", "--expect", inside, "--no-project", "--json").json["lost_at"] == "scope"
    assert cli("show", outside, "--no-project", "--project", "shop").code == 2


def test_a_repository_that_gets_its_first_remote_keeps_its_memory_and_says_so_once(cli: Cli) -> None:
    shop = repository(cli.directory / "shop")
    cli.patch.chdir(shop)
    cli.remember("Orders are numbered by the till")
    (shop / ".git" / "config").write_text('[remote "origin"]\nurl = git@github.com:acme/shop.git\n')
    first, second = cli("recall", "orders"), cli("recall", "orders")
    assert "numbered by the till" in first.out and "numbered by the till" in second.out
    assert "'github.com/acme/shop' goes on as 'shop'" in first.err and second.err == ""
    assert "clew project alias github.com/acme/shop --remove" in cli("doctor").out


def test_a_repository_can_begin_anew_and_take_that_back(cli: Cli) -> None:
    repository(cli.directory, "https://github.com/acme/site")
    cli.remember("Orders are numbered", "--project", "github.com/acme/web")
    set_one = cli("project", "alias", "github.com/acme/site", "github.com/acme/web", "--json").json
    assert set_one["aliases"] == [{"name": "github.com/acme/site", "project": "github.com/acme/web"}]
    assert "numbered" in cli("recall", "orders").out
    assert cli("project", "alias", "github.com/acme/site", "--remove").code == 0
    assert "numbered" not in cli("recall", "orders").out
    assert cli("project", "alias").out == "every repository here goes by its own name\n"


def test_an_alias_to_what_is_not_there_names_what_is(cli: Cli) -> None:
    cli.remember("Orders are numbered", "--project", "github.com/acme/web")
    outcome = cli("project", "alias", "github.com/acme/site", "github.com/acme/wbe", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "PROJECT_NOT_FOUND")
    assert "github.com/acme/web" in outcome.error["next"]


def test_an_alias_that_hides_memories_says_so(cli: Cli) -> None:
    cli.remember("Orders are numbered", "--project", "web")
    cli.remember("Tills are grey", "--project", "github.com/acme/site")
    assert "--project" in cli("project", "alias", "github.com/acme/site", "web").out


@pytest.mark.parametrize("words", [("x",), ("--remove",), ("x", "y", "--remove")])
def test_half_an_alias_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli("project", "alias", *words)
    assert outcome.code == 2 and "clew project alias NAME" in outcome.err


@pytest.mark.parametrize("store", ["none", "foreign", "away"])
def test_config_show_needs_no_store_and_changes_nothing(cli: Cli, store: str) -> None:
    repository(cli.directory, "git@github.com:Acme/Web.git")
    if store == "foreign":
        cli.home.mkdir(exist_ok=True)
        (cli.home / "clew.db").write_text("no database at all " * 10)
    if store == "away":
        cli.patch.setenv("CLEW_STORE__URL", "http://127.0.0.1:9")
    before = sorted(cli.home.rglob("*"))
    outcome = cli("config", "show", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json["project"] == "github.com/Acme/Web"
    assert sorted(cli.home.rglob("*")) == before and cli.home.exists() == (store == "foreign")

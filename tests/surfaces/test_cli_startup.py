"""Starting fast, helping, and guessing what was meant."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli_driver import Cli

import clew
from clew.surfaces.cli.completion import paths
from clew.surfaces.cli.table import COMMANDS

NAMES = [name for name, _command in paths()]
HEAVY = ("numpy", "apsw", "Stemmer", "json", "dataclasses", "clew.settings", "clew.clew", "shutil", "pathlib")


@pytest.mark.parametrize("words", [["--help"], ["remember", "--help"], ["--version"], ["recal"]], ids=" ".join)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """What keeps `clew --help` far under 150 ms, whatever the machine."""
    code = "from clew.surfaces.cli.parser import parse\n"
    code += f"try: parse({words!r})\nexcept BaseException: pass\n"
    code += f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path = {sys.path!r}; {code}"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stderr.strip() == "[]"


def test_bare_clew_and_help_list_every_command(cli: Cli) -> None:
    for words in ([], ["--help"], ["help"]):
        outcome = cli(*words)
        assert outcome.code == 0
        assert all(f"\n  {command.name} " in outcome.out for command in COMMANDS)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(cli: Cli, name: str) -> None:
    outcome = cli(*name.split(), "--help")
    assert cli("help", *name.split()) == outcome
    assert outcome.code == 0 and outcome.out.startswith(f"usage: clew {name}")
    assert "--json" in outcome.out


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"clew {clew.__version__}\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["recal", "x"], "'recall'"),
        (["rememeber", "x"], "'remember'"),
        (["config", "shwo"], "'show'"),
        (["remember", "x", "--projct", "p"], "'--project'"),
        (["forget", "--hrd", "x"], "'--hard'"),
        (["--jsno", "list"], "'--json'"),
        (["config", "show", "recall.flor"], "'recall.floor'"),
        (["remember", "x", "--type", "decisin"], "'decision'"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(cli: Cli, words: list[str], meant: str) -> None:
    outcome = cli(*words)
    assert outcome.code in (2, 3) and f"did you mean {meant}?" in outcome.err


def test_options_are_not_guessed_from_their_beginning(cli: Cli) -> None:
    assert cli("list", "--all-proj").code == 2


def test_init_creates_the_store_and_can_run_again(cli: Cli) -> None:
    first, again = cli("init", "--json").json, cli("init")
    assert first["created"] and (cli.home / "clew.db").exists()
    assert again.code == 0 and again.out.startswith("ready") and "clew remember" in again.out


def test_init_names_the_project_but_overwrites_nothing(cli: Cli) -> None:
    file = cli.directory / ".clew.toml"
    assert cli("init", "--project", 'acme "shop"').code == 0
    assert file.read_text() == 'project = "acme \\"shop\\""\n'
    assert cli("remember", "x", "--json").json["memory"]["project"] == 'acme "shop"'
    assert cli("init", "--project", 'acme "shop"').code == 0
    outcome = cli("init", "--project", "other", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "PROJECT_FILE_EXISTS")
    assert "shop" in file.read_text()


def test_config_show_tells_value_source_and_meaning(cli: Cli) -> None:
    cli.patch.setenv("CLEW_RECALL__FLOOR", "0.25")
    cli.patch.setenv("CLEW_EMBED__URL", "https://user:pass@models.example/v1")
    one = cli("config", "show", "recall.floor", "--json").json
    assert (one["value"], one["source"]) == (0.25, "environment") and one["doc"]
    section = cli("config", "show", "recall", "--json").json["settings"]
    assert {entry["path"].split(".")[0] for entry in section} == {"recall"}
    everything = cli("config", "show").out
    assert "recall.floor" in everything and "user:pass" not in everything and "//***@models.example" in everything

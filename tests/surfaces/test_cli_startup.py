"""Starting fast, helping, and guessing what was meant."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys

import pytest
from cli_driver import Cli

import clew
from clew.hosts.named import may_name
from clew.surfaces.cli.completion import paths
from clew.surfaces.cli.parser import build_parser
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


# What a recall does without: OpenSSL, what complains, what writes, what only a process that stays makes use of.
UNASKED = ("hashlib", "logging", "string", "uuid", "random", "ssl", "asyncio", "concurrent.futures", "tomllib",
           "clew.recall.arrays", "clew.remember.prepare", "clew.relate.relate", "clew.guard.pep", "clew.ports",
           "clew.surfaces.cli.render", "numpy.random", "numpy.ma", "numpy.fft", "numpy.ctypeslib")  # fmt: skip


def after_a_recall(cli: Cli, told: str, **environment: str) -> str:
    """What a process tells at its end that was asked one question."""
    cli("remember", "the gateway listens on port 8080", "--project", "p")
    code = "import os, sys; from clew.surfaces.cli.main import main\n"
    code += "assert main(['recall', 'gateway', '--project', 'p', '--json']) == 0\n"
    code += f"print({told}, file=sys.stderr)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "8080" in done.stdout
    return done.stderr.strip()


def test_a_recall_imports_nothing_that_it_does_not_use(cli: Cli) -> None:
    """What keeps a cold `clew recall` within 2.5 times `import numpy`, whatever the machine."""
    assert after_a_recall(cli, f"[name for name in {UNASKED!r} if name in sys.modules]") == "[]"


@pytest.mark.skipif(sys.platform != "linux", reason="tells its threads in /proc")
def test_a_recall_starts_no_threads_for_linear_algebra(cli: Cli) -> None:
    cli.patch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert after_a_recall(cli, "len(os.listdir('/proc/self/task'))") == "1"


def test_whoever_said_how_many_threads_there_are_to_be_is_obeyed(cli: Cli) -> None:
    assert after_a_recall(cli, "os.environ['OPENBLAS_NUM_THREADS']", OPENBLAS_NUM_THREADS="3") == "3"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("recall bench --project list", "recall"),
        ("--home recall list", "list"),
        ("--json --home=recall list", "list"),
        ("--home", None),
        ("--json", None),
    ],
)
def test_only_the_command_that_is_asked_for_gets_a_parser(words: str, command: str | None) -> None:
    root = build_parser(words.split())
    choices = next(action.choices for action in root._actions if isinstance(action, argparse._SubParsersAction))
    assert [name for name, parser in choices.items() if parser is not root] == [command] * (command is not None)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("completion", "bash: source <(clew completion bash)"),
        ("completion", "fish: clew completion fish | source"),
        ("feedback", "example: clew feedback ses_01h8x accepted"),
    ],
)
def test_what_can_be_copied_stands_on_a_line_of_its_own(cli: Cli, name: str, line: str) -> None:
    assert line in cli(name, "--help").out.splitlines()


def test_bare_clew_and_help_list_every_command(cli: Cli) -> None:
    for words in ([], ["--help"], ["help"]):
        outcome = cli(*words)
        assert outcome.code == 0
        assert all(f"\n  {command.name} " in outcome.out for command in COMMANDS)


def test_json_without_a_command_is_one_document(cli: Cli) -> None:
    outcome = cli("--json")
    assert (outcome.code, outcome.error["code"]) == (2, "USAGE") and "--help" in outcome.error["next"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_that_explains_times_wherever_one_is_taken(cli: Cli, name: str) -> None:
    outcome = cli(*name.split(), "--help")
    assert cli("help", *name.split()) == outcome
    assert outcome.code == 0 and outcome.out.startswith(f"usage: clew {name}")
    assert "--json" in outcome.out
    assert ("TIME" in outcome.out) == ("2026-05-01T12:00:00Z" in outcome.out and "30d" in outcome.out)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("recall", "rules come on top"),
        ("recall", "all, working, long_term, rules_only (default: all)"),
        ("remember", "rule, decision, fact, note, skill (default: note)"),
        ("remember", "rule, working, long_term (default: rule for a rule, else long_term)"),
        ("revert", "clew history ID lists them"),
        ("forget", "clew history ID"),
        ("show", "at least 8 characters, as many as make it unique"),
        ("forget", "at least 8 characters, as many as make it unique"),
        ("bench speed", "10000,100000"),
        ("bench speed", "1000000"),
    ],
)
def test_help_says(cli: Cli, name: str, said: str) -> None:
    assert said in " ".join(cli(*name.split(), "--help").out.split())


def test_an_edit_has_no_default_type(cli: Cli) -> None:
    assert "default: note" not in cli("edit", "--help").out


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"clew {clew.__version__}\n"
    for words in (("--version", "--json"), ("--json", "--version")):
        assert cli(*words).json == {"version": clew.__version__}


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
        (["list", "--type", "decisin"], "'decision'"),
        (["forget", "--layer", "workin"], "'working'"),
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


def test_init_with_the_name_that_a_file_gives_lets_hooks_heed_it(cli: Cli) -> None:
    file = cli.directory / ".clew.toml"
    file.write_text('project = "bank"\n[recall]\nlimit = 3\n')
    before = cli("doctor", "--json").json["checks"]
    assert "clew init --project bank" in next(one["detail"] for one in before if one["name"] == "project")
    assert not may_name(cli.home, cli.directory, "bank")
    assert cli("init", "--project", "bank").code == 0
    assert may_name(cli.home, cli.directory, "bank") and "limit = 3" in file.read_text()
    assert "project" not in {one["name"] for one in cli("doctor", "--json").json["checks"]}


@pytest.mark.parametrize("says", ['[store]\nurl = "x.db"', "[recall\nlimit =", "[recall]\nflor = 1"])
def test_the_ways_out_work_where_the_project_file_is_refused(cli: Cli, says: str) -> None:
    (cli.directory / ".clew.toml").write_text(says)
    assert cli("list").code == 2
    for words in (("off",), ("on",), ("config", "show"), ("config", "show", "recall.floor", "--json")):
        outcome = cli(*words)
        assert outcome.code == 0 and ".clew.toml" in outcome.err and outcome.err.count("\n") == 1
    doctor = cli("doctor", "--json")
    [check] = [one for one in doctor.json["checks"] if one["name"] == "settings"]
    assert doctor.code == 1 and not check["ok"] and ".clew.toml" in check["detail"] and check["next"]


def test_a_project_may_narrow_what_is_injected_and_everything_works_on(cli: Cli) -> None:
    (cli.directory / ".clew.toml").write_text("minRelevanceScore = 0.9\n[inject]\nbudget_tokens = 5000\n")
    assert cli("list").code == 0
    assert cli("config", "show", "inject.floor", "--json").json["value"] == 0.9
    assert cli("config", "show", "inject.budget_tokens", "--json").json["value"] == 200


def test_of_a_value_from_the_environment_the_environment_is_named_first(cli: Cli) -> None:
    cli.patch.setenv("CLEW_RECALL__FLOOR", "0.3")
    text = cli("config", "show", "recall.floor").out
    assert text.index("CLEW_RECALL__FLOOR=0.3") < text.index("[recall]")


def test_a_help_that_asks_ends_with_its_question(cli: Cli) -> None:
    assert "does it help?\n" in cli("rollout", "replay", "--help").out


def test_config_show_of_one_setting_tells_how_to_change_it(cli: Cli) -> None:
    text = cli("config", "show", "recall.floor").out
    assert str(cli.home / "config.toml") in text
    assert "[recall]" in text and "floor = 0.0" in text and "CLEW_RECALL__FLOOR=0.0" in text


@pytest.mark.parametrize("path", ["recall.retrieval", "remember.strict_token_rule", "embed.url"])
def test_the_line_that_config_show_suggests_is_one_that_can_be_read(cli: Cli, path: str) -> None:
    before = cli("config", "show", path, "--json").json["value"]
    lines = [line.strip() for line in cli("config", "show", path).out.splitlines()]
    at = next(at for at, line in enumerate(lines) if line.startswith("["))
    cli.home.mkdir()
    (cli.home / "config.toml").write_text("\n".join(lines[at : at + 2]))
    now = cli("config", "show", path, "--json").json
    assert (now["value"], now["source"]) == (before, str(cli.home / "config.toml"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@h/db",
        "postgresql://ann:s3cret/x@h/db",
        "postgresql://ann:s3cret x@h/db",
        "postgresql://ann:s3cret@x@h/db",
        "postgresql://h/db?user=ann&password=s3cret",
        "host=h password=s3cret",
    ],
)
def test_config_show_tells_no_password(cli: Cli, url: str) -> None:
    cli.patch.setenv("CLEW_URL", url)
    for words in (("config", "show"), ("config", "show", "store.url")):
        text, told = cli(*words), cli(*words, "--json")
        assert (text.code, told.code) == (0, 0)
        assert "s3cret" not in text.out + told.out


@pytest.mark.parametrize("given", ["Bash,Read", '["Bash", "Read"]', '["Bash", "Read,Write"]', "Bash", "[]"])
def test_a_list_that_config_show_suggests_for_the_environment_means_the_same(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    name, path = "CLEW_INJECT__SKIP_TOOLS", "inject.skip_tools"
    monkeypatch.setenv(name, given)
    before = cli("config", "show", path, "--json").json["value"]
    assert before == (json.loads(given) if given.startswith("[") else given.split(","))
    [line] = [line for line in cli("config", "show", path).out.splitlines() if line.strip().startswith(name)]
    [(_, told)] = [word.split("=", 1) for word in shlex.split(line)]
    monkeypatch.setenv(name, told)
    assert cli("config", "show", path, "--json").json["value"] == before


@pytest.mark.parametrize("given", ["[", '["a", 1]', "['a']"])
def test_a_list_that_is_no_json_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("CLEW_INJECT__SKIP_TOOLS", given)
    outcome = cli("config", "show", "inject.skip_tools")
    assert outcome.code == 2 and "a list of words" in outcome.err


def test_config_show_tells_value_source_and_meaning(cli: Cli) -> None:
    cli.patch.setenv("CLEW_RECALL__FLOOR", "0.25")
    cli.patch.setenv("CLEW_EMBED__URL", "https://user:pass@models.example/v1")
    one = cli("config", "show", "recall.floor", "--json").json
    assert (one["value"], one["source"]) == (0.25, "environment") and one["doc"]
    section = cli("config", "show", "recall", "--json").json["settings"]
    assert {entry["path"].split(".")[0] for entry in section} == {"recall"}
    everything = cli("config", "show").out
    assert "clew config show PATH" in everything
    assert "recall.floor" in everything and "user:pass" not in everything and "//***@models.example" in everything

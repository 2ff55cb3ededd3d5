"""Completion scripts: bash's is run for real, the others are checked against the table."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from cli_driver import Cli

from clew.surfaces.cli.completion import options_of, paths, script

bash = shutil.which("bash")


def complete(cli: Cli, *words: str) -> set[str]:
    """What bash offers for the last word."""
    assert bash is not None
    line = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _clew; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run([bash, "--norc", "-c", f"{script('bash')}\n{ask}"], capture_output=True, text=True,
                          cwd=cli.directory)  # fmt: skip
    assert done.stderr == ""
    return set(filter(None, done.stdout.splitlines()))


@pytest.mark.skipif(bash is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["clew", "re"], {"remember", "recall", "revert", "restore", "reindex", "report", "retention"}),
        (["clew", "--json", "sh"], {"show"}),
        (["clew", "remember", "text", "--type", ""], {"rule", "decision", "fact", "note", "skill"}),
        (["clew", "recall", "x", "--mode", "w"], {"working"}),
        (["clew", "recall", "x", "--include-i"], {"--include-invalid"}),
        (["clew", "recall", "x", "--plan", "g"], {"graph_mode"}),
        (["clew", "config", ""], {"show", "--json", "--home", "--help"}),
        (["clew", "bench", "recall", "--embedder", "m"], {"minilm"}),
        (["clew", "completion", "z"], {"zsh"}),
        (["clew", "remember", "recall", "--type", "sk"], {"skill"}),
        (["clew", "import", "expo"], {"export.jsonl"}),
        (["clew", "list", "--home", "exp"], {"export.jsonl"}),
        (["clew", "remember", "--title", ""], set()),
    ],
)
def test_bash_completes(cli: Cli, words: list[str], offered: set[str]) -> None:
    (cli.directory / "export.jsonl").touch()
    assert complete(cli, *words) == offered


@pytest.mark.skipif(bash is None, reason="needs bash")
def test_bash_keeps_the_spaces_of_a_name(cli: Cli) -> None:
    for name in ("my notes.md", "my $(touch x) *.md"):
        (cli.directory / name).touch()
    assert complete(cli, "clew", "import", "my") == {"my notes.md", "my $(touch x) *.md"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_know_every_command_and_option(cli: Cli, shell: str) -> None:
    text = cli("completion", shell).out
    for _name, command in paths():
        assert command.name in text
        for entry in options_of(command):
            assert all((flag if shell != "fish" else f"-l {flag[2:]}") in text for flag in entry.flags)

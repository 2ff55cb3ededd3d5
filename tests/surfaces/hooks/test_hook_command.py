"""`clew hook`: the client for people and for the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_driver import Cli
from hook_driver import EVENT, Listener, answering, spooled, without_start

from clew.settings import home_directory
from clew.surfaces.hooks.home import home_of_user


def test_clew_hook_tells_the_event_and_prints_the_answer(cli: Cli) -> None:
    with Listener(cli.home, answering(b"a block")) as daemon:
        outcome = cli.process("hook", "claude-code", stdin=EVENT)
    assert (outcome.code, outcome.out, outcome.err) == (0, "a block", "")
    assert daemon.requests[0].startswith(b"POST /v1/hooks/claude-code ") and daemon.requests[0].endswith(EVENT)


def test_with_options_it_is_the_same(cli: Cli, tmp_path: Path) -> None:
    home = without_start(tmp_path / "other")
    outcome = cli.process("hook", "codex", "--home", str(home), stdin=EVENT)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert [record.host for record in spooled(home)] == ["codex"]


def test_with_options_it_has_the_same_limit(cli: Cli, tmp_path: Path) -> None:
    home = without_start(tmp_path / "other")
    reader, writer = os.pipe()  # a host that never closes it
    began = time.monotonic()
    words = [sys.executable, "-m", "clew", "hook", "codex", "--home", str(home)]
    done = subprocess.run(words, stdin=reader, capture_output=True, timeout=30)
    os.close(reader), os.close(writer)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"") and time.monotonic() - began < 10


@pytest.mark.parametrize("words", [(), ("claude-code", "--unknown"), ("claude-code", "codex")])
def test_called_in_another_way_it_does_not_stop_what_the_agent_does(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli.process("hook", *words, stdin=EVENT)
    assert outcome.code == 1  # to a host, 2 is the order to stop
    assert outcome.err.startswith("clew: ")


def test_it_loads_neither_the_parser_nor_the_settings(cli: Cli) -> None:
    """Found out from within: the client's last word is replaced by a list of what is loaded."""
    code = "import sys, clew_hook; tell = lambda *words: sys.exit(' '.join(sys.modules)); clew_hook.main = tell; "
    code += "sys.argv = ['clew', 'hook', 'codex']; from clew.surfaces.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cli.directory)
    loaded = done.stderr.split()
    assert "clew.surfaces.hooks.home" in loaded
    assert not {"argparse", "json", "dataclasses", "pathlib", "clew.settings", "clew.surfaces.cli.parser"} & set(
        loaded
    )


ENVIRONMENTS: list[dict[str, str]] = [
    {}, {"CLEW_HOME": "~/memories"}, {"CLEW_HOME": "relative/./home"}, {"CLEW_HOME": ""},
    {"XDG_DATA_HOME": "/data"}, {"XDG_DATA_HOME": "~/data"}, {"XDG_DATA_HOME": "", "LOCALAPPDATA": "/local"},
]  # fmt: skip


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("variables", ENVIRONMENTS, ids=str)
def test_the_short_way_home_is_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("CLEW_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert os.path.normpath(home_of_user()) == os.path.normpath(home_directory(os.environ))

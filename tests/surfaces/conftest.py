from __future__ import annotations

import gettext
import os
from functools import cache
from pathlib import Path

import pytest
from cli_driver import Cli

from toys import open_quickly

FIND = cache(gettext.find)  # argparse looks for its translations on the disk a hundred times for each call


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    for name in [name for name in os.environ if name.startswith("CLEW_")]:
        monkeypatch.delenv(name)
    home, directory = tmp_path / "home", tmp_path / "work"
    directory.mkdir()
    monkeypatch.setenv("CLEW_HOME", str(home))
    monkeypatch.setenv("CLEW_EMBED__PROVIDER", "none")  # words are enough here, and start faster
    # In this process; others make stores as ever.
    monkeypatch.setattr("clew.store.sqlite.open_engine", open_quickly)
    monkeypatch.setattr(gettext, "find", FIND)
    monkeypatch.chdir(directory)
    return Cli(home, directory, capsys, monkeypatch)

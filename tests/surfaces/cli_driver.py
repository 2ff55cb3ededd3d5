"""The command line as its users meet it: in this process for tables of cases, as a process for the rest."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from clew.surfaces.cli.main import main

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        document: dict[str, Any] = self.json["error"]
        return document


@dataclass
class Cli:
    """Calls `clew` in a home and a directory of its own."""

    home: Path
    directory: Path
    capsys: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def __call__(self, *words: str, stdin: bytes = b"") -> Outcome:
        """In this process."""
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        self.capsys.readouterr()
        code = main(words)
        captured = self.capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    def process(
        self, *words: str, stdin: bytes = b"", environment: Mapping[str, str] = NOTHING, **options: Any
    ) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "clew", *words],
            input=stdin,
            capture_output=True,
            cwd=self.directory,
            env={**os.environ, **environment},
            check=False,
            **options,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def remember(self, text: str, *words: str) -> str:
        """The id of a new memory."""
        outcome = self("remember", text, *words, "--json")
        assert outcome.code == 0, outcome.err
        return str(outcome.json["id"])

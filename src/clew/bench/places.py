"""Where a benchmark writes what it found: looked at before hours go into it, and no reason to lose the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew.errors import InvalidInput


def check_place(out: Path, files: Sequence[Path]) -> None:
    """Refuses what could not be written, and what is one of the files that are read."""
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InvalidInput(f"there is no directory for {out}", code="BENCH_NO_DIRECTORY", next="make it first")
    if out.resolve() in [file.resolve() for file in files]:
        raise InvalidInput(f"{out} is what is measured", code="BENCH_OVERWRITES", next="name another file")
    if out.is_dir() or not os.access(out if out.exists() else folder, os.W_OK):
        raise InvalidInput(f"{out} cannot be written", code="BENCH_NO_PLACE", next="name another file")


def write(out: Path, text: str, report: dict[str, Any]) -> None:
    """A disk that is full in the end costs the file: the report says so, and is told all the same."""
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        report["not_written"] = {"file": str(out), "reason": error.strerror or type(error).__name__}

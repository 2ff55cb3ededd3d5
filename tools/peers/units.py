"""What is stored and asked: benchmark files, made-up texts. Standard library only, for every environment."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

PACKED = b"\x1f\x8b"  # how gzip files begin, whatever they are called
DATES = Path(__file__).resolve().parents[2] / "src" / "clew" / "bench" / "dates.py"


def _dates() -> Any:
    """Clew's own reading of dates, by its file: in most of these environments there is no Clew."""
    spec = spec_from_file_location("clew_bench_dates", DATES)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


when = _dates().when


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing to remember."""

    id: str
    text: str
    title: str | None = None
    author: str | None = None
    thread: str | None = None
    at: datetime | None = None

    @property
    def labelled(self) -> str:
        """One string, for stores without fields that they search: "Author: text" or "Title: text"."""
        label = self.title or self.author
        return f"{label}: {self.text}" if label else self.text

    @property
    def titled(self) -> str:
        """What Clew makes a vector of."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Corpus:
    """Units of one store and the questions with a known answer."""

    name: str
    units: list[Unit]
    questions: list[dict[str, Any]]


def read_corpora(file: Path, max_units: int | None = None) -> Iterator[Corpus]:
    """The corpora of a file; with `max_units` the first ones that stay within it together."""
    taken = 0
    with file.open("rb") as raw:
        opener = gzip.open if raw.read(2) == PACKED else open
    with opener(file, "rt", encoding="utf-8-sig") as lines:
        for line in lines:
            if not line.strip():
                continue
            corpus = _corpus(json.loads(line))
            taken += len(corpus.units)
            if max_units is not None and taken > max_units:
                return
            yield corpus


def _corpus(row: dict[str, Any]) -> Corpus:
    units = [
        Unit(
            str(unit["id"]),
            unit["text"] or "(empty)",
            unit.get("title"),
            unit.get("author"),
            unit.get("thread"),
            when(None if unit.get("at") is None else str(unit["at"])),
        )
        for unit in row["units"]
    ]
    return Corpus(str(row["corpus"]), units, [question for question in row["questions"] if question["gold"]])

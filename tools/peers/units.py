"""What is stored and asked: benchmark files, made-up texts. Standard library only, for every environment."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_DATE_FORMATS = ("%B-%d-%Y", "%Y-%m-%d %H:%M", "%d %B %Y")


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
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
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
            _when(unit.get("at")),
        )
        for unit in row["units"]
    ]
    return Corpus(str(row["corpus"]), units, [question for question in row["questions"] if question["gold"]])


def _when(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None

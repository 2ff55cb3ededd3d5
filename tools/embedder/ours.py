"""Training text that was written for this: what somebody would note, asked for and said again in other words.

In `texts/*.txt` a line is `statement ||| question ||| restatement`, and the three share hardly a content word: what
a static model has to learn is which words people use for the same thing. In `tests/labelled/questions` are corpora
of memories with questions and the memories that answer them. Nothing of `tests/labelled/unseen` is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = HERE / "texts"
QUESTIONS = HERE.parents[1] / "tests" / "labelled" / "questions"
PARTS = 3


def in_other_words() -> list[tuple[str, str]]:
    """(statement, question) and (statement, restatement)."""
    return [pair for file in sorted(TEXTS.glob("*.txt")) for pair in _of(file)]


def _of(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        statement, *others = (part.strip() for part in line.split("|||"))
        if len(others) != PARTS - 1 or not all((statement, *others)):
            raise SystemExit(f"{file}:{number}: not `statement ||| question ||| restatement`")
        yield from ((statement, other) for other in others)


def memories() -> tuple[list[str], list[tuple[str, str]]]:
    """All memories of the corpora, and (memory, question) for each memory that answers one."""
    texts: list[str] = []
    pairs: list[tuple[str, str]] = []
    for file in sorted(QUESTIONS.glob("*.jsonl")):
        for corpus in map(json.loads, file.read_text("utf-8").splitlines()):
            units = {unit["id"]: _told(unit) for unit in corpus["units"]}
            texts += units.values()
            for question in corpus["questions"]:
                pairs += [(units[answer], question["text"]) for answer in question["gold"]]
    return texts, pairs


def _told(unit: dict[str, str]) -> str:
    """As it is embedded: the title first."""
    return f"{unit['title']}\n{unit['text']}" if unit.get("title") else unit["text"]

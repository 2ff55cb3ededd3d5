"""Prints how many of the stated relations in stated_relations.jsonl are found, and how many that are not stated.

Lines with an even number were used to tune the patterns, those with an odd number were held out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

from clew.remember.relations import relations_in
from clew.remember.things import things_in

LABELLED = Path(__file__).with_name("stated_relations.jsonl")
Relation = tuple[str, str, str]


class Figures(NamedTuple):
    sentences: int
    found: int
    right: int
    stated: int

    @property
    def precision(self) -> float:
        return self.right / self.found

    @property
    def recall(self) -> float:
        return self.right / self.stated


def labelled(*, held_out: bool) -> list[tuple[str, set[Relation]]]:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    return [
        (row["text"], {(source, type_, target) for source, type_, target in row["relations"]})
        for number, row in enumerate(rows, start=1)
        if (number % 2 == 1) == held_out
    ]


def found_in(text: str) -> set[Relation]:
    edges = relations_in(text, things_in(text))
    return {(":".join(edge.source), edge.type, ":".join(edge.target)) for edge in edges}


def measure(*, held_out: bool) -> Figures:
    rows = [(found_in(text), stated) for text, stated in labelled(held_out=held_out)]
    return Figures(
        sentences=len(rows),
        found=sum(len(found) for found, _ in rows),
        right=sum(len(found & stated) for found, stated in rows),
        stated=sum(len(stated) for _, stated in rows),
    )


def say(*parts: str) -> None:
    sys.stdout.write(" ".join(parts) + "\n")


def main(show_mistakes: bool) -> None:
    """The mistakes shown are those of the tuning half: the other half is not to be looked at."""
    for name, held_out in (("tuning", False), ("held out", True)):
        figures = measure(held_out=held_out)
        say(f"{name}: {figures.sentences} sentences, {figures.stated} relations stated, {figures.found} found; "
              f"precision {figures.precision:.3f}, recall {figures.recall:.3f}")  # fmt: skip
    for text, stated in labelled(held_out=False) if show_mistakes else []:
        if (found := found_in(text)) != stated:
            say(text, *(f"\n  missed {r}" for r in stated - found), *(f"\n  wrong {r}" for r in found - stated))


if __name__ == "__main__":
    main(show_mistakes="--mistakes" in sys.argv)

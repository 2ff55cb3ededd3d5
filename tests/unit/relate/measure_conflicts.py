"""Prints how many of the labelled pairs in conflict_pairs.jsonl the rules get right.

Lines with an even number were used to tune the rules, those with an odd number were held out. A line that names
its half was written for a class of errors that came to light later.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from clew.model.memory import Draft, Memory
from clew.model.scope import Scope
from clew.relate.contradict import contradictions
from clew.remember.prepare import WritePolicy, draft_memory
from toys import START

LABELLED = Path(__file__).with_name("conflict_pairs.jsonl")


class Figures(NamedTuple):
    pairs: int
    found: int
    right: int
    conflicts: int

    @property
    def precision(self) -> float:
        return self.right / self.found

    @property
    def recall(self) -> float:
        return self.right / self.conflicts


def labelled(*, held_out: bool) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    return [row for number, row in enumerate(rows, start=1) if _is_held_out(row, number) == held_out]


def _is_held_out(row: dict[str, Any], number: int) -> bool:
    return row["half"] == "held out" if "half" in row else number % 2 == 1


def memory_of(content: str, title: str | None = None, **changes: Any) -> Memory:
    draft, _masked = draft_memory(
        Draft(content=content, title=title), Scope(project="shop"), now=START, policy=WritePolicy()
    )
    return replace(draft, **changes)


def found_in(pair: dict[str, Any]) -> str:
    new, old = memory_of(pair["new"], pair.get("new_title")), memory_of(pair["old"], pair.get("old_title"))
    found = contradictions(new, [old])
    return found[0].type if found else "none"


def measure(*, held_out: bool) -> Figures:
    rows = [(found_in(pair), pair["label"]) for pair in labelled(held_out=held_out)]
    return Figures(
        pairs=len(rows),
        found=sum(found != "none" for found, _label in rows),
        right=sum(found != "none" and found == label for found, label in rows),
        conflicts=sum(label != "none" for _found, label in rows),
    )


def say(*parts: str) -> None:
    sys.stdout.write(" ".join(parts) + "\n")


if __name__ == "__main__":
    for row in labelled(held_out=False) if "--misses" in sys.argv else ():
        if (found := found_in(row)) != row["label"]:
            say(f"{found} instead of {row['label']}:", json.dumps([row["new"], row["old"]]))
    for name, held_out in (("tuned", False), ("held out", True)):
        figures = measure(held_out=held_out)
        say(f"{name}: {figures.pairs} pairs, precision {figures.precision:.3f}, recall {figures.recall:.3f}")

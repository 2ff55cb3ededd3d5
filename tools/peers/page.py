"""What the page of the last report has that a new one would not."""

from __future__ import annotations

import re
from collections.abc import Iterator

PART = re.compile(r" \(.*\)$|, right after the import$")  # of a heading or a title, which may change
FAILED = re.compile(r"\[\d+\]")
Rows = dict[tuple[str, str], dict[str, str]]  # by section and peer: cells by column


def lost_figures(before: str, after: str) -> list[str]:
    """By section and peer. One that is told to have failed has lost nothing."""
    old, new = dict(_rows(before)), dict(_rows(after))
    return [
        f"{peer} in '{section}'"
        for (section, peer), cells in old.items()
        if _is_lost(cells, new.get((section, peer)))
    ]


def _is_lost(old: dict[str, str], new: dict[str, str] | None) -> bool:
    if new is None:
        return True
    has_failed = any(FAILED.search(cell) for cell in new.values())
    return not has_failed and any(new.get(column, "-") == "-" for column, cell in old.items() if cell != "-")


def _rows(tables: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    """Of every table whose rows are those of peers."""
    section, head = "peers", list[str]()
    for line in tables.splitlines():
        if line.startswith("#"):
            section, head = line.strip("# "), []
        elif not line.startswith("|"):
            head = []
        elif not head:
            head = _numbered(_cells(line))
        elif not line.startswith("| ---") and head[0] != "part 1":
            title, *cells = _cells(line)
            yield (section, PART.sub("", title)), dict(zip(head[1:], cells, strict=False))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _numbered(head: list[str]) -> list[str]:
    """Columns may have the same heading."""
    names = [PART.sub("", name) for name in head]
    return [f"{name} {names[:at].count(name) + 1}" for at, name in enumerate(names)]

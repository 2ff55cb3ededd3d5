"""Named queries from `.sql` files: `sql/<engine>/` overlays `sql/common/`.

A query is a paragraph that starts with `-- name: one line of purpose`. Values are bound as `:name`;
`$name` stands for the text of another paragraph, such as a column list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SQL = Path(__file__).with_name("sql")

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")  # not the second colon of a cast
_FRAGMENT = re.compile(r"\$([a-z_]+)")
_HEADER = re.compile(r"^-- (?P<name>[a-z_]+): (?P<purpose>.+)$", re.MULTILINE)


@cache
def load(engine: str) -> dict[str, str]:
    """Every query of one engine by name."""
    queries: dict[str, str] = {}
    for folder in ("common", engine):
        root = SQL / folder
        for entry in sorted(root.iterdir(), key=lambda entry: entry.name) if root.is_dir() else ():
            if entry.name.endswith(".sql"):
                queries.update(parse(entry.read_text(encoding="utf-8")))
    return {name: _filled(text, queries) for name, text in queries.items()}


def _filled(text: str, queries: Mapping[str, str]) -> str:
    """With fragments in place of their names; a fragment may hold others."""
    while "$" in text and _FRAGMENT.search(text):
        text = _FRAGMENT.sub(lambda found: queries[found[1]], text)
    return text


def parse(text: str) -> dict[str, str]:
    """Every query of one file by name."""
    headers = list(_HEADER.finditer(text))
    names = [header["name"] for header in headers]
    if len(set(names)) < len(names):
        raise ValueError(f"named twice: {', '.join(sorted({name for name in names if names.count(name) > 1}))}")
    ends = [*(header.start() for header in headers), len(text)][1:]  # a file without queries has none
    return {
        header["name"]: text[header.end() : end].strip().rstrip(";")
        for header, end in zip(headers, ends, strict=True)
    }


@cache
def migrations(engine: str) -> tuple[tuple[int, str, str], ...]:
    """(number, slug, sql) in order."""
    found = []
    for entry in (SQL / engine / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, slug = entry.name.removesuffix(".sql").split("_", 1)
            found.append((int(number), slug, entry.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def newest_migration() -> int:
    """The schema this Clew knows; the same number on every engine."""
    return migrations("sqlite")[-1][0]

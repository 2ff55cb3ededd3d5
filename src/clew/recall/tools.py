"""What the names of tools stand for: pnpm is a package manager. Pure.

A memory says "we use pnpm", and who asks for the package manager shares no word with it. So a memory that names a
tool has its kinds among its terms, as it has its marks. Which kind a question is after: `kinds.py`. The table,
tools.txt, has a line per kind: how one asks for it, and the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32


class Kind(NamedTuple):
    term: int  # no word of a text has this hash, but by chance
    asked_as: tuple[str, ...]
    names: tuple[str, ...]  # in small letters and one word


@cache
def kinds() -> tuple[Kind, ...]:
    return tuple(_read(Path(__file__).with_name("tools.txt").read_text(encoding="ascii")))


def _read(table: str) -> Iterator[Kind]:
    for line in table.splitlines():
        asked_as, _, names = line.partition(": ")
        phrases = tuple(asked_as.split(", "))
        yield Kind(crc32(f"\x01kind {phrases[0]}".encode()), phrases, tuple(names.split()))


@cache
def kind_terms() -> frozenset[int]:
    return frozenset(kind.term for kind in kinds())


@cache
def kinds_by_name() -> Mapping[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for kind in kinds():
        for name in kind.names:
            found[name] = (*found.get(name, ()), kind.term)
    return found

"""What copying needs of an engine: its tables as they are, their rows page by page, and pages put in whole.

A row is a tuple of plain values in the order of the columns that were asked for: texts, numbers, bytes, times as
microseconds, vectors as bytes. Which table is moved, and how, is said here once for all engines.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from clew.errors import Conflict, StoreRefused
from clew.store import queries
from clew.store.session import Row
from clew.values import dataclass

PAGE = 2_000  # rows

# Not moved, and why.
LEFT_OUT: Mapping[str, str] = {
    "clew_migrations": "tells how this database came about",
    "clew_setup": "tells what this database was set up with",
    "clew_writes": "tells which writes of running processes were committed",
    "leases": "who works on what is of running processes; the counters that their tokens come from are moved",
    "memory_fts": "made from memory_terms",
}
STORE_WIDE = frozenset({"meta", "memory_embedding_backfill_state", "org_owner_mappings", "org_routing"})
# What others refer to goes first, and evidence before edges: put in later, it would count as further witnesses.
_FIRST = ("memories", "orgs", "graph_evidence")
# What goes when these are emptied: by foreign keys, by triggers, or because its counts would change.
TAKES_ALONG: Mapping[str, Sequence[str]] = {
    "memories": ("conflicts", "memory_embeddings", "memory_terms", "memory_versions"),
    "orgs": ("org_members",),
    "graph_evidence": ("graph_edges",),
}

Position = Sequence[Any]  # of a row among those of its table; of JSON values, compared in order


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def org_at(self) -> int | None:
        return self.columns.index("org_id") if "org_id" in self.columns else None

    def org_of(self, row: Row) -> str:
        """'' for what belongs to the whole store."""
        return "" if self.org_at is None else str(row[self.org_at])


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one table, and for the terms of memories what the full-text index is given: (row, org, text)."""

    table: Table
    rows: Sequence[Row]
    documents: Sequence[tuple[int, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a store has given out and is not given out again: the last row of each table, and how many tokens of
    leases beyond what an org's counter tells, any of them to any of `orgs`."""

    rows: Mapping[str, int]
    tokens: int
    orgs: Collection[str]


class Side(Protocol):
    """A store that is copied, or one that is filled. `was` and `now`: how far the copy had come and has come then,
    kept in the same transaction; refused when another copy has moved it on."""

    location: str

    def identity(self) -> str: ...
    def tables(self) -> Mapping[str, Table]: ...
    def snapshot(self) -> AbstractContextManager[None]: ...
    def count(self, tables: Sequence[Table]) -> int: ...
    def pages(self, table: Table, after: Position | None = None) -> Iterator[list[Row]]: ...
    def position(self, table: Table, row: Row) -> list[Any]: ...
    def sequences(self) -> Mapping[str, int]: ...
    def tokens(self) -> int: ...
    def state(self) -> str | None: ...
    def begin(self, tables: Sequence[Table], now: str) -> None: ...
    def put(self, page: Page, *, was: str, now: str) -> None: ...
    def clear(self, tables: Sequence[Table], *, was: str, now: str) -> None: ...
    def finish(self, given: Given, *, was: str) -> None: ...
    def close(self) -> None: ...


def plan(source: Mapping[str, Table], target: Mapping[str, Table]) -> list[Table]:
    """What is moved, in order, with its columns in one order for all engines; refused where the two are not made
    alike or a table is of no known kind."""
    moved = sorted(source.keys() - LEFT_OUT.keys(), key=_rank)
    odd = (source.keys() ^ target.keys()) - LEFT_OUT.keys()
    odd |= {name for name in moved if "org_id" not in source[name].columns and name not in STORE_WIDE}
    odd |= {name for name in moved if name in target and set(source[name].columns) != set(target[name].columns)}
    if odd:
        raise StoreRefused(
            f"copying does not know these tables: {', '.join(sorted(odd))}",
            code="COPY_UNKNOWN_TABLE",
            next="upgrade Clew: pip install -U clew",
        )
    return [Table(name, tuple(sorted(source[name].columns)), source[name].key) for name in moved]


def _rank(name: str) -> tuple[int, str]:
    if name in _FIRST:
        return _FIRST.index(name), name
    return len(_FIRST) + (name == "meta"), name


def dragged(names: Sequence[str]) -> set[str]:
    """These tables, and those that are emptied with them."""
    return {also for name in names for also in (name, *TAKES_ALONG.get(name, ()))}


def check_schema(location: str, found: int) -> None:
    """A source is never changed, not even to a newer schema."""
    known = queries.newest_migration()
    if found > known:
        raise StoreRefused(
            f"{location} has schema {found}, this Clew knows up to {known}",
            code="STORE_NEWER",
            next="upgrade Clew: pip install -U clew",
        )
    if found < known:
        raise StoreRefused(
            f"{location} has schema {found}, this Clew has {known}",
            code="STORE_OLDER",
            next="bring it up to date first: clew migrate, with CLEW_URL naming it",
        )


def unfinished(location: str, state: str) -> StoreRefused:
    source = json.loads(state)["source"]
    return StoreRefused(
        f"{location} is an unfinished copy of {source}",
        code="COPY_UNFINISHED",
        next=f"finish it: {shlex.join(['clew', 'copy', source, location])}",
    )


def not_empty(location: str, held: str) -> Conflict:
    return Conflict(
        f"{location} is not empty: it has {held}",
        code="COPY_TARGET_NOT_EMPTY",
        next="name a target that is new or empty",
    )


def moved_on(location: str) -> StoreRefused:
    return StoreRefused(
        f"another copy into {location} is under way", code="COPY_ELSEWHERE", next="let one of the two go on alone"
    )


def in_parts(rows: Sequence[Row], org_of: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(org_of(row), []).append(row)
    return found

"""Many rows in one statement: `INSERT ... VALUES (:a, :b)` becomes `INSERT ... SELECT a, b FROM unnest(...)`.

A COPY would be faster still, but the server refuses it where row-level security binds. Statement triggers run once,
and a row costs a fraction of what it costs in a statement of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clew.store.postgres_types import Moments, Vectors
from clew.store.queries import PARAMETER
from clew.store.session import Row

FEW = 4  # rows below which statements of their own cost less
MOST = 2_000  # rows in one statement: more gain nothing and hold more memory
_INSERT = re.compile(
    r"(?:--.*\n)*INSERT INTO (\w+)\s*\(([\w\s,]+)\)\s*VALUES\s*\(([\w\s,:]+)\)\s*(ON CONFLICT[\s\S]*)?$"
)
_KINDS: Mapping[str, Callable[[Any], list[Any]]] = {"timestamp with time zone": Moments, "halfvec": Vectors}
_TARGET = re.compile(r"ON CONFLICT \(([\w\s,]+)\) DO UPDATE")


class BulkInsert:
    """One query that inserts, for any number of rows."""

    __slots__ = ("_columns", "_kinds", "_rest", "_unique", "_values", "names", "sql", "table")

    def __init__(self, found: re.Match[str]) -> None:
        self.table, self._columns = found[1], _words(found[2])
        self._values = [value.strip() for value in found[3].split(",")]
        self._rest = found[4] or ""
        self.names = tuple(dict.fromkeys(PARAMETER.findall(found[3])))
        target = _TARGET.match(self._rest)
        self._unique = [self._columns.index(name) for name in _words(target[1])] if target else []
        self._kinds: dict[str, Callable[[Any], list[Any]]] = {}
        self.sql = ""

    @classmethod
    def of(cls, text: str) -> BulkInsert | None:
        """None for a query that is no plain insert."""
        found = _INSERT.match(text)
        return cls(found) if found and not PARAMETER.search(found[4] or "") else None

    def fits(self, rows: Sequence[Row]) -> bool:
        """Whether one statement does what so many would: it may not update a row that it has just inserted."""
        if len(rows) < FEW:
            return False
        if not self._unique:
            return True
        at = [self.names.index(PARAMETER.findall(self._values[place])[0]) for place in self._unique]
        return len({tuple(row[place] for place in at) for row in rows}) == len(rows)

    def prepare(self, types_of: Callable[[str], Mapping[str, str]]) -> None:
        """With the types of the table's columns."""
        types = types_of(self.table)
        of_name = {
            value[1:].split("::")[0]: "text" if "::" in value else types[column]
            for column, value in zip(self._columns, self._values, strict=True)
        }
        self._kinds = {name: _KINDS[type_] for name, type_ in of_name.items() if type_ in _KINDS}
        arrays = ", ".join(f"%({name})s::{of_name[name]}[]" for name in self.names)
        aliases = ", ".join(f'"{name}"' for name in self.names)
        values = ", ".join(PARAMETER.sub(r'staged."\1"', value) for value in self._values)
        into = f"INSERT INTO {self.table} ({', '.join(self._columns)}) SELECT {values}"
        self.sql = f"{into} FROM unnest({arrays}) AS staged ({aliases}) {self._rest.replace('%', '%%')}"

    def arrays(self, rows: Sequence[Row]) -> dict[str, Any]:
        columns = zip(self.names, zip(*rows, strict=True), strict=True)
        return {name: self._kinds.get(name, list)(values) for name, values in columns}


def _words(text: str) -> list[str]:
    return re.split(r"[\s,]+", text.strip())

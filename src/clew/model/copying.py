"""What copying a whole store answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """`checksum` is of all rows together, in whatever order; equal on both sides."""

    name: str
    rows: int
    orgs: int
    checksum: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class CopyReport:
    """`resumed`: an earlier run had begun it. `again`: tables that changed in the source since then, or were found
    to differ, and were copied anew."""

    source: str
    target: str
    tables: Sequence[CopiedTable]
    seconds: float
    resumed: bool
    again: Sequence[str] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def as_json(self) -> dict[str, Any]:
        tables = [table.as_json() for table in self.tables]
        return {
            "source": self.source,
            "target": self.target,
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
            "resumed": self.resumed,
            "again": list(self.again),
            "tables": tables,
        }

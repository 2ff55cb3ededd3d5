"""Named queries as PostgreSQL takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from clew.store import queries
from clew.store.postgres_insert import BulkInsert
from clew.store.postgres_wire import Statement, statement
from clew.store.queries import PARAMETER
from clew.store.session import Row
from clew.values import dataclass

PLANNED_ONCE = "-- planned once\n"  # says so in the text of a query that reads; what a write asks always is


@dataclass(frozen=True, slots=True)
class Query:
    sql: str
    names: tuple[str, ...]  # in the order in which the text names them first
    is_scoped: bool
    is_planned_once: bool = False  # to plan it for its values would take longer than to run it
    bulk: BulkInsert | None = None

    @property
    def statement(self) -> Statement:
        return statement(self.sql)

    def by_org(self, rows: Sequence[Row]) -> list[tuple[str | None, list[Row]]]:
        """Rows of values by the org that they name; None where the query names none."""
        if not self.is_scoped:
            return [(None, list(rows))] if rows else []
        at = self.names.index("org_id")
        found: dict[str | None, list[Row]] = {}
        for row in rows:
            found.setdefault(row[at], []).append(row)
        return list(found.items())


@cache
def compiled() -> Mapping[str, Query]:
    return {name: _compile(text) for name, text in queries.load("postgres").items()}


def _compile(text: str) -> Query:
    names = tuple(dict.fromkeys(PARAMETER.findall(text)))
    sql = PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
    return Query(sql, names, "org_id" in names, PLANNED_ONCE in text, BulkInsert.of(text))

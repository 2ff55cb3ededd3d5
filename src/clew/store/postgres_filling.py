"""Filling an empty PostgreSQL database: without the indices over vectors, which are built at the end.

A vector costs an index that is there many times what it costs one that is built over all. It takes the owner's URL.
Who stops in between has a database without these indices; what is made here is a database of its own.
"""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg import sql

from clew.errors import Conflict
from clew.store import postgres, postgres_schema
from clew.store.postgres_queries import compiled


class BulkLoad:
    """A database that nobody else works with meanwhile."""

    def __init__(self, url: str) -> None:
        self.url = url
        with postgres.connecting(url):
            self._connection = psycopg.connect(
                url, client_encoding="UTF8", autocommit=True, connect_timeout=postgres.CONNECT_TIMEOUT_S
            )

    def make_schema(self) -> None:
        """Refuses a database in which Clew was before: what is there would be measured along, and dropped."""
        if postgres.schema_found(self.url) is not None:
            raise Conflict(
                f"{postgres.shown(self.url)} holds a store already",
                code="STORE_NOT_EMPTY",
                next="name an empty database, such as one made by: createdb",
            )
        postgres.migrate(self.url)
        self._connection.execute(postgres_schema.search_path(self._connection))

    def drop_vector_indices(self) -> None:
        postgres_schema.drop_vector_indices(self.url)

    def build_vector_indices(self) -> tuple[float, int]:
        """The seconds it took, their bytes."""
        started = time.perf_counter()
        postgres_schema.build_indices(self.url)
        seconds = time.perf_counter() - started
        return seconds, sum(size for _name, _definition, size in self._all("vector_indices"))

    def tidy(self) -> None:
        """What the server does by itself after a while: its plans depend on it."""
        self._connection.execute("VACUUM ANALYZE")

    def sizes(self) -> dict[str, int]:
        """Bytes by table, and by `table.index`."""
        return {f"{table}.{index}" if index else table: size for table, index, size in self._all("relation_sizes")}

    def server(self) -> str:
        found = self._connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        version = self._connection.info.parameter_status("server_version") or "?"
        return f"{version.split()[0]}, pgvector {found[0] if found else '?'}"

    def drop_schema(self) -> None:
        """Leave the database as empty as it was."""
        schema = sql.Identifier(postgres_schema.SCHEMA)
        self._connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))

    def close(self) -> None:
        self._connection.close()

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(compiled()[query].sql).fetchall()

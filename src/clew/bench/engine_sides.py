"""The engines that `clew bench speed --url` measures side by side: a file, and a database of its own.

Both hold the same memories: some of them in the project that is asked, the rest in one that is large.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import clew
from clew.bench.postgres_server import PostgresServer
from clew.bench.texts import texts
from clew.compose import bulk_load, compose, is_postgres
from clew.errors import InvalidInput
from clew.model.scope import Scope
from clew.settings import load_settings
from clew.values import dataclass

OWN = "postgres"  # instead of a URL: a server of the bench's own, gone when it is done
PROJECT, LARGE = Scope(project="bench"), Scope(project="large")
PROJECT_SIZE = 5_000
# A small machine's settings. On a disk, synced; the server tidies up as it does in life.
SERVER = {"shared_buffers": "1GB", "maintenance_work_mem": "512MB", "max_wal_size": "4GB"}


class Database(Protocol):
    """What the bench asks of a database beside what Clew does: see `compose.bulk_load`."""

    url: str

    def make_schema(self) -> None: ...
    def drop_schema(self) -> None: ...
    def drop_vector_indices(self) -> None: ...
    def build_vector_indices(self) -> tuple[float, int]: ...
    def tidy(self) -> None: ...
    def sizes(self) -> dict[str, int]: ...
    def server(self) -> str: ...


@dataclass
class Side:
    """One engine. It grows from size to size, and everything is measured on the way."""

    name: str
    place: Path | str
    home: Path
    server: Database | None = None
    size: int = 0

    def opened(self, *, stays: bool = True, **overrides: Any) -> clew.Clew:
        """Without jobs in the background: they would be measured along. `stays`: long enough to keep the graph."""
        settings = load_settings({"relate": {"in_process": False}} | overrides, home=self.home)
        return compose(settings, self.place, in_background=stays)

    def bytes(self) -> int:
        """Of a store that nobody has open, without the server's log: that of SQLite is in its file by then."""
        if self.server:
            return sum(self.server.sizes().values())
        return sum(file.stat().st_size for file in self.home.glob("clew.db*"))


@contextmanager
def both(url: str) -> Iterator[list[Side]]:
    """SQLite and PostgreSQL, empty."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _database(url) as server:
        homes = {name: Path(folder) / name for name in ("sqlite", "postgres")}
        for home in homes.values():
            home.mkdir()
        yield [
            Side("sqlite", homes["sqlite"] / "clew.db", homes["sqlite"]),
            Side("postgres", server.url, homes["postgres"], server),
        ]


@contextmanager
def _database(url: str) -> Iterator[Database]:
    if url == OWN:
        with (
            PostgresServer(None, durable=True, port=0, version=18, **SERVER) as own,
            _database(own.url()) as database,
        ):
            yield database
        return
    if not is_postgres(url):
        raise InvalidInput(
            f"'{url}' is neither '{OWN}' nor the address of a PostgreSQL database",
            code="URL_INVALID",
            next=f"write {OWN}, or postgresql://owner@host/database of an empty one",
        )
    with closing(bulk_load(url)) as database:
        database.make_schema()
        try:
            yield database
        finally:
            database.drop_schema()


def in_project(size: int) -> int:
    """How many of so many memories are in the project that is asked."""
    return min(size // 2, PROJECT_SIZE)


def fill(memory: clew.Clew, before: int, size: int) -> None:
    """From so many memories to so many; the same on every engine."""
    for scope, first, last in (
        (PROJECT, in_project(before), in_project(size)),
        (LARGE, before - in_project(before), size - in_project(size)),
    ):
        contents = texts(last - first, chars=250, seed=10 * size + (scope is LARGE))
        for _stored in memory.remember_many((clew.Draft(content=content) for content in contents), scope=scope):
            pass

"""Older stores are upgraded in place, each step whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clew.store import queries, schema
from clew.store.sqlite import connect, migrate, open_engine

Migration = tuple[int, str, str]
NEXT: Migration = (1001, "colours", "CREATE TABLE colours (name TEXT); INSERT INTO colours VALUES ('red');")
BROKEN: Migration = (1002, "broken", "CREATE TABLE half (x); INSERT INTO half VALUES (1, 2);")


@pytest.fixture
def with_migrations(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretends that later versions of Clew brought more migrations."""
    known = queries.migrations("sqlite")

    def pretend(*more: Migration) -> None:
        monkeypatch.setattr(queries, "migrations", lambda engine: (*known, *more))

    return pretend


def tables(path: Path) -> set[str]:
    with closing(connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_numbers_are_unique_and_without_gaps() -> None:
    assert [number for number, *_ in queries.migrations("sqlite")] == list(
        range(1, len(queries.migrations("sqlite")) + 1)
    )


def test_an_older_store_is_upgraded_in_place(tmp_path: Path, with_migrations: Callable[..., None]) -> None:
    path = tmp_path / "clew.db"
    with closing(open_engine(path)) as engine:
        engine.write(lambda session: session.run("meta_put", key="kept", value="yes"))
    with_migrations(NEXT)
    with closing(open_engine(path)) as engine, engine.read() as session:
        assert session.value("meta_get", key="kept") == "yes"
        assert session.connection.pragma("user_version") == NEXT[0]
        assert session.connection.execute("SELECT name FROM colours").fetchall() == [("red",)]


def test_an_upgraded_store_is_refused_by_the_older_clew(
    tmp_path: Path, with_migrations: Callable[..., None]
) -> None:
    path = tmp_path / "clew.db"
    with_migrations(NEXT)
    open_engine(path).close()
    with_migrations()
    with pytest.raises(Exception, match=r"upgrade Clew|has schema 1001"):
        open_engine(path)


def test_a_migration_that_fails_leaves_the_version_before_it(
    tmp_path: Path, with_migrations: Callable[..., None]
) -> None:
    path = tmp_path / "clew.db"
    open_engine(path).close()
    with_migrations(NEXT, BROKEN)
    with pytest.raises(apsw.SQLError):
        open_engine(path)
    assert "colours" in tables(path)
    assert "half" not in tables(path)
    with closing(connect(path)) as connection:
        assert connection.pragma("user_version") == NEXT[0]


def test_migrating_again_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "clew.db"
    open_engine(path).close()
    with closing(connect(path)) as connection:
        assert migrate(connection) == []


def test_all_migrations_from_empty_give_the_schema_that_is_written_down() -> None:
    written = schema.FILE.read_text(encoding="utf-8")
    assert written == schema.fresh_schema(), "after a migration run: python -m clew.store.schema"


def test_the_schema_that_is_written_down_can_be_executed() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(schema.FILE.read_text(encoding="utf-8"))
        assert schema.schema_of(connection) == schema.FILE.read_text(encoding="utf-8")


def test_every_key_of_a_table_with_orgs_starts_with_the_org() -> None:
    """Isolation by construction. Dense rows are the exception: they never leave the process."""
    for statement in schema.FILE.read_text(encoding="utf-8").split(";\n"):
        if "org_id" in statement:
            for key in re.findall(
                r"(?:PRIMARY KEY|UNIQUE INDEX \w+ ON \w+|INDEX \w+ ON \w+) \(([^)]*)\)", statement
            ):
                assert key.startswith(("org_id", "row, org_id")), statement

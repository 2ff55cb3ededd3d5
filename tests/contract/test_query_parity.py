"""Two engines, one logic: the same tables, the same migrations, the same queries with the same parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clew.store import queries
from clew.store.sqlite import connect
from toys import open_quickly

psycopg = pytest.importorskip("psycopg")
NAME = queries.PARAMETER
STATEMENT = re.compile(r"\s*(--.*\n\s*)*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
FRAGMENT = re.compile(r"^-- ([a-z_]+): (?:[^\n]*\n-- )*[^\n]*\(a fragment", re.MULTILINE)


def shared(engine: str) -> dict[str, str]:
    """Without the queries that only this engine's own files use."""
    folder = queries.SQL / engine
    own = {name for file in folder.glob("own_*.sql") for name in queries.parse(file.read_text("utf-8"))}
    return {name: text for name, text in queries.load(engine).items() if name not in own}


def parameters(text: str) -> set[str]:
    return set(NAME.findall(text))


@cache
def fragments() -> set[str]:
    return {name for file in queries.SQL.rglob("*.sql") for name in FRAGMENT.findall(file.read_text("utf-8"))}


def statements(engine: str) -> dict[str, str]:
    named = queries.load(engine)
    return {name: text for name, text in named.items() if STATEMENT.match(text) and name not in fragments()}


def shared_statements(engine: str) -> dict[str, str]:
    return {name: text for name, text in shared(engine).items() if name in statements(engine)}


@pytest.fixture
def database(postgres_url: str) -> Iterator[Any]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = clew, public")
        yield connection


def columns(database: Any) -> set[tuple[str, str]]:
    """From the catalogue: the application may not look into every table."""
    rows = database.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'clew'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped"
    )
    return set(rows.fetchall())


def test_both_engines_have_the_same_queries() -> None:
    assert set(shared_statements("sqlite")) == set(shared_statements("postgres"))


def test_a_query_has_the_same_parameters_on_both_engines() -> None:
    one, other = shared_statements("sqlite"), shared_statements("postgres")
    differing = {name: parameters(text) ^ parameters(other.get(name, "")) for name, text in one.items()}
    assert {name: names for name, names in differing.items() if names} == {}


def test_every_query_of_postgres_is_understood_by_a_fresh_schema(database: Any) -> None:
    refused = {}
    for name, text in statements("postgres").items():
        names = list(dict.fromkeys(NAME.findall(text)))
        sql = NAME.sub(lambda found, names=names: f"${names.index(found[1]) + 1}", text)
        answer = database.pgconn.prepare(b"", sql.encode())
        if answer.status != psycopg.pq.ExecStatus.COMMAND_OK:
            refused[name] = answer.error_message.decode().splitlines()[0]
    assert refused == {}


def test_every_query_on_rows_of_an_org_names_the_org(database: Any) -> None:
    """What does not asks a named function, the catalogue, or a table that holds no org's rows."""
    of_orgs = {table for table, column in columns(database) if column == "org_id"}
    unscoped = {
        name: touched
        for name, text in statements("postgres").items()
        if "org_id" not in parameters(text)
        and name != "graph_tables"
        and (touched := of_orgs & set(re.findall(r"\b[a-z_]+\b", text)))
    }
    assert unscoped == {}


def test_both_engines_have_the_same_migrations() -> None:
    assert [entry[:2] for entry in queries.migrations("sqlite")] == [
        entry[:2] for entry in queries.migrations("postgres")
    ]


def test_both_engines_have_the_same_tables_and_columns(database: Any, tmp_path: Path) -> None:
    open_quickly(tmp_path / "clew.db").close()
    with closing(connect(tmp_path / "clew.db")) as connection:
        of_sqlite = set(
            connection.execute(
                "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c"
                " WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
            ).fetchall()
        )
    of_its_own = ("clew_migrations", "clew_setup", "clew_writes", "memory_fts"), ("dims",)
    assert of_sqlite == {
        (table, column)
        for table, column in columns(database)
        if table not in of_its_own[0] and column not in of_its_own[1]
    }

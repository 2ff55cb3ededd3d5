"""The schema can be spread over servers by org: what has to be unique, or is referred to, is so within one org."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from clew.store import queries

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = pytest.importorskip("psycopg")

# What is asked for before an org is known: on every server, or on one of its own.
WITHOUT_ORG = {
    "meta", "memory_embedding_backfill_state", "org_owner_mappings", "org_routing", "clew_migrations",
    "clew_writes",
}  # fmt: skip
WITHOUT_ORG_IN_KEY = {"orgs_slug_key"}  # one slug, one org, in the whole store
COLUMNS = """
SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = {table} AND a.attnum = ANY ({columns})
"""


@pytest.fixture
def catalog(postgres_url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def test_every_unique_key_of_an_orgs_table_holds_the_org(catalog: psycopg.Connection[tuple[Any, ...]]) -> None:
    keys = catalog.execute(
        f"SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, "
        f"({COLUMNS.format(table='i.indrelid', columns='i.indkey')}) FROM pg_index i JOIN pg_class c "
        "ON c.oid = i.indrelid WHERE c.relnamespace = 'clew'::regnamespace AND i.indisunique"
    ).fetchall()
    tables = {table.removeprefix("clew.") for _, table, columns in keys if "org_id" in columns}
    without = {key.removeprefix("clew.") for key, table, columns in keys if "org_id" not in columns
               and table.removeprefix("clew.") not in WITHOUT_ORG}  # fmt: skip
    assert len(tables) > 40 and without == WITHOUT_ORG_IN_KEY


def test_every_reference_leads_to_a_row_of_the_same_org(catalog: psycopg.Connection[tuple[Any, ...]]) -> None:
    references = catalog.execute(
        f"SELECT c.conname, ({COLUMNS.format(table='c.conrelid', columns='c.conkey')}),"
        f" ({COLUMNS.format(table='c.confrelid', columns='c.confkey')})"
        " FROM pg_constraint c WHERE c.connamespace = 'clew'::regnamespace AND c.contype = 'f'"
    ).fetchall()
    assert references
    assert [name for name, own, other in references if "org_id" not in own or "org_id" not in other] == []


def test_every_query_that_joins_tables_names_the_org_or_asks_the_catalog() -> None:
    named = queries.load("postgres")
    joining = {name: text for name, text in named.items() if re.search(r"\bJOIN\b", text)}
    free = {name for name, text in joining.items() if "org_id" not in text and "pg_class" not in text}
    assert len(joining) > 100 and free == set()

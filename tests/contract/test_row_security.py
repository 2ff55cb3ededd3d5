"""PostgreSQL alone keeps orgs apart: raw SQL as the application's role, without a line of ours in between.

Every table with an org has a row of each of two orgs, also those that a later migration adds: rows are made from
the columns that the catalog names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import psycopg
    from psycopg.conninfo import make_conninfo
else:
    psycopg = pytest.importorskip("psycopg")
    from psycopg.conninfo import make_conninfo

Connection = psycopg.Connection[tuple[Any, ...]]

ORGS = ("one", "two")
FOR_ALL = {"recall_matrix", "policies", "counters"}  # what is said for all orgs is in them, under the org ''
WITHOUT_ORG = {
    "meta", "memory_embedding_backfill_state", "org_owner_mappings", "org_routing", "clew_migrations",
    "clew_setup", "clew_writes",
}  # fmt: skip
TOLD = {  # what a function that runs with the owner's rights may tell
    "org_id", "id", "slug", "name", "role", "roles", "user_id", "agent", "owner", "mapped_org", "mode",
    "active_org", "state", "number", "oldest", "newest", "due_at", "created_at", "created_by", "expires_at",
    "revoked_at", "last_used_at", "row", "memory_row", "distance",
}  # fmt: skip
SAMPLES = {
    "bigint": "7", "integer": "7", "smallint": "1", "double precision": "0.5", "timestamp with time zone": "now()",
    "bytea": "'\\x01'", "halfvec": "'[1,2]'", "tsvector": "'word'", "boolean": "true",
}  # fmt: skip
COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
TABLES = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, EXISTS (
  SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped)
FROM pg_class c WHERE c.relnamespace = 'clew'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1
"""
RULES = """
SELECT format('ALTER TABLE %I DROP CONSTRAINT %I', r.relname, c.conname) FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid WHERE c.connamespace = 'clew'::regnamespace AND c.contype IN ('c', 'f')
"""


@contextmanager
def connected(url: str, **parts: str) -> Iterator[Connection]:
    with psycopg.connect(make_conninfo(url, **parts), autocommit=True) as connection:
        connection.execute("SET search_path = clew, public")
        yield connection


@pytest.fixture
def owner(postgres_url: str) -> Iterator[Connection]:
    with connected(postgres_url, user="postgres") as connection:
        yield connection


@pytest.fixture
def app(postgres_url: str) -> Iterator[Connection]:
    with connected(postgres_url) as connection:
        yield connection


@pytest.fixture
def filled(owner: Connection) -> list[str]:
    """The names of all tables that have an org, with a row of each org in them."""
    with owner.transaction():
        for (statement,) in owner.execute(RULES).fetchall():
            owner.execute(statement)  # rows that mean nothing: only whose they are matters here
        tables = [name for name, _is_secure, has_org in owner.execute(TABLES).fetchall() if has_org]
        for table in tables:
            for org in (*ORGS, ""):  # '': the platform's
                owner.execute(insertion(owner, table, org))
    return tables


def insertion(connection: Connection, table: str, org: str) -> Any:
    columns = connection.execute(COLUMNS, (table,)).fetchall()
    values = [f"'{org}'" if name == "org_id" else SAMPLES.get(kind, f"'of {org}'") for name, kind in columns]
    return f"INSERT INTO {table} ({', '.join(name for name, _ in columns)}) VALUES ({', '.join(values)})"


@contextmanager
def bound(connection: Connection, org: str) -> Iterator[None]:
    with connection.transaction():
        connection.execute("SELECT set_config('clew.org', %s, true)", (org,))
        yield


def orgs_in(connection: Connection, table: str) -> set[str]:
    found: set[str] = {org for (org,) in connection.execute(f"SELECT org_id FROM {table}").fetchall()}
    return found - {""} if table in FOR_ALL else found


def refused(connection: Connection, statement: Any) -> bool:
    try:
        with connection.transaction():
            connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


# -- what is seen --------------------------------------------------------------------------------------


def test_every_table_has_an_org_and_is_secured_or_is_known_to_have_none(owner: Connection) -> None:
    found = {name: (is_secure, has_org) for name, is_secure, has_org in owner.execute(TABLES).fetchall()}
    assert {name for name, (_, has_org) in found.items() if not has_org} == WITHOUT_ORG
    assert [name for name, (is_secure, has_org) in found.items() if has_org and not is_secure] == []


def test_a_table_that_a_later_migration_adds_is_secured(owner: Connection, postgres_url: str) -> None:
    from clew.store.postgres import migrate

    owner.execute("CREATE TABLE clew.added_later (org_id text NOT NULL, said text NOT NULL)")
    owner.execute("INSERT INTO added_later VALUES ('one', 'a'), ('two', 'b')")
    migrate(make_conninfo(postgres_url, user="postgres"))
    with connected(postgres_url) as app, bound(app, "one"):
        assert app.execute("SELECT said FROM added_later").fetchall() == [("a",)]


def test_whoever_is_bound_to_an_org_sees_only_its_rows(app: Connection, filled: list[str]) -> None:
    assert len(filled) > 40
    for org in ORGS:
        with bound(app, org):
            seen = {table: orgs_in(app, table) for table in filled}
        assert seen == {table: {org} for table in filled}


def test_whoever_is_bound_to_nothing_sees_nothing(app: Connection, filled: list[str]) -> None:
    never = {table: orgs_in(app, table) for table in filled}
    with bound(app, "one"):
        assert orgs_in(app, "memories") == {"one"}
    no_more = {table: orgs_in(app, table) for table in filled}  # the binding ended with its transaction
    assert never == no_more == {table: set() for table in filled}


def test_what_is_said_for_all_orgs_is_read_by_each_and_written_by_none(app: Connection, owner: Connection) -> None:
    owner.execute("INSERT INTO policies VALUES ('', 'p', 'permit;', 1, 'us', now())")
    with bound(app, "one"):
        assert app.execute("SELECT count(*) FROM recall_matrix").fetchone() == (4,)
        assert app.execute("SELECT name FROM policies").fetchall() == [("p",)]
        assert app.execute("UPDATE policies SET text = ''").rowcount == 0
        assert app.execute("DELETE FROM recall_matrix").rowcount == 0


def test_a_fact_about_an_org_is_seen_by_that_org_only(app: Connection, owner: Connection) -> None:
    owner.execute("INSERT INTO meta VALUES ('audit_chained_from/one', '1'), ('audit_chained_from/two', '2')")
    owner.execute("INSERT INTO meta VALUES ('plain', '3')")
    with bound(app, "one"):
        seen = app.execute("SELECT value FROM meta WHERE key <> 'analyser' ORDER BY 1").fetchall()
        assert seen == [("1",), ("3",)]
        assert refused(app, "INSERT INTO meta VALUES ('another/two', '4')")


# -- what is changed -----------------------------------------------------------------------------------


def test_no_row_is_put_into_another_org(app: Connection, owner: Connection, filled: list[str]) -> None:
    foreign = {table: insertion(owner, table, "three") for table in filled}
    with bound(app, "one"):
        assert [table for table, statement in foreign.items() if not refused(app, statement)] == []


def test_no_row_is_moved_into_another_org(app: Connection, filled: list[str]) -> None:
    with bound(app, "one"):
        moved = [table for table in filled if not refused(app, f"UPDATE {table} SET org_id = 'two'")]
    assert moved == []


def test_rows_of_another_org_are_neither_changed_nor_deleted(app: Connection, filled: list[str]) -> None:
    with bound(app, "one"):
        for table in filled:
            if table != "audit":  # of which nothing is changed at all, see below
                assert app.execute(f"UPDATE {table} SET org_id = org_id WHERE org_id = 'two'").rowcount == 0
            assert app.execute(f"DELETE FROM {table} WHERE org_id = 'two'").rowcount == 0


# -- ways around it ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY of_org ON memories",
        "CREATE POLICY all_of_it ON memories USING (true)",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "ALTER ROLE clew_app BYPASSRLS",
        "CREATE FUNCTION clew.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE clew.mine (said text)",
        "INSERT INTO clew_migrations VALUES (99, 'mine')",
        "TRUNCATE memories",
        "UPDATE audit SET actor = 'nobody'",
        *(
            f"{verb} {table}"
            for table in ("org_owner_mappings", "org_routing")
            for verb in ("TABLE", "DELETE FROM")
        ),
    ],
)
def test_the_application_may_not_take_itself_out_of_it(app: Connection, statement: str) -> None:
    assert refused(app, statement)


def test_with_security_switched_off_a_query_is_refused(app: Connection, filled: list[str]) -> None:
    app.execute("SET row_security = off")
    assert [table for table in filled if not refused(app, f"SELECT 1 FROM {table}")] == []


def test_the_role_of_the_application_has_no_powers(owner: Connection) -> None:
    powers = "rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication"
    assert owner.execute(f"SELECT {powers} FROM pg_roles WHERE rolname = 'clew_app'").fetchone() == (False,)
    owned = owner.execute("SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = 'clew_app'").fetchone()
    assert owned == (0,)


def test_functions_with_the_owners_rights_tell_ids_numbers_and_settings(owner: Connection) -> None:
    functions = owner.execute(
        "SELECT p.proname, p.prorettype::regtype::text, p.proconfig::text, coalesce((SELECT array_agg(n.name) FROM"
        " unnest(p.proargnames, p.proargmodes) AS n (name, mode) WHERE n.mode IN ('o', 'b', 't')), '{}')"
        " FROM pg_proc p WHERE p.pronamespace = 'clew'::regnamespace AND p.prosecdef"
    ).fetchall()
    assert len(functions) > 20
    for name, kind, config, columns in functions:
        assert "search_path" in config, name  # or a caller could put tables of their own in the place of ours
        assert set(columns) <= TOLD, name
        assert columns or kind in ("void", "boolean", "bigint"), (name, kind)


def test_nobody_else_may_call_the_functions(owner: Connection) -> None:
    open_to_all = owner.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'clew'::regnamespace AND EXISTS ("
        "SELECT 1 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)"
    ).fetchall()
    assert open_to_all == []

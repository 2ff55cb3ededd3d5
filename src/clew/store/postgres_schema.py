"""The schema of a PostgreSQL store: migrations, the application's role, row-level security.

The owner runs migrations. The application is another role that owns nothing, so that row-level security binds it;
whoever connects as someone else takes that role on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from clew.errors import Misconfigured, StoreRefused
from clew.store import queries

SCHEMA = "clew"
APP_ROLE = "clew_app"
INDEX_MEMORY = "512MB"  # pgvector builds several times slower once the graph no longer fits
_INDEX = re.compile(r"INDEX IF NOT EXISTS (\w+)")
OLDEST_SERVER = 150_000
OLDEST_VECTOR = (0, 8)  # iterative scans, without which a filtered search loses results
_MIGRATING = 0x434C4557_0000  # the number of the lock that migrations hold


def migrate(url: str) -> list[int]:
    """Run what is missing, each migration in a transaction of its own; returns the numbers run."""
    with psycopg.connect(url, autocommit=True) as connection:
        check_server(connection)
        with _alone(connection):
            prepare_database(connection)
            ran = [
                number
                for number, slug, text in queries.migrations("postgres")
                if _run(connection, number, slug, text)
            ]
            _secure(connection)
            _build_indices(connection)
    return ran


def drop_vector_indices(url: str) -> None:
    """Before a database is filled; `build_indices`, or `clew migrate`, makes them again."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in vector_indices():
            connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(SCHEMA, name)))


def vector_indices() -> list[str]:
    return _INDEX.findall(_setup("indices"))


def build_indices(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(search_path(connection))
        _build_indices(connection)


def _build_indices(connection: psycopg.Connection[Any]) -> None:
    """What is there already is left alone."""
    with connection.transaction():
        connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (INDEX_MEMORY,))
        connection.execute(_setup("indices").encode())


def _setup(name: str) -> str:
    return (queries.SQL / "postgres" / "setup" / f"{name}.sql").read_text(encoding="utf-8")


def may_migrate(url: str) -> bool:
    """Whether this role could make or change the schema. The application's never does, whatever it may."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT current_user <> %s AND coalesce((SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace"
            " WHERE nspname = %s), has_database_privilege(current_database(), 'CREATE'))",
            (APP_ROLE, SCHEMA),
        ).fetchone()
    return bool(row and row[0])


def check_server(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreRefused(
            f"the server is PostgreSQL {connection.info.server_version // 10_000}",
            code="POSTGRES_TOO_OLD",
            next=f"use PostgreSQL {OLDEST_SERVER // 10_000} or newer",
        )


@contextmanager
def _alone(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Two processes may arrive here together; the second finds everything done."""
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATING,))


def prepare_database(connection: psycopg.Connection[Any]) -> None:
    """Everything that migrations take for granted: the extension, the schema, the application's role."""
    _extension(connection)
    _role(connection)
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
    connection.execute(search_path(connection))
    connection.execute(
        'CREATE TABLE IF NOT EXISTS clew_migrations (number integer PRIMARY KEY, slug text COLLATE "C" NOT NULL,'
        " at timestamptz NOT NULL DEFAULT clock_timestamp())"
    )
    # The last write of each connection that was committed. Updated in place, which takes free space on the page.
    connection.execute(
        "CREATE TABLE IF NOT EXISTS clew_writes (writer bigint PRIMARY KEY, number bigint NOT NULL,"
        " at timestamptz NOT NULL DEFAULT clock_timestamp()) WITH (fillfactor = 50)"
    )


def _extension(connection: psycopg.Connection[Any]) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        raise StoreRefused(
            "the extension 'vector' is not there and could not be created",
            code="PGVECTOR_MISSING",
            next="install pgvector on the server, then as its administrator: CREATE EXTENSION vector",
        ) from error
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = tuple(int(part) for part in str(found[0] if found else "0").split(".")[:2])
    if version < OLDEST_VECTOR:
        raise StoreRefused(
            f"the extension 'vector' is version {'.'.join(map(str, version))}",
            code="PGVECTOR_TOO_OLD",
            next="install pgvector 0.8 or newer, then: ALTER EXTENSION vector UPDATE",
        )


def _role(connection: psycopg.Connection[Any]) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APP_ROLE,)).fetchone():
        return
    try:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(APP_ROLE)))
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreRefused(
            f"the role '{APP_ROLE}' is not there and could not be created",
            code="ROLE_MISSING",
            next=f"as an administrator of the server: CREATE ROLE {APP_ROLE} LOGIN",
        ) from error
    except psycopg.errors.DuplicateObject:
        return  # another database of this server was being prepared at the same time


def search_path(connection: psycopg.Connection[Any]) -> sql.Composed:
    """Our schema, and the one that holds the extension's types."""
    found = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    names = dict.fromkeys([SCHEMA, str(found[0]) if found else "public"])
    return sql.SQL("SET search_path = {}").format(sql.SQL(", ").join(map(sql.Identifier, names)))


def _run(connection: psycopg.Connection[Any], number: int, slug: str, text: str) -> bool:
    with connection.transaction():
        if connection.execute("SELECT 1 FROM clew_migrations WHERE number = %s", (number,)).fetchone():
            return False
        connection.execute(text.encode())
        connection.execute("INSERT INTO clew_migrations (number, slug) VALUES (%s, %s)", (number, slug))
    return True


def _secure(connection: psycopg.Connection[Any]) -> None:
    role, schema = sql.Identifier(APP_ROLE), sql.Identifier(SCHEMA)
    with connection.transaction():
        for name in ("functions", "search", "copying", "notify", "secure"):
            connection.execute(_setup(name).encode())
        for grant in (
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
            "REVOKE INSERT, UPDATE, DELETE ON clew_migrations FROM {role}",
            "REVOKE ALL ON org_owner_mappings, org_routing FROM {role}",  # a user's: by functions only
            "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
            "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
            "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role}",
        ):
            connection.execute(sql.SQL(grant).format(role=role, schema=schema))


def take_role(connection: psycopg.Connection[Any]) -> None:
    """Act as the application, whoever we connected as: row-level security binds no superuser."""
    if connection.info.user == APP_ROLE:
        return
    try:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(APP_ROLE)))
    except psycopg.Error as error:
        raise Misconfigured(
            f"'{connection.info.user}' may not act as '{APP_ROLE}'",
            code="ROLE_REFUSED",
            next=f"connect as {APP_ROLE}, or as an administrator: GRANT {APP_ROLE} TO {connection.info.user}",
        ) from error

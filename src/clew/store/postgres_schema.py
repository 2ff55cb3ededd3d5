"""The schema of a PostgreSQL store: migrations, the application's role, row-level security.

The owner runs migrations. The application is another role that owns nothing, so that row-level security binds it;
whoever connects as someone else takes that role on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import Any

import psycopg
from psycopg import sql

from clew.errors import Misconfigured, StoreRefused, Unavailable
from clew.store import queries

SCHEMA = "clew"
APP_ROLE = "clew_app"
INDEX_MEMORY = "512MB"  # pgvector builds several times slower once the graph no longer fits
_INDEX = re.compile(r"INDEX IF NOT EXISTS (\w+)")
OLDEST_SERVER = 150_000
OLDEST_VECTOR = (0, 8)  # iterative scans, without which a filtered search loses results
PATIENCE_S = 60.0  # how long a change of a table that is in use is tried
LOCK_WAIT = "2s"  # how long others may have to queue behind one try
_MIGRATING = 0x434C4557_0000  # the number of the lock that migrations hold
# Tables that have an org, and not yet what keeps orgs apart.
_UNSECURED = """
SELECT c.relname::text FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND EXISTS (
    SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped)
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND (
    SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND (p.polname = 'of_org' OR (
      p.polname = 'of_owner' AND p.polroles = ARRAY[c.relowner]))) = 2)
ORDER BY 1
"""
_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "REVOKE UPDATE ON audit FROM {role}",  # an entry is never changed
    "REVOKE INSERT, UPDATE, DELETE ON clew_migrations, clew_setup FROM {role}",
    "REVOKE ALL ON org_owner_mappings, org_routing FROM {role}",  # a user's: by functions only
    "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role}",
)
_SETUP = ("functions", "search", "copying", "notify", "secure")


def migrate(url: str) -> list[int]:
    """Run what is missing, each migration in a transaction of its own; returns the numbers run. What is there
    already is left alone: it would stand in the way of those who work meanwhile."""
    with psycopg.connect(url, client_encoding="UTF8", autocommit=True) as connection:
        check_server(connection)
        with _alone(connection):
            prepare_database(connection)
            ran = _bring_up(connection)
            _secure_tables(connection)
            _grant(connection)
            _build_indices(connection)
    return ran


def _bring_up(connection: psycopg.Connection[Any]) -> list[int]:
    found = {number for (number,) in connection.execute("SELECT number FROM clew_migrations")}
    if found and max(found) > queries.newest_migration():
        raise newer(connection.info.dbname, max(found))
    missing = [entry for entry in queries.migrations("postgres") if entry[0] not in found]
    if not missing and setup_found(connection) == setup_hash():
        return []
    connection.execute("DELETE FROM clew_setup")  # whoever opens it now sees that it is not done
    for number, slug, text in missing:
        _patiently(connection, partial(_run, connection, number, slug, text))
    _set_up(connection)
    connection.execute("INSERT INTO clew_setup (hash) VALUES (%s)", (setup_hash(),))
    return [number for number, _slug, _text in missing]


def newer(name: str, found: int) -> StoreRefused:
    return StoreRefused(
        f"{name} has schema {found}, this Clew knows up to {queries.newest_migration()}",
        code="STORE_NEWER",
        next="upgrade Clew: pip install -U clew",
    )


def number_found(connection: psycopg.Connection[Any]) -> int | None:
    """Of the last migration; 0 when not all that belongs to it is in place."""
    row = connection.execute(
        "SELECT has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),"
        " EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s AND pg_has_role(oid, 'USAGE'))"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relname = 'clew_setup' AND n.nspname = %s",
        (APP_ROLE, SCHEMA),
    ).fetchone()
    if row is None:
        return None
    may_read, is_for_us = row
    if not may_read and not is_for_us:
        raise StoreRefused(
            f"the role '{connection.info.user}' may not read Clew's schema",
            code="POSTGRES_ROLE_REFUSED",
            next=f"connect as {APP_ROLE}",  # no GRANT: one that reads everything for backups would write as well
        )
    if not may_read or setup_found(connection) is None:
        return 0
    found = connection.execute("SELECT max(number) FROM clew.clew_migrations").fetchone()
    return int(found[0]) if found and found[0] is not None else 0


def setup_hash() -> str:
    """Of everything that is set up anew when it has changed."""
    return sha256("\0".join((*map(_setup, _SETUP), *_GRANTS)).encode()).hexdigest()


def setup_found(connection: psycopg.Connection[Any]) -> str | None:
    row = connection.execute("SELECT hash FROM clew.clew_setup").fetchone()
    return str(row[0]) if row else None


def drop_vector_indices(url: str) -> None:
    """Before a database is filled; `build_indices`, or `clew migrate`, makes them again."""
    with psycopg.connect(url, client_encoding="UTF8", autocommit=True) as connection:
        for name in vector_indices():
            connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(SCHEMA, name)))


def vector_indices() -> list[str]:
    return _INDEX.findall(_setup("indices"))


def build_indices(url: str) -> None:
    with psycopg.connect(url, client_encoding="UTF8", autocommit=True) as connection:
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
    with psycopg.connect(url, client_encoding="UTF8", autocommit=True) as connection:
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
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreRefused(
            f"the database keeps text as {encoding}",
            code="POSTGRES_NOT_UTF8",
            next="name another: CREATE DATABASE clew TEMPLATE template0 ENCODING 'UTF8'",
        )


@contextmanager
def _alone(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Two processes may arrive here together; the second finds everything done."""
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
    try:
        yield
    finally:
        with suppress(psycopg.OperationalError):  # a connection that was lost holds nothing
            connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATING,))


def prepare_database(connection: psycopg.Connection[Any]) -> None:
    """Everything that migrations take for granted: the extension, the application's role, the schema. From then on
    we act as its owner, whoever we are: what others make would be bound by row-level security."""
    _extension(connection)
    _role(connection)
    owner = connection.execute(
        "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
    ).fetchone()
    if owner is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
    else:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(owner[0])))
    connection.execute(search_path(connection))
    connection.execute(_setup("ledger").encode())


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
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APP_ROLE,)).fetchone():
        _create_role(connection)
    place = extension_schema(connection)
    may_use, may_create = connection.execute(
        "SELECT has_schema_privilege(%(role)s, %(place)s, 'USAGE'),"
        " has_schema_privilege(%(role)s, %(place)s, 'CREATE')",
        {"role": APP_ROLE, "place": place},
    ).fetchone() or (False, False)
    if may_create:  # functions that run with the owner's rights would find what it puts there
        raise StoreRefused(
            f"'{APP_ROLE}' may create things in the schema '{place}', which holds the extension 'vector'",
            code="ROLE_TOO_STRONG",
            next=f"as an administrator: REVOKE CREATE ON SCHEMA {place} FROM PUBLIC, {APP_ROLE}",
        )
    if not may_use:
        _grant_use(connection, place)


def _grant_use(connection: psycopg.Connection[Any], place: str) -> None:
    try:
        grant = sql.SQL("GRANT USAGE ON SCHEMA {} TO {}")
        connection.execute(grant.format(sql.Identifier(place), sql.Identifier(APP_ROLE)))
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreRefused(
            f"'{APP_ROLE}' may not use the schema '{place}', which holds the extension 'vector'",
            code="ROLE_TOO_WEAK",
            next=f"as an administrator: GRANT USAGE ON SCHEMA {place} TO {APP_ROLE}",
        ) from error


def _create_role(connection: psycopg.Connection[Any]) -> None:
    role = sql.Identifier(APP_ROLE)
    try:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        connection.execute(
            sql.SQL("GRANT {} TO CURRENT_USER").format(role)
        )  # to act as it; from 16 on not by itself
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreRefused(
            f"the role '{APP_ROLE}' is not there and could not be created",
            code="ROLE_MISSING",
            next=f"as an administrator of the server: CREATE ROLE {APP_ROLE} LOGIN",
        ) from error
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        return  # another database of this server was being prepared at the same time


def extension_schema(connection: psycopg.Connection[Any]) -> str:
    found = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    return str(found[0]) if found else "public"


def search_path(connection: psycopg.Connection[Any]) -> sql.Composed:
    """Our schema, and the one that holds the extension's types. Temporary things last: otherwise they come first,
    and functions that run with the owner's rights would take what anybody made for our tables."""
    names = dict.fromkeys([SCHEMA, extension_schema(connection), "pg_temp"])
    return sql.SQL("SET search_path = {}").format(sql.SQL(", ").join(map(sql.Identifier, names)))


def _run(connection: psycopg.Connection[Any], number: int, slug: str, text: str) -> None:
    connection.execute(text.encode())
    connection.execute("INSERT INTO clew_migrations (number, slug) VALUES (%s, %s)", (number, slug))


def _set_up(connection: psycopg.Connection[Any]) -> None:
    for name in _SETUP:
        _patiently(connection, partial(connection.execute, _setup(name).encode()))
    _secure_tables(connection)
    _grant(connection)


def _grant(connection: psycopg.Connection[Any]) -> None:
    role, schema = sql.Identifier(APP_ROLE), sql.Identifier(SCHEMA)
    with connection.transaction():
        for grant in _GRANTS:
            connection.execute(sql.SQL(grant).format(role=role, schema=schema))


def _secure_tables(connection: psycopg.Connection[Any]) -> None:
    for (table,) in connection.execute(_UNSECURED.encode()).fetchall():
        _patiently(connection, partial(_secure, connection, table))


def _secure(connection: psycopg.Connection[Any], table: str) -> None:
    """Row-level security for a table that has an org, those of later migrations included. Migrations and the named
    functions run as the owner, who has to see every org."""
    for statement in (
        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        "DROP POLICY IF EXISTS of_org ON {table}",
        "CREATE POLICY of_org ON {table} USING (org_id = (SELECT clew_bound()))"
        " WITH CHECK (org_id = (SELECT clew_bound()))",
        "DROP POLICY IF EXISTS of_owner ON {table}",
        "CREATE POLICY of_owner ON {table} TO CURRENT_USER USING (true) WITH CHECK (true)",
    ):
        connection.execute(sql.SQL(statement).format(table=sql.Identifier(table)))


def _patiently(connection: psycopg.Connection[Any], change: Callable[[], object]) -> None:
    """In a transaction that lets nobody wait long: who works with the table goes first, and we try again."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with connection.transaction():
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_WAIT,))
                change()
            return
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
            if time.monotonic() > deadline:
                raise Unavailable(
                    "others use the tables all the time",
                    code="STORE_BUSY",
                    next="try again, or when less is going on",
                ) from error
        time.sleep(0.2)


def take_role(connection: psycopg.Connection[Any]) -> None:
    """Act as the application, whoever we connected as: row-level security binds no superuser."""
    if connection.info.user == APP_ROLE:
        return
    try:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(APP_ROLE)))
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject) as error:
        raise Misconfigured(
            f"'{connection.info.user}' may not act as '{APP_ROLE}'",
            code="ROLE_REFUSED",
            next=f"connect as {APP_ROLE}",  # as above
        ) from error

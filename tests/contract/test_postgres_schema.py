"""Who may make and change the schema of a PostgreSQL store, and what happens to those who work meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from clew.errors import ClewError, StoreRefused
from clew.store import postgres, postgres_schema, queries
from toys import open_toy

psycopg = pytest.importorskip("psycopg")
if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """A database in which Clew never was, as its administrator."""
    with postgres.fresh_database(user="postgres", template="template0") as url:
        yield url


@pytest.fixture
def owned(empty: str) -> Iterator[str]:
    """The same, as a role that owns the database and is no administrator."""
    with administrator(empty) as connection:
        name, database = f"owner_{connection.info.backend_pid}", connection.info.dbname
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"ALTER DATABASE {database} OWNER TO {name}")
        connection.execute("CREATE EXTENSION vector")
        yield as_role(empty, name)
        connection.execute(f"REASSIGN OWNED BY {name} TO postgres")
        connection.execute(f"DROP OWNED BY {name}")
        connection.execute(f"DROP ROLE {name}")


@contextmanager
def administrator(url: str) -> Iterator[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = clew, public")
        yield connection


def as_role(url: str, role: str) -> str:
    return url.replace("postgres@", f"{role}@")


def facts(url: str) -> dict[str, bool]:
    with closing(open_toy(url)) as clew:
        return {check.name: check.ok for check in clew.doctor()}


def test_who_migrates_for_the_owner_leaves_everything_to_the_owner(empty: str, owned: str) -> None:
    postgres.migrate(owned)
    with closing(open_toy(as_role(empty, "clew_app"))) as clew:
        clew.remember("x")
        with administrator(empty) as connection:
            connection.execute("UPDATE clew_setup SET hash = 'of an earlier version'")
        postgres.migrate(empty)
        assert [memory.content for memory in clew.list()] == ["x"]
        with clew.store.read() as tx:
            assert (tx.memories.count_all(), "local" in tx.config.orgs()) == (1, True)
    assert facts(as_role(empty, "clew_app"))["isolation"]


def test_things_that_anybody_may_make_are_not_taken_for_ours(empty: str) -> None:
    """A temporary view named like a table would be run with the rights of the functions that read it."""
    postgres.migrate(empty)
    with administrator(as_role(empty, "clew_app")) as app:
        app.execute("CREATE FUNCTION pg_temp.evil() RETURNS text LANGUAGE sql AS $$ SELECT current_user::text $$")
        app.execute(
            "CREATE TEMP VIEW jobs AS SELECT pg_temp.evil() AS state, 1::bigint AS number, ''::text AS org_id"
        )
        assert app.execute("SELECT * FROM clew_jobs()").fetchall() == []


def test_a_role_that_may_create_beside_the_extension_is_refused(empty: str) -> None:
    with administrator(empty) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO clew_app")
    with pytest.raises(StoreRefused, match="may create things in the schema 'public'"):
        postgres.migrate(empty)


def test_an_extension_in_a_schema_of_its_own_is_used(empty: str) -> None:
    with administrator(empty) as connection:
        connection.execute("CREATE SCHEMA ext")
        connection.execute("CREATE EXTENSION vector SCHEMA ext")
    postgres.migrate(empty)
    assert facts(as_role(empty, "clew_app"))["server"]


def test_a_setup_that_was_interrupted_is_finished_by_the_next(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(psycopg.errors.SyntaxError):
        patch.setattr(postgres_schema, "_GRANTS", ("nonsense",))
        postgres_schema.migrate(empty)
    assert postgres.schema_found(empty) == 0
    with pytest.raises(StoreRefused) as refused:
        postgres.open_engine(as_role(empty, "clew_app"))
    assert refused.value.code == "STORE_NOT_MIGRATED"
    postgres.open_engine(empty).close()
    assert postgres.schema_found(as_role(empty, "clew_app")) == queries.newest_migration()


def test_a_role_without_rights_is_told_so(empty: str) -> None:
    postgres.migrate(empty)
    with administrator(empty) as connection:
        stranger = f"stranger_{connection.info.backend_pid}"
        connection.execute(f"CREATE ROLE {stranger} LOGIN")
        with pytest.raises(StoreRefused, match=f"'{stranger}' may not read") as refused:
            postgres.open_engine(as_role(empty, stranger))
        connection.execute(f"DROP ROLE {stranger}")
    assert (refused.value.code, refused.value.next) == ("POSTGRES_ROLE_REFUSED", "connect as clew_app")


def test_a_role_that_reads_everything_for_backups_is_not_proposed_to_write_as_well(empty: str) -> None:
    postgres.migrate(empty)
    with administrator(empty) as connection:
        backup = f"backup_{connection.info.backend_pid}"
        connection.execute(f"CREATE ROLE {backup} LOGIN BYPASSRLS")
        connection.execute(f"GRANT pg_read_all_data TO {backup}")
        with closing(open_toy(as_role(empty, backup))) as clew, pytest.raises(ClewError) as refused:
            clew.list()
        connection.execute(f"DROP ROLE {backup}")
    assert (refused.value.code, refused.value.next) == ("ROLE_REFUSED", "connect as clew_app")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?sslmod=require", True),
        ("?sslmode=require&application=x", True),
        ("?password=ge&heim=1", False),
        ("?x", False),
    ],
)
def test_a_parameter_that_does_not_exist_is_named_and_no_rest_of_a_password(query: str, named: bool) -> None:
    with pytest.raises(StoreRefused) as refused:
        postgres.open_engine(f"postgresql://clew_app@127.0.0.1:1/clew{query}")
    assert refused.value.code == "URL_INVALID"
    assert ("which is no parameter" in refused.value.message) == named
    assert "heim" not in refused.value.message


def test_a_database_that_is_not_utf8_is_refused(empty: str) -> None:
    with administrator(empty) as connection:
        latin = f"latin_{connection.info.backend_pid}"
        connection.execute(f"CREATE DATABASE {latin} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        for attempt in (postgres.migrate, postgres.schema_found):
            with pytest.raises(StoreRefused, match="LATIN1") as refused:
                attempt(psycopg.conninfo.make_conninfo(empty, dbname=latin))
            assert refused.value.code == "POSTGRES_NOT_UTF8"
        connection.execute(f"DROP DATABASE {latin}")


def test_the_client_speaks_utf8_whatever_its_environment_says(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    postgres.migrate(empty)
    engine = postgres.open_engine(empty)
    try:
        with engine.read() as session:
            assert session.connection.info.encoding == "utf-8"
    finally:
        engine.close()


def test_an_older_clew_does_not_touch_a_newer_schema(empty: str) -> None:
    postgres.migrate(empty)
    with administrator(empty) as connection:
        connection.execute("INSERT INTO clew_migrations (number, slug) VALUES (999, 'later')")
    for attempt in (postgres.migrate, postgres.open_engine):
        with pytest.raises(StoreRefused) as refused:
            attempt(empty)
        assert refused.value.code == "STORE_NEWER"


def test_who_owns_the_schema_needs_no_right_on_the_database(empty: str, owned: str) -> None:
    postgres.migrate(owned)
    with administrator(empty) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} OWNER TO postgres")
        connection.execute("UPDATE clew_setup SET hash = 'of an earlier version'")
    assert postgres.migrate(owned) == []
    assert facts(as_role(empty, "clew_app"))["schema"]


def test_a_migration_lets_those_go_first_who_work_meanwhile(empty: str) -> None:
    postgres.migrate(empty)
    with closing(open_toy(as_role(empty, "clew_app"))) as clew, administrator(empty) as connection:
        stop = threading.Event()
        said: list[str] = []

        def work() -> None:
            while not stop.is_set():
                said.append(clew.remember(f"fact {len(said)}").memory.id)
                clew.recall("fact")

        worker = threading.Thread(target=work)
        worker.start()
        for number in range(4):
            connection.execute("UPDATE clew_setup SET hash = %s", (str(number),))
            postgres.migrate(empty)
        stop.set()
        worker.join()
        assert len(said) == len(clew.list(limit=1000)) > 0

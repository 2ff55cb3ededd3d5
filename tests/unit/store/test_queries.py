"""Every named query is valid, used, and bound; nothing is built from input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import clew
from clew.store import queries
from clew.store.sqlite import connect, open_engine

SOURCE = Path(clew.__file__).parent
NAMED = queries.load("sqlite")
FRAGMENTS = set(re.findall(r"\$([a-z_]+)", "".join(f.read_text() for f in (SOURCE / "store/sql").rglob("*.sql"))))
STATEMENTS = sorted(set(NAMED) - FRAGMENTS)
CODE = "\n".join(file.read_text(encoding="utf-8") for file in sorted(SOURCE.rglob("*.py")))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path = tmp_path_factory.mktemp("store") / "clew.db"
    open_engine(path).close()
    with closing(connect(path)) as connection:
        yield connection


def test_every_query_fits_the_schema(connection: apsw.Connection) -> None:
    wrong = {}
    for name in STATEMENTS:
        values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]))
        try:
            connection.execute(f"EXPLAIN {NAMED[name]}", values).fetchall()
        except apsw.Error as error:
            wrong[name] = str(error)
    assert wrong == {}


def test_every_query_is_used_by_the_code() -> None:
    said = set(re.findall(r'"([a-z_0-9]+)"', CODE))
    assert [name for name in STATEMENTS if name not in said] == [], "nothing runs these: remove them"


def test_every_query_that_the_code_runs_exists() -> None:
    run = re.findall(r'(?:session|_session\(\w+\))\.(?:all|one|value|run|many)\(\s*"([a-z_]+)"', CODE)
    assert len(run) > 30, "the pattern no longer finds the calls"
    assert sorted(set(run) - set(NAMED) - set(queries.load("postgres"))) == []


def test_no_query_is_defined_twice_for_one_engine() -> None:
    for folder in ("common", "sqlite", "postgres"):
        files = (SOURCE / "store" / "sql" / folder).glob("*.sql")
        names = [name for file in files for name in queries.parse(file.read_text(encoding="utf-8"))]
        assert sorted(names) == sorted(set(names))


def test_a_paragraph_is_a_query_with_a_name() -> None:
    text = "-- first: what it does\nSELECT 1;\n\n-- second_one: more\nSELECT 2\n-- a plain comment\n, 3\n"
    assert queries.parse(text) == {"first": "SELECT 1", "second_one": "SELECT 2\n-- a plain comment\n, 3"}


def test_a_second_query_of_one_name_is_refused() -> None:
    with pytest.raises(ValueError, match="named twice: first"):
        queries.parse("-- first: what it does\nSELECT 1;\n\n-- first: the same\nSELECT 2;\n")


def test_a_file_without_names_holds_no_queries() -> None:
    assert queries.parse("CREATE TABLE t (x);") == {}


@pytest.mark.parametrize("name", ["scope_rows_by_id", "scope_rows_by_row", "rows_of_users"])
def test_a_short_list_is_looked_up_and_the_org_is_not_walked(connection: apsw.Connection, name: str) -> None:
    values = dict.fromkeys(("org_id", "ids", "rows", "users", "space"), "[]")
    used = {key: value for key, value in values.items() if f":{key}" in NAMED[name]}
    plan = [step[3] for step in connection.execute("EXPLAIN QUERY PLAN " + NAMED[name], used)]
    assert plan[0].startswith("SCAN j"), plan
    assert not any(step.startswith("SCAN m") for step in plan), plan


@pytest.mark.parametrize("name", ["injects_revoke", "injects_take_back"])
def test_what_is_taken_back_is_looked_for_in_the_sessions_that_go_on(
    connection: apsw.Connection, name: str
) -> None:
    """All that was ever told is kept: to read its texts took 80 ms with 50,000, and nobody wrote meanwhile."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]
    assert plan[0].endswith("(org_id=? AND session_id=?)"), plan


@pytest.mark.parametrize("name", ["memory_key_until", "leaning_at"])
def test_what_is_looked_for_with_every_write_is_not_looked_for_in_all_of_the_org(
    connection: apsw.Connection, name: str
) -> None:
    """It took 9 to 50 ms where an org had 20,000 memories, and a write takes one."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]
    assert not any(step.endswith("(org_id=?)") for step in plan), plan


SEEN = [name for name in STATEMENTS if "memories_seen" in NAMED[name] and name != "scope_vectors"]


@pytest.mark.parametrize("name", SEEN)
def test_who_may_see_a_memory_is_looked_up_by_its_row(connection: apsw.Connection, name: str) -> None:
    """A hint that SQLite can only follow by reading the whole index would cost more than the row."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]
    uses = [step for step in plan if "memories_seen" in step]
    assert uses
    assert all("(row=?" in step for step in uses), uses


@pytest.mark.parametrize(
    "name", ["memory_rows", "terms_page", "vectors_missing", "job_subjects", "edges_upto", "edges_aged"]
)
def test_a_page_of_an_org_is_read_in_the_order_of_rows(connection: apsw.Connection, name: str) -> None:
    """By an index of the org, each page would read and sort all of it."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]
    assert any("USING INTEGER PRIMARY KEY (rowid" in step for step in plan), plan
    assert not any("ORDER BY" in step for step in plan), plan


def test_a_page_of_vectors_is_read_in_the_order_of_an_index_that_has_all_that_is_asked(
    connection: apsw.Connection,
) -> None:
    """By an index of the org, each page read and sorted the rest of it, five times as long at 100,000 memories."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED["scope_vectors"]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED['scope_vectors']}", values)]
    assert plan[0] == "SEARCH m USING COVERING INDEX memories_seen (row>?)", plan
    assert not any("ORDER BY" in step for step in plan), plan


def test_the_full_text_index_gathers_what_is_inserted() -> None:
    """INSERT ... SELECT would make it flush at each entry, which takes ten times as long."""
    for name in ("fts_insert", "fts_delete"):
        assert re.search(r"^INSERT INTO memory_fts .*\) VALUES \(", NAMED[name], re.MULTILINE), name

"""The schema that all migrations together lead to, written down for readers and for a test.

`python -m clew.store.schema` renews `sql/sqlite/schema.sql` after a migration was added.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from clew.store.sqlite import connect, open_engine

FILE = Path(__file__).parent / "sql" / "sqlite" / "schema.sql"
_NOTE = "-- Written by `python -m clew.store.schema`; do not edit. What a store looks like after every migration.\n"


def schema_of(connection: apsw.Connection) -> str:
    """Every table, index, trigger and view of a store, without what SQLite makes by itself."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')"
        " ORDER BY tbl_name, CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, name"
    )
    return _NOTE + "".join(f"\n{sql};\n" for (sql,) in rows)


def fresh_schema() -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        open_engine(path).close()
        with closing(connect(path)) as connection:
            return schema_of(connection)


if __name__ == "__main__":
    FILE.write_text(fresh_schema(), encoding="utf-8")

"""A replay looks up what it needs; it never walks the whole log of an org for a page of it."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from clew.store import queries
from clew.store.sqlite import connect, open_engine

NAMED = queries.load("sqlite")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("replay_recorded", ["context_injection_logs_time (org_id=? AND created_at>? AND (created_at,id)<(?,?))",
                             "SEARCH s USING PRIMARY KEY (org_id=? AND id=?)",
                             "SEARCH r USING PRIMARY KEY (org_id=? AND retrieval_id=?)"]),
        ("replay_verdict", ["feedback_ledger_target (org_id=? AND target_kind=? AND target_key=?"]),
    ],
)  # fmt: skip
def test_rows_are_looked_up_by_their_keys(tmp_path: Path, name: str, steps: list[str]) -> None:
    open_engine(tmp_path / "clew.db").close()
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]), "[]")
    with closing(connect(tmp_path / "clew.db")) as connection:
        plan = " ; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values))
    assert all(step in plan for step in steps), plan
    assert "TEMP B-TREE" not in plan  # the order is that of the index: a page costs a page

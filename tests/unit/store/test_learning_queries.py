"""Learning looks up what it needs; a log of millions of rows is not walked for one session or one memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clew.store import queries
from clew.store.sqlite import connect, open_engine

NAMED = queries.load("sqlite")


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("store") / "clew.db"
    open_engine(path).close()
    with closing(connect(path)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("shown_to", ["context_injection_logs_session (", "session_id=?"]),
        ("history_of", ["weight_history_target (org_id=? AND target_kind=? AND target_key=?"]),
        ("ledger_of_target", ["feedback_ledger_target (org_id=? AND target_kind=? AND target_key=?"]),
        ("ledger_of_session", ["PRIMARY KEY (org_id=? AND session_id=?"]),
        ("retired", ["SCAN wanted", "memories_id (org_id=? AND id=?", "feedback_ledger_target (org_id=? AND t"]),
        ("samples_of", ["SCAN wanted", "feedback_ledger_target (org_id=? AND target_kind=? AND target_key=?"]),
        ("ab_rows", ["retrieval_ab_logs_time (org_id=? AND created_at>? AND created_at<?"]),
        ("memories_shown", ["logs_time (org_id=? AND created_at>?", "memories_id (org_id=? AND id=?"]),
        ("top_memories", ["logs_time (org_id=? AND created_at>?", "memories_id (org_id=? AND id=?"]),
        ("outcomes_with_tokens", ["context_injection_logs_session (", "session_id=?"]),
        ("weight_of_edge", ["graph_edges_ends (org_id=? AND from_row=? AND to_row=? AND edge_type=?"]),
    ],
)
def test_rows_are_looked_up_by_their_keys(connection: apsw.Connection, name: str, steps: list[str]) -> None:
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]), "[]")
    plan = " ; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values))
    assert all(step in plan for step in steps), plan

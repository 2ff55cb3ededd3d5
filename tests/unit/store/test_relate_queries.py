"""What a job reads and writes it looks up: an org may have a million edges, and its writers wait for each job."""

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
TOUCHED = (
    "drop_stranded",
    "nodes_prune",
    "edge_delete_unwitnessed",
    "edge_expiry",
    "similar_at",
    "similar_drop",
    "edge_reweigh",
    "evidence_resay",
    "edge_resure",
    "relations_at",
    "relation_renew",
    "found_by_others",
    "nodes_joined",
    "nodes_respell",
    "edges_respell",
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("store") / "clew.db"
    open_engine(path).close()
    with closing(connect(path)) as connection:
        yield connection


def plan(connection: apsw.Connection, name: str) -> list[str]:
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]), "[]")
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]


@pytest.mark.parametrize("name", TOUCHED)
def test_no_step_of_a_job_walks_the_edges_of_the_org(connection: apsw.Connection, name: str) -> None:
    steps = plan(connection, name)
    walked = [
        step for step in steps if step.endswith("(org_id=?)") or re.match(r"SCAN (graph_|memor|[xvnmolp]\b)", step)
    ]
    assert steps and not walked, steps


@pytest.mark.parametrize("name", ["drop_stranded", "nodes_respell", "edges_respell"])
def test_rows_that_are_named_are_found_by_their_number(connection: apsw.Connection, name: str) -> None:
    assert plan(connection, name)[0].endswith("USING INTEGER PRIMARY KEY (rowid=?)")

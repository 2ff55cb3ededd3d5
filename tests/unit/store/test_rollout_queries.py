"""A window of counted requests is one stretch of its table; a week of them is not walked to judge a day."""

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
TABLE = "graph_rollout_metrics"


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("store") / "clew.db"
    open_engine(path).close()
    with closing(connect(path)) as connection:
        yield connection


def steps(connection: apsw.Connection, name: str) -> list[str]:
    values = dict.fromkeys(re.findall(r":([a-z_]+)", NAMED[name]), 1)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {NAMED[name]}", values)]
    assert any(TABLE in step for step in plan), plan
    return plan


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("rollout_window", "(org_id=? AND created_at>? AND created_at<?)"),
        ("rollout_summary", "(org_id=? AND created_at>? AND created_at<?)"),
        ("rollout_last_fallback", "(org_id=? AND created_at>? AND created_at<?)"),
    ],
)
def test_a_span_is_read_as_one_stretch_of_the_key(connection: apsw.Connection, name: str, bounds: str) -> None:
    assert steps(connection, name) == [f"SEARCH {TABLE} USING PRIMARY KEY {bounds}"]


@pytest.mark.parametrize("name", ["rollout_metrics_prune", "rollout_orgs"])
def test_the_requests_are_never_walked(connection: apsw.Connection, name: str) -> None:
    plan = steps(connection, name)
    assert not any(step.startswith(f"SCAN {TABLE}") for step in plan), plan

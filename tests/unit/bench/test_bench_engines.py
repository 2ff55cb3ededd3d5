"""`clew bench speed --url` on stores of a few memories: what it reports and leaves behind, not how fast it is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clew.bench import engine_queue, engine_sides, engine_table, engine_walks, engines, speed
from clew.compose import bulk_load
from clew.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

FEW = engines.Rounds(asks=3, writes=2, processes=0, edges=200, walks=3, injects=2)
COLD = {"best_ms": 1.0, "p50_ms": 1.0}


@pytest.fixture(scope="module")
def empty(postgres: PostgresServer) -> Iterator[str]:
    with postgres.fresh_database(user="postgres", template="template0") as url:
        yield url


@pytest.fixture(scope="module")
def steps() -> list[tuple[int, int]]:
    return []


@pytest.fixture(scope="module")
def report(
    empty: str, steps: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(engines, "cold", lambda sides, runs: {side.name: COLD for side in sides})
        patch.setattr(engine_queue, "WORKERS", 1)
        patch.setattr(engine_walks, "FRONTIER", 20)
        patch.setattr(engines, "THREADS", 2)
        yield engines.run(empty, [60, 100], rounds=FEW, progress=lambda done, of: steps.append((done, of)))


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_every_engine_gets_the_same_work(report: dict[str, Any], name: str) -> None:
    assert [row["ingest"][name]["memories"] for row in report["sizes"].values()] == [60, 40]
    assert report["graph"][name]["edges"] == report["graph"]["sqlite"]["edges"] > 50
    assert report["graph"][name]["hops"][0]["nodes"] == 10
    assert report["queue"][name]["claim_and_ack"]["cycles"] == report["queue"][name]["beats"]["cycles"] == 20


def test_recall_is_asked_in_memory_and_where_it_lies(report: dict[str, Any]) -> None:
    for row in report["sizes"].values():
        for name in ("sqlite", "postgres"):
            assert [way["is_kept"] for way in row["recall"][name].values()] == [True, True, False]
            assert all(way["ms"]["p99"] >= way["ms"]["p50"] > 0 for way in row["recall"][name].values())


def test_every_number_has_its_line_and_every_step_is_told(
    report: dict[str, Any], steps: list[tuple[int, int]]
) -> None:
    assert steps == [(done, 12) for done in range(13)]
    text = engine_table.table(report)
    assert text == speed.table(report)
    assert "100 memories" in text and "built afterwards" in text and "hop 3" in text
    assert text.count("60 -> 100") == 6 == len(report["growth"])


def test_the_database_is_as_empty_as_before(report: dict[str, Any], empty: str) -> None:
    assert report["sizes"]
    with closing(bulk_load(empty)) as database:
        database.make_schema()  # refuses one in which anything is
        database.drop_schema()


def test_a_database_that_is_in_use_is_refused_and_left_alone(postgres_url: str) -> None:
    with pytest.raises(Conflict, match="holds a store already"), engine_sides.both(postgres_url):
        pass
    with engine_sides.Side("postgres", postgres_url, Path("/nowhere")).opened() as memory:
        assert memory.stats().memories == 0


def test_an_address_of_something_else_is_refused() -> None:
    with pytest.raises(InvalidInput, match="neither 'postgres' nor the address"):
        speed.measure(Namespace(url="https://example.com", sizes=None, quick=True))


def test_indices_are_built_as_they_were(empty: str) -> None:
    with closing(bulk_load(empty)) as database:
        database.make_schema()
        before = database._all("vector_indices")
        database.drop_vector_indices()
        assert len(before) == 4 and not database._all("vector_indices")
        _seconds, size = database.build_vector_indices()
        assert [row[:2] for row in database._all("vector_indices")] == [row[:2] for row in before]
        assert size == sum(row[2] for row in before)
        database.drop_schema()

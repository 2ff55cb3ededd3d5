"""The nearest vectors in reach: every engine finds the same, by comparing each or by an index."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from engines import opened
from memories import a_memory
from numpy.typing import NDArray

from clew.model.memory import Indexed
from clew.model.scope import Reach
from clew.ports import Store, Tx
from clew.store import postgres_nearest
from clew.store.postgres_queries import compiled
from clew.store.session import HalfVector

EVERYTHING = Reach.everything("local")


def halves(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.float16]:
    """Around a few middles, as texts are: of vectors without any order, no index can find the nearest."""
    found = rng.normal(size=(count, dim)) + 3 * rng.normal(size=(16, dim))[rng.integers(0, 16, count)]
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)


def put_vectors(store: Store, vectors: NDArray[np.float16], places: Sequence[tuple[str, str]]) -> list[int]:
    memories = [a_memory(f"text {n}", org=org, project=project) for n, (org, project) in enumerate(places)]
    indexed = [Indexed(1, b"\x07\x00\x00\x00\x01", vector.tobytes(), "toy@1") for vector in vectors]

    def write(tx: Tx, org: str) -> list[int]:
        mine = [at for at, memory in enumerate(memories) if memory.org == org]
        rows = tx.memories.insert([memories[at] for at in mine])
        tx.index.put_many([(row, memories[at], indexed[at]) for at, row in zip(mine, rows, strict=True)])
        return rows

    orgs = sorted({org for org, _project in places})
    found = {org: iter(store.write(lambda tx, org=org: write(tx, org))) for org in orgs}
    return [next(found[org]) for org, _project in places]


@pytest.mark.parametrize("dim", [24, 256])
@pytest.mark.parametrize("by_index", [False, True])
def test_the_nearest_in_reach_are_found_with_their_cosines(
    store: Store, dim: int, by_index: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_nearest, "_is_large", lambda *_: by_index)
    rng = np.random.default_rng(5)
    places = [(org, project) for org in ("local", "other") for project in "pqr"] * 30
    vectors = halves(rng, len(places), dim)
    rows = put_vectors(store, vectors, places)
    asked = halves(rng, 3, dim).astype(np.float32)
    with store.read() as tx:
        found = tx.index.nearest(Reach("local", ("", "p"), ("",)), "toy@1", asked, limit=7)
        assert tx.index.nearest(EVERYTHING, "other@1", asked, limit=7) == [{}, {}, {}]
    mine = [at for at, place in enumerate(places) if place == ("local", "p")]
    for vector, nearest in zip(asked, found, strict=True):
        cosines = {rows[at]: float(vectors[at].astype(np.float32) @ vector) for at in mine}
        best = sorted(cosines, key=lambda row: -cosines[row])[:7]
        assert nearest == {row: pytest.approx(cosines[row], abs=2e-6) for row in best}


def test_all_that_are_as_near_as_the_last_are_found(store: Store) -> None:
    vectors = np.repeat(np.eye(2, 16, dtype=np.float16), (3, 90), axis=0)
    rows = put_vectors(store, vectors, [("local", "p")] * 93)
    with store.read() as tx:
        [near] = tx.index.nearest(EVERYTHING, "toy@1", np.eye(1, 16, dtype=np.float32), limit=3)
        [far] = tx.index.nearest(EVERYTHING, "toy@1", np.eye(1, 16, dtype=np.float32), limit=4)
    assert set(near) == set(rows[:3]) and set(far) == set(rows)


@pytest.mark.torture
def test_an_index_of_vectors_misses_few_of_the_nearest_though_a_filter_keeps_two_in_a_hundred(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, count = np.random.default_rng(5), 20_000
    vectors, asked = halves(rng, count, 256), halves(rng, 20, 256).astype(np.float32)
    with closing(opened(postgres_url)) as store:
        put_vectors(store, vectors, [(("local", "other")[n % 2], f"p{n // 2 % 50}") for n in range(count)])
        reach = Reach("local", ("p7",), ("",))
        with store.read() as tx:
            exact = tx.index.nearest(reach, "toy@1", asked, limit=20)
            # Told otherwise, the server would rightly compare the few that the filter leaves.
            tx.session.connection.execute("SET LOCAL enable_sort = off")  # type: ignore[attr-defined]
            monkeypatch.setattr(postgres_nearest, "_is_large", lambda *_: True)
            found = tx.index.nearest(reach, "toy@1", asked, limit=20)
    hits = sum(len(set(one) & set(other)) for one, other in zip(exact, found, strict=True))
    assert 0.97 * sum(map(len, exact)) <= hits


def test_each_length_that_has_an_index_is_asked_through_it(postgres_url: str) -> None:
    asked = {"org_id": "local", "projects": None, "users": None, "only_labels": None, "space": "toy@1", "limit": 5}
    with closing(opened(postgres_url)) as store, store.read() as tx:
        session: Any = tx.session  # type: ignore[attr-defined]
        session.connection.execute("SET LOCAL enable_sort = off")  # nothing is there: any plan is as good
        for dim, query in postgres_nearest._INDEXED.items():
            vector = HalfVector(np.ones(dim, np.float16).tobytes())
            plan = session.connection.execute(f"EXPLAIN {compiled()[query].sql}", asked | {"vector": vector})
            assert f"memory_embeddings_{dim} " in "".join(line for (line,) in plan)

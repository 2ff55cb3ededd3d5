"""The nearest memories are the true nearest ones, of those that may be known and still hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from clew.clew import Clew
from clew.model.relation import Neighbour
from clew.model.scope import Reach, Scope
from clew.model.space import VectorSpace
from clew.recall.corpus import Corpora
from clew.relate.nearest import Asked, Near, nearest
from told_relations import SHOP, OpenAt, open_told, remember


def near_of(clew: Clew, id: str, *, limit: int = 20, max_bytes: int = 1 << 30) -> list[Neighbour]:
    """With little memory the scope is looked through on disk."""
    embedder = clew.embedder
    assert embedder is not None
    corpora = Corpora(clew.store, space=embedder.space, max_bytes=max_bytes)
    with clew.store.read() as tx:
        memory = tx.memories.get(Reach.everything("local"), id)
        vector = corpora.load_ids(tx, Reach.everything("local"), [id]).vectors.floats(slice(None))[0]
    assert memory is not None
    near = Near(clew.store, corpora, embedder.space)
    return nearest([Asked(memory, vector)], near, limit=limit, now=clew.clock.now())[id]


def texts(found: list[Neighbour]) -> list[str]:
    return [one.memory.content for one in found]


def stored(vector: list[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """As the store has it: of length one, in half floats."""
    return (np.array(vector) / np.linalg.norm(vector)).astype("<f2").astype(np.float64)


@pytest.fixture
def spread(clew_at: OpenAt, tmp_path: Path) -> tuple[Clew, dict[str, list[float]]]:
    """Two hundred memories in no order at all."""
    rng = np.random.default_rng(7)
    told = {f"memory {number}": rng.normal(size=8).tolist() for number in range(200)}
    clew = open_told(clew_at, tmp_path, told)
    remember(clew, *told)
    return clew, told


@pytest.mark.parametrize("max_bytes", [1 << 30, 1])
def test_w7_they_are_exactly_the_nearest(spread: tuple[Clew, dict[str, list[float]]], max_bytes: int) -> None:
    clew, told = spread
    [asked] = [memory for memory in clew.list(scope=SHOP, limit=200) if memory.content == "memory 3"]
    own = stored(told["memory 3"])
    cosine = {text: float(own @ stored(told[text])) for text in told if text != "memory 3"}
    expected = sorted(cosine, key=lambda text: -cosine[text])[:20]
    found = near_of(clew, asked.id, max_bytes=max_bytes)
    assert texts(found) == expected
    assert [one.similarity for one in found] == pytest.approx([cosine[text] for text in expected], abs=1e-5)


def test_memory_and_disk_give_the_same_also_for_equals(clew_at: OpenAt, tmp_path: Path) -> None:
    told = {f"equal {number}": [1.0, 0.5] for number in range(50)} | {"asked": [1.0, 0.0]}
    clew = open_told(clew_at, tmp_path, told)
    [asked, *_others] = remember(clew, "asked", *(text for text in told if text != "asked"))
    kept, read = (near_of(clew, asked, limit=5, max_bytes=size) for size in (1 << 30, 1))
    assert texts(kept) == texts(read) == [f"equal {number}" for number in (49, 48, 47, 46, 45)]


@pytest.mark.parametrize("max_bytes", [1 << 30, 1])
def test_what_is_over_is_left_out(clew_at: OpenAt, tmp_path: Path, max_bytes: int) -> None:
    names = ("asked", "forgotten", "expired", "superseded", "ended", "rule", "working")
    clew = open_told(clew_at, tmp_path, {key: [1.0, 0.0] for key in (*names, "instead")})
    [asked, forgotten, superseded, ended] = remember(clew, "asked", "forgotten", "superseded", "ended")
    remember(clew, "working", layer="working")
    remember(clew, "rule", type="rule")
    remember(clew, "expired", expires_at=clew.clock.now())
    remember(clew, "instead", supersedes=superseded)
    clew.forget(forgotten)
    clew.edit(ended, invalid_at=clew.clock.now())
    assert set(texts(near_of(clew, asked, max_bytes=max_bytes))) == {"rule", "working", "instead"}


def test_a_shared_memory_never_gets_to_know_of_a_private_one(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, {key: [1.0, 0.0] for key in ("shared", "adas", "bobs", "elsewhere")})
    [shared] = remember(clew, "shared")
    [adas] = remember(clew, "adas", scope=Scope(project="shop", user="ada"))
    remember(clew, "bobs", scope=Scope(project="shop", user="bob"))
    remember(clew, "elsewhere", scope=Scope(project="other"))
    assert texts(near_of(clew, shared)) == []
    assert texts(near_of(clew, adas)) == ["shared"]


def test_a_text_without_meaning_has_no_neighbours(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, {"one": [1.0, 0.0], "nothing": [0.0, 0.0]})
    [_one, nothing] = remember(clew, "one", "nothing")
    assert near_of(clew, nothing) == []


def test_of_those_that_all_count_as_the_same_the_nearest_come_first() -> None:
    near = Near(cast(Any, None), cast(Any, None), VectorSpace("told", "1", 2, unrelated=0.2, same=0.6))
    scores = near.similarities([0.2, 0.5, 0.59, 0.6, 0.7, 0.9, 1.0])
    assert scores == sorted(scores)
    assert len({*scores[3:]}) == 4
    assert (scores[0], scores[1], scores[-1]) == (0.0, pytest.approx(0.75), 1.0)
    assert scores[3] == pytest.approx(0.99)

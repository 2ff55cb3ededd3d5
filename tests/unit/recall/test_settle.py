"""A first look at the vectors, then exact scores for the best: beside a search that compares all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from clew import native
from clew.bench.texts import texts
from clew.clew import Clew
from clew.model.memory import Draft
from clew.model.space import VectorSpace
from clew.providers.static import StaticEmbedder
from clew.recall.fuse import Evidence, rank_scores, relevance, scales_of, semantic_relevance
from clew.recall.outline import Outline, outline_of
from clew.recall.run import Run
from clew.recall.segment import FURTHER, LEADING, build_segment
from clew.recall.settle import FEW, estimated, make_exact, settle, spread_of
from clew.recall.vectors import Vectors
from toys import START, ToldClock, open_toy

pytestmark = pytest.mark.usefixtures("by_both")

Floats = NDArray[np.float32]

SIZE, DIM = 8_000, 256
SURE, CLOSER = 40, 160  # the same shares of so many as recall takes of 100,000
SPACE = VectorSpace("made up", "1", DIM, 0.1, 0.9)


# -- vectors as texts have them ------------------------------------------------------------------------


@dataclass
class Seen:
    """All that a first look sees of a segment."""

    vectors: Vectors

    def __len__(self) -> int:
        return len(self.vectors)


@cache
def made_up(count: int, seed: int, falls: float = 0.8) -> Floats:
    """Components fall off as they do for sentences embedded with clew-static: the i-th varies by i**-0.8,
    and of questions, which are short, by i**-0.6."""
    rng = np.random.default_rng(seed)
    spread = np.arange(1, DIM + 1, dtype=np.float32) ** np.float32(-falls / 2)
    vectors = rng.standard_normal((count, DIM), np.float32) * spread @ turned(DIM)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@cache
def turned(dim: int) -> Floats:
    """No axis is a component."""
    return np.linalg.qr(np.random.default_rng(4).standard_normal((dim, dim)))[0].astype(np.float32)


@cache
def outlined_by(compiled: object) -> Outline:
    return outline_of(Vectors.of(made_up(SIZE, 1)))


def OUTLINE() -> Outline:
    return outlined_by(native.compiled)


ASKED = made_up(10, 2, falls=0.6)


def words_of(kind: str) -> Floats:
    """What the words of a question give: none, or some to one memory in fifty."""
    rng = np.random.default_rng(3)
    found = rng.random(SIZE, np.float32) * (rng.random(SIZE) < 0.02)
    return found.astype(np.float32) if kind == "hybrid" else np.zeros(SIZE, np.float32)


def scored(
    vector: Floats,
    *,
    exact: bool,
    words: Floats | None = None,
    allowed: NDArray[np.bool_] | None = None,
    layer: NDArray[np.int8] | None = None,
    weights: Floats | None = None,
    limit: int = 10,
) -> Run:
    """As recall scores: `exact` compares all vectors."""
    base, words = Seen(Vectors.of(made_up(SIZE, 1))), words_of("semantic") if words is None else words
    layer = np.zeros(SIZE, np.int8) if layer is None else layer
    by_layer = {one: np.flatnonzero(layer == one) for one in range(layer.max() + 1)} if layer.any() else {0: None}
    corpus: Any = SimpleNamespace(
        segments=(base,), ids=range(SIZE), by_layer=by_layer, layer=layer, weights=weights
    )
    allowed = np.ones(SIZE, np.bool_) if allowed is None else allowed
    rough = None if exact else estimated(corpus, OUTLINE(), vector)
    evidence = Evidence(words, words, rough.cosine if rough else base.vectors.cosines(vector))
    meaning = semantic_relevance(evidence.cosine, SPACE)
    scales = scales_of(evidence, allowed, spread_of(rough, corpus, allowed) if rough else None)
    scores = rank_scores(evidence, allowed, scales) * (1 if weights is None else weights)
    run = SimpleNamespace(
        corpus=corpus, evidence=evidence, allowed=allowed, words=words, meaning=meaning, space=SPACE, rough=rough,
        relevance=relevance(words, meaning), rank_score=scores, scales=scales,
    )  # fmt: skip
    if rough:
        settle(cast(Run, run), limit=limit, sure=SURE, closer=CLOSER)
    return cast(Run, run)


def best(run: Run, count: int) -> NDArray[np.intp]:
    scores = np.where(run.allowed, run.rank_score, -1)
    return np.argsort(-scores, kind="stable")[:count]


def agreement(count: int = 10, off: float = 1e-3, **options: Any) -> float:
    """How many of the best are the same; and all that is among the best has the scores of the exact search."""
    shared = 0
    for vector in ASKED:
        quick, slow = (scored(vector, exact=exact, **options) for exact in (False, True))
        found = best(quick, count)
        assert quick.relevance[found].tolist() == slow.relevance[found].tolist()
        assert quick.rank_score[found] == pytest.approx(slow.rank_score[found], rel=off)
        shared += len(np.intersect1d(found, best(slow, count)))
    return shared / (count * len(ASKED))


@pytest.mark.parametrize("kind", ["hybrid", "semantic"])
def test_the_best_are_nearly_always_those_of_the_exact_search(kind: str) -> None:
    assert agreement(words=words_of(kind)) >= 0.99


def test_learnt_weights_are_part_of_the_rank() -> None:
    weights = np.random.default_rng(5).uniform(0.5, 2, SIZE).astype(np.float32)
    assert agreement(words=words_of("hybrid"), weights=weights) >= 0.99


def test_the_nearest_is_mostly_exact_beside_many_that_share_a_word() -> None:
    """More memories share the word than are looked at again, and all of them rank above the rest."""
    words = np.zeros(SIZE, np.float32)
    words[: 4 * SURE] = 1
    exact = 0
    for vector in ASKED:
        quick = scored(vector, exact=False, words=words)
        assert quick.rough is not None and not quick.rough.is_exact.all()
        exact += quick.rough.is_exact[(made_up(SIZE, 1) @ vector).argmax()]
    assert exact >= 0.8 * len(ASKED)


def test_where_meaning_decides_all_estimates_are_closer() -> None:
    quick, slow = (scored(ASKED[0], exact=exact) for exact in (False, True))
    assert quick.rough is not None
    off = (quick.evidence.cosine - slow.evidence.cosine)[~quick.rough.is_exact]
    assert 0 < off.std() < 0.8 * quick.rough.estimate.error


# -- few of many ---------------------------------------------------------------------------------------


def test_where_few_may_be_answered_all_of_them_are_exact() -> None:
    allowed = np.random.default_rng(6).random(SIZE) < 0.5 * FEW / SIZE
    quick, slow = (scored(ASKED[0], exact=exact, allowed=allowed) for exact in (False, True))
    assert quick.rough is not None and quick.rough.is_exact[allowed].all() and not quick.rough.is_exact.all()
    for name in ("rank_score", "relevance", "meaning"):
        assert getattr(quick, name)[allowed].tolist() == getattr(slow, name)[allowed].tolist()
    assert quick.scales == slow.scales


@pytest.mark.parametrize("share", [0.2, 0.999])
def test_what_a_filter_leaves_ranks_as_if_all_were_compared(share: float) -> None:
    allowed = np.random.default_rng(7).random(SIZE) < share
    assert agreement(allowed=allowed, off=0.05) >= 0.99  # the spread of what is left is an estimate


def test_of_what_nothing_may_be_answered_nothing_is_compared() -> None:
    quick = scored(ASKED[0], exact=False, allowed=np.zeros(SIZE, np.bool_))
    assert quick.scales[1].spread == 0.0


def test_a_small_layer_is_exact_and_a_large_one_beside_it_has_its_best() -> None:
    layer = (np.random.default_rng(8).random(SIZE) < 0.01).astype(np.int8)
    quick, slow = (scored(ASKED[0], exact=exact, layer=layer) for exact in (False, True))
    small = np.flatnonzero(layer)
    assert quick.relevance[small].tolist() == slow.relevance[small].tolist()
    large = best(slow, 10 + len(small))
    large = large[layer[large] == 0][:10]
    assert quick.relevance[large].tolist() == slow.relevance[large].tolist()


def test_the_best_of_each_large_layer_are_exact() -> None:
    layer = (np.arange(SIZE) % 2).astype(np.int8)
    quick, slow = (scored(ASKED[0], exact=exact, layer=layer) for exact in (False, True))
    for one in (0, 1):
        found = [at for at in best(slow, 100) if layer[at] == one][:10]
        assert quick.relevance[found].tolist() == slow.relevance[found].tolist()


def test_whatever_else_is_needed_is_made_exact_and_only_that() -> None:
    quick, slow = (scored(ASKED[0], exact=exact) for exact in (False, True))
    assert quick.rough is not None
    left = np.flatnonzero(~quick.rough.is_exact)
    make_exact(quick, left[:7])
    assert quick.rank_score[left[:7]] == pytest.approx(slow.rank_score[left[:7]], rel=1e-3)
    assert quick.relevance[left[:7]].tolist() == slow.relevance[left[:7]].tolist()
    assert np.flatnonzero(~quick.rough.is_exact).tolist() == left[7:].tolist()


def test_a_long_answer_has_as_many_more_exact() -> None:
    quick = scored(ASKED[0], exact=False, limit=1_000)
    assert quick.rough is not None and quick.rough.is_exact[best(quick, 1_000)].all()


# -- the outline ---------------------------------------------------------------------------------------


def test_an_outline_knows_the_sums_and_how_far_off_it_is() -> None:
    vectors, vector = made_up(SIZE, 1), ASKED[0]
    estimate, exact = OUTLINE().cosines(vector), vectors @ vector
    assert estimate.total == pytest.approx(float(exact.sum()), abs=0.05)
    assert estimate.squares == pytest.approx(float(np.square(exact).sum()), rel=1e-4)
    assert estimate.error == pytest.approx(float(np.sqrt(np.square(estimate.cosine - exact).mean())), rel=1e-3)


def test_the_leading_components_are_those_that_vary_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two directions hold nearly everything, and neither is an axis."""
    rng, plane = np.random.default_rng(1), turned(16)[:2]
    noise = 0.001 * rng.standard_normal((500, 16))
    vectors = (rng.standard_normal((500, 2)) @ plane + noise).astype(np.float32)
    monkeypatch.setattr("clew.recall.outline.LEADING", 2)
    estimate = outline_of(Vectors.of(vectors)).cosines(plane[0])
    assert estimate.error < 0.001
    assert estimate.cosine == pytest.approx(vectors @ plane[0], abs=0.005)


def test_the_components_that_follow_add_what_they_hold() -> None:
    outline, both = OUTLINE(), LEADING + FURTHER
    estimate = outline.cosines(ASKED[0])
    expected = made_up(SIZE, 1) @ (outline.turn[:both].T @ estimate.turned[:both])
    assert estimate.cosine + outline.rest(estimate) == pytest.approx(expected, abs=1e-4)  # of 16 bits


# -- a store -------------------------------------------------------------------------------------------


def test_few_vectors_need_no_outline() -> None:
    small = build_segment([], 256)
    assert [small.outline() for _question in range(3)] == [None] * 3


QUESTION = " ".join(next(texts(1, chars=60)).split()[:5])


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clew]:
    """120 memories that count as many: the second question has the outline made."""
    for name, value in (("segment.LARGE", 100), ("settle.FEW", 10), ("settle.STRIDE", 4), ("settle.LOWEST", 2)):
        monkeypatch.setattr(f"clew.recall.{name}", value)
    monkeypatch.setitem(settle.__kwdefaults__, "sure", 30)
    monkeypatch.setitem(settle.__kwdefaults__, "closer", 40)
    with open_toy(tmp_path / "clew.db", embedder=StaticEmbedder(), graph={"recall": False}) as memory:
        list(memory.remember_many(Draft(content=text) for text in texts(120, chars=60)))
        yield memory


def outlined(memory: Clew) -> Clew:
    for _question in range(2):
        memory.recall("gateway")
    for thread in threading.enumerate():
        if thread.name == "clew-outline":
            thread.join()
    return memory


def test_python_does_not_end_in_the_middle_of_linear_algebra(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends daemons wherever they are, and OpenBLAS then waits for good for a thread that is gone."""
    ready, seen = threading.Event(), []

    def waiting(vectors: Vectors) -> Outline:
        seen.append(threading.current_thread())
        ready.wait(30)
        return outline_of(vectors)

    monkeypatch.setattr("clew.recall.outline.outline_of", waiting)
    for _question in range(2):
        memory.recall("gateway")
    ready.set()
    outlined(memory)
    assert [thread.daemon for thread in seen] == [False]


def assert_as_if_all_were_compared(memory: Clew, path: Path, **options: Any) -> None:
    """Another who opens the store has no outline yet. What is shown has the relevance that is found there."""
    later = ToldClock(START + timedelta(hours=1))
    with open_toy(path, embedder=StaticEmbedder(), clock=later, graph={"recall": False}) as other:
        exact = {one.memory.id: one.relevance for one in other.recall(QUESTION, limit=200, **options).results}
        found = memory.recall(QUESTION, limit=5, **options).results
        assert len(found) == min(5, len(exact)) > 1
        # Rounded to six digits, and a cosine differs by its last bit with where a vector lies.
        compared = [exact[one.memory.id] for one in found]
        assert [one.relevance for one in found] == pytest.approx(compared, abs=1.5e-6)
        assert [one.memory.id for one in found] == list(exact)[:5]


def has_outline(memory: Clew) -> bool:
    [corpus] = memory._reader.corpora._kept.values()
    return bool(corpus.segments[0]._outline)


@pytest.mark.parametrize("retrieval", ["hybrid", "semantic"])
def test_answers_are_those_of_a_store_that_compares_all(memory: Clew, tmp_path: Path, retrieval: str) -> None:
    assert has_outline(outlined(memory))
    assert_as_if_all_were_compared(memory, tmp_path / "clew.db", retrieval=retrieval)


def test_what_changed_and_what_is_gone_since_count_at_once(memory: Clew, tmp_path: Path) -> None:
    outlined(memory)
    gone, changed, *_ = memory.recall(QUESTION).results
    memory.forget(gone.memory.id)
    memory.edit(changed.memory.id, content="nothing of the kind")
    new = memory.remember(f"{QUESTION} indeed").memory
    assert has_outline(memory)
    found = [one.memory.id for one in memory.recall(QUESTION).results]
    assert found[0] == new.id and gone.memory.id not in found and found.count(changed.memory.id) == 0
    assert_as_if_all_were_compared(memory, tmp_path / "clew.db")

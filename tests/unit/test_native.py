"""What is compiled beside the Python that does the same work, and what it says of arrays that are not what they
should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew import native
from clew.model.recalled import RecallOptions
from clew.providers.static import StaticEmbedder
from clew.recall import ranker
from clew.recall.explain import _ranks
from clew.recall.ranker import model
from toys import ToyEmbedder, open_toy

WORDS = "gateway port queue cache deploy index retry budget token parser socket ledger replica shard".split()
SCORES = st.lists(st.floats(-1, 5, width=32), min_size=1, max_size=300)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> ModuleType:
    if native.compiled is None:
        pytest.skip("not compiled here")
    return native.compiled


def floats(numbers: list[float]) -> NDArray[np.float32]:
    return np.array(numbers, np.float32)


# -- the same answers ------------------------------------------------------------------------------------


def told(number: int) -> str:
    """A text that shares words with others, some of them rare."""
    chosen = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 5)]
    return f"The {' '.join(chosen)} of part {number % 17} was moved, see ticket {number % 40}."


QUESTIONS = (
    "which gateway port?",
    "where did the ledger of part 3 go, and why was the shard moved?",
    "what did Ann say about the token parser in March 2026?",
    "how did you mend the replica?",
    "ticket 12",
    "something else entirely",
    "",
)


@pytest.mark.parametrize("is_threaded", [False, True])
def test_a_recall_answers_the_same_with_and_without_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_threaded: bool
) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(dim=32)) as memory:
        for number in range(200):
            thread = {"thread": f"chat {number % 5}", "author": ("Ann", "assistant")[number % 2]}
            rule = {"type": "rule"} if number % 50 == 0 else {}
            memory.remember(told(number), **(thread if is_threaded else {}), **rule)
        memory.forget(memory.recall(QUESTIONS[0]).results[-1].memory.id)
        for question in QUESTIONS:
            for options in (RecallOptions(), RecallOptions(limit=150), RecallOptions(types=("note",), floor=0.3)):
                fast = memory.recall(question, **changed(options))
                with monkeypatch.context() as patch:
                    patch.setattr(native, "compiled", None)
                    plain = memory.recall(question, **changed(options))
                assert [one.memory.id for one in fast.results] == [one.memory.id for one in plain.results]
                for one, other in zip(fast.results, plain.results, strict=True):
                    assert one.relevance == pytest.approx(other.relevance, abs=1e-5)
                    assert one.rank_score == pytest.approx(other.rank_score, rel=1e-4, abs=1e-5)
                    assert [(why.source, why.rank, why.via) for why in one.why] == [
                        (why.source, why.rank, why.via) for why in other.why
                    ]
                assert [(stage.name, stage.into, stage.out, stage.removed) for stage in fast.trace.stages] == [
                    (stage.name, stage.into, stage.out, stage.removed) for stage in plain.trace.stages
                ]


def changed(options: RecallOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("limit", "types", "floor")}


@given(SCORES, st.data())
def test_ranks_count_what_is_better(numbers: list[float], data: st.DataObject) -> None:
    scores = floats(numbers)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    mine = floats(data.draw(st.lists(st.sampled_from(numbers), max_size=30)))
    better = [1 + sum(bool(score > own) for score in scores[allowed]) if own > 0 else 0 for own in mine]
    assert native.compiled is not None and native.compiled.ranks(scores, allowed, mine) == better
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "compiled", None)
        assert [rank for rank, own in zip(_ranks(scores, mine, allowed), mine, strict=True) if own > 0] == [
            rank for rank, own in zip(better, mine, strict=True) if own > 0
        ]


@given(st.integers(0, 3_000), st.integers(0, 200), st.integers(0, 9), st.booleans())
def test_the_best_are_the_best(size: int, count: int, seed: int, few_differ: bool) -> None:
    random = np.random.default_rng(seed)
    scores = (random.integers(0, 4, size) / 4 if few_differ else random.random(size)).astype(np.float32)
    relevance, allowed = random.random(size).astype(np.float32), random.random(size) < 0.9
    layer, row = random.integers(0, 3, size).astype(np.int8), random.permutation(size)
    assert native.compiled is not None
    for floor, without in ((0.0, -1), (0.4, 0)):
        found = np.frombuffer(
            native.compiled.best(scores, allowed, count, 0.0, relevance, floor, layer, without, row), np.int64
        )
        among = np.flatnonzero(allowed & (relevance >= np.float32(floor)) & (layer != without) & (scores > 0))
        assert len(found) == min(count, len(among))  # of equals those with the lowest rows
        assert set(found.tolist()) == set(among[np.lexsort((row[among], -scores[among]))[:count]].tolist())


def test_the_model_gives_the_same_score_at_and_around_every_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    at = np.repeat(np.unique(model().trees.thresholds)[None, :], len(model().weights), axis=0).astype(np.float32)
    features = np.concatenate((np.nextafter(at, np.float32(-9)), at, np.nextafter(at, np.float32(9))), axis=1)
    features = np.ascontiguousarray(features)
    fast = model().scores(features)
    monkeypatch.setattr(native, "compiled", None)
    assert fast.tolist() == pytest.approx(model().scores(features).tolist(), rel=1e-12, abs=1e-12)


TEXTS = st.lists(
    st.text(max_size=400) | st.sampled_from(
        ("", "the " * 5_000, "Die Datenbank wird jede Nacht gesichert.", "Резервная копия", "ภาษาไทย", "数据库")
    ),
    max_size=6,
)  # fmt: skip


@given(TEXTS)
def test_a_text_has_the_same_vector_with_and_without_what_is_compiled(texts: list[str]) -> None:
    embedder = StaticEmbedder()
    fast = embedder.embed(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "compiled", None)
        plain = embedder.embed(texts)
    assert fast.shape == plain.shape and np.abs(fast - plain).max(initial=0) < 1e-5
    assert (fast.any(axis=1) == plain.any(axis=1)).all()


def test_both_parts_are_of_one_revision(compiled: ModuleType) -> None:
    assert compiled.REVISION == native.REVISION


def test_what_was_compiled_from_other_sources_is_not_used() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from clew import _native; _native.REVISION = -1\n"
         "from clew import native; print(native.compiled)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "None"


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=96), st.floats(0, 3), st.floats(0, 9, width=32))
def test_the_order_of_the_last_look_is_put_alike(
    compiled: ModuleType, scores: list[float], least: float, best: float
) -> None:
    ranks = np.linspace(0, best, len(scores) + 5, dtype=np.float32)
    places, score = np.arange(len(scores), dtype=np.int64) + 3, np.array(scores)
    run: Any = SimpleNamespace(rank_score=ranks.copy(), least_refined=least)
    ranker._spread(run, places, score)
    compiled.put(ranks, places, score, least, ranker._PER_HALF, ranker._APART)
    assert ranks == pytest.approx(run.rank_score, rel=1e-6, abs=1e-7)


@given(st.lists(st.tuples(st.floats(-1, 5, width=32), st.booleans()), max_size=70))
def test_the_highest_of_what_is_allowed_is_the_same(compiled: ModuleType, rows: list[tuple[float, bool]]) -> None:
    scores, allowed = floats([score for score, _ok in rows]), np.array([ok for _score, ok in rows], np.bool_)
    assert compiled.most(scores, allowed) == float(scores[allowed].max(initial=0.0))
    assert compiled.most(scores, np.ones(len(scores), np.bool_)) == float(scores.max(initial=0.0))


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 3.0]), st.sampled_from([0.0, 0.5])), max_size=70))
def test_what_has_evidence_is_the_same(compiled: ModuleType, rows: list[tuple[float, float]]) -> None:
    lexical, relevance = floats([one for one, _other in rows]), floats([other for _one, other in rows])
    hits = np.empty(len(rows), np.bool_)
    compiled.hits(lexical, relevance, hits)
    assert hits.tolist() == [one > 0 or other > 0 for one, other in rows]


# -- arrays that are not what they should be -------------------------------------------------------------


def test_an_array_of_another_kind_is_named(compiled: ModuleType) -> None:
    scores, allowed = floats([1, 2]), np.ones(2, np.bool_)
    with pytest.raises(TypeError, match="mine: expected float32, got format 'd'"):
        compiled.ranks(scores, allowed, np.ones(1))
    with pytest.raises(ValueError, match="allowed: expected 2 numbers, got 3"):
        compiled.ranks(scores, np.ones(3, np.bool_), scores)
    with pytest.raises((ValueError, BufferError)):
        compiled.ranks(np.ones((4, 4), np.float32)[:, 1], np.ones(4, np.bool_), scores)
    with pytest.raises(TypeError, match="3 arguments, got 1"):
        compiled.ranks(scores)
    with pytest.raises(TypeError):
        compiled.ranks(None, allowed, scores)


def test_what_is_written_to_must_be_writable(compiled: ModuleType) -> None:
    places = np.arange(2)
    places.flags.writeable = False
    numbers = floats([1, 2])
    with pytest.raises((ValueError, BufferError)):
        compiled.order(places, numbers, numbers, np.arange(2), (0.0, 1.0, 0.0, 1.0))


@pytest.mark.parametrize("place", [-1, 2])
def test_a_place_outside_is_refused(compiled: ModuleType, place: int) -> None:
    numbers = floats([1, 2])
    with pytest.raises(IndexError, match="no memory"):
        compiled.order(np.array([0, place]), numbers, numbers, np.arange(2), (0.0, 1.0, 0.0, 1.0))


def postings(**changed: Any) -> tuple[Any, ...]:
    whole = {
        "terms": np.array([7], np.uint32),
        "starts": np.array([0, 2], np.int64),
        "docs": np.array([0, 1], np.int32),
        "counts": floats([1, 2]),
        "size": 2,
    } | changed
    return tuple(whole.values())


def matched(compiled: ModuleType, *segments: tuple[Any, ...], size: int = 2) -> Any:
    language = (np.array([9], np.uint32), np.array([0.1]), np.array([0.5]))
    score, covered, norm = np.zeros((3, size), np.float32)
    asked = np.array([7, 8], np.uint32)
    return compiled.match(asked, segments, norm + 1, None, language, (2.0, 100.0, 2.2), score, covered)


def test_postings_that_do_not_fit_together_are_refused(compiled: ModuleType) -> None:
    assert len(matched(compiled, postings())) == 4
    for wrong in (
        postings(starts=np.array([0], np.int64)),
        postings(counts=floats([1])),
        postings(size=3),
        postings(size=-1),
        postings(size=2**62),
    ):
        with pytest.raises(ValueError, match=r"fit together|memories, not"):
            matched(compiled, wrong)
    for wrong in (
        postings(starts=np.array([0, 9], np.int64)),
        postings(starts=np.array([-3, 2], np.int64)),
        postings(docs=np.array([0, 2], np.int32)),
        postings(docs=np.array([0, -1], np.int32)),
    ):
        with pytest.raises(IndexError):
            matched(compiled, wrong)
    with pytest.raises(TypeError):
        matched(compiled, ("no", "postings"))


def test_a_tree_cannot_ask_for_a_feature_that_there_is_not(compiled: ModuleType) -> None:
    features, weights, out = floats([1, 2, 3, 4]).reshape(2, 2), np.ones(2), np.empty(2)
    thresholds, gives = np.array([0.5]), np.array([0.0, 1.0])
    compiled.model(features, weights, np.array([1]), thresholds, gives, 1, out)
    assert out.tolist() == [5, 7]
    for column in (-1, 2):
        with pytest.raises(IndexError, match="a feature that there is not"):
            compiled.model(features, weights, np.array([column]), thresholds, gives, 1, out)
    with pytest.raises(ValueError, match="expected 3 rows of 2 numbers, got 4"):
        compiled.model(features, np.ones(3), np.array([1]), thresholds, gives, 1, out)
    with pytest.raises(ValueError, match="depth 17"):
        compiled.model(features, weights, np.array([1]), thresholds, gives, 17, out)


def test_rows_are_counted_without_overflow(compiled: ModuleType) -> None:
    rows, out = np.zeros((3, 4), np.int16), np.empty(3, np.float32)
    compiled.scan(rows, np.zeros(4, np.int16), 1.0, out)
    assert out.tolist() == [0, 0, 0]
    for vector in (np.zeros(3, np.int16), np.zeros(0, np.int16)):
        with pytest.raises(ValueError, match="rows of"):
            compiled.scan(rows, vector, 1.0, out)


def test_an_array_that_lies_askew_is_refused(compiled: ModuleType) -> None:
    askew = memoryview(bytearray(9))[1:].cast("f")
    with pytest.raises(TypeError, match="scores: expected float32"):
        compiled.ranks(askew, np.ones(2, np.bool_), floats([1]))


def embedded(compiled: ModuleType, *pieces: int, **changed: Any) -> list[float]:
    """By three rows of two numbers, the last of which other languages read the second piece by."""
    told = {
        "rows": np.array([[3, 4], [1, 0], [0, 2]], np.int8),
        "scales": floats([1, 1, 1]),
        "second": np.array([0, 2], np.int32),
        "tells": np.array([0, 1], np.int8),
        "numbers": (2, 12, 24, 2),
        "out": np.empty((1, 2), np.float32),
    } | changed
    compiled.embed([np.array(pieces, np.int64).tobytes()], *told.values())
    found: list[float] = told["out"][0].tolist()
    return found


def test_pieces_are_added_up_by_the_rows_of_their_language(compiled: ModuleType) -> None:
    assert embedded(compiled) == [0, 0]
    assert embedded(compiled, 0) == pytest.approx([0.6, 0.8])
    assert embedded(compiled, 1, 1) == [1, 0]
    assert embedded(compiled, 1, 1, 1) == [0, 1]
    assert embedded(compiled, 0, 1, scales=floats([0, 1, 1])) == [1, 0]
    assert embedded(compiled, 0, 0, 1, scales=floats([0, 1, 1])) == [0, 0]  # most of it is unknown


def test_pieces_and_rows_that_there_are_not_are_refused(compiled: ModuleType) -> None:
    for piece in (-1, 2, 2**62):
        with pytest.raises(IndexError, match="a piece that there is not"):
            embedded(compiled, piece)
    for row in (-1, 3):
        with pytest.raises(IndexError, match="a row that there is not"):
            embedded(compiled, 1, 1, 1, second=np.array([0, row], np.int32))
    for wrong in (
        {"rows": np.zeros((2, 2), np.int8)},
        {"second": np.zeros(3, np.int32)},
        {"out": np.empty((2, 2), np.float32)},
        {"numbers": (0, 12, 24, 2)},
        {"numbers": (2, 12, 0, 2)},
    ):
        with pytest.raises(ValueError, match=r"fit together|rows of"):
            embedded(compiled, 0, **wrong)
    arrays = (np.zeros((1, 2), np.int8), floats([1]), np.zeros(1, np.int32), np.zeros(1, np.int8), (2, 12, 24, 2))
    for pieces, refused in (([b"half"], ValueError), (["text"], TypeError), ((b"",), TypeError)):
        with pytest.raises(refused):
            compiled.embed(pieces, *arrays, np.empty((1, 2), np.float32))


def test_numbers_that_are_no_tuple_are_refused(compiled: ModuleType) -> None:
    numbers = floats([1, 2])
    with pytest.raises(TypeError, match="tuple"):
        compiled.order(np.arange(2), numbers, numbers, np.arange(2), 7)
    with pytest.raises(TypeError, match="tuple"):
        matched(compiled, 7)


def test_a_spread_that_is_no_number_counts_as_none(compiled: ModuleType) -> None:
    numbers, allowed = floats([0.1, float("nan"), 0.3, 0.2]), np.ones(4, np.bool_)
    words, meaning, both, rank = np.empty((4, 4), np.float32)
    told = compiled.fuse(
        numbers * 0, numbers * 0, numbers, allowed, None, None, words, meaning, both, rank,
        (0.25, 0.9, 0.1, 0.9, 1e-5, -1.0),
    )  # fmt: skip
    assert told[3] == told[5] == 0


def test_half_floats_become_whole_numbers_of_the_same_size(compiled: ModuleType) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    up_to_1 = halves[np.abs(halves) <= 1][None]
    out = np.empty(up_to_1.shape, np.int16)
    compiled.narrow(up_to_1.tobytes(), out)
    assert (out == np.clip(np.rint(up_to_1.astype(np.float64) * 32768), -32767, 32767)).all()
    with pytest.raises(ValueError, match="rows of"):
        compiled.narrow(b"123", np.empty((1, 1), np.int16))
    with pytest.raises(TypeError, match="askew"):
        compiled.narrow(b"12", np.empty(1, np.int16))


@pytest.mark.filterwarnings("ignore:overflow")
def test_floats_become_half_floats_as_numpy_rounds_them(compiled: ModuleType) -> None:
    """Every half, what lies between it and the next, and any other number."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves[np.isfinite(halves)].astype(np.float32)
    between = [exact, np.nextafter(exact, floats([9])), np.nextafter(exact, floats([-9])), exact * 1.0002]
    middle = (exact[:-1] + exact[1:]) / 2
    others = np.random.default_rng(1).integers(0, 1 << 32, 50_000, np.uint32).view(np.float32)
    numbers = np.concatenate([*between, middle, others[np.isfinite(others)]])
    assert compiled.halve(numbers[:, None], 1) == [one.tobytes() for one in numbers.astype("<f2")]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_rows_are_halved_one_by_one_and_not_where_a_number_is_none(compiled: ModuleType, odd: float) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert compiled.halve(rows, 4) == [row.tobytes() for row in rows.astype("<f2")]
    assert compiled.halve(rows[:0], 4) == []
    rows[2, 1] = odd
    assert compiled.halve(rows, 4) is None


@pytest.mark.parametrize("dim", [0, -1, 5, 1 << 20])
def test_rows_of_another_length_are_not_halved(compiled: ModuleType, dim: int) -> None:
    with pytest.raises(ValueError, match="another length"):
        compiled.halve(np.ones((3, 4), np.float32), dim)


@pytest.mark.parametrize(
    ("row", "length"),
    [([0.5] * 4, 1.0), ([0.25] * 4, 0.5), ([0.0] * 4, 0.0), ([1.0] * 4, 2.0), ([1.001, 0, 0, 0], np.inf),
     ([np.inf, 0, 0, 0], np.inf), ([np.nan, 0, 0, 0], np.inf)],
)  # fmt: skip
def test_the_length_of_the_longest_row_is_told(compiled: ModuleType, row: list[float], length: float) -> None:
    halves = np.array([[0.1] * 4, row], np.float16)
    longest = compiled.narrow(halves.tobytes(), np.empty(halves.shape, np.int16))
    assert longest == pytest.approx(max(length, 0.2), rel=1e-3)


@pytest.mark.parametrize(
    ("places", "scores"), [([-1], [1.0]), ([4], [1.0]), ([0, 1], [1.0])], ids=["before", "behind", "another number"]
)
def test_a_place_that_there_is_not_is_put_nowhere(
    compiled: ModuleType, places: list[int], scores: list[float]
) -> None:
    ranks = floats([1, 2, 3, 4])
    with pytest.raises((IndexError, ValueError)):
        compiled.put(ranks, np.array(places, np.int64), np.array(scores), 0.0, 0.3, 1e-3)
    assert ranks.tolist() == [1, 2, 3, 4]

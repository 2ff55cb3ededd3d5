"""Vectors as the read model keeps them, beside those of the store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew import native
from clew.recall.vectors import AT_ONCE, Vectors

Floats = NDArray[np.float32]


def made_up(count: int, dim: int, seed: int = 1, length: float = 1.0) -> Floats:
    """As the store has them: of one length, in half floats."""
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    vectors *= np.float32(length) / np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16).astype(np.float32)


@pytest.fixture(params=["compiled", "python"], autouse=True)
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(native, "compiled", None)
    elif native.compiled is None:
        pytest.skip("not compiled here")


@pytest.mark.parametrize("dim", [1, 8, 100, 256, 384, 3072])
def test_cosines_are_those_of_the_store_to_four_digits(dim: int) -> None:
    rows, asked = made_up(300, dim), made_up(3, dim, seed=2)
    kept = Vectors.of(rows)
    for vector in (*asked, rows[7]):
        assert kept.cosines(vector) == pytest.approx(rows @ vector, abs=1e-4)


def test_equal_vectors_are_equally_near_wherever_they_stand() -> None:
    rows = made_up(301, 100)
    rows[[5, 77, 300]] = rows[0]
    found = Vectors.of(rows).cosines(rows[1])
    assert len({*found[[0, 5, 77, 300]].tolist()}) == 1


def test_some_places_have_the_same_cosines_as_among_all() -> None:
    rows, places = made_up(300, 96), np.array([299, 3, 3, 150])
    kept = Vectors.of(rows)
    assert kept.cosines(rows[1], places).tolist() == kept.cosines(rows[1])[places].tolist()


def test_floats_are_those_of_the_store_to_four_digits() -> None:
    rows = made_up(AT_ONCE + 10, 32)
    kept = Vectors.of(rows)
    assert kept.floats(np.array([4, 2])) == pytest.approx(rows[[4, 2]], abs=2e-5)
    assert np.concatenate([*kept.blocks()]) == pytest.approx(rows, abs=2e-5)
    assert (len(kept), kept.dim) == rows.shape


@pytest.mark.parametrize("length", [1.5, 3.0, 100.0])
def test_vectors_that_are_longer_than_1_count_as_they_are(length: float) -> None:
    rows, asked = made_up(50, 64, length=length), made_up(1, 64, seed=2, length=length)[0]
    assert Vectors.of(rows).cosines(asked) == pytest.approx(rows @ asked, abs=1e-4 * length**2)


def test_a_component_that_is_all_of_a_vector_does_not_turn_around() -> None:
    rows = np.zeros((3, 100), np.float32)
    rows[0, 1] = rows[2, 2] = 1
    rows[1, 1] = -1
    assert Vectors.of(rows).cosines(rows[0]) == pytest.approx([1, -1, 0], abs=1e-4)


def test_no_vectors_are_compared_too() -> None:
    none = Vectors.packed([], 8)
    assert (none.cosines(np.ones(8, np.float32)).shape, none.nbytes, [*none.blocks()]) == ((0,), 0, [])


def test_they_take_half_the_memory_of_floats() -> None:
    kept = Vectors.of(made_up(10, 256))
    assert kept.nbytes == 10 * 256 * (4 if native.compiled is None else 2)


def test_what_is_no_number_spoils_its_own_row_alone() -> None:
    rows = made_up(4, 80)
    rows[2, 3] = np.nan
    found = Vectors.of(rows).cosines(rows[0])
    assert np.isfinite(found).tolist() == [True, True, False, True]
    assert found[0] == pytest.approx(1, abs=1e-3)


def test_vectors_of_few_numbers_stay_as_the_store_has_them() -> None:
    rows = made_up(20, 4)
    assert (Vectors.of(rows).floats(slice(None)) == rows).all()


@given(st.lists(st.floats(-1, 1, width=32), min_size=60, max_size=128))
def test_any_vector_is_as_near_to_itself_as_it_is_long(numbers: list[float]) -> None:
    vector = np.array(numbers, np.float32)
    vector /= np.float32(max(1.0, float(np.linalg.norm(vector))))
    expected = float(np.square(vector.astype(np.float64)).sum())
    assert Vectors.of(vector[None]).cosines(vector)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("number", [np.inf, np.nan, 1e30])
def test_a_question_that_is_no_vector_raises_nothing(number: float) -> None:
    with np.errstate(all="ignore"):
        assert len(Vectors.of(made_up(5, 100)).cosines(np.full(100, number, np.float32))) == 5


def test_a_number_beyond_what_16_bits_hold_is_the_largest() -> None:
    rows = np.zeros((3, 100), np.float32)
    rows[0, 0], rows[1, 0], rows[2, 1] = 1, -1, 1
    asked = np.zeros(100, np.float32)
    asked[0] = 1.005
    assert Vectors.of(rows).cosines(asked) == pytest.approx([1, -1, 0], abs=1e-2)

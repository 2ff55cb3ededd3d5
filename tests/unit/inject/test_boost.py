"""The boost for memories about the file at hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from injector_toys import MEMORY, found

from clew.clew import Clew
from clew.inject.boost import boost_by_path_overlap, is_about_path
from clew.model.inject import Observation

PATH = "src/pay/vat.py"


def test_r103_a_memory_about_the_path_gains_two_tenths(memory: Clew) -> None:
    about, other = found(memory, "rounding", 0.5, paths=(PATH,)), found(memory, "cookies", 0.5)
    assert [one.relevance for one in boost_by_path_overlap([about, other], PATH)] == [0.7, 0.5]


def test_r103_the_boost_stops_at_one(memory: Clew) -> None:
    [boosted] = boost_by_path_overlap([found(memory, "rounding", 0.95, paths=(PATH,))], PATH)
    assert boosted.relevance == 1.0


def test_r103_the_documented_metadata_paths_count(memory: Clew) -> None:
    assert is_about_path(found(memory, "rounding", 0.5, metadata={"paths": [PATH]}).memory, PATH)


def test_r103_a_memory_without_paths_is_searched_for_the_path(memory: Clew) -> None:
    assert is_about_path(found(memory, f"see {PATH}: it rounds", 0.5).memory, PATH)
    assert not is_about_path(found(memory, "see vat.py of another folder", 0.5).memory, PATH)


def test_r103_paths_come_before_the_text(memory: Clew) -> None:
    """One that lists its files is about those, whatever else it mentions."""
    elsewhere = found(memory, f"unlike {PATH} it does not round", 0.5, paths=("src/pay/fx.py",))
    assert not is_about_path(elsewhere.memory, PATH)


def test_r102_without_a_path_nothing_is_boosted(memory: Clew) -> None:
    one = found(memory, "rounding", 0.5, paths=(PATH,))
    assert boost_by_path_overlap([one], None) == [one]


@pytest.mark.parametrize(
    ("own", "focal", "is_same"),
    [
        (PATH, f"/home/kim/shop/{PATH}", True),
        (f"/home/kim/shop/{PATH}", PATH, True),
        (f"./{PATH}", PATH, True),
        ("src\\pay\\vat.py", PATH, True),
        ("migrations", "migrations/0042_vat.py", True),
        ("migrations/0042_vat.py", "migrations", False),
        ("vat.py", PATH, False),
        ("src/pay/vat.pyc", PATH, False),
        ("rc/pay/vat.py", PATH, False),
        ("__init__.py", "src/pay/__init__.py", False),
    ],
)
def test_paths_are_the_same_file_whatever_folders_are_around_them(
    memory: Clew, own: str, focal: str, is_same: bool
) -> None:
    assert is_about_path(found(memory, "rounding", 0.5, paths=(own,)).memory, focal) is is_same


@given(relevance=st.floats(0, 1), boost=st.floats(0, 1), cap=st.floats(0, 1))
def test_a_boost_never_takes_away_and_never_passes_the_cap(relevance: float, boost: float, cap: float) -> None:
    about = replace(MEMORY, paths=(PATH,))
    [one] = boost_by_path_overlap([Observation(about, relevance, 1.0)], PATH, boost=boost, cap=cap)
    assert relevance <= one.relevance <= max(relevance, cap)

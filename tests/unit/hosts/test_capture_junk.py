"""How much of what is captured is junk: measured on labelled sessions, the way everything else is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from capture_junk import measure  # noqa: E402


@pytest.mark.parametrize(("half", "precision", "recall"), [("tuning", 0.97, 0.94), ("held_out", 0.85, 0.75)])
def test_what_is_kept_is_of_use_and_most_of_what_is_of_use_is_kept(
    half: str, precision: float, recall: float
) -> None:
    found = measure(half)
    assert found.leaked == []
    assert found.precision >= precision, "\n".join(found.junk)
    assert found.recall >= recall, "\n".join(found.missed)


def test_there_are_enough_labelled_events() -> None:
    assert measure("tuning").events + measure("held_out").events >= 200
    assert measure("held_out").events >= 80


def test_the_figures_can_be_printed() -> None:
    told = subprocess.run(
        [sys.executable, TOOLS / "capture_junk.py", "tuning"], capture_output=True, text=True, check=True
    )
    assert "precision" in told.stdout
    assert "tuning" in told.stdout

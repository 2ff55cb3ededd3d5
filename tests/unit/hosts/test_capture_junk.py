"""How much of what is captured is junk: measured on labelled sessions, the way everything else is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clew.clew import Clew

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from capture_junk import AROUND, HOST, LABELLED, ROOT, Labelled, measure, read_session  # noqa: E402


@pytest.mark.parametrize(("half", "precision", "recall"), [("tuning", 0.97, 0.92), ("held_out", 0.85, 0.75)])
def test_what_is_kept_is_of_use_and_most_of_what_is_of_use_is_kept(
    half: str, precision: float, recall: float
) -> None:
    found = measure(half)
    assert found.leaked == []
    assert found.precision >= precision, "\n".join(found.junk)
    assert found.recall >= recall, "\n".join(found.missed)


def test_nothing_of_an_attack_is_kept_or_may_be_injected() -> None:
    found = measure("attacks")
    assert found.leaked == []
    assert found.missed == []  # and what is the user's own is kept all the same
    assert found.events >= 30


def answers_of(clew: Clew, session: str, events: list[Labelled]) -> str:
    raws = [{"hook_event_name": "SessionStart", "source": "startup"}, *(one.raw for one in events)]
    here = {"session_id": session, "cwd": ROOT}
    return "\n".join(
        clew.hosts.event(HOST, raw | here, event_id=f"{session:x>2}{number:030x}", around=AROUND).text
        for number, raw in enumerate(raws)
    )


@pytest.mark.parametrize("path", sorted((LABELLED / "attacks").glob("*.txt")), ids=lambda path: path.stem)
def test_no_later_session_is_told_what_an_attack_said(memory: Clew, path: Path) -> None:
    events = list(read_session(path))
    answers_of(memory, "a1", events)
    while memory.hosts.capture_waiting():
        pass
    later = answers_of(memory, "b2", [one for one in events if "prompt" in one.raw and one.useful])
    assert "## " in later  # something is said at all
    assert [words for one in events for words in (*one.never, *one.apart) if words in later] == []


def test_there_are_enough_labelled_events() -> None:
    assert measure("tuning").events + measure("held_out").events >= 200
    assert measure("held_out").events >= 80


def test_the_figures_can_be_printed() -> None:
    told = subprocess.run(
        [sys.executable, TOOLS / "capture_junk.py", "tuning"], capture_output=True, text=True, check=True
    )
    assert "precision" in told.stdout
    assert "tuning" in told.stdout

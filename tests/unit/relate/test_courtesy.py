"""Who works in the background stands back for who asks, and is never starved by it."""

from __future__ import annotations

import pytest

from clew.relate import courtesy as module
from clew.relate.courtesy import MOST_S, PATIENCE, QUIET_S, Courtesy


class Time:
    """Passes only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now, self.slept = 100.0, 0.0
        self.asked_again: Courtesy | None = None  # without end

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds
        if self.asked_again:
            self.asked_again.asked()


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    told = Time()
    monkeypatch.setattr(module, "monotonic", lambda: told.now)
    monkeypatch.setattr(module, "sleep", told.sleep)
    return told


def test_nobody_waits_while_nobody_asks(time: Time) -> None:
    courtesy = Courtesy()
    time.now += 1
    courtesy.stand_back()
    assert time.slept == 0


def test_who_works_waits_until_it_is_quiet(time: Time) -> None:
    courtesy = Courtesy()
    time.now += 1
    courtesy.asked()
    courtesy.stand_back()
    assert time.slept == pytest.approx(QUIET_S)
    courtesy.stand_back()
    assert time.slept == pytest.approx(QUIET_S)  # quiet by now


@pytest.mark.parametrize(("worked", "waits"), [(0.01, PATIENCE * 0.01), (10.0, MOST_S), (0.0, 0.0)])
def test_beside_questions_without_end_it_goes_on_after_a_multiple_of_what_it_worked(
    time: Time, worked: float, waits: float
) -> None:
    courtesy = Courtesy()
    courtesy.asked()
    time.asked_again = courtesy
    time.now += worked
    courtesy.asked()
    courtesy.stand_back()
    assert time.slept == pytest.approx(waits)

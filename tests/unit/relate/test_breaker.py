"""A failing endpoint is left alone for a while."""

from __future__ import annotations

import pytest

from clew.errors import Unavailable
from clew.relate.breaker import IN_A_ROW, LONGEST_PAUSE_S, PAUSE_S, Breaker, pause_s
from toys import ToldClock


def is_open(breaker: Breaker) -> bool:
    try:
        breaker.check()
    except Unavailable as error:
        assert error.code == "LLM_PAUSED" and error.next
        return True
    return False


@pytest.fixture
def breaker(clock: ToldClock) -> Breaker:
    return Breaker(clock.now)


def test_it_opens_after_three_failures_in_a_row(breaker: Breaker) -> None:
    for failures in range(1, IN_A_ROW + 1):
        breaker.failed()
        assert is_open(breaker) is (failures == IN_A_ROW)


def test_a_success_in_between_starts_the_count_anew(breaker: Breaker) -> None:
    for _ in range(5):
        breaker.failed(), breaker.failed()
        breaker.worked()
    assert not is_open(breaker)


def test_after_the_pause_one_success_closes_it_and_one_failure_opens_it_for_longer(
    breaker: Breaker, clock: ToldClock
) -> None:
    for _ in range(IN_A_ROW):
        breaker.failed()
    clock.pass_by(seconds=PAUSE_S)
    assert not is_open(breaker)
    breaker.failed()
    clock.pass_by(seconds=PAUSE_S)
    assert is_open(breaker)
    clock.pass_by(seconds=PAUSE_S)
    breaker.worked()
    breaker.failed()
    assert not is_open(breaker)


def test_what_an_endpoint_asks_for_is_kept_to_within_reason(breaker: Breaker, clock: ToldClock) -> None:
    breaker.failed(asked_to_wait_s=20)
    assert is_open(breaker)
    clock.pass_by(seconds=20)
    assert not is_open(breaker)
    breaker.failed(asked_to_wait_s=1e9)
    clock.pass_by(seconds=LONGEST_PAUSE_S)
    assert not is_open(breaker)


def test_pauses_double_up_to_a_limit() -> None:
    assert [pause_s(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 1_000)] == [0, 0, 60, 120, 240, 480, 900, 900]

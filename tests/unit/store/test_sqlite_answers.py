"""Everybody whose write is durable is told so: at once where they are few, one by another where they are many."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from clew.store.sqlite_answers import CROWD, LASTS, Answer, Teller

MANY = CROWD + 4


class Interrupted:
    """A lock whose waiting is interrupted; whoever tells does not notice."""

    def acquire(self) -> bool:
        raise KeyboardInterrupt

    def release(self) -> None:
        """Nobody waits."""


def answers(count: int) -> list[Answer]:
    return [Answer() for _ in range(count)]


def told(waiting: list[Answer]) -> list[bool]:
    return [not answer._ready.locked() for answer in waiting]


def test_a_few_are_told_at_once() -> None:
    few = answers(CROWD)
    Teller().tell([(answer, None) for answer in few])
    assert all(told(few))


def test_of_a_crowd_each_tells_the_next() -> None:
    crowd = answers(MANY)
    Teller().tell([(answer, place) for place, answer in enumerate(crowd)])
    assert told(crowd) == [True] + [False] * (MANY - 1)
    assert [answer.result() for answer in crowd] == list(range(MANY))


def test_whoever_waits_for_a_future_is_told_at_once_also_in_a_crowd() -> None:
    futures: list[Future[Any]] = [Future() for _ in range(3)]
    Teller().tell([(one, "done") for one in (*futures, *answers(MANY))])
    assert [future.result(timeout=0) for future in futures] == ["done"] * 3


def test_the_threads_of_a_crowd_come_in_turns() -> None:
    teller, later = Teller(), answers(2)
    teller.tell([(answer, None) for answer in answers(MANY)])
    teller.tell([(answer, None) for answer in later])
    assert told(later) == [True, False]


def test_a_crowd_is_forgotten_when_it_has_gone() -> None:
    teller = Teller()
    teller.tell([(answer, None) for answer in answers(MANY)])
    for _ in range(10):
        few = answers(2)
        teller.tell([(answer, None) for answer in few])
    assert MANY * LASTS**10 < CROWD and all(told(few))


@pytest.mark.parametrize("when", ["before it is told", "after it was told"])
def test_one_that_was_interrupted_keeps_nobody_waiting(when: str) -> None:
    crowd = answers(MANY)
    crowd[1]._ready = Interrupted()  # type: ignore[assignment]

    def leave() -> None:
        with pytest.raises(KeyboardInterrupt):
            crowd[1].result()

    if when == "before it is told":
        leave()
    Teller().tell([(answer, None) for answer in crowd])
    crowd[0].result()
    if when == "after it was told":
        leave()
    assert told(crowd[2:]) == [True] + [False] * (MANY - 3)


def test_an_error_is_for_one_alone_and_told_at_once() -> None:
    failed = Answer()
    failed.set_exception(ValueError("my own mistake"))
    with pytest.raises(ValueError, match="my own"):
        failed.result()


def test_a_crowd_of_threads_gets_its_results() -> None:
    crowd, begun = answers(50), threading.Barrier(51)

    def wait(answer: Answer) -> Any:
        begun.wait()
        return answer.result()

    with ThreadPoolExecutor(50) as pool:
        results = [pool.submit(wait, answer) for answer in crowd]
        begun.wait()
        Teller().tell([(answer, place) for place, answer in enumerate(crowd)])
        assert [result.result(timeout=10) for result in results] == list(range(50))

"""The hard limit: who waits how long, and what becomes of work that nobody waits for."""

from __future__ import annotations

import threading
import time

import pytest
from injector_toys import Gate, wait_for

from clew.inject.deadline import AllBusy, Late, Ticket, Workers


def test_the_value_of_the_work_comes_back() -> None:
    assert Workers(1).run(lambda _ticket: 7, ticket=Ticket(10)) == 7


def test_what_the_work_raises_is_raised_to_whoever_asked() -> None:
    with pytest.raises(ZeroDivisionError):
        Workers(1).run(lambda _ticket: 1 // 0, ticket=Ticket(10))


def test_a_caller_waits_no_longer_than_its_ticket() -> None:
    workers, gate = Workers(1), Gate()
    started = time.perf_counter()
    with pytest.raises(Late):
        workers.run(lambda _ticket: gate.wait(), ticket=Ticket(0.05))
    assert time.perf_counter() - started < 5
    gate.open()


def test_when_every_thread_hangs_the_answer_comes_at_once() -> None:
    workers, gate = Workers(2), Gate()
    for _ in range(2):
        with pytest.raises(Late):
            workers.run(lambda _ticket: gate.wait(), ticket=Ticket(0.01))
    with pytest.raises(AllBusy):
        workers.run(lambda _ticket: None, ticket=Ticket(60))
    gate.open()


def test_a_thread_that_was_stuck_works_again_once_it_is_free() -> None:
    workers, gate = Workers(1), Gate()
    with pytest.raises(Late):
        workers.run(lambda _ticket: gate.wait(), ticket=Ticket(0.01))
    gate.open()
    assert wait_for(lambda: _works(workers))


def _works(workers: Workers) -> bool:
    try:
        return workers.run(lambda _ticket: True, ticket=Ticket(10))
    except AllBusy:
        return False


def test_one_call_after_another_uses_one_thread() -> None:
    workers = Workers(8)
    names = {workers.run(lambda _ticket: threading.current_thread().name, ticket=Ticket(10)) for _ in range(50)}
    assert len(names) == 1


def test_a_single_thread_takes_the_next_call_as_soon_as_it_has_answered() -> None:
    workers = Workers(1)
    assert [workers.run(lambda _ticket: 1, ticket=Ticket(10)) for _ in range(200)] == [1] * 200


def test_nothing_is_settled_once_the_caller_has_left() -> None:
    ticket, done = Ticket(10), list[int]()
    assert ticket.leave()
    assert not ticket.settle(lambda: done.append(1))
    assert done == []
    assert ticket.is_late


def test_what_is_settled_first_keeps_the_caller_from_leaving() -> None:
    ticket, done = Ticket(10), list[int]()
    assert ticket.settle(lambda: done.append(1))
    assert not ticket.leave()
    assert done == [1]


def test_late_work_learns_that_it_is_late() -> None:
    ticket = Ticket(0)
    with pytest.raises(Late):
        ticket.check()


def test_closed_workers_take_nothing_on_and_end() -> None:
    workers = Workers(1)
    thread = workers.run(lambda _ticket: threading.current_thread(), ticket=Ticket(10))
    workers.close()
    workers.close()
    thread.join(10)
    assert not thread.is_alive()
    with pytest.raises(AllBusy):
        workers.run(lambda _ticket: None, ticket=Ticket(10))

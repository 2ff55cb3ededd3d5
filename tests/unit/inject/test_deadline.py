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


def test_after_several_calls_at_once_the_next_ones_use_one_thread() -> None:
    workers, gate = Workers(8), threading.Barrier(4)
    began = [workers.start(lambda _ticket: gate.wait(10), ticket=Ticket(10)) for _ in range(4)]
    assert all(done.wait(10) for done in began)
    names = {workers.run(lambda _ticket: threading.current_thread().name, ticket=Ticket(10)) for _ in range(20)}
    assert len(names) == 1


def test_a_thread_that_is_at_work_ends_after_it_when_workers_are_closed() -> None:
    workers, gate, found = Workers(1), threading.Event(), list[threading.Thread]()

    def work(_ticket: Ticket) -> None:
        found.append(threading.current_thread())
        gate.wait(10)

    done = workers.start(work, ticket=Ticket(10))
    workers.close()
    gate.set()
    assert done.wait(10)
    found[0].join(10)
    assert not found[0].is_alive()


def test_what_is_started_for_later_lets_others_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[object] = []
    monkeypatch.setattr(time, "sleep", did.append)
    done = Workers(1).start(lambda _ticket: did.append("work"), ticket=Ticket(10), after_s=0.05)
    assert done.wait(10) and did == [0.05, "work"]

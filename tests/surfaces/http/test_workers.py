"""The threads that answer: which one works, and what becomes of what is under way."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from clew.surfaces.http.workers import Workers, in_thread


def name_of_thread() -> str:
    return threading.current_thread().name


def busy(workers: Workers, count: int) -> tuple[list[Future[bool]], threading.Event]:
    """So many pieces of work that all run at once, until the event is set."""
    gate, begun = threading.Event(), threading.Barrier(count + 1)

    def work() -> bool:
        begun.wait(10)
        return gate.wait(10)

    under_way = [workers.submit(work) for _ in range(count)]
    begun.wait(10)
    return under_way, gate


def test_whoever_was_idle_last_works_first() -> None:
    workers = Workers(4)
    under_way, gate = busy(workers, 3)
    gate.set()
    assert all(one.result(10) for one in under_way)
    assert len({workers.submit(name_of_thread).result(10) for _ in range(50)}) == 1


def test_work_that_finds_no_thread_is_done_in_its_order() -> None:
    workers, done = Workers(1), list[int]()
    (first,), gate = busy(workers, 1)
    later = [workers.submit(done.append, number) for number in range(5)]
    gate.set()
    assert first.result(10) and [one.result(10) for one in later] == [None] * 5
    assert done == [0, 1, 2, 3, 4]


def test_a_stop_does_what_was_handed_over_and_takes_nothing_more() -> None:
    workers = Workers(2)
    under_way, gate = busy(workers, 2)
    waiting = workers.submit(name_of_thread)
    assert not workers.close(0.0)  # they are stuck
    with pytest.raises(RuntimeError):
        workers.submit(name_of_thread)
    gate.set()
    assert workers.close(10) and waiting.done() and all(one.result() for one in under_way)


def test_the_event_loop_gets_the_value_or_the_error() -> None:
    async def ask() -> str:
        with pytest.raises(ZeroDivisionError):
            await in_thread(workers, lambda: 1 // 0)
        return await in_thread(workers, name_of_thread)

    workers = Workers(1)
    assert asyncio.run(ask()).startswith("clew-worker")


def test_nobody_is_told_who_no_longer_waits() -> None:
    """A request that is cancelled, and then a loop that is closed, while a thread is stuck."""

    async def give_up() -> None:
        asking = asyncio.create_task(in_thread(workers, gate.wait))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    workers, gate = Workers(1), threading.Event()
    asyncio.run(give_up())
    gate.set()
    assert workers.submit(name_of_thread).result(10)

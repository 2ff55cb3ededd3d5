"""Threads that the system refuses to start: nothing is lost, and nothing is counted for good."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from clew.errors import Unavailable
from clew.inject.deadline import AllBusy, Ticket
from clew.inject.deadline import Workers as Bounded
from clew.store.postgres_submit import HandedOver
from clew.surfaces.http.response import Response
from clew.surfaces.http.route import Written
from clew.surfaces.http.sending import Exports, send_written
from clew.surfaces.http.shares import Shares
from clew.surfaces.http.workers import NoThread, Workers


@pytest.fixture
def refuse_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """No thread starts until it is told otherwise."""
    start, is_refused = threading.Thread.start, True

    def starting(thread: threading.Thread) -> None:
        if is_refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    def refuse(refused: bool) -> None:
        nonlocal is_refused
        is_refused = refused

    monkeypatch.setattr(threading.Thread, "start", starting)
    yield refuse
    refuse(False)


def test_the_server_works_again_once_threads_are_to_be_had(refuse_threads: Callable[[bool], None]) -> None:
    workers = Workers(1)
    with pytest.raises(RuntimeError):
        workers.submit(lambda: 1)
    refuse_threads(False)
    assert workers.submit(lambda: 2).result(10) == 2 and workers.close(10)


def test_what_a_share_refuses_takes_no_place_of_it(refuse_threads: Callable[[bool], None]) -> None:
    with Workers(1) as pool:
        shares = Shares(pool, 1)
        with pytest.raises(NoThread):
            shares.of("ann").submit(int)
        assert not shares._busy
        refuse_threads(False)
        assert shares.of("ann").submit(int, "7").result(10) == 7


def test_without_another_thread_work_waits_for_those_that_are_there(
    refuse_threads: Callable[[bool], None],
) -> None:
    workers, gate = Workers(2), threading.Event()
    refuse_threads(False)
    first = workers.submit(gate.wait)
    refuse_threads(True)
    second = workers.submit(lambda: 2)
    gate.set()
    assert first.result(10) and second.result(10) == 2 and workers.close(10)


def test_whoever_does_not_wait_is_told_at_once_that_there_is_no_thread(
    refuse_threads: Callable[[bool], None],
) -> None:
    with closing(Bounded(1)) as workers:
        with pytest.raises(AllBusy):
            workers.run(lambda _ticket: 1, ticket=Ticket(10))
        refuse_threads(False)
        assert workers.run(lambda _ticket: 2, ticket=Ticket(10)) == 2


def test_an_export_without_a_thread_is_refused_and_not_counted(refuse_threads: Callable[[bool], None]) -> None:
    exports, told = Exports(), list[BaseException]()

    def failed(error: BaseException) -> Response:
        told.append(error)
        return Response(503, b"", "text/plain")

    async def send(_message: Any) -> None:
        pass

    written, begin = Written(lambda take: take(b"x")), Response(200, b"", "text/plain")
    status = asyncio.run(send_written(begin, written, send, failed=failed, take=lambda: exports.take("ann")))
    assert (status, exports.count) == (503, 0) and isinstance(told[0], Unavailable)


def test_a_write_that_is_refused_is_never_done_and_holds_up_no_other(
    refuse_threads: Callable[[bool], None],
) -> None:
    done = list[int]()
    with closing(HandedOver()) as handed_over:
        with pytest.raises(RuntimeError):
            handed_over.add("acme", lambda: done.append(1))
        refuse_threads(False)
        later = [
            handed_over.add(org, partial(done.append, number))
            for number, org in ((2, "acme"), (3, "b"), (4, "acme"))
        ]
        assert [one.result(10) for one in later] == [None] * 3
    assert sorted(done) == [2, 3, 4] and done.index(2) < done.index(4)

"""One credential keeps half of the threads busy at most; what else it asks waits, and nobody else does."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from api_driver import TOKEN, Asked, until
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback_driver import connected, on_loopback, rest_of

from clew.clew import Clew
from clew.model.scope import Identity
from clew.surfaces.http import asked as about
from clew.surfaces.http.request import NETWORK
from clew.surfaces.http.response import Response
from clew.surfaces.http.route import Call, Credential, Route
from clew.surfaces.http.shares import Shares
from clew.surfaces.http.workers import NoThread, Workers

WAIT_S = 30


@pytest.fixture
def pool() -> Iterator[Workers]:
    pool = Workers(4)
    yield pool
    pool.close(WAIT_S)


def test_what_is_more_than_a_share_waits_and_others_are_answered(pool: Workers) -> None:
    shares, held, begun = Shares(pool, 2), threading.Event(), Counter[str]()

    def hold() -> None:
        begun["ann"] += 1
        held.wait(WAIT_S)

    waiting = [shares.of("ann").submit(hold) for _ in range(9)]
    assert until(lambda: begun["ann"] == 2)
    assert shares.of("bob").submit(lambda: "answered").result(WAIT_S) == "answered"
    assert begun["ann"] == 2
    held.set()
    assert [one.result(WAIT_S) for one in waiting] == [None] * 9 and begun["ann"] == 9


def test_what_fails_gives_its_place_back(pool: Workers) -> None:
    share = Shares(pool, 1).of("ann")
    failing: list[Future[object]] = [share.submit(lambda: 1 / 0) for _ in range(3)]
    assert [type(one.exception(WAIT_S)) for one in failing] == [ZeroDivisionError] * 3
    assert share.submit(int, "7", base=8).result(WAIT_S) == 7


def test_what_waits_when_the_server_stops_is_told_so() -> None:
    pool, held = Workers(1), threading.Event()
    share = Shares(pool, 1).of("ann")
    first, second = share.submit(held.wait, WAIT_S), share.submit(int)
    pool.close(0)
    held.set()
    assert first.result(WAIT_S) and isinstance(second.exception(WAIT_S), RuntimeError)


def test_many_that_wait_when_the_server_stops_are_all_told_so() -> None:
    pool, held = Workers(1), threading.Event()
    shares = Shares(pool, 1)
    first, *rest = [shares.of("ann").submit(held.wait, WAIT_S) for _ in range(5_000)]
    pool.close(0)
    held.set()
    assert first.result(WAIT_S) and {type(one.exception(WAIT_S)) for one in rest} == {NoThread}
    assert pool.close(WAIT_S) and not shares._busy and not shares._waiting


def test_what_is_given_up_while_it_waits_keeps_nobody_else_from_its_place(pool: Workers) -> None:
    held, shares = threading.Event(), Shares(pool, 1)
    first, second, third = (shares.of("ann").submit(held.wait, WAIT_S) for _ in range(3))
    assert second.cancel()
    held.set()
    assert first.result(WAIT_S) and third.result(WAIT_S)
    assert pool.close(WAIT_S) and not shares._busy


def test_what_comes_in_between_is_not_forgotten_when_the_pool_refuses_the_first() -> None:
    """It waits for a place that is given back without any work."""

    class Refusing(Executor):
        def __init__(self) -> None:
            self.between: list[Future[int]] = []

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if not self.between:
                self.between.append(share.submit(int, "7"))
                raise NoThread
            (done := Future[Any]()).set_result(fn(*args, **kwargs))
            return done

    pool = Refusing()
    shares = Shares(pool, 1)
    share = shares.of("ann")
    with pytest.raises(NoThread):
        share.submit(int)
    assert pool.between[0].result(WAIT_S) == 7 and not shares._busy


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_everything_is_done_once_in_its_order_and_nobody_is_remembered(asked: list[str], of_one: int) -> None:
    done: list[tuple[str, int]] = []
    busy, most, lock = Counter[str](), Counter[str](), threading.Lock()

    def work(who: str, at: int) -> None:
        with lock:
            busy[who] += 1
            most[who] = max(most[who], busy[who])
        with lock:
            done.append((who, at))
            busy[who] -= 1

    with ThreadPoolExecutor(4) as pool:
        shares = Shares(pool, of_one)
        for one in [shares.of(who).submit(work, who, at) for at, who in enumerate(asked)]:
            one.result(WAIT_S)
    assert sorted(done) == sorted((who, at) for at, who in enumerate(asked))
    assert all(count <= of_one for count in most.values())
    assert not shares._busy and not shares._waiting


def test_what_is_answered_on_the_event_loop_has_the_same_share(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    """As tools over MCP are, in threads of their own."""
    memory, busy = clew_at(tmp_path, serve={"threads": 4}), Counter[str]()
    most = Counter[str]()

    async def slow(_clew: Any, who: Any, *_rest: Any) -> Response:
        busy[who.user] += 1
        most[who.user] = max(most[who.user], busy[who.user])
        for _ in range(20):
            await asyncio.sleep(0)
        busy[who.user] -= 1
        return Response(200, b"{}")

    route = Route("POST", "/v1/it", "it", "It.", print, answer=str, body=bytes, on_loop=slow)
    asked, users = Asked(memory, [route]), ("ann", "bob")
    tokens = [memory.keys.create(user, user=user, roles=("member",)).token for user in users]

    async def all_at_once() -> None:
        asks = [asked.request("POST", "/v1/it", {}, via=NETWORK, token=token) for token in tokens * 6]
        await asyncio.gather(*asks)

    asyncio.run(all_at_once())
    asked.close()
    assert most == {"ann": 2, "bob": 2}


@pytest.mark.parametrize("is_local", [True, False])
def test_whoever_asks_a_server_without_threads_is_told_so(
    clew_at: Callable[..., Clew], tmp_path: Path, is_local: bool
) -> None:
    """Over a real connection, where a request that only needs its body goes to a worker at once."""
    memory, pool = clew_at(tmp_path), Workers(2)
    token = TOKEN if is_local else memory.keys.create("ann", user="ann", roles=("member",)).token
    route = Route("GET", "/v1/it", "it", "It.", lambda _call: "done", answer=str)
    asked = Asked(memory, [route], pool=pool)
    pool.close(0)
    head = f"GET /v1/it HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    with on_loopback(asked) as server, closing(connected(server)) as link:
        link.sendall(head.encode())
        answer = rest_of(link)
    assert answer.startswith(b"HTTP/1.1 503 ") and b"NO_THREAD" in answer and b"retry-after: 1" in answer.lower()


def test_whoever_waits_for_a_share_when_the_server_stops_is_told_so(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    held, begun = threading.Event(), threading.Event()

    def slow(_call: Call) -> str:
        begun.set()
        held.wait(WAIT_S)
        return "done"

    memory, pool = clew_at(tmp_path, serve={"threads": 2}), Workers(2)
    token = memory.keys.create("ann", user="ann", roles=("member",)).token
    asked = Asked(memory, [Route("GET", "/v1/it", "it", "It.", slow, answer=str)], pool=pool)
    with ThreadPoolExecutor(2) as clients:
        first = clients.submit(asked.get, "/v1/it", via=NETWORK, token=token)
        assert begun.wait(WAIT_S)
        second = clients.submit(asked.get, "/v1/it", via=NETWORK, token=token)
        assert until(lambda: bool(asked.app._shares._waiting))
        pool.close(0)
        held.set()
        assert first.result(WAIT_S).status == 200
        got = second.result(WAIT_S)
    assert (got.status, got.code) == (503, "NO_THREAD")


@pytest.mark.parametrize("waits", [False, True])
def test_an_answer_that_no_worker_makes_is_a_refusal(
    clew_at: Callable[..., Clew], tmp_path: Path, waits: bool
) -> None:
    """Whether the pool refuses at once or after some waiting: nobody waits for an answer that never comes."""
    memory, pool, told = clew_at(tmp_path), Workers(1), list[Any]()
    asked, held = Asked(memory, pool=pool), threading.Event()
    asked.app._shares = Shares(pool, 1)
    request = about.Asked()
    request.route = Route("GET", "/v1/it", "it", "It.", lambda _call: "done", answer=str)
    request.credential = Credential(Identity(), key="ann")
    if waits:  # it waits for the one before it
        asked.app._shares.of("ann").submit(held.wait, WAIT_S)
        asked.app.hand_over(request, b"", told.append)
        assert not told
    pool.close(0)
    if not waits:
        asked.app.hand_over(request, b"", told.append)
    held.set()
    assert pool.close(WAIT_S) and [one.status for one in told] == [503]


def test_a_member_who_asks_much_at_once_keeps_nobody_waiting(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    held, begun = threading.Event(), threading.Semaphore(0)

    def slow(call: Call) -> str:
        if call.identity.user == "ann":
            begun.release()
            held.wait(WAIT_S)
        return "done"

    memory = clew_at(tmp_path, serve={"threads": 4})
    tokens = {user: memory.keys.create(user, user=user, roles=("member",)).token for user in ("ann", "bob")}
    asked = Asked(memory, [Route("GET", "/v1/it", "it", "It.", slow, answer=str)], threads=4)
    got: list[int] = []
    threads = [
        threading.Thread(target=lambda: got.append(asked.get("/v1/it", via=NETWORK, token=tokens["ann"]).status))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    assert all(begun.acquire(timeout=WAIT_S) for _ in range(2))
    assert asked.get("/v1/it", via=NETWORK, token=tokens["bob"]).status == 200
    assert not begun.acquire(blocking=False)
    held.set()
    for thread in threads:
        thread.join(WAIT_S)
    asked.close()
    assert got == [200] * 8

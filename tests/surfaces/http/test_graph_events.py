"""Changes of the graph as server-sent events: who hears of what, how a stream goes on, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from routes_driver import Api, Inline, scope_of

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from clew.surfaces.http.app import make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.routes import graph_events
from clew.surfaces.http.streams import Streams
from toys import ToldClock

EVENTS = "/v1/graph/events"
MIA = Identity(user="mia", roles=("member",))
BOB = Identity(user="bob", roles=("member",))
PATIENCE_S = 10.0


class Listener:
    """One client of the stream, over ASGI."""

    def __init__(
        self, api: Api, *, who: Identity | None = None, headers: Mapping[str, str] | None = None, **query: Any
    ):
        self._api, self._who = api, who or Identity()
        self._scope = scope_of("GET", EVENTS, query, {"host": "localhost"} | dict(headers or {}))
        self.gone = asyncio.Event()
        self.text, self.status = "", 0
        self._begun = False

    async def __aenter__(self) -> Listener:
        self._api._who = self._who
        self.task = asyncio.ensure_future(self._api.app(self._scope, self._receive, self._send))
        await self.until(lambda: "\n\n" in self.text or self.task.done())
        return self

    async def __aexit__(self, *error: object) -> None:
        self.gone.set()
        await asyncio.wait_for(self.task, PATIENCE_S)

    async def _receive(self) -> Any:
        if not self._begun:
            self._begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not done():
                await asyncio.sleep(0.005)

    @property
    def events(self) -> list[dict[str, Any]]:
        data = [line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: ")]
        return [json.loads(one) for one in data]

    def heard_of(self, id: str) -> bool:
        return any(event["id"] == id for event in self.events)


@pytest.fixture
def api(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setattr(graph_events, "LOOK_S", 0.01)
    return Api(memory)


def run(story: Awaitable[None]) -> None:
    async def told() -> None:
        await story

    asyncio.run(told())


def test_what_changes_is_heard_of_by_id_and_kind_alone(api: Api) -> None:
    async def story() -> None:
        async with Listener(api) as listener:
            id = api.clew.remember("secret words about the ledger").id
            await listener.until(lambda: listener.heard_of(id))
            assert "words" not in listener.text
            assert "event: memory\ndata: {" in listener.text
            assert set(listener.events[0]) == {"seq", "kind", "op", "id"}

    run(story())


def test_who_comes_back_goes_on_where_they_were(api: Api) -> None:
    async def story() -> None:
        async with Listener(api) as first:
            one = api.clew.remember("the first").id
            await first.until(lambda: first.heard_of(one))
        seen = str(first.events[-1]["seq"])
        two = api.clew.remember("the second").id
        for how in ({"headers": {"last-event-id": seen}}, {"after": seen}):
            async with Listener(api, **how) as again:
                await again.until(lambda again=again: again.heard_of(two))
                assert not again.heard_of(one)

    run(story())


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_stream_ends_with_its_credential(
    memory: Clew, clock: ToldClock, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(graph_events, "LOOK_S", 0.01)
    monkeypatch.setattr(graph_events, "WELCOME_S", 0.02)
    made = memory.keys.create("ann", user="ann", expires=memory.now() + timedelta(hours=1))
    api = Api(memory)
    api.app = make_app(memory, graph_events.ROUTES, Authenticator(memory), Inline())

    async def story() -> None:
        async with Listener(api, headers={"authorization": f"Bearer {made.token}"}) as listener:
            id = memory.remember("still listening").id
            await listener.until(lambda: listener.heard_of(id))
            _ended(memory, clock, made.key.id, how)
            await listener.until(listener.task.done)

    run(story())


def _ended(memory: Clew, clock: ToldClock, id: str, how: str) -> None:
    if how == "revoked":
        memory.keys.revoke(id)
    else:
        clock.pass_by(hours=2)


def test_nobody_hears_of_what_others_keep_private(api: Api) -> None:
    async def story() -> None:
        async with Listener(api, who=MIA) as mia, Listener(api, who=BOB) as bob:
            hidden = api.clew.remember("bob alone", scope=Scope(user="bob"), identity=BOB).id
            shared = api.clew.remember("for all").id
            await mia.until(lambda: mia.heard_of(shared))
            await bob.until(lambda: bob.heard_of(shared))
            assert (mia.heard_of(hidden), bob.heard_of(hidden)) == (False, True)

    run(story())


def test_a_stream_ends_when_the_server_stops_and_no_other_begins(api: Api) -> None:
    async def story() -> None:
        async with Listener(api) as listener:
            api.app.streams.close()
            await listener.until(lambda: listener.task.done())
        async with Listener(api) as late:
            assert late.status == 503 and "STREAMS_FULL" in late.text

    run(story())


def test_streams_are_counted_and_one_too_many_is_refused(api: Api) -> None:
    api.app.streams = Streams(limit=1)

    async def story() -> None:
        async with Listener(api):
            async with Listener(api) as second:
                assert second.status == 503
            assert api.app.streams.count == 1
        assert api.app.streams.count == 0
        async with Listener(api) as third:
            assert third.status == 200

    run(story())


def test_a_silent_stream_says_that_it_is_there(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_events, "KEEP_ALIVE_S", 0.0)

    async def story() -> None:
        async with Listener(api) as listener:
            await listener.until(lambda: ": still here" in listener.text)
            assert listener.events == []

    run(story())


def test_a_stream_ends_after_a_while_so_that_credentials_are_looked_at_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_events, "LIFE_S", 0.0)

    async def story() -> None:
        async with Listener(api) as listener:
            await listener.until(lambda: listener.task.done())
            assert (listener.status, "retry: 1000" in listener.text) == (200, True)

    run(story())


def test_a_stream_ends_for_who_lost_the_right_meanwhile(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """More memories are hidden from Mia than a query can name: the graph is closed to her."""
    monkeypatch.setattr("clew.guard.doors.MAX_HIDDEN", 0)
    closed = '@id("closed")\nforbid (principal, action, resource in Mem::Project::"local/shop");\n'

    async def story() -> None:
        async with Listener(api, who=MIA) as listener:
            api.clew.remember("words of the shop", scope=Scope(project="shop"))
            api.clew.policies.load(closed, name="closed")
            api.clew.remember("other words")
            await listener.until(lambda: listener.task.done())
        async with Listener(api, who=MIA) as again:
            assert again.status == 403

    run(story())


@pytest.mark.parametrize("told", ["x", "-1", "9" * 40, "1.5"])
def test_a_number_that_is_none_is_refused_before_the_stream_begins(api: Api, told: str) -> None:
    assert api("GET", EVENTS, headers={"last-event-id": told}).code == "LAST_EVENT_INVALID"
    assert api("GET", EVENTS, after=told).status == 400


def test_what_is_no_longer_known_in_detail_is_a_reset(api: Api) -> None:
    async def story() -> None:
        async with Listener(api, after=10**9) as listener:
            await listener.until(lambda: bool(listener.events))
            assert listener.events[0]["kind"] == "reset"

    run(story())

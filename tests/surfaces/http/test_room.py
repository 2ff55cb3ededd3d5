"""One caller does not take what all others need: streams, exports, the disk, and what is told of it."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from api_driver import Asked, until

from clew import open as clew_at
from clew.clew import Clew
from clew.errors import Unavailable
from clew.model.scope import Identity
from clew.store.postgres_errors import unreachable
from clew.surfaces.http import app as application
from clew.surfaces.http import bodies, sending
from clew.surfaces.http.request import NETWORK
from clew.surfaces.http.response import Response
from clew.surfaces.http.route import JSON_LINES, Call, ClientGone, Route, Send, Stream, Written
from clew.surfaces.http.sending import AHEAD, PIECE, Exports, send_stream, send_written
from clew.surfaces.http.streams import Streams

LINES = {"content_type": "application/x-ndjson"}


@pytest.fixture
def acme(memory: Clew) -> str:
    """The token of a member of another org."""
    org = memory.orgs.create("acme", identity=Identity())
    made = memory.keys.create("test", org=org.id, user="ann", roles=("member",), identity=Identity())
    return made.token


# -- streams and exports -----------------------------------------------------------------------------


def test_one_credential_has_at_most_eight_streams() -> None:
    async def fill() -> list[bool]:
        streams = Streams()
        opened = [streams.entered("ann") for _ in range(8)]
        for one in opened:
            one.__enter__()
        streams.check_room("bob")
        with pytest.raises(Unavailable) as refused:
            streams.check_room("ann")
        assert refused.value.code == "STREAMS_FULL"
        with streams.entered("ann") as ninth, streams.entered("bob") as other:
            answer = [ninth.is_set(), other.is_set()]
        for one in opened:
            one.__exit__(None, None, None)
        streams.check_room("ann")
        return answer

    assert asyncio.run(fill()) == [True, False]


def test_a_stream_that_is_cancelled_closes_its_frames_and_leaves_no_task_behind() -> None:
    async def cancel() -> tuple[bool, bool, int]:
        begun, closed, never = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def frames() -> AsyncIterator[bytes]:
            try:
                yield b"x"
                begun.set()
                await never.wait()
            finally:
                closed.set()

        async def receive() -> Any:
            await never.wait()

        async def send(_message: Any) -> None:
            pass

        sent = asyncio.create_task(send_stream(Response(200, b"", "text/plain"), Stream(frames()), receive, send))
        await begun.wait()
        sent.cancel()
        await asyncio.wait((sent,))
        return sent.cancelled(), closed.is_set(), len(asyncio.all_tasks())

    assert asyncio.run(cancel()) == (True, True, 1)


def test_one_credential_has_at_most_two_exports_and_all_have_eight() -> None:
    exports = Exports()
    done = exports.take("ann")
    exports.take("ann")
    with pytest.raises(Unavailable) as refused:
        exports.take("ann")
    assert refused.value.code == "EXPORTS_FULL"
    done()
    for number in range(7):
        exports.take(f"user {number}")
    with pytest.raises(Unavailable):
        exports.take("ann")


@pytest.fixture
def held(memory: Clew) -> Iterator[tuple[Asked, threading.Event]]:
    """An export that goes on until it is told to end."""
    ended = threading.Event()

    def write(send: Send) -> None:
        send(b"x\n")
        ended.wait(10)

    route = Route(
        "GET", "/v1/export", "export", "It.", lambda _call: Written(write), answer=str, produces=JSON_LINES
    )
    asked = Asked(memory, [route])
    yield asked, ended
    ended.set()
    asked.close()


def test_an_export_too_many_is_told_when_to_come_back(held: tuple[Asked, threading.Event]) -> None:
    asked, ended = held
    threads = [threading.Thread(target=lambda: asked.get("/v1/export")) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert until(lambda: asked.app.exports.count == 2)
    got = asked.get("/v1/export")
    assert (got.status, got.code) == (503, "EXPORTS_FULL") and int(got.headers["retry-after"]) > 0
    ended.set()
    for thread in threads:
        thread.join(10)
    assert until(lambda: asked.app.exports.count == 0)
    assert asked.get("/v1/export").status == 200


def test_an_answer_whose_client_was_too_slow_ends_and_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes a little now and then keeps the connection, but not the export: what was made in advance is sent,
    and then it breaks off."""
    monkeypatch.setattr(sending, "PATIENCE_S", 0.05)
    exports, sent = Exports(), list[Any]()

    def write(send: Send) -> None:
        for _ in range(3 * AHEAD):
            send(b"x" * PIECE)

    async def send(message: Any) -> None:
        if len(sent) == 1:
            await asyncio.to_thread(until, lambda: exports.count == 0)  # it takes nothing for so long
        sent.append(message)

    async def all_of_it() -> None:
        begin, take = Response(200, b"", "text/plain"), partial(exports.take, "ann")
        await asyncio.wait_for(send_written(begin, Written(write), send, failed=never, take=take), 10)

    with pytest.raises(ConnectionAbortedError):
        asyncio.run(all_of_it())
    assert AHEAD <= len(sent) <= AHEAD + 2 and all(message.get("more_body", True) for message in sent)


def test_an_export_that_is_cancelled_before_its_first_piece_ends() -> None:
    exports, begun, goes_on, left = Exports(), threading.Event(), threading.Event(), threading.Event()

    def write(send: Send) -> None:
        begun.set()
        goes_on.wait(10)
        try:
            send(b"x" * PIECE)
        except ClientGone:
            left.set()
            raise

    async def send(_message: Any) -> None:
        pass

    async def cancel() -> None:
        begin, take = Response(200, b"", "text/plain"), partial(exports.take, "ann")
        sent = asyncio.create_task(send_written(begin, Written(write), send, failed=never, take=take))
        assert await asyncio.to_thread(begun.wait, 10)
        sent.cancel()
        await asyncio.wait((sent,))
        goes_on.set()
        assert await asyncio.to_thread(left.wait, 10)

    asyncio.run(cancel())
    assert until(lambda: exports.count == 0)


def never(error: BaseException) -> Response:
    raise AssertionError from error


# -- the disk ----------------------------------------------------------------------------------------


def test_a_full_disk_is_no_mistake_of_the_server(asked: Asked, acme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: Any, _piece: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bodies, "_append", full)
    got = asked.post("/v1/import", pieces=[b"{}\n"], token=acme, **LINES)
    assert (got.status, got.code) == (507, "DISK_FULL")
    assert not list((asked.clew.home / "run").glob("incoming-*"))


def test_what_arrives_is_written_by_worker_threads(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    by, append = set(), bodies._append

    def noted(file: Any, piece: bytes) -> None:
        by.add(threading.current_thread())
        append(file, piece)

    monkeypatch.setattr(bodies, "_append", noted)
    assert asked.post("/v1/import", pieces=[b"{}\n"], **LINES).status in (200, 400)
    assert by and threading.main_thread() not in by


def test_who_asks_with_a_key_may_send_less(asked: Asked, acme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "FROM_AFAR", 1_000)
    pieces = [b"x" * 600] * 2
    assert asked.post("/v1/import", pieces=pieces, token=acme, **LINES).status == 413
    assert asked.post("/v1/import", pieces=pieces, **LINES).status != 413


# -- where the server keeps things ---------------------------------------------------------------------


@pytest.fixture
def broken(memory: Clew) -> Iterator[Asked]:
    def run(call: Call) -> None:
        raise Unavailable(
            f"no space left to write {call.clew.home / 'clew.db'}", code="DISK_FULL", next="free some"
        )

    asked = Asked(memory, [Route("GET", "/v1/it", "it", "It.", run, answer=str)])
    yield asked
    asked.close()


def test_only_the_owner_is_told_where_files_are(broken: Asked, acme: str, caplog: pytest.LogCaptureFixture) -> None:
    home = str(broken.clew.home)
    theirs = broken.get("/v1/it", via=NETWORK, token=acme)
    assert theirs.status == 507 and home not in theirs.body.decode() and "clew.db" in theirs.json["detail"]
    assert home in caplog.text
    assert home in broken.get("/v1/it").json["detail"]


def test_a_path_is_not_told_by_a_name_that_begins_like_it(memory: Clew, tmp_path: Path) -> None:
    from clew.surfaces.http.problems import without_places

    error = Unavailable(f"{tmp_path}/a/clew.db and {tmp_path}", code="STORE_IO", details={"file": tmp_path / "x"})
    told = without_places(error, [f"{tmp_path}/a", str(tmp_path)])
    assert str(tmp_path) not in told.message + str(told.details) and type(told) is Unavailable
    assert (told.code, error.message) == ("STORE_IO", f"{tmp_path}/a/clew.db and {tmp_path}")


def test_where_the_database_is_is_told_to_the_owner_alone(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def run(call: Call) -> None:
        raise unreachable(call.clew.store.location)

    with clew_at(postgres_url, home=tmp_path) as memory:
        token = memory.keys.create("test", user="ann", roles=("member",)).token
        asked = Asked(memory, [Route("GET", "/v1/it", "it", "It.", run, answer=str)])
        theirs, own = asked.get("/v1/it", via=NETWORK, token=token), asked.get("/v1/it")
        asked.close()
        place = str(memory.store.location)
    assert place.startswith("postgresql://") and place in own.json["detail"]
    assert (theirs.status, theirs.json["detail"]) == (503, "the store does not answer")
    assert place in caplog.text


def test_an_empty_body_is_an_empty_file(asked: Asked) -> None:
    got = asked.post("/v1/import", pieces=[], **LINES)
    assert (got.status, got.json["read"]) == (200, 0)

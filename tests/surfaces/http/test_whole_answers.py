"""Requests that need no task of the event loop answer as all others do, however their bytes come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn
from api_driver import TOKEN, Asked, until
from loopback_driver import connected, on_loopback, rest_of

from clew.clew import Clew
from clew.surfaces.http import protocol
from clew.surfaces.http.asked import Asked as UnderWay
from clew.surfaces.http.response import Response

TEXT = "the cache is invalidated by hand"


class Served:
    def __init__(self, asked: Asked, server: uvicorn.Server) -> None:
        self.asked, self.server = asked, server
        self.by_task: list[UnderWay] = []  # requests that went on as a task
        self._watch_tasks()

    def _watch_tasks(self) -> None:
        go_on = self.asked.app.go_on

        async def noted(asked: UnderWay, receive: Any, send: Any) -> None:
            self.by_task.append(asked)
            await go_on(asked, receive, send)

        self.asked.app.go_on = noted  # type: ignore[method-assign]

    def told(self, first: bytes, second: bytes = b"", *, between: Callable[[], object] = bool) -> bytes:
        """What it answers until it ends the connection."""
        with closing(connected(self.server)) as link:
            link.sendall(first)
            between()
            link.sendall(second)
            return rest_of(link)


@pytest.fixture
def served(memory: Clew, asked: Asked) -> Iterator[Served]:
    memory.remember(TEXT)
    with on_loopback(asked) as server:
        yield Served(asked, server)


def recall(body: bytes, *lines: str) -> tuple[bytes, bytes]:
    told = [f"Authorization: Bearer {TOKEN}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(["POST /v1/recall HTTP/1.1", "Host: localhost", *told, *lines, "", ""]).encode(), body


LAST = "Connection: close"
ASKED = json.dumps({"query": "cache"}).encode()


def test_a_body_that_comes_with_its_head_is_answered_without_a_task(served: Served) -> None:
    head, body = recall(ASKED, LAST)
    answer = served.told(head + body)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and TEXT.encode() in answer and not served.by_task


def test_so_is_one_that_comes_right_behind_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SOON_S", 10.0)  # a busy machine needs longer than usual for the little between
    answer = served.told(*recall(ASKED, LAST), between=lambda: time.sleep(0.005))
    assert TEXT.encode() in answer and not served.by_task


def test_a_body_that_takes_longer_is_waited_for(served: Served) -> None:
    head, body = recall(ASKED, LAST)
    answer = served.told(head + body[:4], body[4:], between=lambda: until(lambda: bool(served.by_task)))
    assert TEXT.encode() in answer and len(served.by_task) == 1


def test_a_large_body_is_waited_for_from_its_middle_on(served: Served) -> None:
    head, body = recall(b" " * 2 * protocol.SMALL + ASKED, LAST)
    answer = served.told(head + body)
    assert answer.startswith(b"HTTP/1.1 200 ") and len(served.by_task) == 1


def test_requests_sent_ahead_are_answered_in_their_order(served: Served) -> None:
    whole = b"".join(recall(ASKED))
    unknown = b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = served.told(whole + unknown + whole + b"".join(recall(ASKED, LAST)))
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200", b"200"]


def test_a_body_of_the_wrong_form_is_a_problem_and_the_connection_goes_on(served: Served) -> None:
    answer = served.told(b"".join(recall(b'{"query": 7}')) + b"".join(recall(ASKED, LAST)))
    assert answer.startswith(b"HTTP/1.1 400 ") and b"application/problem+json" in answer and TEXT.encode() in answer


def test_an_answer_has_the_headers_that_every_answer_has(served: Served) -> None:
    head = served.told(b"".join(recall(ASKED, LAST))).partition(b"\r\n\r\n")[0].lower()
    names = {line.partition(b":")[0] for line in head.split(b"\r\n")[1:]}
    assert names == {
        b"date", b"server", b"x-content-type-options", b"cache-control", b"content-length", b"content-type",
        b"connection",
    }  # fmt: skip


def asked_for(method: str, path: str, *lines: str) -> bytes:
    told = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {TOKEN}", *lines]
    return "\r\n".join([*told, "", ""]).encode()


@pytest.mark.parametrize("path", ["/healthz", "/v1/memories", "/v1/memories/nothing", "/v1/projects/x%ff"])
def test_head_tells_what_get_would_and_sends_no_body(served: Served, path: str) -> None:
    told = served.told(asked_for("HEAD", path) + asked_for("HEAD", path, LAST))
    got, _, body = served.told(asked_for("GET", path, LAST)).partition(b"\r\n\r\n")
    first, second, end = told.split(b"\r\n\r\n")
    assert body and not end and first.split(b"\r\n")[0] == got.split(b"\r\n")[0]
    assert second.split(b"\r\n")[2:] == got.split(b"\r\n")[2:]  # all but the moment


@pytest.mark.parametrize("path", ["/v1/export", "/v1/graph/events"])
def test_head_of_what_is_sent_in_pieces_ends_at_once(served: Served, path: str) -> None:
    told = served.told(asked_for("HEAD", path) + asked_for("HEAD", "/healthz", LAST))
    first, second, end = told.split(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200 ") and second.startswith(b"HTTP/1.1 200 ") and not end
    assert until(lambda: not served.asked.app.streams.count and not served.asked.app.exports.count)


def test_head_says_that_an_export_is_not_for_whoever_asks(served: Served) -> None:
    path = "/v1/export?project="  # no name of a project
    answers = [served.told(asked_for(method, path, LAST)).split(b"\r\n")[0] for method in ("HEAD", "GET")]
    assert answers[0] == answers[1] != b"HTTP/1.1 200 OK"


def test_a_path_without_get_has_no_head(served: Served) -> None:
    assert served.told(asked_for("HEAD", "/v1/recall", LAST)).startswith(b"HTTP/1.1 405 ")
    assert b"\r\nallow: GET, HEAD, POST\r\n" in served.told(asked_for("PUT", "/v1/memories", LAST))


def test_an_answer_that_says_it_is_the_last_is(served: Served) -> None:
    """One to a hook that has nothing to print."""
    body = b'{"hook_event_name": "Stop", "session_id": "s", "cwd": "/"}'
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}", f"Clew-Event-Id: {'0' * 32}")
    answer = served.told(asked_for("POST", "/v1/hooks/claude-code", *lines) + body + asked_for("GET", "/healthz"))
    assert b"\r\nconnection: close\r\n" in answer and answer.count(b"HTTP/1.1 ") == 1


def test_a_client_that_leaves_before_its_answer_is_counted_and_nothing_else(served: Served) -> None:
    with closing(connected(served.server)) as link:
        link.sendall(recall(ASKED)[0])  # and no body
    assert until(lambda: ("recall", "400") in served.asked.app.tally.requests)
    assert TEXT.encode() in served.told(b"".join(recall(ASKED, LAST)))


def test_no_header_can_end_its_line() -> None:
    with pytest.raises(ValueError, match="ends its line"):
        Response(200, headers={"Location": "/a\r\nSet-Cookie: b"})

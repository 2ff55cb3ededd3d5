"""The endpoint embedder against a real HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from clew.errors import Misconfigured, Unavailable
from clew.providers.openai import ATTEMPTS, EndpointEmbedder, _pause_s

KEY = "sk-very-secret"
TEXT = "the quarterly numbers nobody may see"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@dataclass
class Reply:
    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[dict[str, Any]], Reply]


@dataclass
class Endpoint:
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def vector(text: str) -> list[float]:
    return [float(len(text)), 3.0, 4.0]


def embeddings(question: dict[str, Any]) -> Reply:
    rows = [{"index": i, "embedding": vector(text)} for i, text in enumerate(question["input"])]
    return Reply(body={"data": rows[::-1]})  # the last first: only `index` tells


@contextmanager
def serving(answer: Answer) -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append(question)
            endpoint.paths.append(self.path)
            endpoint.keys.append(self.headers["Authorization"])
            reply = answer(question)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # the client may have given up
                for part in reply.body if isinstance(reply.body, Iterator) else [reply.body]:
                    self.wfile.write(json.dumps(part).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def one_after_the_other(*answers: Answer) -> Answer:
    left = list(answers)
    return lambda question: (left.pop(0) if len(left) > 1 else left[0])(question)


def always(reply: Reply) -> Answer:
    return lambda _: reply


def failure(answer: Answer, **settings: Any) -> tuple[Unavailable, Endpoint]:
    with serving(answer) as endpoint:
        embedder = EndpointEmbedder(endpoint.url, "m", 3, KEY, **settings)
        with pytest.raises(Unavailable) as caught:
            embedder.embed([TEXT])
    return caught.value, endpoint


def test_vectors_come_back_in_the_order_of_the_texts_at_unit_length() -> None:
    texts = ["a", "bbb", "cc", "dddd", "eeeee"]
    with serving(embeddings) as endpoint:
        rows = EndpointEmbedder(endpoint.url, "m", 3, batch=2).embed(texts)
    expected = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert rows.dtype == np.float32
    assert [question["input"] for question in endpoint.asked] == [["a", "bbb"], ["cc", "dddd"], ["eeeee"]]


def test_the_request_names_the_model_and_carries_the_key_as_bearer() -> None:
    with serving(embeddings) as endpoint:
        EndpointEmbedder(endpoint.url + "/", "some-model", 3, f"{KEY}\n").embed(["a"])
        EndpointEmbedder(endpoint.url + "/embeddings", "some-model", 3).embed(["a"])
    assert endpoint.asked[0] == {"model": "some-model", "input": ["a"]}
    assert endpoint.paths == ["/v1/embeddings"] * 2
    assert endpoint.keys == [f"Bearer {KEY}", None]


def test_no_texts_ask_nothing() -> None:
    with serving(embeddings) as endpoint:
        assert EndpointEmbedder(endpoint.url, "m", 3).embed([]).shape == (0, 3)
    assert endpoint.asked == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(status: int) -> None:
    busy = always(Reply(status, headers={"Retry-After": "0"}))
    with serving(one_after_the_other(busy, busy, embeddings)) as endpoint:
        assert EndpointEmbedder(endpoint.url, "m", 3).embed(["a"]).shape == (1, 3)
    assert len(endpoint.asked) == 3


def test_a_broken_endpoint_is_given_up_after_a_few_attempts() -> None:
    error, endpoint = failure(always(Reply(500, headers={"Retry-After": "0"})))
    assert (error.code, error.details) == ("ENDPOINT_REFUSED", {"status": 500})
    assert len(endpoint.asked) == ATTEMPTS


def test_a_wait_beyond_our_patience_is_not_begun() -> None:
    error, endpoint = failure(always(Reply(429, headers={"Retry-After": "3600"})))
    assert (error.code, len(endpoint.asked)) == ("ENDPOINT_REFUSED", 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_repeated(status: int) -> None:
    error, endpoint = failure(always(Reply(status, body={"error": f"bad key {KEY} for {TEXT}"})))
    assert (error.details, len(endpoint.asked)) == ({"status": status}, 1)


def reading(most: int, *, status: int) -> Answer:
    """An endpoint whose model reads so many characters of a text."""

    def answer(question: dict[str, Any]) -> Reply:
        is_read = all(len(text) <= most for text in question["input"])
        return embeddings(question) if is_read else Reply(status, headers={"Retry-After": "0"})

    return answer


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_of_a_text_that_is_too_long_the_beginning_counts_and_the_others_of_its_batch_are_as_ever(
    status: int,
) -> None:
    texts = ["a", "b" * 600, "c" * 10_000, "d", "e" * 2_000]
    with serving(reading(2_000, status=status)) as endpoint:
        rows = EndpointEmbedder(endpoint.url, "m", 3).embed(texts)
        alone = EndpointEmbedder(endpoint.url, "m", 3).embed(["c" * 10_000])
    expected = np.array([vector(text) for text in ["a", "b" * 600, "c" * 1_250, "d", "e" * 2_000]])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(alone[0], rows[2])


def test_a_batch_larger_than_an_endpoint_takes_is_asked_for_in_parts() -> None:
    def few(question: dict[str, Any]) -> Reply:
        return embeddings(question) if len(question["input"]) <= 10 else Reply(400)

    texts = ["a" * length for length in range(1, 65)]
    with serving(few) as endpoint:
        rows = EndpointEmbedder(endpoint.url, "m", 3).embed(texts)
    expected = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("status", [400, 500])
def test_a_text_that_is_refused_for_itself_has_no_direction(status: int) -> None:
    def choosy(question: dict[str, Any]) -> Reply:
        refused = Reply(status, headers={"Retry-After": "0"})
        return refused if TEXT in question["input"] else embeddings(question)

    with serving(choosy) as endpoint:
        rows = EndpointEmbedder(endpoint.url, "m", 3).embed(["a", TEXT, "bbb"])
    assert [bool(row.any()) for row in rows] == [True, False, True]


@pytest.mark.parametrize("number", [0.0, float("nan"), float("inf")])
def test_a_text_for_which_the_model_has_no_direction_takes_no_other_with_it(number: float) -> None:
    def silent(question: dict[str, Any]) -> Reply:
        rows = [[number] * 3 if text == TEXT else vector(text) for text in question["input"]]
        return Reply(body={"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]})

    with serving(silent) as endpoint:
        rows = EndpointEmbedder(endpoint.url, "m", 3).embed(["a", TEXT, "bbb"])
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 0, 1])


def test_an_endpoint_that_stops_working_between_two_parts_leaves_nothing_without_a_direction() -> None:
    def works_once(question: dict[str, Any]) -> Reply:
        return embeddings(question) if len(endpoint.asked) == 2 else Reply(500, headers={"Retry-After": "0"})

    with serving(one_after_the_other(always(Reply(400)), works_once)) as endpoint, pytest.raises(Unavailable):
        EndpointEmbedder(endpoint.url, "m", 3).embed(["a", TEXT])


@pytest.mark.parametrize(("status", "asked"), [(400, 2), (500, 2 * ATTEMPTS)])
def test_an_endpoint_that_refuses_short_texts_as_well_is_not_asked_for_every_part(status: int, asked: int) -> None:
    refusing = always(Reply(status, headers={"Retry-After": "0"}))
    with serving(refusing) as endpoint, pytest.raises(Unavailable) as caught:
        EndpointEmbedder(endpoint.url, "m", 3).embed(["a" * 5_000] * 64)
    assert (caught.value.details, len(endpoint.asked)) == ({"status": status}, asked)


def test_what_is_sent_of_a_long_text_was_masked_as_a_whole() -> None:
    def mask(text: str) -> str:
        return text.replace("s3cr" + "x" * 1_000 + "et", "***")

    with serving(reading(1_000, status=400)) as endpoint:
        EndpointEmbedder(endpoint.url, "m", 3, mask=mask).embed(["s3cr" + "x" * 1_000 + "et" + "y" * 5_000])
    assert not any("s3cr" in text for question in endpoint.asked for text in question["input"])


def test_a_redirect_is_refused_so_that_the_key_goes_nowhere_else() -> None:
    with serving(embeddings) as elsewhere:
        error, _ = failure(always(Reply(307, headers={"Location": f"{elsewhere.url}/embeddings"})))
    assert (error.details, elsewhere.asked) == ({"status": 307}, [])


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0, 2.0, "x"]}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": [1.0, 2.0, float("nan")]}]},
        {"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 3]}]},
        {"data": [{"index": 5, "embedding": [1, 2, 3]}]},
        {"data": [{"index": 0, "embedding": [10**400, 2, 3]}]},
        {"data": []},
        {"data": ["text"]},
        {"error": TEXT},
        "text",
    ],
)
def test_an_answer_of_another_shape_is_refused(body: object) -> None:
    error, _ = failure(always(Reply(body=body)))
    assert error.code == "ENDPOINT_ODD_ANSWER"


def test_a_wrong_width_is_named() -> None:
    error, _ = failure(always(Reply(body={"data": [{"embedding": [1.0, 2.0]}]})))
    assert "2 dimensions, configured are 3" in error.message


@pytest.mark.parametrize("status", [200, 401, 500])
def test_no_error_holds_the_key_or_a_text(status: int) -> None:
    error, _ = failure(always(Reply(status, body={"error": f"{KEY} {TEXT}"})), patience_s=0)
    shown = f"{error!r} {error.as_json()} {error.__cause__!r}"
    assert KEY not in shown
    assert TEXT not in shown


def test_an_endpoint_that_never_answers_times_out() -> None:
    finished = threading.Event()

    def silent(_: dict[str, Any]) -> Reply:
        finished.wait(10)
        return Reply()

    with serving(silent) as endpoint:
        try:
            with pytest.raises(Unavailable, match=r"within 0\.1 s") as caught:
                EndpointEmbedder(endpoint.url, "m", 3, timeout_s=0.1).embed([TEXT])
        finally:
            finished.set()
    assert (caught.value.code, len(endpoint.asked)) == ("ENDPOINT_TIMEOUT", 1)


def test_an_answer_that_trickles_in_for_ever_times_out() -> None:
    def drops() -> Iterator[str]:
        while not given_up.wait(0.01):
            yield "drop"

    given_up = threading.Event()
    try:
        error, _ = failure(lambda _: Reply(body=drops()), timeout_s=0.1)
    finally:
        given_up.set()
    assert error.code == "ENDPOINT_TIMEOUT"


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with serving(embeddings) as endpoint:
        pass
    with pytest.raises(Unavailable) as caught:
        EndpointEmbedder(endpoint.url, "m", 3).embed(["a"])
    assert caught.value.code == "ENDPOINT_UNREACHABLE"


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/hosts", "https://user:pass@host/v1"])
def test_an_odd_address_is_a_configuration_error(url: str) -> None:
    with pytest.raises(Misconfigured):
        EndpointEmbedder(url, "m", 3)


def test_a_key_no_header_may_hold_is_refused_without_being_shown() -> None:
    with pytest.raises(Misconfigured) as caught:
        EndpointEmbedder("http://localhost/v1", "m", 3, f"{KEY}\nX-Other: 1")
    assert KEY not in repr(caught.value)


def test_the_space_depends_on_address_model_and_width_and_not_on_the_key() -> None:
    def key(url: str = "http://a/v1", model: str = "m", dim: int = 3, api_key: str | None = None) -> str:
        return EndpointEmbedder(url, model, dim, api_key).space.key

    assert key().startswith("endpoint:m@")
    assert key() == key(api_key=KEY) == key("https://A/v1/embeddings")
    assert len({key(), key("http://b/v1"), key("http://a/v2"), key(model="n"), key(dim=4)}) == 5


def test_the_pause_is_what_the_server_asks_for_or_doubles() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert [_pause_s(attempt, None) for attempt in (1, 2, 3)] == [0.25, 0.5, 1.0]
    assert [_pause_s(1, header) for header in ("7", past, "nonsense")] == [7.0, 0.0, 0.25]
    assert 50 < _pause_s(1, soon) <= 60

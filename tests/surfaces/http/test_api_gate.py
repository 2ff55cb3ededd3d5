"""What the server refuses before any verb is asked."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator

import pytest
from api_driver import TOKEN, Asked

from clew.clew import Clew
from clew.errors import Unavailable
from clew.surfaces.http.request import LOOPBACK, NETWORK
from clew.surfaces.http.route import Call, Route
from toys import open_toy

SECRET = "the launch code is 0000"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """One store for all: nothing here changes it."""
    with open_toy(tmp_path_factory.mktemp("gate") / "clew.db") as memory:
        asked = Asked(memory)
        yield asked
        asked.close()


def failing(error: Exception) -> Route:
    def run(_call: Call) -> None:
        raise error

    return Route("GET", "/v1/fails", "fails", "It fails.", run, answer=None)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "memory.example", "localhost.:80"])
def test_a_name_that_is_not_loopbacks_is_misdirected(asked: Asked, host: str) -> None:
    got = asked.get("/healthz", via=LOOPBACK, host=host)
    assert (got.status, got.code) == (421, "HOST_UNKNOWN")


@pytest.mark.parametrize("host", ["127.0.0.1:7433", "localhost", "LOCALHOST:1", "[::1]:7433"])
def test_loopback_answers_under_its_own_names(asked: Asked, host: str) -> None:
    assert asked.get("/healthz", via=LOOPBACK, host=host).status == 200


def test_on_the_network_only_the_named_hosts_are_answered(asked: Asked) -> None:
    assert asked.get("/healthz", via=NETWORK).status == 200
    assert asked.get("/healthz", via=NETWORK, host="127.0.0.1").status == 421


@pytest.mark.parametrize(
    "header",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:7433"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_no_page_of_a_browser_may_ask(asked: Asked, header: dict[str, str]) -> None:
    got = asked.post("/v1/recall", {"query": "secrets"}, via=LOOPBACK, token=TOKEN, **header)
    assert (got.status, got.code) == (403, "ORIGIN_DENIED")
    assert not [name for name in got.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/memories", "/healthz"])
def test_a_preflight_is_not_answered(asked: Asked, path: str) -> None:
    got = asked("OPTIONS", path, via=LOOPBACK, access_control_request_method="POST")
    assert got.status == 405 and got.headers["allow"]
    assert not [name for name in got.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
)
def test_a_body_that_a_form_could_send_is_refused(asked: Asked, kind: str) -> None:
    got = asked.post("/v1/memories", pieces=[b'{"content": "x"}'], content_type=kind)
    assert (got.status, got.code) == (415, "CONTENT_TYPE_INVALID")


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "identity, gzip", "GZIP"])
def test_a_compressed_body_is_refused_with_what_to_send_instead(asked: Asked, coding: str) -> None:
    body = gzip.compress(b'{"query": "harbour"}')
    got = asked.post("/v1/recall", pieces=[body], content_type="application/json", content_encoding=coding)
    assert (got.status, got.code) == (415, "CONTENT_ENCODING_INVALID")
    assert got.headers["accept-encoding"] == "identity"


def test_a_body_that_says_it_is_not_compressed_is_taken(asked: Asked) -> None:
    body = b'{"query": "harbour"}'
    got = asked.post("/v1/recall", pieces=[body], content_type="application/json", content_encoding="Identity")
    assert got.status == 200


def test_a_body_in_another_encoding_of_text_is_told_so(asked: Asked) -> None:
    """As some clients send it unless they are told otherwise."""
    kind = "application/json; charset=ISO-8859-1"
    got = asked.post("/v1/recall", pieces=['{"query": "Café"}'.encode("latin-1")], content_type=kind)
    assert (got.status, got.code) == (400, "INVALID_UTF8")


def test_a_body_beyond_the_limit_is_refused_by_its_length_alone(asked: Asked) -> None:
    got = asked.post("/v1/memories", pieces=[], content_type="application/json", content_length=str(2 << 20))
    assert (got.status, got.code) == (413, "BODY_TOO_LARGE")


def test_a_body_without_a_length_is_refused_while_it_is_read(asked: Asked) -> None:
    got = asked.post("/v1/memories", pieces=[b"x" * (1 << 18)] * 5, transfer_encoding="chunked")
    assert (got.status, got.code, got.headers["connection"]) == (413, "BODY_TOO_LARGE", "close")


def test_a_route_without_a_body_takes_none(asked: Asked) -> None:
    assert asked.get("/v1/stats", content_length="3").code == "REQUEST_INVALID"


@pytest.mark.parametrize(
    "query", ["token=abc", "access_token=1", "api_key=k", f"project={TOKEN}", "Authorization=x"]
)
def test_a_credential_in_the_address_is_refused(asked: Asked, query: str) -> None:
    assert asked.get(f"/v1/memories?{query}").code == "CREDENTIAL_IN_QUERY"


def test_a_project_may_be_called_like_this_program(asked: Asked) -> None:
    assert asked.get("/v1/memories?project=clew_core_2").status == 200


def test_a_header_that_decides_comes_once(asked: Asked) -> None:
    got = asked.get("/v1/stats", token="a", again=[("authorization", "Bearer b")])
    assert (got.status, got.code) == (400, "REQUEST_INVALID")


@pytest.mark.parametrize(
    "path", ["/", "/v2/recall", "/v1/memories/", "/v1/../v1/stats", "/v1//stats", "/v1/%73tats/x"]
)
def test_an_unknown_path_is_a_problem_document(asked: Asked, path: str) -> None:
    got = asked.get(path)
    assert (got.status, got.code) == (404, "ROUTE_NOT_FOUND")
    assert got.headers["content-type"] == "application/problem+json"


def test_every_answer_forbids_guessing_and_keeping_and_sets_no_cookie(asked: Asked) -> None:
    for got in (asked.get("/healthz"), asked.get("/v1/stats"), asked.get("/nowhere"), asked.get("/v1/export")):
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-store"
        assert "set-cookie" not in got.headers


def test_a_mistake_of_ours_tells_nothing_but_a_trace_id(memory: Clew, caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked(memory, [failing(ValueError(SECRET))])
    with caplog.at_level(logging.ERROR):
        got = asked.get("/v1/fails")
    assert (got.status, got.code) == (500, "FAILED")
    assert SECRET not in got.body.decode() + caplog.text
    assert got.json["trace_id"] in caplog.text


@pytest.mark.parametrize(("code", "status"), [("DISK_FULL", 507), ("STORE_BUSY", 503)])
def test_a_store_in_trouble_says_so(memory: Clew, code: str, status: int) -> None:
    got = Asked(memory, [failing(Unavailable("it is full", code=code, next="free some"))]).get("/v1/fails")
    assert (got.status, got.code, got.json["next"]) == (status, code, "free some")
    assert ("retry-after" in got.headers) == (status == 503)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "limit=1&limit=2",
        "nonsense=1",
        "before=yesterday",
        "project=%ff",
        "limit=",
        "layer=null",
        "before=null",
        "before=4",
    ],
)
def test_a_wrong_query_is_the_callers_mistake(asked: Asked, query: str) -> None:
    assert asked.get(f"/v1/memories?{query}").status == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"query": 1}', b'{"query": "a", "x": 1}', b'{"query": "\xff"}']
)
def test_a_wrong_body_is_the_callers_mistake(asked: Asked, body: bytes) -> None:
    assert asked.post("/v1/recall", pieces=[body]).status == 400


def test_a_deep_body_does_not_take_the_server_down(asked: Asked) -> None:
    body = b'{"content": "x", "metadata": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    assert asked.post("/v1/memories", pieces=[body]).status == 400

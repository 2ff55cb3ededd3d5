"""Language models behind an endpoint, with the real client libraries against a real HTTP server on this machine."""

from __future__ import annotations

import gzip
import logging
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from clew.errors import ClewError, Misconfigured, Unavailable
from clew.providers import llm_http
from clew.providers.llm import EndpointModel
from clew.providers.llm_dialects import AnthropicDialect, OpenAiDialect
from clew.relate.prompts import PAIR_SCHEMA
from llm_server import (
    PAIR,
    Answer,
    LlmServer,
    Reply,
    drops,
    fails,
    garbage,
    judged,
    redirects,
    says,
    waits_for,
)
from llm_toys import KEY, model

TEXT = "the quarterly numbers nobody may see"
BOTH = ("openai", "anthropic")
both = pytest.mark.parametrize("provider", BOTH)


def ask(server: LlmServer, *, provider: str = "openai", **options: Any) -> Any:
    asked = model(server, provider=provider, **options)
    return asked.ask("judge", TEXT, schema=PAIR_SCHEMA, schema_name=PAIR)


def failure(server: LlmServer, answer: Answer, *, provider: str = "openai", **options: Any) -> ClewError:
    """The one error an answer leads to; it holds neither the text nor the key nor the server's words."""
    server.script = [answer]
    with pytest.raises(Unavailable) as caught:
        ask(server, provider=provider, **options)
    told = f"{caught.value!r} {caught.value.next} {caught.value.details}"
    assert not any(secret in told for secret in (TEXT, KEY, "SAID"))
    assert caught.value.next and "127.0.0.1" in caught.value.message
    return caught.value


# -- well ------------------------------------------------------------------------------------------------


@both
def test_it_gives_the_answer_and_what_it_took(llm_server: LlmServer, provider: str) -> None:
    llm_server.script = [judged("refines", 0.8)]
    answer = ask(llm_server, provider=provider)
    assert (answer.data["relationship"], answer.input_tokens, answer.output_tokens) == ("refines", 100, 20)


def test_openai_is_asked_for_strict_json_at_temperature_zero(llm_server: LlmServer) -> None:
    ask(llm_server)
    [request] = llm_server.requests
    form = {"name": PAIR, "schema": PAIR_SCHEMA, "strict": True}
    assert request.path == "/v1/chat/completions" and request.body["model"] == "toy-model"
    assert request.body["response_format"] == {"type": "json_schema", "json_schema": form}
    assert request.body["temperature"] == 0 and request.body["max_completion_tokens"] == 2_000
    assert (request.system, request.user) == ("judge", TEXT)


def test_anthropic_is_made_to_use_a_tool_with_the_schema(llm_server: LlmServer) -> None:
    ask(llm_server, provider="anthropic")
    [request] = llm_server.requests
    assert request.path == "/v1/messages" and request.body["max_tokens"] == 2_000
    assert request.schema == PAIR_SCHEMA
    assert request.body["tool_choice"] == {"type": "tool", "name": PAIR, "disable_parallel_tool_use": True}
    assert (request.system, request.user) == ("judge", TEXT)
    assert "temperature" not in request.body  # this interface refuses it


def test_t22_content_is_a_text_or_a_list_of_parts(llm_server: LlmServer) -> None:
    llm_server.script = [says({"a": 1, "b": 2}), says({"a": 1, "b": 2}, parts=3)]
    assert ask(llm_server).data == ask(llm_server).data == {"a": 1, "b": 2}


def test_a_model_that_takes_no_temperature_is_asked_without(llm_server: LlmServer) -> None:
    """And the next time at once."""
    refused = b'{"error": {"message": "SAID", "param": "temperature", "code": "unsupported_value"}}'
    llm_server.script = [lambda _: Reply(refused, 400)]
    asked = model(llm_server)
    for _ in range(2):
        asked.ask("judge", TEXT, schema=PAIR_SCHEMA, schema_name=PAIR)
    assert ["temperature" in request.body for request in llm_server.requests] == [True, False, False]


@both
@pytest.mark.parametrize("tokens", [(None, None), ("many", -1), (10**12, True)])
def test_tokens_that_are_not_told_are_estimated(llm_server: LlmServer, provider: str, tokens: Any) -> None:
    llm_server.script = [says({"a": 1}, tokens=tokens)]
    answer = ask(llm_server, provider=provider)
    assert answer.input_tokens == (len("judge") + len(TEXT) + 3) // 4 and 0 < answer.output_tokens < 200


# -- wrongly, slowly, not at all ---------------------------------------------------------------------------

HUGE = b'{"choices": "' + b"x" * 10_000_000 + b'"}'


@both
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (garbage(), "LLM_ODD_ANSWER"),
        (garbage(b""), "LLM_ODD_ANSWER"),
        (garbage(b"null"), "LLM_ODD_ANSWER"),
        (garbage(b"[1]"), "LLM_ODD_ANSWER"),
        (garbage(b"[" * 100_000), "LLM_ODD_ANSWER"),
        (garbage(b'{"choices": [], "content": [7]}'), "LLM_ODD_ANSWER"),
        (garbage(b'{"choices": 3, "content": 3}'), "LLM_ODD_ANSWER"),
        (garbage(b"\xff\xfe\xfd"), "LLM_ODD_ANSWER"),
        (says("no JSON, but SAID"), "LLM_ODD_ANSWER"),
        (says(""), "LLM_ODD_ANSWER"),
        (garbage(HUGE), "LLM_TOO_LARGE"),
        (drops(judged("agrees")), "LLM_BROKE_OFF"),
        (says({}, ended="refusal"), "LLM_REFUSED"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_wrong_answer_is_one_error(llm_server: LlmServer, provider: str, answer: Answer, code: str) -> None:
    assert failure(llm_server, answer, provider=provider).code == code
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(("provider", "ended"), [("openai", "length"), ("anthropic", "max_tokens")])
def test_an_answer_that_is_cut_short_is_told_with_what_it_took(
    llm_server: LlmServer, provider: str, ended: str
) -> None:
    error = failure(llm_server, says({}, ended=ended), provider=provider)
    assert (error.code, error.details) == ("LLM_TRUNCATED", {"input_tokens": 100, "output_tokens": 20})


@both
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_refusal_is_told_by_its_status_and_not_repeated(
    llm_server: LlmServer, provider: str, status: int
) -> None:
    """Retries are the job's business."""
    error = failure(llm_server, fails(status), provider=provider)
    assert (error.code, error.details["status"]) == ("LLM_STATUS", status)
    assert len(llm_server.requests) == 1


@both
@pytest.mark.parametrize(("said", "wait_s"), [("30", 30.0), ("soon", 0.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)])
def test_how_long_to_wait_is_told(llm_server: LlmServer, provider: str, said: str, wait_s: float) -> None:
    error = failure(llm_server, fails(429, retry_after=said), provider=provider)
    assert error.details["retry_after_s"] == wait_s


@both
def test_an_answer_that_does_not_come_in_time_is_not_waited_for(llm_server: LlmServer, provider: str) -> None:
    never = Event()
    error = failure(llm_server, waits_for(never, judged("agrees")), provider=provider, timeout_s=0.05)
    assert error.code == "LLM_TIMEOUT"
    never.set()


@both
def test_nobody_at_home_is_unreachable(llm_server: LlmServer, provider: str) -> None:
    with LlmServer() as gone:
        asked = model(gone, provider=provider)
    with pytest.raises(Unavailable) as caught:
        asked.ask("judge", TEXT, schema=PAIR_SCHEMA, schema_name=PAIR)
    assert caught.value.code == "LLM_UNREACHABLE"


@both
def test_a_redirect_carries_the_key_nowhere(llm_server: LlmServer, provider: str) -> None:
    with LlmServer() as elsewhere:
        path = "/chat/completions" if provider == "openai" else "/messages"
        error = failure(llm_server, redirects(elsewhere.url + path), provider=provider)
        assert (error.code, error.details) == ("LLM_STATUS", {"status": 307})
        assert elsewhere.requests == []


# -- what leaves the machine -------------------------------------------------------------------------------

ELSEWHERE = {
    **dict.fromkeys(("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"), "LEAK"),
    **dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "LEAK"),
    **dict.fromkeys(("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"), "X-Gateway: LEAK\nAuthorization: LEAK"),
    **dict.fromkeys(("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"), "http://LEAK.invalid"),
}


@both
@pytest.mark.parametrize("key", [KEY, ""])
def test_keys_and_headers_for_other_places_are_not_sent(
    llm_server: LlmServer, provider: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries look for them in the environment by themselves."""
    for name, value in ELSEWHERE.items():
        monkeypatch.setenv(name, value)
    ask(llm_server, provider=provider, key=key)
    [request] = llm_server.requests
    assert "LEAK" not in str(request)
    assert request.headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert not any(name.startswith("x-stainless") for name in request.headers if "raw-response" not in name)


@both
def test_the_libraries_log_nothing_of_a_question(
    llm_server: LlmServer, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(llm_server, provider=provider)
        failure(llm_server, fails(500), provider=provider)
    assert "HTTP Request" not in caplog.text  # it would name the address, which may hold a secret
    assert TEXT not in caplog.text and KEY not in caplog.text and "SAID" not in caplog.text


def test_what_others_ask_with_the_same_library_is_logged_as_before(
    llm_server: LlmServer, caplog: pytest.LogCaptureFixture
) -> None:
    ask(llm_server)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("openai._base_client").debug("somebody else's request")
    assert "somebody else's request" in caplog.text


@pytest.mark.parametrize(
    "url",
    ["ftp://models.example", "localhost:11434", "http://", "https://user:pw@models.example", "http://a/v1?k=v"],
)
def test_an_address_that_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        EndpointModel(OpenAiDialect(), url=url, model="toy")
    assert caught.value.code == "LLM_ADDRESS" and "pw" not in str(caught.value)


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_may_be_the_base_or_the_whole(llm_server: LlmServer, path: str) -> None:
    url = llm_server.url.removesuffix("/v1") + path
    EndpointModel(OpenAiDialect(), url=url, model="toy").ask("a", "b", schema=PAIR_SCHEMA, schema_name=PAIR)
    assert llm_server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/messages"])
def test_so_may_anthropics(llm_server: LlmServer, path: str) -> None:
    url = llm_server.url.removesuffix("/v1") + path
    EndpointModel(AnthropicDialect(), url=url, model="toy").ask("a", "b", schema=PAIR_SCHEMA, schema_name=PAIR)
    assert llm_server.requests[0].path == "/v1/messages"


def test_a_key_that_no_header_can_hold_is_refused_without_repeating_it() -> None:
    with pytest.raises(Misconfigured) as caught:
        EndpointModel(OpenAiDialect(), url="", model="toy", key="sk-\nsecret")
    assert caught.value.code == "LLM_KEY" and "secret" not in str(caught.value)


def test_no_library_is_imported_before_the_first_question() -> None:
    """They take a second."""
    program = (
        "import sys; from clew.providers.llm import EndpointModel;"
        "from clew.providers.llm_dialects import OpenAiDialect;"
        "EndpointModel(OpenAiDialect(), url='', model='toy', key='k');"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_answer_that_unfolds_is_refused(llm_server: LlmServer) -> None:
    """A few kilobytes can hold gigabytes."""
    folded = Reply(gzip.compress(b"x" * 10_000_000), headers={"Content-Encoding": "gzip"})
    assert failure(llm_server, lambda _: folded).code == "LLM_TOO_LARGE"


class Trickle(httpx2.SyncByteStream):
    """A body that never ends; each piece comes well within the socket's time-out."""

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b"x"


def test_an_answer_that_trickles_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(llm_http, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    request = httpx2.Request("POST", "http://localhost/", extensions={"deadline": 100})
    with pytest.raises(httpx2.ReadTimeout):
        list(llm_http._Bounded(Trickle(), request))
    assert next(seconds) == 102

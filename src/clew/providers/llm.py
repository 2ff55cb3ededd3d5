"""Language models behind an HTTP endpoint: whatever speaks the OpenAI or the Anthropic interface.

In go a prompt and a schema, out comes JSON as the model gave it, with what it took. One request per question and no
retries: those are the job's business. Whatever goes wrong is one error with a code; none holds a text, the key or
the server's own words, which may quote both, and the libraries' own log stays silent about a question of ours.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from clew.errors import ClewError, Misconfigured, Unavailable
from clew.lazy import made_once
from clew.model.llm import BROKE_OFF, EXTRA_MISSING, ODD_ANSWER, REFUSED, TIMEOUT, Completion
from clew.providers.llm_dialects import Dialect, parsed

MAX_COUNTED = 10**9  # tokens of one call that we believe

_NEXT_BY_STATUS = {
    400: "check the model's name, and whether it follows JSON schemas",
    401: "check the key of the language model",
    403: "check the rights of the key of the language model",
    404: "check llm.url and llm.model",
    429: "wait for the endpoint's limit to pass, or lower llm.calls_per_minute",
}
_LOGGERS = ("openai._base_client", "anthropic._base_client", "httpx2")
_asking: ContextVar[bool] = ContextVar("asking", default=False)


class EndpointModel:
    """A `ports.LanguageModel`. Without state but for the client, which is made for the first question."""

    def __init__(self, dialect: Dialect, *, url: str, model: str, key: str = "", timeout_s: float = 30.0) -> None:
        self.name = model
        self._dialect = dialect
        self._key = _checked(key)
        self._timeout_s = timeout_s
        self._base_url, self.host = _address(url or dialect.home, dialect)

    def ask(self, system: str, user: str, *, schema: Mapping[str, Any], schema_name: str) -> Completion:
        with _unlogged():
            body = self._send(system, user, schema, schema_name)
        answer = self._envelope(body)
        sent, received = self._tokens(answer, len(system) + len(user), len(body))
        try:
            return Completion(self._data(answer), sent, received)
        except ClewError as error:
            error.details |= {"input_tokens": sent, "output_tokens": received}
            raise

    @made_once
    def _client(self) -> Any:
        try:
            from clew.providers.llm_http import http_client

            library = import_module(self._dialect.library)
        except ImportError:
            raise extra_missing() from None
        transport = http_client(self._key, timeout_s=self._timeout_s)
        return self._dialect.connect(library, self._base_url, transport)

    def _send(self, system: str, user: str, schema: Mapping[str, Any], name: str) -> bytes:
        client = self._client
        try:
            return self._dialect.send(client, self.name, system, user, schema, name)
        except Exception as error:  # an adapter's edge: two libraries and what is beneath them
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> ClewError:
        """By the names that both libraries share; their messages quote the server."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        causes = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
        if "TooLarge" in causes:
            return self._unavailable("answered with more than any answer needs", "LLM_TOO_LARGE")
        if "APITimeoutError" in kinds or "TimeoutException" in causes:
            return self._unavailable(f"did not answer within {self._timeout_s:g} s", TIMEOUT, "allow it more time")
        if "APIStatusError" in kinds:
            return self._refused(error)
        if "ConnectError" in causes:
            return self._unavailable("cannot be reached", "LLM_UNREACHABLE", "check llm.url and that it runs")
        if "APIConnectionError" in kinds:
            return self._unavailable("broke off", BROKE_OFF)
        return self._unavailable(f"could not be asked ({type(error).__name__})", "LLM_FAILED")

    def _refused(self, error: Any) -> Unavailable:
        status = int(error.status_code)
        found = self._unavailable(
            f"answered with status {status}",
            "LLM_STATUS",
            _NEXT_BY_STATUS.get(status, "look at the endpoint's log"),
        )
        found.details |= {"status": status}
        if status in (429, 503):
            found.details |= {"retry_after_s": _seconds(error.response.headers.get("retry-after"))}
        return found

    def _envelope(self, body: bytes) -> Mapping[str, Any]:
        answer = parsed(body)
        if not isinstance(answer, Mapping):
            raise self._odd("did not answer in JSON")
        return answer

    def _data(self, answer: Mapping[str, Any]) -> Any:
        """What the model said, once it is clear that it said it all."""
        try:
            ended = self._dialect.ended_badly(answer)
            data = None if ended else self._dialect.data(answer)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise self._odd("gave an answer of another form") from None
        if ended:
            what = "declined to answer" if ended == REFUSED else "did not finish its answer"
            raise self._unavailable(what, ended, "nothing: other texts are not concerned")
        if data is None:
            raise self._odd("gave an answer that is not JSON")
        return data

    def _tokens(self, answer: Mapping[str, Any], sent: int, received: int) -> tuple[int, int]:
        """As the endpoint counted them, or estimated from characters where it did not."""
        usage = answer.get("usage")
        counted = self._dialect.tokens(usage) if isinstance(usage, Mapping) else (None, None)
        estimates = (math.ceil(sent / 4), math.ceil(received / 4))
        given, taken = (
            int(value) if _is_count(value) else estimate for value, estimate in zip(counted, estimates, strict=True)
        )
        return given, taken

    def _odd(self, what: str) -> Unavailable:
        return self._unavailable(what, ODD_ANSWER, "check llm.url, and use a model that follows JSON schemas")

    def _unavailable(self, what: str, code: str, next: str = "look at the endpoint's own log") -> Unavailable:
        return Unavailable(f"the language model at {self.host} {what}", code=code, next=next)


def extra_missing() -> Misconfigured:
    return Misconfigured(
        "a language model is configured, but the libraries that speak to it are not installed",
        code=EXTRA_MISSING,
        next="pip install 'clew[llm]'",
    )


# -- small things ------------------------------------------------------------------------------------


class _Discreet(logging.Filter):
    """One library logs whole requests, the other whole addresses."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or not _asking.get()


_DISCREET = _Discreet()


@contextmanager
def _unlogged() -> Iterator[None]:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_DISCREET)  # a second time does nothing
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)


def _address(url: str, dialect: Dialect) -> tuple[str, str]:
    """The base that the library wants, and the host for messages."""
    parts = urlsplit(url.strip())
    is_plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    if not is_plain or parts.query or parts.fragment:
        raise Misconfigured(
            "the address of the language model is not a plain http or https URL",
            code="LLM_ADDRESS",
            next="set llm.url to something like http://localhost:11434/v1, with the key as its own setting",
        )
    path = dialect.base_of(parts.path.rstrip("/"))
    return parts._replace(path=path).geturl(), parts.netloc


def _checked(key: str) -> str:
    # The HTTP client would refuse such a key too, with the key in its message.
    if not (key.strip().isascii() and (key.strip().isprintable())):
        raise Misconfigured(
            "the key of the language model holds characters that no header may hold",
            code="LLM_KEY",
            next="copy the key again, without line breaks",
        )
    return key.strip()


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNTED


def _seconds(retry_after: str | None) -> float:
    """What a server asks to wait, as a number or a date."""
    text = (retry_after or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0

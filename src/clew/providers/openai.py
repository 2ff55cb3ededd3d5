"""Any OpenAI-compatible embedding endpoint: a hosted one, or a local server such as llama.cpp or Ollama.

In go texts, out come unit vectors; each call posts batches to `<url>/embeddings` with the standard library.
Servers refuse a text that is longer than their model reads, and with it the whole batch: then it is asked for in
parts, and of such a text the beginning counts. One that is refused for itself alone, or
for which the model has no direction, gives a zero row.
Whatever else goes wrong is one `Unavailable`: callers fall back to search without vectors. No error holds a text,
the key or the server's own words, which may quote both; nothing is logged.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from clew.errors import Misconfigured, Unavailable
from clew.model.space import VectorSpace

RETRIED = frozenset({429, 500, 502, 503, 504})
# With these, servers refuse a text that is too long or a batch that is too large; llama.cpp says 500.
PERHAPS_THE_TEXTS = frozenset({400, 413, 422, 500})
SHORT = 400  # characters that every model reads, also where each of them is a token
PLAIN = "a plain text"  # which is refused only by an endpoint that does not work
ATTEMPTS = 4
FIRST_PAUSE_S = 0.25  # doubled before each further attempt
PATIENCE_S = 30.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 64 vectors of 4,096 numbers in JSON are some 6 MB
CHUNK_BYTES = 1 << 16

_NEXT_BY_STATUS = {
    401: "check the key of the embedding endpoint",
    403: "check the rights of the key of the embedding endpoint",
    404: "check the address and the model's name",
    429: "wait for the endpoint's limit to pass, or ask for a higher one",
}


class EndpointEmbedder:
    """Texts to unit vectors through an endpoint; without state, so safe to share between threads."""

    is_remote = True

    def __init__(
        self,
        url: str,
        model: str,
        dim: int,
        api_key: str | None = None,
        *,
        timeout_s: float = 10.0,
        batch: int = 64,
        patience_s: float = PATIENCE_S,
        unrelated: float = 0.1,
        same: float = 0.8,
        mask: Callable[[str], str] = str,
    ) -> None:
        """`mask` is applied to every text before it leaves the machine; a query has not been masked before."""
        self._mask = mask
        self._address = _address(url)
        self._model = model
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {_checked(api_key)}"
        self._timeout_s = timeout_s
        self._batch = batch
        self._patience_s = patience_s
        self._opener = build_opener(_NoRedirect)
        revision = _revision(self._address, model, dim)
        self.space = VectorSpace(f"endpoint:{model}", revision, dim, unrelated=unrelated, same=same)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, in the order given."""
        # Several servers refuse an empty text, and with it the whole batch. Masked before anything is cut: half a
        # secret no longer looks like one.
        masked = [self._mask(text) or " " for text in texts]
        rows = np.empty((len(texts), self.space.dim), np.float32)
        for start in range(0, len(texts), self._batch):
            part = masked[start : start + self._batch]
            rows[start : start + len(part)] = self._rows(part)
        return rows

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of one batch; part by part if it is refused and a plain text is not."""
        try:
            return self._asked(texts, RETRIED)
        except Unavailable as error:
            if not _may_be_the_texts(error) or _is_short(texts):
                raise
            self._asked([PLAIN], RETRIED)
        return self._in_parts(texts)

    def _in_parts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of what was refused as a whole: half of the texts, then the others; half of the one that is left."""
        half = len(texts) // 2
        parts = [texts[:half], texts[half:]] if half else [[texts[0][: max(SHORT, len(texts[0]) // 2)]]]
        return np.concatenate([self._part(part) for part in parts])

    def _part(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The endpoint works, so a refusal of more than a short text is taken at its word."""
        try:
            return self._asked(texts, RETRIED if _is_short(texts) else RETRIED - PERHAPS_THE_TEXTS)
        except Unavailable as error:
            if not _may_be_the_texts(error):
                raise
        if not _is_short(texts):
            return self._in_parts(texts)
        self._asked([PLAIN], RETRIED)  # or it has stopped working meanwhile
        return np.zeros((1, self.space.dim), np.float32)

    def _asked(self, texts: Sequence[str], retried: frozenset[int]) -> NDArray[np.float32]:
        return self._vectors(self._ask(texts, retried), len(texts))

    def _ask(self, texts: Sequence[str], retried: frozenset[int]) -> bytes:
        """The endpoint's answer to one request, asked again while it is busy or broken and patience lasts."""
        body = json.dumps({"model": self._model, "input": texts}).encode()
        waited = 0.0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._post(body)
            except HTTPError as error:
                pause = _pause_s(attempt, error.headers.get("Retry-After"))
                if error.code not in retried or attempt == ATTEMPTS or waited + pause > self._patience_s:
                    raise self._refused(error.code) from None
            waited += pause
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes) -> bytes:
        # The scheme was checked on construction.
        request = Request(self._address.geturl(), data=body, headers=self._headers, method="POST")  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return _read_within(response, time.monotonic() + self._timeout_s)
        except HTTPError as error:
            error.close()
            raise
        except TimeoutError:
            raise self._silent() from None
        except (OSError, HTTPException) as error:  # URLError is an OSError
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise self._silent() from None
            raise Unavailable(
                f"The embedding endpoint {self._address.netloc} cannot be reached.",
                code="ENDPOINT_UNREACHABLE",
                next="check the address and that the server runs",
            ) from None

    def _vectors(self, answer: bytes, count: int) -> NDArray[np.float32]:
        """The rows in the order of their `index`, which need not be the order they arrive in."""
        try:
            data = json.loads(answer)["data"]
            by_index = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(data)}
            rows = np.array([by_index[number] for number in range(count)], np.float32)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
            raise self._odd(f"did not answer with {count} embeddings") from None
        if len(data) != count:
            raise self._odd(f"answered with {len(data)} embeddings for {count} texts")
        if rows.shape != (count, self.space.dim):
            raise self._odd(f"answered with {rows.shape[-1]} dimensions, configured are {self.space.dim}")
        return self._unit(rows)

    def _unit(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Some models have no direction for some texts: those keep none, the others theirs."""
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        told = np.isfinite(lengths) & (lengths > 0)
        if not told.any():
            raise self._odd("answered with a vector without a direction")
        unit = np.zeros_like(rows)
        np.divide(rows, lengths, out=unit, where=told)
        return unit

    def _refused(self, status: int) -> Unavailable:
        return Unavailable(
            f"The embedding endpoint {self._address.netloc} answered with status {status}.",
            code="ENDPOINT_REFUSED",
            next=_NEXT_BY_STATUS.get(status, "look at the endpoint's own log, then try again"),
            details={"status": status},
        )

    def _silent(self) -> Unavailable:
        return Unavailable(
            f"The embedding endpoint {self._address.netloc} did not answer within {self._timeout_s:g} s.",
            code="ENDPOINT_TIMEOUT",
            next="try again later, or allow it more time",
        )

    def _odd(self, what: str) -> Unavailable:
        return Unavailable(
            f"The embedding endpoint {self._address.netloc} {what}.",
            code="ENDPOINT_ODD_ANSWER",
            next="check the address, the model's name and its dimensions",
        )


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key to wherever it points; it is an error like any other status instead."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _is_short(texts: Sequence[str]) -> bool:
    return len(texts) == 1 and len(texts[0]) <= SHORT


def _may_be_the_texts(error: Unavailable) -> bool:
    return error.details.get("status") in PERHAPS_THE_TEXTS


def _address(url: str) -> SplitResult:
    """The full address of the endpoint, from its base or from itself."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise Misconfigured(
            "The address of the embedding endpoint is not a plain http or https URL.",
            code="ENDPOINT_ADDRESS",
            next="set it to something like http://localhost:11434/v1, with the key as its own setting",
        )
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/embeddings") else f"{path}/embeddings", fragment="")


def _checked(api_key: str) -> str:
    # The HTTP client would refuse such a key too, with the key in its message.
    if not (api_key.strip().isascii() and api_key.strip().isprintable()):
        raise Misconfigured(
            "The key of the embedding endpoint holds characters that no header may hold.",
            code="ENDPOINT_KEY",
            next="copy the key again, without line breaks",
        )
    return api_key.strip()


def _revision(address: SplitResult, model: str, dim: int) -> str:
    """Another address, model or width is another space; the query part may hold secrets and stays out."""
    identity = json.dumps([address.netloc.lower() + address.path, model, dim])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _pause_s(attempt: int, retry_after: str | None) -> float:
    """How long to wait after the given attempt: what the server asks for, or a doubling pause."""
    if retry_after is None:
        return float(FIRST_PAUSE_S * 2 ** (attempt - 1))
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        wanted = parsedate_to_datetime(retry_after) - datetime.now(UTC)
    except (ValueError, TypeError):  # neither a number nor a date with a zone
        return _pause_s(attempt, None)
    return max(0.0, wanted.total_seconds())


def _read_within(response: HTTPResponse, deadline: float) -> bytes:
    """The body, within the deadline as a whole: the socket's timeout alone would let it trickle for ever."""
    body = bytearray()
    while chunk := response.read1(CHUNK_BYTES):
        body += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(body) > MAX_ANSWER_BYTES:
            raise OSError("answer too large")
    return bytes(body)

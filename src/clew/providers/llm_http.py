"""The HTTP client beneath the client libraries: bounded, without redirects, without headers of strangers.

Imported with the first question: it brings httpx2 along.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from functools import cache, partial

import httpx2

MAX_ANSWER_BYTES = 1 << 20  # an answer of 2,000 tokens is some 10 kB
# What a request may carry besides our key. The libraries add what they find in the environment (custom headers that
# are meant for another host) and what they know of this machine.
HEADERS = frozenset(
    (
        *("host", "accept", "accept-encoding", "connection", "content-type", "content-length"),
        *("anthropic-version", "x-stainless-raw-response"),  # by the latter both libraries know what to return
    )
)


class TooLarge(Exception):
    """The answer has more bytes than any answer should."""


def http_client(key: str, *, timeout_s: float) -> httpx2.Client:
    """A connection per request: there is nothing to close afterwards."""
    return httpx2.Client(
        verify=_trusted(),
        timeout=timeout_s,
        follow_redirects=False,  # it would carry the key to wherever it points
        limits=httpx2.Limits(max_keepalive_connections=0),
        event_hooks={"request": [partial(_only_ours, key=key, timeout_s=timeout_s)], "response": [_bounded]},
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Once for each process: reading the certificates takes longer than all else about a client."""
    return httpx2.create_ssl_context()


def _only_ours(request: httpx2.Request, *, key: str, timeout_s: float) -> None:
    for name in [name for name in request.headers if name.lower() not in HEADERS]:
        del request.headers[name]
    request.headers["User-Agent"] = "clew"
    request.headers["Accept-Encoding"] = "identity"  # a small answer must not unfold into a large one
    if key:
        request.headers["Authorization"] = f"Bearer {key}"
    request.extensions = {**request.extensions, "deadline": time.monotonic() + timeout_s}


def _bounded(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooLarge("compressed")
    stream, request = response.stream, response.request
    if isinstance(stream, httpx2.SyncByteStream):
        response.stream = _Bounded(stream, request)


class _Bounded(httpx2.SyncByteStream):
    """A body that ends in time and in size: the time-out of the socket alone would let it trickle for ever."""

    def __init__(self, inner: httpx2.SyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise TooLarge("too many bytes")
            if time.monotonic() > self._request.extensions["deadline"]:
                raise httpx2.ReadTimeout("the whole answer took too long", request=self._request)
            yield chunk

    def close(self) -> None:
        self._inner.close()

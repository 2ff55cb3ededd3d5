"""What is refused before anybody looks at the request: names that are not ours, pages of a browser, odd bodies.

A page that somebody visits can send requests to loopback, also under a name of its own (DNS rebinding). It cannot
help sending the Host, Origin and Sec-Fetch-Site headers that tell on it, nor send JSON without asking first, and
whoever asks first is not answered.
"""

from __future__ import annotations

import re

from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import LOOPBACK, NETWORK, Request
from clew.surfaces.http.route import Route
from clew.values import dataclass

LOOPBACK_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))
_OWN_PAGES = ("none", "same-origin")
_AS_IT_IS = ("identity", "")
_TOKEN = re.compile(r"clew_(?:local|[0-9a-z]{26})_[\w-]{20}")
_CREDENTIALS = frozenset(("access_token", "api_key", "apikey", "authorization", "bearer"))


@dataclass(frozen=True, slots=True)
class Gate:
    """`hosts`: the names under which clients reach this server on the network."""

    hosts: frozenset[str] = frozenset()

    def check(self, request: Request) -> None:
        self._check_host(request)
        self._check_page(request)
        if request.query_string and any(_is_credential(*one) for one in request.parameters):
            raise Refusal(
                400,
                "a credential does not belong into an address",
                code="CREDENTIAL_IN_QUERY",
                next="send it as `Authorization: Bearer`, and revoke the one that was sent",
            )

    def _check_host(self, request: Request) -> None:
        if request.via not in (LOOPBACK, NETWORK):  # nobody but a local process reaches the socket
            return
        allowed = LOOPBACK_HOSTS if request.via == LOOPBACK else self.hosts
        if host_name(request.headers.get("host", "")) not in allowed:
            raise Refusal(
                421,
                "this server does not answer under that name",
                code="HOST_UNKNOWN",
                next="use the address that it listens on, or add the name to serve.hosts",
            )

    def _check_page(self, request: Request) -> None:
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if origin is not None or site.lower() not in _OWN_PAGES:
            raise Refusal(
                403, "pages of a browser may not ask", code="ORIGIN_DENIED", next="ask from a program instead"
            )


def _is_credential(name: str, value: str) -> bool:
    """The token of a lock is a number, and no secret."""
    name = name.lower()
    return name in _CREDENTIALS or (name == "token" and not value.isdigit()) or bool(_TOKEN.search(value))


def check_content(route: Route, request: Request, max_bytes: int) -> None:
    """The body, before it is read."""
    if not route.has_body:
        if request.has_content:
            raise Refusal(400, "this route takes no body", code="REQUEST_INVALID", next="send none")
        return
    accepted = (route.consumes, *route.also_consumes)
    if request.content_type not in accepted:
        raise Refusal(
            415,
            "the body is not of a kind that this route takes",
            code="CONTENT_TYPE_INVALID",
            next=f"send Content-Type: {' or '.join(accepted)}",
        )
    if request.headers.get("content-encoding", "identity").strip().lower() not in _AS_IT_IS:
        raise Refusal(
            415,
            "the body is compressed",
            code="CONTENT_ENCODING_INVALID",
            next="send it as it is, without Content-Encoding",
            headers={"Accept-Encoding": "identity"},
        )
    if (request.content_length or 0) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> Refusal:
    return Refusal(
        413,
        f"the body is larger than {max_bytes:,} bytes",
        code="BODY_TOO_LARGE",
        next="send it in parts; serve.max_body_kb is the limit",
        headers={"Connection": "close"},
    )


def host_name(host: str) -> str:
    """Without the port, in small letters."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]

"""Where a Clew answers: an address of the kind https://host, http://127.0.0.1:port or unix:///path/clew.sock."""

from __future__ import annotations

from typing import NamedTuple

from clew.errors import Misconfigured
from clew.model.address import scheme_of

SCHEMES = ("https", "http", "unix")


class Address(NamedTuple):
    """`path` is the socket's of `unix`, else what comes before /v1."""

    scheme: str
    host: str = "localhost"
    port: int | None = None
    path: str = ""

    @property
    def name(self) -> str:
        """How messages name it."""
        if self.scheme == "unix":
            return self.path
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "") + self.path

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def is_address(url: str) -> bool:
    """Whether a URL names a Clew that answers elsewhere, and not a file."""
    return scheme_of(url) in SCHEMES


def address_of(url: str) -> Address:
    scheme, rest = scheme_of(url), url.partition("://")[2]
    if scheme == "unix":
        if not rest.startswith("/"):
            raise _refused("the path of a socket is absolute", "write unix:///path/clew.sock")
        return Address("unix", path=rest)
    address = _network_address(url)
    if scheme == "http" and not address.is_loopback:
        encrypted = address._replace(scheme="https").name
        raise _refused("a token is not sent over http, except to this machine", f"use {encrypted}")
    return address


def _network_address(url: str) -> Address:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refused("the address cannot be read", "write https://host or https://host:port") from None
    if parts.username is not None or parts.password is not None:
        raise _refused("an address holds no credentials", "give the token as CLEW_TOKEN")
    if not host or parts.query or parts.fragment or not (host + parts.path).isascii():
        raise _refused("the address cannot be read", "write https://host or https://host:port")
    return Address(parts.scheme, host, port, parts.path.rstrip("/"))


def _refused(why: str, move: str) -> Misconfigured:
    """Without the address itself, which may hold what is no one's business."""
    return Misconfigured(f"the address of the Clew is not usable: {why}", code="URL_INVALID", next=move)

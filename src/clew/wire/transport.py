"""The way to a Clew elsewhere: over a unix socket, loopback or TLS. Connections are kept and used again.

A request is sent a second time only if it changes nothing. Redirects are not followed: they would carry the token
to wherever the answer says.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType

from clew import __version__
from clew.errors import Misconfigured, Unavailable
from clew.wire.address import Address
from clew.wire.http1 import Connection, NotHttp, Reply

CONNECT_S = 5.0
ANSWER_S = 300.0
IDLE_S = 2.0  # shorter than any server keeps an idle connection, or a write might go into one that is closed
LOST = "CONNECTION_LOST"  # something may have been sent, and its answer is gone
_LONGEST_PATH = 100  # of a socket, safe on every system
_PORTS = {"http": 80, "https": 443}
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Transport:
    """Thread-safe: each request has a connection to itself."""

    def __init__(
        self,
        address: Address,
        *,
        token: str | None = None,
        connect_s: float = CONNECT_S,
        answer_s: float = ANSWER_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self.address = address
        self._connect_s, self._answer_s, self._idle_s = connect_s, answer_s, idle_s
        self._headers = _common_headers(address) | _authorization(token)
        self._prefix = "" if address.scheme == "unix" else address.path
        self._idle: list[
            tuple[Connection, float, int]
        ] = []  # since when, of which process; atomic to append and pop
        self._is_closed = False

    @property
    def has_token(self) -> bool:
        return "Authorization" in self._headers

    def post(
        self,
        path: str,
        body: bytes,
        *,
        twice: bool = False,
        answer_s: float | None = None,
        headers: Mapping[str, str] = _NOTHING,
    ) -> Reply:
        """`twice`: it changes nothing, so a connection that broke is no reason to give up."""
        if self._is_closed:
            raise Unavailable(
                f"the Clew at {self.address.name} was closed here", code="STORE_CLOSED", next="open it again"
            )
        exchange = partial(self._exchange, path, body, {**self._headers, **_one_line(headers)})
        try:
            return exchange(answer_s or self._answer_s)
        except _Lost as lost:
            if not twice or lost.is_timeout:
                raise lost.told(self.address, twice=twice) from None
        try:
            return exchange(answer_s or self._answer_s)
        except _Lost as lost:
            raise lost.told(self.address, twice=twice) from None

    def is_answering(self, *, within_s: float) -> bool:
        """Whether somebody answers there at all, and so soon. The connection is kept for the first request."""
        reply = self.look("/healthz", within_s=within_s)
        return reply is not None and reply.status == 200

    def look(self, path: str, *, within_s: float) -> Reply | None:
        """What a GET is answered, if it is so soon."""
        until = time.monotonic() + within_s
        try:
            connection = self._connected(within_s)
            return self._ask(connection, "GET", path, b"", self._headers, max(0.01, until - time.monotonic()))
        except (Unavailable, _Lost):
            return None

    def close(self) -> None:
        self._is_closed = True
        with suppress(IndexError):  # there is none left
            while True:
                self._idle.pop()[0].close()

    def _exchange(self, path: str, body: bytes, headers: Mapping[str, str], limit_s: float) -> Reply:
        until = time.monotonic() + limit_s
        connection = self._taken() or self._connected(min(self._connect_s, limit_s))
        sent = {**headers, "Content-Type": "application/json"}
        return self._ask(connection, "POST", path, body, sent, max(0.01, until - time.monotonic()))

    def _ask(
        self,
        connection: Connection,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        within_s: float,
    ) -> Reply:
        try:
            reply = connection.ask(method, self._prefix + path, headers, body, within_s=within_s)
        except (OSError, NotHttp) as error:
            connection.close()
            raise _Lost(is_timeout=isinstance(error, TimeoutError)) from error
        if reply.is_kept:
            self._idle.append((connection, time.monotonic(), os.getpid()))
            if self._is_closed:  # meanwhile
                self.close()
        else:
            connection.close()
        return reply

    def _taken(self) -> Connection | None:
        """A connection that was used a moment ago, by this process: after a fork two would read each other's
        answers."""
        while self._idle:
            try:
                connection, since, process = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if time.monotonic() - since < self._idle_s and process == os.getpid():
                return connection
            connection.close()
        return None

    def _connected(self, within_s: float) -> Connection:
        try:
            return Connection(_connected_socket(self.address, within_s))
        except OSError as error:
            raise _unreachable(self.address, error) from error


class _Lost(Exception):
    """A connection broke after something may have been sent."""

    def __init__(self, *, is_timeout: bool) -> None:
        super().__init__()
        self.is_timeout = is_timeout

    def told(self, address: Address, *, twice: bool) -> Unavailable:
        what = "did not answer in time" if self.is_timeout else "ended the connection before it answered"
        move = "try again" if twice else "look whether it was done, then try again"
        code = "SERVER_SLOW" if self.is_timeout else LOST
        return Unavailable(f"the Clew at {address.name} {what}", code=code, next=move)


def _connected_socket(address: Address, within_s: float) -> socket.socket:
    if address.scheme == "unix":
        return _unix_socket(address.path, within_s)
    plain = socket.create_connection((address.host, address.port or _PORTS[address.scheme]), within_s)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return plain if address.scheme == "http" else _over_tls(plain, address.host)


def _over_tls(plain: socket.socket, host: str) -> socket.socket:
    import ssl  # only who goes over the network waits for it

    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    except OSError:
        plain.close()
        raise


def _unix_socket(path: str, within_s: float) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(within_s)
    try:
        if len(os.fsencode(path)) <= _LONGEST_PATH:
            found.connect(path)
        else:
            _connect_by_directory(found, path)
    except OSError:
        found.close()
        raise
    return found


def _connect_by_directory(found: socket.socket, path: str) -> None:
    """A path that is too long for the system is gone by way of its directory."""
    folder, _, name = path.rpartition("/")
    if sys.platform != "linux":
        raise OSError(f"the path of the socket has more than {_LONGEST_PATH} bytes")
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found.connect(f"/proc/self/fd/{directory}/{name}")
    finally:
        os.close(directory)


def _common_headers(address: Address) -> dict[str, str]:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return {
        "Host": f"{host}:{address.port}" if address.port else host,
        "Accept": "application/json",
        "User-Agent": f"clew/{__version__}",
    }


def _one_line(headers: Mapping[str, str]) -> dict[str, str]:
    """A value that could be more than one header is none."""
    return {
        name: "".join(char if char.isascii() and char.isprintable() else "?" for char in value)
        for name, value in headers.items()
    }


def _authorization(token: str | None) -> dict[str, str]:
    if not token:
        return {}
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Misconfigured("the token is none of ours", code="TOKEN_INVALID", next="copy it again into CLEW_TOKEN")
    return {"Authorization": f"Bearer {token}"}


def _unreachable(address: Address, error: OSError) -> Unavailable:
    kind = type(error).__name__ if address.scheme == "https" else ""
    if kind == "SSLCertVerificationError":
        why, code = "cannot be trusted: its certificate was refused", "TLS_FAILED"
        move = "check CLEW_URL, or name who signed it in SSL_CERT_FILE"
    elif kind.startswith("SSL"):
        why, code, move = "does not speak TLS", "TLS_FAILED", "check the port in CLEW_URL"
    else:
        why, code = "cannot be reached", "SERVER_UNREACHABLE"
        move = "start it: clew serve" if address.scheme == "unix" else "check CLEW_URL and the network"
    return Unavailable(f"the Clew at {address.name} {why}", code=code, next=move)

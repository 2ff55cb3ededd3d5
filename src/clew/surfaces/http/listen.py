"""Where the server listens: sockets, bound and with the rights they need, before anybody is answered."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

from clew.errors import InvalidInput, Misconfigured, Unavailable
from clew.surfaces.http.names import SOCKET_NAME
from clew.values import dataclass

BACKLOG = 512
HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    port: int

    @property
    def name(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True, slots=True)
class Listening:
    """What was asked for. `tls` is a certificate and its key."""

    tcp: Place | None = None
    network: Place | None = None
    tls: tuple[Path, Path] | None = None


def place_of(text: str) -> Place:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65_535:
        raise InvalidInput(f"'{text[:80]}' is no address", code="ADDRESS_INVALID", next="write HOST:PORT")
    return Place(host.strip("[]") or "127.0.0.1", int(port))


def checked(tcp: str | None, listen: str | None, cert: str | None, key: str | None) -> Listening:
    """Refuses what would be open to others: plain HTTP is for this machine alone."""
    near, far = (place_of(text) if text else None for text in (tcp, listen))
    if near and not near.is_loopback:
        raise Misconfigured(
            f"{near.name} can be reached from elsewhere, and --tcp is not encrypted",
            code="LISTEN_NEEDS_TLS",
            next="use a loopback address, or --listen with --tls-cert and --tls-key",
        )
    if (far is None) != (cert is None) or (cert is None) != (key is None):
        raise Misconfigured(
            "listening on the network takes an address, a certificate and its key",
            code="LISTEN_NEEDS_TLS",
            next="give --listen HOST:PORT, --tls-cert FILE and --tls-key FILE",
        )
    tls = (Path(cert).absolute(), Path(key).absolute()) if cert and key else None
    if tls:
        _check_tls(*tls)
    return Listening(near, far, tls)


def _check_tls(cert: Path, key: Path) -> None:
    """As the server will load them, while somebody still reads what is wrong with which file."""
    import ssl  # only for those who listen on the network

    for file in (cert, key):
        try:
            file.open("rb").close()
        except OSError as error:
            raise _unusable(f"{file} cannot be read: {error.strerror}") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cert)
    except ssl.SSLError as error:
        raise _unusable(f"{cert} is no certificate in PEM form") from error
    try:
        # Without a password: nobody is there to type it when the machine starts.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (OSError, ValueError) as error:
        raise _unusable(f"{key} is not the key of {cert}, or has a password") from error


def _unusable(message: str) -> Misconfigured:
    return Misconfigured(
        message,
        code="TLS_INVALID",
        next="give a certificate (with its chain) and its key without a password: --tls-cert FILE --tls-key FILE",
    )


def unix_socket(directory: Path) -> socket.socket:
    """By its bare name, from inside its directory: a path may be longer than a socket's address can be. The process
    stays there."""
    os.chdir(directory)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        found.bind(SOCKET_NAME)
    finally:
        os.umask(before)
    Path(SOCKET_NAME).chmod(0o600)
    found.listen(BACKLOG)
    return found


def tcp_socket(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # By its protocol asyncio knows that it may send small pieces at once; else answers wait 40 ms for a receipt.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # there, it would let another process share the address
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((place.host, place.port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise Unavailable(
            f"{place.name} cannot be listened on: {error.strerror}",
            code="ADDRESS_UNAVAILABLE",
            next="choose another port, or stop what uses it",
        ) from error
    return found


def bound(found: socket.socket) -> Place:
    host, port, *_rest = found.getsockname()
    return Place(host, port)

"""The way to a Clew elsewhere: what breaks on it is told in one line, and no change is made twice."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from raw_server import HEALTHY, answering, dies, drips, reply, request_of, says
from wire_server import app_of, listening, port_of

import clew
from clew import Clew, Denied, InvalidInput, Misconfigured, Unavailable
from clew.errors import ClewError
from clew.wire.address import Address, address_of, is_address
from clew.wire.client import RemoteClew
from clew.wire.transport import Transport

JOBS_NONE = reply("200 OK", b"[]")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "raw.sock"


@pytest.fixture
def remote(place: Path) -> Iterator[Clew]:
    with RemoteClew(Transport(Address("unix", path=str(place)), answer_s=0.5)) as connected:
        yield connected


def test_a_server_that_is_not_there_is_named_with_the_next_move(remote: Clew) -> None:
    with pytest.raises(Unavailable) as refused:
        remote.recall("x")
    assert (refused.value.code, refused.value.next) == ("SERVER_UNREACHABLE", "start it: clew serve")


def test_a_read_is_asked_again_when_the_connection_breaks(remote: Clew, place: Path) -> None:
    with answering(place, [dies, says(JOBS_NONE)]) as came:
        assert remote.jobs.list() == []
    assert len(came) == 2


def test_a_write_is_sent_once_and_the_next_move_is_to_look(remote: Clew, place: Path) -> None:
    with answering(place, [dies]) as came, pytest.raises(Unavailable) as refused:
        remote.remember("Once.")
    assert (
        len(came) == 1 and refused.value.code == "CONNECTION_LOST" and "whether it was done" in refused.value.next
    )


def test_a_read_that_breaks_twice_is_given_up(remote: Clew, place: Path) -> None:
    with answering(place, [dies]) as came, pytest.raises(Unavailable, match="ended the connection"):
        remote.jobs.list()
    assert len(came) == 2


def test_one_that_refuses_a_request_before_it_is_sent_is_heard(remote: Clew, place: Path) -> None:
    def refuses(connection: Any) -> None:
        connection.recv(1_024)
        connection.sendall(reply("413 Too Large", b'{"detail": "it is too large", "code": "TOO_LARGE"}'))

    with answering(place, [refuses]), pytest.raises(InvalidInput) as refused:
        remote.remember("x" * 8_000_000)
    assert refused.value.code == "TOO_LARGE"


def test_one_that_was_closed_is_named(remote: Clew, place: Path) -> None:
    remote.close()
    with pytest.raises(Unavailable) as refused:
        remote.recall("x")
    assert refused.value.message == f"the Clew at {place} was closed here"


def test_a_server_that_says_nothing_is_waited_for_no_longer_than_agreed(remote: Clew, place: Path) -> None:
    def silent(connection: object) -> None:
        request_of(connection)  # type: ignore[arg-type]
        connection.recv(1)  # type: ignore[attr-defined]  # until the client leaves

    with answering(place, [silent]) as came, pytest.raises(Unavailable) as refused:
        remote.jobs.list()
    assert len(came) == 1 and refused.value.code == "SERVER_SLOW"


@pytest.mark.parametrize(("idle_s", "connections"), [(60.0, 1), (0.0, 2)])
def test_a_connection_is_used_again_while_it_is_fresh(place: Path, idle_s: float, connections: int) -> None:
    transport = Transport(Address("unix", path=str(place)), idle_s=idle_s)
    behaviours = [says(JOBS_NONE, times=3 - connections), says(JOBS_NONE)]
    with answering(place, behaviours) as came, RemoteClew(transport) as remote:
        assert remote.jobs.list() == remote.jobs.list() == []
    assert len(came) == connections


def test_a_redirect_is_not_followed(place: Path) -> None:
    seen: list[bytes] = []

    def away(connection: object) -> None:
        seen.append(request_of(connection))  # type: ignore[arg-type]
        connection.sendall(reply("307 X", more="Location: http://evil.example/\r\n"))  # type: ignore[attr-defined]

    with (
        answering(place, [away]),
        clew.open(f"unix://{place}", token="clew_t") as remote,
        pytest.raises(Misconfigured) as refused,
    ):
        remote.jobs.list()
    assert refused.value.code == "REDIRECTED" and len(seen) == 1
    assert b"\r\nAuthorization: Bearer clew_t\r\n" in seen[0]


def test_a_key_that_is_not_accepted_is_told_with_where_to_put_one(remote: Clew, place: Path) -> None:
    answer = reply("401 No", b'{"detail": "who?", "code": "UNAUTHENTICATED", "next": "send Authorization: Bearer"}')
    with answering(place, [says(answer)]), pytest.raises(Denied) as refused:
        remote.jobs.list()
    assert "CLEW_TOKEN" in str(refused.value.next) and "none was given" in refused.value.message


def test_a_token_that_is_refused_is_told_so(place: Path) -> None:
    document = b'{"error": {"kind": "Denied", "message": "who?", "code": "UNAUTHENTICATED", "next": "send one"}}'
    with (
        answering(place, [says(reply("401 No", document))]),
        clew.open(f"unix://{place}", token="clew_t") as remote,
        pytest.raises(Denied) as refused,
    ):
        remote.jobs.list()
    assert "refuses the token" in refused.value.message and "CLEW_TOKEN" in str(refused.value.next)


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (reply("200 OK", b"<html>", kind="text/html"), Unavailable, "ANSWER_INVALID"),
        (reply("200 OK", b'{"a": 1}'), Unavailable, "ANSWER_INVALID"),
        (reply("502 Bad", b"<html>", kind="text/html"), Unavailable, "UNAVAILABLE"),
        (reply("404 No", b"no"), clew.NotFound, "NOT_FOUND"),
        (reply("503 No", b'{"detail": "busy", "code": "BUSY", "next": "wait"}'), Unavailable, "BUSY"),
        (reply("401 No", b'{"detail": "who?", "code": "UNAUTHENTICATED"}'), Denied, "UNAUTHENTICATED"),
        (reply("500 Oh", b'{"error": {"kind": "ClewError", "message": "m", "code": "C"}}'), ClewError, "C"),
        (b"SSH-2.0-OpenSSH\r\n", Unavailable, "CONNECTION_LOST"),
    ],
)
def test_whatever_answers_is_told_as_an_error_of_ours(
    remote: Clew, place: Path, answer: bytes, kind: type[ClewError], code: str
) -> None:
    with answering(place, [says(answer)]), pytest.raises(kind) as refused:
        remote.jobs.list()
    assert refused.value.code == code


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n[\r\n1\r\n]\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"content-length: 2\r\n\r\n[]",
        HEAD.replace(b"1.1", b"1.0") + b"\r\n[]",
        HEAD.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n[]",
    ],
)
def test_an_answer_is_read_however_it_is_framed(remote: Clew, place: Path, answer: bytes) -> None:
    with answering(place, [says(answer)]):
        assert remote.jobs.list() == []


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 3\r\n\r\n[]",
        HEAD + b"Content-Length: -2\r\n\r\n[]",
        HEAD + b"Content-Length: 99999999999\r\n\r\n[]",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n[]\r\n0\r\n\r\n",
        HEAD + b"no header\r\n\r\n[]",
        HEAD + b"a: b\r\n" * 300 + b"\r\n[]",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 " + b"x" * 100_000,
        b"",
    ],
)
def test_an_answer_that_is_torn_is_no_answer(remote: Clew, place: Path, answer: bytes) -> None:
    with answering(place, [says(answer)]), pytest.raises(Unavailable) as refused:
        remote.jobs.list()
    assert refused.value.code == "CONNECTION_LOST"


def test_an_answer_that_drips_is_late_however_steadily_it_comes(remote: Clew, place: Path) -> None:
    with answering(place, [drips(reply("200 OK", b"x" * 400), each_s=0.01)]):
        assert not Transport(Address("unix", path=str(place))).is_answering(within_s=0.1)
        with pytest.raises(Unavailable) as refused:
            remote.remember("Once.")
    assert refused.value.code == "SERVER_SLOW"


def test_a_request_that_ends_when_the_way_is_closed_leaves_no_connection_open(place: Path) -> None:
    transport, has_left = Transport(Address("unix", path=str(place))), threading.Event()

    def answer_late(connection: socket.socket) -> None:
        request_of(connection)
        transport.close()
        connection.sendall(HEALTHY)
        if not connection.recv(1):
            has_left.set()

    with answering(place, [answer_late]):
        assert transport.is_answering(within_s=10)
        assert has_left.wait(10)


def test_a_socket_deep_in_a_tree_is_reached_all_the_same(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    deep.mkdir(parents=True)
    here = os.open(deep, os.O_RDONLY)
    try:
        near = Path(f"/proc/self/fd/{here}/clew.sock")
        with answering(near, [says(HEALTHY)]):
            transport = Transport(Address("unix", path=str(deep / "clew.sock")))
            assert transport.is_answering(within_s=1)
            transport.close()
    finally:
        os.close(here)


# -- addresses -----------------------------------------------------------------------------------------------


def test_addresses_are_told_from_files() -> None:
    assert all(is_address(one) for one in ("https://h", "http://h", "unix:///s"))
    assert not any(is_address(one) for one in ("a.db", "sqlite:///a", "", "https:h"))
    assert address_of("https://clew.acme.dev:8443/memory/").name == "https://clew.acme.dev:8443/memory"
    assert address_of("http://[::1]:7000").is_loopback


@pytest.mark.parametrize(
    "url",
    ["http://clew.acme.dev", "http://10.0.0.7:80", "https://ann:secret@h", "https://", "https://h:99999",
     "https://h/?token=secret", "unix://relative.sock", "https://h#secret"],
)  # fmt: skip
def test_an_address_that_is_not_safe_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.open(url)
    assert refused.value.code == "URL_INVALID" and "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("url", "move"),
    [
        ("http://clew.acme.dev:7443", "use https://clew.acme.dev:7443"),
        ("http://[2001:db8::7]:80/memory", "use https://[2001:db8::7]:80/memory"),
        ("http://clew.acme.dev", "use https://clew.acme.dev"),
    ],
)
def test_the_address_to_use_instead_keeps_its_port_and_path(url: str, move: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        address_of(url)
    assert refused.value.next == move


@pytest.mark.parametrize("token", ["a b", "a\nX-Evil: 1", "ä", "a\x00"])
def test_a_token_that_could_be_more_than_one_header_is_refused(token: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.open("https://h", token=token)
    assert refused.value.code == "TOKEN_INVALID" and token not in refused.value.message


def test_a_remote_clew_has_its_own_settings() -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.open("https://h", recall={"limit": 5})
    assert refused.value.code == "SETTINGS_ARE_REMOTE"


# -- over the network ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Of 127.0.0.1, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=clew", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_over_tls_a_key_is_asked_for_and_a_stranger_is_not_trusted(
    served: Clew, certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate
    token = served.keys.create("ann's", user="ann").token
    with ThreadPoolExecutor(2) as pool:
        app = app_of(served, pool)
        with listening(app, port=0, ssl_certfile=cert, ssl_keyfile=key) as server:
            url = f"https://127.0.0.1:{port_of(server)}"
            with clew.open(url, token=token) as remote, pytest.raises(Unavailable) as refused:
                remote.list()
            assert refused.value.code == "TLS_FAILED" and "SSL_CERT_FILE" in refused.value.next
            monkeypatch.setenv("SSL_CERT_FILE", cert)
            monkeypatch.setenv("CLEW_URL", url)
            monkeypatch.setenv("CLEW_TOKEN", token)
            with clew.open() as remote:
                assert remote.remember("Over TLS.").memory.user == "ann"


def test_one_that_does_not_speak_tls_is_not_blamed_for_its_certificate(served: Clew) -> None:
    with ThreadPoolExecutor(2) as pool, listening(app_of(served, pool), port=0) as server:
        url = f"https://127.0.0.1:{port_of(server)}"
        with clew.open(url, token="clew_x") as remote, pytest.raises(Unavailable) as refused:
            remote.list()
    assert "does not speak TLS" in refused.value.message and "port" in refused.value.next


def test_a_clew_over_loopback_answers_as_well(served: Clew) -> None:
    with ThreadPoolExecutor(2) as pool, listening(app_of(served, pool), port=0) as server:
        remote = clew.open(f"http://127.0.0.1:{port_of(server)}")
        assert remote.stats().as_json() is not None
        remote.close()


def test_a_request_that_is_too_large_for_the_server_is_told_as_such(served: Clew) -> None:
    with ThreadPoolExecutor(2) as pool, listening(app_of(served, pool), port=0) as server:
        url = f"http://127.0.0.1:{port_of(server)}"
        with clew.open(url) as far, pytest.raises(InvalidInput) as refused:
            far.remember("x" * (32 << 20))
    assert refused.value.code == "BODY_TOO_LARGE"

"""The daemon as a process: one per home, on a socket of its own, and what it answered stays."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from api_driver import until
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from loopback_driver import WAIT_S, rest_of
from test_api_health import write_lock

from clew.model.scope import Identity
from toys import open_toy

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets")


class Daemon:
    """`clew serve` in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process: subprocess.Popen[str] | None = None
        self.started: dict[str, Any] = {}
        self.key, self.cert = "", Path()

    def start(self, *words: str) -> dict[str, Any]:
        self.process = self.command("serve", "--json", *words)
        assert self.process.stdout
        started: dict[str, Any] = json.loads(self.process.stdout.readline() or "{}")
        return started

    def command(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        environment = kept | {"CLEW_HOME": str(self.home), "CLEW_EMBED__PROVIDER": "none"} | settings
        return subprocess.Popen(
            [sys.executable, "-m", "clew", *words], env=environment, stdout=-1, stderr=-1, text=True
        )

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process
        self.process.send_signal(number)
        self.process.communicate(timeout=WAIT_S)
        return self.process.returncode

    def connect(self) -> socket.socket:
        """The path may be too long for an address: then only its own directory is near enough."""
        found = socket.socket(socket.AF_UNIX)
        found.settimeout(WAIT_S)
        run = os.open(self.home / "run", os.O_RDONLY)
        try:
            found.connect(f"/proc/self/fd/{run}/clew.sock")
        except OSError:
            found.close()
            raise
        finally:
            os.close(run)
        return found

    def is_listening(self) -> bool:
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[HTTPResponse, Any]:
        connection = HTTPConnection("localhost")
        connection.sock = self.connect()
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"} | headers)
        response = connection.getresponse()
        document = json.loads(response.read())
        connection.close()
        return response, document

    def raw(self, data: bytes) -> bytes:
        """What comes back until the server hangs up."""
        with self.connect() as link:
            with suppress(ConnectionError):
                link.sendall(data)
            return rest_of(link)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """In a directory whose path is longer than the address of a socket may be."""
    found = Daemon(tmp_path_factory.mktemp("long") / ("deep-" * 20) / "home")
    with open_toy(found.home / "clew.db") as memory:
        found.key = memory.keys.create("test", user="ann", roles=("member",), identity=Identity()).token
    cert, key = certificate(tmp_path_factory.mktemp("tls"))
    network = ("--listen", "127.0.0.1:0", "--tls-cert", str(cert), "--tls-key", str(key))
    found.started, found.cert = found.start("--tcp", "127.0.0.1:0", *network), cert
    assert found.started["socket"] == str(found.home / "run" / "clew.sock")
    yield found
    assert found.end() == 0


def certificate(folder: Path) -> tuple[Path, Path]:
    """One for this machine, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "clew test")])
    own = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1)
    )
    signed = made.add_extension(own, critical=False).sign(key, hashes.SHA256())
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    return folder / "cert.pem", folder / "key.pem"


def over_tls(daemon: Daemon, **headers: str) -> int:
    trusted = ssl.create_default_context(cafile=str(daemon.cert))
    host, port = daemon.started["network"].split(":")
    connection = HTTPSConnection(host, int(port), timeout=WAIT_S, context=trusted)
    connection.request("GET", "/v1/stats", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_on_the_network_a_key_is_needed_and_the_local_token_is_none(daemon: Daemon) -> None:
    token = (daemon.home / "run" / "token").read_text().strip()
    assert over_tls(daemon) == 401
    assert over_tls(daemon, Authorization=f"Bearer {token}") == 401
    assert over_tls(daemon, Authorization=f"Bearer {daemon.key}") == 200
    assert over_tls(daemon, Authorization=f"Bearer {daemon.key}", Host="evil.example") == 421


def test_the_network_is_not_answered_without_tls(daemon: Daemon) -> None:
    host, port = daemon.started["network"].split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as link, suppress(ConnectionError):
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert not link.recv(1_000).startswith(b"HTTP")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_its_files_are_for_its_owner_alone(daemon: Daemon) -> None:
    run = daemon.home / "run"
    assert mode(run) == 0o700 and mode(daemon.home) == 0o700
    assert {mode(run / name) for name in ("clew.sock", "token", "daemon.json", "daemon.lock", "tcp")} == {0o600}


def test_it_tells_who_it_is(daemon: Daemon) -> None:
    assert daemon.process
    told = json.loads((daemon.home / "run" / "daemon.json").read_text())
    assert told["pid"] == daemon.process.pid and len(told["fingerprint"]) == 64
    assert told["tcp"] == (daemon.home / "run" / "tcp").read_text().strip()


def test_it_answers_its_owner_over_the_socket_and_is_ready(daemon: Daemon) -> None:
    response, remembered = daemon.ask("POST", "/v1/memories", {"content": "the daemon owns the store"})
    assert response.status == 201
    _response, found = daemon.ask("POST", "/v1/recall", {"query": "who owns the store"})
    assert found["results"][0]["id"] == remembered["id"]
    assert daemon.ask("GET", "/readyz")[1] == {"ready": True}


def test_loopback_wants_the_token_that_lies_beside_the_socket(daemon: Daemon) -> None:
    host, port = (daemon.home / "run" / "tcp").read_text().strip().split(":")
    token = (daemon.home / "run" / "token").read_text().strip()
    statuses = []
    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        connection = HTTPConnection(host, int(port), timeout=WAIT_S)
        connection.request("GET", "/v1/stats", headers=headers)
        statuses.append(connection.getresponse().status)
        connection.close()
    assert statuses == [401, 200]


def test_a_second_one_says_that_the_first_runs(daemon: Daemon) -> None:
    assert daemon.process
    second = daemon.command("serve")
    out, _err = second.communicate(timeout=WAIT_S)
    assert (second.returncode, str(daemon.process.pid) in out) == (0, True)
    assert daemon.ask("GET", "/healthz")[0].status == 200


def test_a_terminal_that_hangs_up_does_not_end_it(daemon: Daemon) -> None:
    assert daemon.process
    daemon.process.send_signal(signal.SIGHUP)
    assert daemon.ask("GET", "/healthz")[0].status == 200


def test_a_head_that_is_too_long_is_refused(daemon: Daemon) -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 1_000) for number in range(40))
    answer = daemon.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 431") and b"HEAD_TOO_LARGE" in answer


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem_and_no_more(daemon: Daemon, data: bytes) -> None:
    answer = daemon.raw(data)
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1


def test_an_export_is_streamed(daemon: Daemon) -> None:
    with daemon.connect() as link:
        link.sendall(b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := link.recv(65_536):
            answer += piece
    assert b"transfer-encoding: chunked" in answer and b"clew-memories" in answer and answer.endswith(b"0\r\n\r\n")


@pytest.mark.torture
def test_a_store_that_another_process_holds_turns_it_red_within_fifteen_seconds(daemon: Daemon) -> None:
    with write_lock(daemon.home / "clew.db"):
        began = time.monotonic()
        assert until(lambda: daemon.ask("GET", "/readyz")[0].status == 503, seconds=15)
        assert time.monotonic() - began < 15
        assert daemon.ask("GET", "/healthz")[0].status == 200
    assert until(lambda: daemon.ask("GET", "/readyz")[0].status == 200, seconds=15)


def test_it_survives_a_kill_and_finishes_what_is_under_way_when_told_to_stop(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "home")
    daemon.start()
    daemon.ask("POST", "/v1/memories", {"content": "acknowledged, so it stays"})
    daemon.end(signal.SIGKILL)
    assert (daemon.home / "run" / "clew.sock").exists()  # stale, and in nobody's way

    daemon.start()
    assert [one["content"] for one in daemon.ask("GET", "/v1/memories")[1]["memories"]] == [
        "acknowledged, so it stays"
    ]
    body = json.dumps({"content": "said while it stopped"}).encode()
    head = "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with daemon.connect() as link:
        link.sendall(f"{head}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert b"100 Continue" in link.recv(100)  # it is being read
        assert daemon.process
        daemon.process.send_signal(signal.SIGTERM)
        assert until(lambda: not daemon.is_listening())
        link.sendall(body)
        assert b"201 Created" in link.recv(65_536)
    daemon.process.communicate(timeout=WAIT_S)
    assert daemon.process.returncode == 0
    assert not (daemon.home / "run" / "clew.sock").exists()


def test_it_ends_once_its_store_was_removed_and_leaves_the_next_one_alone(tmp_path: Path) -> None:
    first, second = Daemon(tmp_path / "home"), Daemon(tmp_path / "home")
    first.start()
    (tmp_path / "home").rename(tmp_path / "away")
    second.start()
    assert first.process
    first.process.communicate(timeout=WAIT_S)
    assert first.process.returncode == 0
    assert second.ask("POST", "/v1/memories", {"content": "in the new home"})[0].status == 201
    assert (second.home / "run" / "daemon.json").exists() and second.end() == 0


def test_a_second_one_that_is_asked_for_no_more_has_nothing_to_do(daemon: Daemon) -> None:
    port = daemon.started["tcp"].rpartition(":")[2]
    for words in ((), ("--tcp", daemon.started["tcp"]), ("--tcp", "127.0.0.1:0"), ("--tcp", f"localhost:{port}")):
        second = daemon.command("serve", "--json", *words)
        out, err = second.communicate(timeout=WAIT_S)
        assert (second.returncode, err) == (0, "")
        assert json.loads(out) == {"pid": daemon.started["pid"], "running": True}


def test_a_second_one_that_is_asked_for_more_says_that_nothing_was_done(daemon: Daemon, tmp_path: Path) -> None:
    tls = ("--tls-cert", str(daemon.cert), "--tls-key", str(daemon.cert.with_name("key.pem")))
    for words in (
        ("--tcp", "127.0.0.1:1"),
        ("--tcp", f"127.0.0.2:{daemon.started['tcp'].rpartition(':')[2]}"),
        ("--listen", "127.0.0.1:1", *tls),
        ("--url", str(tmp_path / "other.db")),
    ):
        second = daemon.command("serve", "--json", *words)
        error = json.loads(second.communicate(timeout=WAIT_S)[0])["error"]
        assert (second.returncode, error["code"]) == (1, "DAEMON_DIFFERS")
        assert f"{words[0]} {words[1]}" in error["message"] and f"kill {daemon.started['pid']}" in error["next"]


def test_a_second_one_with_the_same_relative_path_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = Daemon(tmp_path / "home")
    assert first.start("--url", "other.db")["store"] == str(tmp_path / "other.db")
    second = first.command("serve", "--url", "sqlite:///other.db")
    assert (second.communicate(timeout=WAIT_S)[1], second.returncode, first.end()) == ("", 0, 0)


@pytest.mark.parametrize("spelling", ["{home}/clew.db", "sqlite:///{home}/clew.db", "home/clew.db", "link/clew.db"])
def test_the_store_of_the_home_is_known_by_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "home")
    first = Daemon(tmp_path / "home")
    first.start()
    second = first.command("serve", "--url", spelling.format(home=first.home))
    assert (second.communicate(timeout=WAIT_S)[1], second.returncode, first.end()) == ("", 0, 0)


def test_a_second_one_with_other_settings_finds_the_store_that_is_served(tmp_path: Path) -> None:
    first, url = Daemon(tmp_path / "home"), str(tmp_path / "other.db")
    first.start("--url", url)
    second = first.command("serve", "--url", url, CLEW_RECALL__LIMIT="3")
    assert (second.communicate(timeout=WAIT_S)[1], second.returncode) == ("", 0)
    third = first.command("serve", "--url", str(first.home / "clew.db"))
    assert (third.communicate(timeout=WAIT_S)[0], third.returncode, first.end()) == ("", 1, 0)


def test_a_relative_path_in_the_environment_is_of_where_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = Daemon(tmp_path / "home")
    first.process = first.command("serve", "--json", CLEW_URL="other.db")
    assert first.process.stdout and json.loads(first.process.stdout.readline())["store"] == str(
        tmp_path / "other.db"
    )
    second = first.command("serve", "--url", "other.db")
    assert (second.communicate(timeout=WAIT_S)[1], second.returncode, first.end()) == ("", 0, 0)


def test_stop_ends_the_one_that_runs_here_and_says_where_none_does(tmp_path: Path) -> None:
    def stopped() -> tuple[str, int]:
        asked = here.command("serve", "--stop")
        return asked.communicate(timeout=WAIT_S)[0], asked.returncode

    here = Daemon(tmp_path / "home")
    assert stopped() == ("no daemon is running here\n", 0) and not here.home.exists()
    pid = here.start()["pid"]
    assert stopped() == (f"ended the daemon (pid {pid})\n", 0)
    assert here.process and here.process.wait(timeout=WAIT_S) == 0
    here.process.communicate()
    assert stopped() == ("no daemon is running here\n", 0)

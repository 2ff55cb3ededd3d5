"""Where the daemon listens, and where it refuses to."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.errors import InvalidInput, Misconfigured, StoreRefused, Unavailable
from clew.model.scope import Identity
from clew.surfaces.http import listen, server
from clew.surfaces.http.listen import Listening, Place, checked
from clew.surfaces.http.run_directory import RunDirectory


@pytest.mark.parametrize("place", ["0.0.0.0:7433", "192.168.1.5:80", "[::]:7433", "example.com:80"])
def test_plain_http_is_for_this_machine_alone(place: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        checked(place, None, None, None)
    assert refused.value.code == "LISTEN_NEEDS_TLS"


@pytest.mark.parametrize("place", ["127.0.0.1:7433", "localhost:0", "[::1]:7433", "127.8.8.8:1"])
def test_loopback_may_do_without_tls(place: str) -> None:
    assert checked(place, None, None, None).tcp is not None


@pytest.mark.parametrize("given", [("0.0.0.0:443", None, None), ("0.0.0.0:443", "c.pem", None), (None, "c", "k")])
def test_the_network_takes_a_certificate_and_its_key(given: tuple[str | None, ...]) -> None:
    with pytest.raises(Misconfigured) as refused:
        checked(None, *given)
    assert refused.value.code == "LISTEN_NEEDS_TLS"


@pytest.mark.parametrize("text", ["", "7433", "host", "host:99999", "host:-1", "host:x"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        listen.place_of(text)


def test_the_network_takes_somebody_with_a_key(memory: Clew, tmp_path: Path) -> None:
    where = Listening(network=Place("0.0.0.0", 443), tls=(tmp_path / "c", tmp_path / "k"))
    with pytest.raises(Misconfigured) as refused:
        server._check_network(memory, where)
    assert refused.value.code == "LISTEN_NEEDS_KEYS"
    made = memory.keys.create("ci", user="ann", roles=("member",), identity=Identity())
    server._check_network(memory, where)
    memory.keys.revoke(made.key.id, identity=Identity())
    with pytest.raises(Misconfigured):
        server._check_network(memory, where)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Unavailable) as refused:
        listen.tcp_socket(Place("127.0.0.1", taken.getsockname()[1]))
    assert refused.value.code == "ADDRESS_UNAVAILABLE"


def test_one_daemon_has_the_lock_until_it_is_gone(tmp_path: Path) -> None:
    first, second = RunDirectory(tmp_path), RunDirectory(tmp_path)
    first.make()
    assert first.lock() and not second.lock()
    first.unlock()
    assert second.lock()
    second.unlock()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_its_files_are_private_under_every_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        directory = RunDirectory(tmp_path / "home")
        directory.make()
        directory.token()
        directory.tell({"pid": 1})
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "home").rglob("*")}
    assert modes == {"run": 0o700, "token": 0o600, "daemon.json": 0o600}


def test_a_directory_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o755)
    RunDirectory(tmp_path).make()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_the_token_is_made_once_and_mended_when_it_is_broken(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.make()
    token = directory.token()
    assert token.startswith("clew_local_") and len(token) == 54 and directory.token() == token
    (tmp_path / "run" / "token").write_text("clew_local_half")
    assert directory.token() not in (token, "clew_local_half")


def test_a_token_that_others_could_have_read_is_replaced(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.make()
    token = directory.token()
    (tmp_path / "run" / "token").chmod(0o644)
    assert directory.token() != token
    assert (tmp_path / "run" / "token").stat().st_mode & 0o777 == 0o600


def test_a_token_that_lies_elsewhere_is_not_believed(tmp_path: Path) -> None:
    """Whoever could write here before the directory was closed knows what is in their own file."""
    directory = RunDirectory(tmp_path)
    directory.make()
    (tmp_path / "theirs").write_text("clew_local_" + "x" * 43)
    (tmp_path / "theirs").chmod(0o600)
    (tmp_path / "run" / "token").symlink_to(tmp_path / "theirs")
    assert directory.token() != "clew_local_" + "x" * 43
    assert (tmp_path / "theirs").read_text() == "clew_local_" + "x" * 43


def test_what_is_told_is_not_written_through_a_link(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.make()
    (tmp_path / "diary").write_text("mine")
    (tmp_path / "run" / "daemon.json.new").symlink_to(tmp_path / "diary")
    directory.tell({"pid": 1})
    assert (tmp_path / "diary").read_text() == "mine" and directory.told() == {"pid": 1}


def test_what_is_in_the_place_of_the_socket_is_not_removed(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.make()
    (tmp_path / "run" / "clew.sock").write_text("somebody's diary")
    with pytest.raises(StoreRefused):
        directory.clear()
    assert (tmp_path / "run" / "clew.sock").read_text() == "somebody's diary"


def test_a_run_directory_that_leads_elsewhere_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreRefused):
        RunDirectory(tmp_path).make()


def test_what_a_killed_daemon_left_is_cleared_away(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.make()
    (tmp_path / "run" / "incoming-1").mkdir()
    (tmp_path / "run" / "incoming-1" / "import").write_text("half an import")
    directory.write("tcp", "127.0.0.1:1\n")
    directory.clear()
    assert not list((tmp_path / "run").iterdir())

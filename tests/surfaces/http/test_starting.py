"""What is wrong with where the daemon shall listen is told before it says that it serves."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_daemon import certificate

from clew.clew import Clew
from clew.errors import Misconfigured, Unavailable
from clew.settings import load_settings
from clew.surfaces.cli.commands import serve
from clew.surfaces.http import server
from clew.surfaces.http.listen import Listening, Place, checked
from clew.surfaces.http.run_directory import RunDirectory

HERE = Path.cwd()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[RunDirectory]:
    found = RunDirectory(tmp_path / "home")
    found.make()
    yield found
    os.chdir(HERE)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    return [certificate(tmp_path_factory.mktemp("tls")) for _ in range(2)]


Wrong = Callable[[Path, Path, Path], tuple[Path, Path, Path]]
WRONG: dict[str, Wrong] = {
    "no certificate": lambda cert, key, _other: (cert.with_name("no.pem"), key, cert.with_name("no.pem")),
    "no key": lambda cert, key, _other: (cert, key.with_name("no.pem"), key.with_name("no.pem")),
    "a directory": lambda cert, key, _other: (cert.parent, key, cert.parent),
    "a key as the certificate": lambda _cert, key, _other: (key, key, key),
    "a certificate as the key": lambda cert, _key, _other: (cert, cert, cert),
    "the key of another": lambda cert, _key, other: (cert, other, other),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_certificate_that_cannot_be_used_is_named(pairs: list[tuple[Path, Path]], name: str) -> None:
    cert, key, wrong = WRONG[name](*pairs[0], pairs[1][1])
    with pytest.raises(Misconfigured) as refused:
        checked(None, "127.0.0.1:0", str(cert), str(key))
    assert refused.value.code == "TLS_INVALID" and str(wrong) in refused.value.message and refused.value.next


def test_a_certificate_with_its_key_is_fine(pairs: list[tuple[Path, Path]]) -> None:
    cert, key = pairs[0]
    assert checked(None, "127.0.0.1:0", str(cert), str(key)).tls == (cert, key)


def test_a_port_that_is_taken_leaves_nothing_behind(directory: RunDirectory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Unavailable):
        place = Place("127.0.0.1", taken.getsockname()[1])
        with server.listening(directory, Listening(tcp=Place("127.0.0.1", 0), network=place)):
            raise AssertionError("it is taken")
    assert not list(directory.path.iterdir())


def test_nothing_is_told_unless_all_of_it_serves(
    memory: Clew, directory: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate may have gone since it was looked at."""
    told: list[server.Started] = []
    where = Listening(network=Place("127.0.0.1", 0), tls=(tmp_path / "gone", tmp_path / "gone"))
    monkeypatch.setattr(server, "_on_signals", lambda _stop: None)
    with server.listening(directory, where) as sockets:
        daemon = server.Daemon(memory, where, directory, sockets)
        with pytest.raises(OSError):
            asyncio.run(daemon._serve(told.append))
    assert not told and not directory.told()


def test_it_starts_where_stdout_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    asked = Namespace(quiet=False, json=False)
    serve._told(asked, load_settings(home=tmp_path, environ={}), server.Started(4711, socket="clew.sock"))


def test_one_that_is_stuck_can_be_ended_without_loss(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.tell({"pid": 4711})
    monkeypatch.setattr(serve, "PATIENCE_S", 0.0)
    with pytest.raises(Unavailable) as refused:
        serve._running(directory)
    assert refused.value.code == "DAEMON_STUCK"
    assert "kill -9 4711" in refused.value.next and "acknowledged" in refused.value.next


def test_one_that_answers_and_has_told_nothing_yet_is_waited_for(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_answers", lambda _directory: True)
    monkeypatch.setattr(serve.time, "sleep", lambda _s: directory.tell({"pid": 4711}))
    assert serve._running(directory) == {"pid": 4711}


def test_a_crowd_meets_its_limit_before_the_system_has_no_more_files() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        server.allow_files()
        allowed, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert allowed == (server.FILES if hard == resource.RLIM_INFINITY else min(server.FILES, hard))

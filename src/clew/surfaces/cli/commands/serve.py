"""Serve: start the daemon of this home, unless one runs; or end the one that does."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from argparse import Namespace
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict, Unavailable
from clew.model.address import is_no_path, without_password
from clew.settings import Settings, load_settings
from clew.surfaces.cli.terminal import answer, one_line
from clew.surfaces.http import listen
from clew.surfaces.http.names import SOCKET_NAME, TCP
from clew.surfaces.http.run_directory import RunDirectory
from clew.wire.fingerprint import store_of

if TYPE_CHECKING:
    from clew.surfaces.http.server import Started

PATIENCE_S = 5.0  # for another one that has just been started
ENDING_S = 30.0  # for one that was told to end


def serve(args: Namespace) -> None:
    if args.stop:
        _stop(args)
        return
    settings, where = _settings(args), listen.checked(args.tcp, args.listen, args.tls_cert, args.tls_key)
    directory = RunDirectory(settings.home)
    directory.make()
    if not directory.lock():
        told = _running(directory)
        _check_met(args, settings, where, told)
        if not args.quiet:
            text = f"clew is already running (pid {told['pid']})"
            answer(args, {"pid": told["pid"], "running": True}, lambda _style: [text])
        return
    from clew.surfaces.http import server  # brings the server's libraries along

    _log(args)
    server.quiet_libraries()
    try:
        server.run(settings, where, directory, lambda started: _told(args, settings, started))
    finally:
        directory.unlock()


def _stop(args: Namespace) -> None:
    """Whoever has the lock is the daemon; it ends when what it does is done."""
    directory = RunDirectory(load_settings(home=_home(args), directory=None).home)
    pid = None
    if directory.path.is_dir() and not directory.lock():
        pid = _running(directory)["pid"]
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(pid, signal.SIGTERM)
        _await_end(directory, pid)
    directory.unlock()
    if not args.quiet:
        text = f"ended the daemon (pid {pid})" if pid else "no daemon is running here"
        answer(args, {"pid": pid, "running": False}, lambda _style: [text])


def _await_end(directory: RunDirectory, pid: int) -> None:
    until = time.monotonic() + ENDING_S
    while not directory.lock():
        if time.monotonic() > until:
            raise Unavailable(
                f"the daemon (pid {pid}) still does what it was asked to",
                code="DAEMON_STUCK",
                next=f"wait, or end it: kill -9 {pid}; what it acknowledged is on disk",
            )
        time.sleep(0.05)


def _home(args: Namespace) -> Path | None:
    return Path(args.home).expanduser().absolute() if args.home else None


def _settings(args: Namespace) -> Settings:
    """Without those of the project in which it happens to be started: it serves all of them."""
    home = _home(args)
    url = args.url or load_settings(home=home, directory=None).store.url
    return load_settings({"store": {"url": _absolute(url)}} if url else {}, home=home, directory=None)


def _absolute(url: str) -> str:
    """The daemon leaves this directory, and a path has to mean the same there."""
    path = url.removeprefix("sqlite:///")
    return url if is_no_path(path) else str(Path(path).expanduser().absolute())


def _told(args: Namespace, settings: Settings, started: Started) -> None:
    if args.quiet:
        return
    places = {name: place for name in ("socket", "tcp", "network") if (place := getattr(started, name))}
    store = without_password(settings.store.url)  # '' is the file of this home
    document = {"pid": started.pid, **places} | ({"store": store} if store else {})
    at = f"{one_line(store)} at {', '.join(places.values())}" if store else ", ".join(places.values())
    answer(args, document, lambda style: [f"{style('green', 'serving')} {at} (pid {started.pid})"])
    if sys.stdout:
        sys.stdout.flush()


def _running(directory: RunDirectory) -> dict[str, Any]:
    """What the other one tells of itself, once it answers; it may be starting just now."""
    until = time.monotonic() + PATIENCE_S
    while not (_answers(directory) and "pid" in directory.told()):
        if time.monotonic() > until:
            raise Unavailable(
                f"another clew serve has {directory.path} and does not answer",
                code="DAEMON_STUCK",
                next=f"end it: kill -9 {directory.told().get('pid', 'PID')}; what it acknowledged is on disk",
            )
        time.sleep(0.05)
    return directory.told()


def _check_met(args: Namespace, settings: Settings, where: listen.Listening, told: dict[str, Any]) -> None:
    """Nothing is left to do only if the one that runs listens where it was asked to, and has that store."""
    wanted = {
        f"--tcp {args.tcp}": where.tcp is None or _is_at(where.tcp, told.get("tcp")),
        f"--listen {args.listen}": where.network is None or _is_at(where.network, told.get("network")),
        f"--url {without_password(args.url or '')}": not args.url or told.get("store") == store_of(settings),
    }
    if missing := [what for what, is_met in wanted.items() if not is_met]:
        raise Conflict(
            f"clew is already running (pid {told['pid']}), without {' and '.join(missing)}",
            code="DAEMON_DIFFERS",
            next=f"end it, then run this again: kill {told['pid']}",
        )


def _is_at(asked: listen.Place, bound: str | None) -> bool:
    if bound is None:
        return False
    place = listen.place_of(bound)
    try:
        hosts = {str(info[4][0]) for info in socket.getaddrinfo(asked.host, None)}
    except OSError:
        hosts = set()
    return place.host in hosts and asked.port in (0, place.port)


def _answers(directory: RunDirectory) -> bool:
    connection = HTTPConnection("localhost", timeout=1)
    try:
        connection.sock = _connected(directory)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _connected(directory: RunDirectory) -> socket.socket:
    if not listen.HAS_UNIX_SOCKETS:
        place = listen.place_of((directory.path / TCP).read_text().strip())
        return socket.create_connection((place.host, place.port), timeout=1)
    os.chdir(directory.path)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(1)
    try:
        found.connect(SOCKET_NAME)
    except OSError:
        found.close()
        raise
    return found


def _log(args: Namespace) -> None:
    """To stderr: ids, routes, statuses and times, never content."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if args.access_log:
        logging.getLogger("clew.access").setLevel(logging.INFO)

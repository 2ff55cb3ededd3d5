"""Serve: start the daemon of this home, unless one runs."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from argparse import Namespace
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import Unavailable
from clew.model.address import without_password
from clew.settings import Settings, load_settings
from clew.surfaces.cli.terminal import answer, one_line
from clew.surfaces.http import listen
from clew.surfaces.http.names import SOCKET_NAME, TCP
from clew.surfaces.http.run_directory import RunDirectory

if TYPE_CHECKING:
    from clew.surfaces.http.server import Started

PATIENCE_S = 5.0  # for another one that has just been started


def serve(args: Namespace) -> None:
    settings, where = _settings(args), listen.checked(args.tcp, args.listen, args.tls_cert, args.tls_key)
    directory = RunDirectory(settings.home)
    directory.make()
    if not directory.lock():
        _is_running(args, directory)
        return
    from clew.surfaces.http import server  # brings the server's libraries along

    _log(args)
    server.quiet_libraries()
    try:
        server.run(settings, where, directory, lambda started: _told(args, settings, started))
    finally:
        directory.unlock()


def _settings(args: Namespace) -> Settings:
    """Without those of the project in which it happens to be started: it serves all of them."""
    home = Path(args.home).expanduser().absolute() if args.home else None
    return load_settings({"store": {"url": args.url}} if args.url else {}, home=home, directory=None)


def _told(args: Namespace, settings: Settings, started: Started) -> None:
    if args.quiet:
        return
    places = {name: place for name in ("socket", "tcp", "network") if (place := getattr(started, name))}
    store = without_password(settings.store.url)  # '' is the file of this home
    document = {"pid": started.pid, **places} | ({"store": store} if store else {})
    at = f"{one_line(store)} at {', '.join(places.values())}" if store else ", ".join(places.values())
    answer(args, document, lambda style: [f"{style('green', 'serving')} {at} (pid {started.pid})"])
    sys.stdout.flush()


def _is_running(args: Namespace, directory: RunDirectory) -> None:
    """Nothing to do, if the other one answers; it may be starting just now."""
    until = time.monotonic() + PATIENCE_S
    while not _answers(directory):
        if time.monotonic() > until:
            raise Unavailable(
                f"another clew serve has {directory.path} and does not answer",
                code="DAEMON_STUCK",
                next=f"end it: kill -9 {directory.told().get('pid', 'PID')}; what it acknowledged is on disk",
            )
        time.sleep(0.05)
    pid = directory.told().get("pid")
    if not args.quiet:
        answer(args, {"pid": pid, "running": True}, lambda _style: [f"clew is already running (pid {pid})"])


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

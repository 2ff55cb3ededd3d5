"""One throw-away PostgreSQL for a whole run of the suite, however many processes run it."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.bench.postgres_server import PostgresServer


@contextmanager
def shared_postgres(meeting: Path, prepare: Callable[[str], object]) -> Iterator[PostgresServer]:
    """The first process to come starts the server, the last to go stops it. Should one be killed in between, the
    server still ends with the others: it never outlives its users."""
    with _alone(meeting):
        server = _join(meeting / "postgres.json") or _begin(meeting / "postgres.json", prepare)
    try:
        yield server
    finally:
        with _alone(meeting):
            _go(meeting / "postgres.json", server)


def _join(note: Path) -> PostgresServer | None:
    told = json.loads(note.read_text()) if note.exists() else {}
    server = PostgresServer.attach(Path(told["place"])) if told.get("users") else None
    if server:
        note.write_text(json.dumps(told | {"users": told["users"] + 1}))
    return server


def _begin(note: Path, prepare: Callable[[str], object]) -> PostgresServer:
    server = PostgresServer()
    try:
        server.start()
        server.make_template(prepare)
    except BaseException:
        server.close()
        raise
    note.write_text(json.dumps({"place": str(server.place), "users": 1}))
    return server


def _go(note: Path, server: PostgresServer) -> None:
    told = json.loads(note.read_text())
    note.write_text(json.dumps(told | {"users": told["users"] - 1}))
    if told["users"] > 1:
        server.leave()
    else:
        server.close()


@contextmanager
def _alone(meeting: Path) -> Iterator[None]:
    with (meeting / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""A Clew that answers on a socket or on loopback, in a thread of this process: the application is the real one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import uvicorn

from clew import Clew
from clew.surfaces.http.app import make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.route import Route
from clew.surfaces.http.routes import call, keys
from clew.wire.fingerprint import fingerprint_of

DEADLINE_S = 10.0
_HEALTH = Route(
    "GET", "/healthz", "health", "Alive.", lambda _call: {"status": "ok"}, answer=dict[str, str], is_open=True
)
ROUTES = (_HEALTH, *call.ROUTES, *keys.ROUTES)


def app_of(memory: Clew, pool: ThreadPoolExecutor, routes: tuple[Route, ...] = ROUTES) -> Any:
    return make_app(memory, routes, Authenticator(memory), pool)


@contextmanager
def listening(app: Any, **where: Any) -> Iterator[uvicorn.Server]:
    """`uds=path`, or `port=0` for any port of loopback: `port_of` tells which."""
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error", **where))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "it did not stop"


def port_of(server: uvicorn.Server) -> int:
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port


@contextmanager
def daemon(
    memory: Clew, *, asked: list[str] | None = None, held: Mapping[str, threading.Event] = MappingProxyType({})
) -> Iterator[Path]:
    """Serves a store as the daemon of its home does; yields the socket. `asked`: collects the verbs called; `held`:
    what calls of a verb wait for."""
    run = memory.home / "run"
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    told = {"fingerprint": fingerprint_of(memory.settings), "pid": 1}
    (run / "daemon.json").write_text(json.dumps(told), encoding="utf-8")
    with ThreadPoolExecutor(4) as pool:
        app = _noting(app_of(memory, pool), [] if asked is None else asked, held)
        with listening(app, uds=str(run / "clew.sock")):
            yield run / "clew.sock"


def _noting(app: Any, asked: list[str], held: Mapping[str, threading.Event]) -> Any:
    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].startswith("/v1/call/"):
            asked.append(verb := scope["path"].removeprefix("/v1/call/"))
            if verb in held:
                assert await asyncio.to_thread(held[verb].wait, DEADLINE_S), "nobody let go of it"
        await app(scope, receive, send)

    return noting


def wait_for(condition: Any) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)

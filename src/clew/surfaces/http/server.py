"""The daemon: one process per home that owns the store, the jobs and the read model, and answers for them.

In: settings, and where to listen besides the socket. It ends when it is told to: it takes no more connections,
finishes the requests under way, does what was handed to its threads, and closes the store. What it answered is
durable by then.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from clew import __version__
from clew.compose import compose, store_url
from clew.errors import Misconfigured
from clew.model.times import to_rfc3339
from clew.surfaces.hooks.spool import Spool
from clew.surfaces.http import listen
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.chores import LOOK_S, before_hook, chores
from clew.surfaces.http.gate import Gate, host_name
from clew.surfaces.http.listen import Listening, Place
from clew.surfaces.http.names import SOCKET_NAME, TCP
from clew.surfaces.http.protocol import Protocol
from clew.surfaces.http.routes import all_routes
from clew.surfaces.http.run_directory import RunDirectory
from clew.surfaces.http.standing import Standing
from clew.surfaces.http.watch import Watched
from clew.surfaces.http.workers import Workers
from clew.surfaces.mcp import route as mcp
from clew.values import dataclass
from clew.verbs.serving import Serving
from clew.wire.address import is_address
from clew.wire.fingerprint import fingerprint_of, store_of

if TYPE_CHECKING:
    from clew import Clew
    from clew.settings import Settings

KEEP_ALIVE_S = 75
FILES = 4_096  # open at once: connections of all listeners, those that come and go, and the store
AT_ONCE = 128  # connections accepted before those too many are closed


@dataclass(frozen=True, slots=True)
class Started:
    """What is told when it answers."""

    pid: int
    socket: str | None = None
    tcp: str | None = None
    network: str | None = None


def run(settings: Settings, where: Listening, directory: RunDirectory, told: Callable[[Started], None]) -> None:
    """Until it is stopped. `directory` is made and locked by whoever calls, and cleared here."""
    allow_files()
    if is_address(settings.store.url):
        from clew.surfaces.http import forward  # a machine whose Clew is elsewhere

        forward.run(settings, where, directory, told)
        return
    directory.clear()
    with compose(settings, store_url(settings)) as clew:
        _check_network(clew, where)
        _start_jobs(clew)
        with listening(directory, where) as sockets:
            Daemon(clew, where, directory, sockets).run(told)


def _check_network(clew: Clew, where: Listening) -> None:
    if where.network and not Serving(clew).has_keys():
        raise Misconfigured(
            "nobody has a key that is valid, so nobody could use it over the network",
            code="LISTEN_NEEDS_KEYS",
            next="make one first: clew key create NAME --user USER",
        )


def _start_jobs(clew: Clew) -> None:
    """Always, not only when something waits: it also looks for what other processes leave behind."""
    clew.resume_jobs()
    if clew.settings.relate.in_process:
        clew.background_jobs.nudge()


@dataclass(frozen=True, slots=True)
class Sockets:
    near: Sequence[socket.socket]  # the unix socket and loopback: plain HTTP
    network: socket.socket | None
    started: Started


@contextmanager
def listening(directory: RunDirectory, where: Listening) -> Iterator[Sockets]:
    with ExitStack() as opened:
        opened.callback(directory.clear)  # also when the next one cannot be bound
        unix = opened.enter_context(listen.unix_socket(directory.path)) if listen.HAS_UNIX_SOCKETS else None
        wanted = where.tcp or (None if unix else Place("127.0.0.1", 0))
        tcp = opened.enter_context(listen.tcp_socket(wanted)) if wanted else None
        network = opened.enter_context(listen.tcp_socket(where.network)) if where.network else None
        names = [listen.bound(one).name if one else None for one in (tcp, network)]
        if names[0]:
            directory.write(TCP, names[0] + "\n")
        path = str(directory.path / SOCKET_NAME) if unix else None
        yield Sockets([one for one in (unix, tcp) if one], network, Started(os.getpid(), path, *names))


class Daemon:
    def __init__(self, clew: Clew, where: Listening, directory: RunDirectory, sockets: Sockets) -> None:
        self._clew = clew
        self._where = where
        self._directory = directory
        self._sockets = sockets
        self._workers = Workers(clew.settings.serve.threads)
        self._spool = Spool(clew.home)
        self._threads = self._chores()
        self._app = self._made_app()

    def _chores(self) -> list[Watched]:
        return chores(self._clew, self._spool)

    def _authenticator(self) -> Authenticator:
        return Authenticator(self._clew, local_token=self._directory.token(), owner_uid=_owner_uid())

    def _made_app(self) -> App:
        standing = Standing(self._clew, threads=self._threads, version=__version__)
        standing.before["hooks.event"] = partial(before_hook, self._clew, self._spool)
        authenticate = self._authenticator()
        gate = Gate(hosts=_hosts(self._where, self._clew.settings.serve.hosts))
        routes = (*all_routes(), *mcp.ROUTES)  # the protocol describes itself: it is not in the OpenAPI document
        return make_app(self._clew, routes, authenticate, self._workers, gate=gate, standing=standing)

    def run(self, told: Callable[[Started], None]) -> None:
        for thread in self._threads:
            thread.start()
        threading.Thread(target=self._warm_up, name="clew-warm-up", daemon=True).start()
        try:
            asyncio.run(self._serve(told))
        finally:
            self._app.streams.close()
            for thread in self._threads:
                thread.stop()
            self._workers.close(self._clew.settings.serve.shutdown_s)

    def _warm_up(self) -> None:
        """The model is loaded before somebody waits for it."""
        if self._clew.embedder is not None and not self._clew.embedder.is_remote:
            self._clew.embedder.embed(["warm"])

    async def _serve(self, told: Callable[[Started], None]) -> None:
        # One for each: a crowd on loopback, where anybody may connect, does not keep the owner from the socket.
        servers = [(_Server(self._config()), [one]) for one in self._sockets.near]
        if self._sockets.network and self._where.tls:
            servers.append((_Server(self._config(_encrypted(*self._where.tls))), [self._sockets.network]))
        stop = partial(self._stop, [server for server, _sockets in servers])
        _on_signals(stop)
        tasks = [asyncio.create_task(server.serve(sockets)) for server, sockets in servers]
        while not all(server.started for server, _sockets in servers) and not any(task.done() for task in tasks):
            await asyncio.sleep(0.005)
        if all(server.started for server, _sockets in servers):
            self._tell(told)
        watch = asyncio.create_task(self._end_without_store(stop))
        await asyncio.gather(*tasks)
        watch.cancel()

    async def _end_without_store(self, stop: Callable[[], None]) -> None:
        """Once the file was removed or replaced this one can only refuse; the next finds what is there now."""
        while not any(thread.failed == "STORE_MOVED" for thread in self._threads):
            await asyncio.sleep(LOOK_S)
        stop()

    def _config(self, protocol: Any = Protocol) -> uvicorn.Config:
        return uvicorn.Config(
            self._app,
            loop="asyncio",
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=AT_ONCE,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=ceil(self._clew.settings.serve.shutdown_s),
        )

    def _tell(self, told: Callable[[Started], None]) -> None:
        started = self._sockets.started
        about: dict[str, Any] = {
            "pid": started.pid,
            "version": __version__,
            "started_at": to_rfc3339(datetime.now(UTC)),
            "fingerprint": fingerprint_of(self._clew.settings),
            "store": store_of(self._clew.settings),
        }
        places = {name: place for name in ("tcp", "network") if (place := getattr(started, name))}
        self._directory.tell(about | places)
        told(started)

    def _stop(self, servers: Sequence[_Server]) -> None:
        """Streams never end by themselves, so they are ended first."""
        self._app.streams.close()
        for server in servers:
            server.force_exit = server.should_exit  # told twice: nothing is waited for
            server.should_exit = True


def _encrypted(cert: Path, key: Path) -> Any:
    import ssl  # only for those who listen on the network

    from clew.surfaces.http.handshake import Handshake

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return partial(Handshake, context)


class _Server(uvicorn.Server):
    """One that leaves signals to the daemon."""

    def capture_signals(self) -> Any:
        return nullcontext()


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        else:
            loop.add_signal_handler(number, stop)
    if hasattr(signal, "SIGHUP"):  # the terminal it was started from may go
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _owner_uid() -> int | None:
    """None where nobody tells who is at the other end: then the rights on the directory decide."""
    return os.getuid() if sys.platform in ("linux", "darwin") else None


def _hosts(where: Listening, named: Sequence[str]) -> frozenset[str]:
    own = [where.network.name] if where.network else []
    return frozenset(host_name(name) for name in (*own, *named))


def allow_files() -> None:
    """As many as are needed, where the system lets every process have them and gives it fewer at first."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def quiet_libraries() -> None:
    """What they log may quote requests; what goes wrong is told in answers, and by us."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)

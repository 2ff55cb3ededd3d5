"""Every setting of the section 'serve' changes what the server does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.model.scope import Identity
from clew.surfaces.http import server
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.health import Health
from clew.surfaces.http.limits import Rates
from clew.surfaces.http.listen import Listening, Place
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.run_directory import RunDirectory
from clew.surfaces.http.workers import Workers


@pytest.fixture
def served(clew_at: Callable[..., Clew], tmp_path: Path) -> Callable[..., Clew]:
    return lambda **serve: clew_at(tmp_path, serve=serve)


def app_of(memory: Clew) -> App:
    return make_app(memory, (), lambda _request: Identity(), Workers(1))


def daemon_of(memory: Clew, where: Listening | None = None) -> Any:
    directory = RunDirectory(memory.home)
    directory.make()
    return server.Daemon(memory, where or Listening(), directory, server.Sockets([], None, server.Started(1)))


def test_serve_max_body_kb_is_live(served: Callable[..., Clew]) -> None:
    assert app_of(served(max_body_kb=3))._max_bytes == 3_072


def test_serve_rate_per_s_is_live(served: Callable[..., Clew]) -> None:
    rates = app_of(served(rate_per_s=0.01, burst=1))._rates
    rates.take("a")
    with pytest.raises(Refusal) as refused:
        rates.take("a")
    assert int(refused.value.headers["Retry-After"]) > 50


@pytest.mark.parametrize("burst", [1, 4])
def test_serve_burst_is_live(served: Callable[..., Clew], burst: int) -> None:
    rates = app_of(served(burst=burst, rate_per_s=0.001))._rates
    assert taken(rates) == burst


def taken(rates: Rates) -> int:
    for count in range(100):
        try:
            rates.take("a")
        except Refusal:
            return count
    return 100


def test_serve_connections_per_address_is_live(served: Callable[..., Clew]) -> None:
    assert app_of(served(connections_per_address=3)).of_one_address == 3


def test_serve_threads_is_live(served: Callable[..., Clew]) -> None:
    workers, meet = daemon_of(served(threads=3))._workers, threading.Barrier(3)
    at_once = [workers.submit(lambda: (meet.wait(10), threading.get_ident())) for _ in range(6)]
    assert len({one.result(timeout=10)[1] for one in at_once}) == 3


def test_serve_shutdown_s_is_live(served: Callable[..., Clew]) -> None:
    assert daemon_of(served(shutdown_s=3.5))._config().timeout_graceful_shutdown == 4


def test_serve_oldest_job_s_is_live(served: Callable[..., Clew]) -> None:
    memory = served(oldest_job_s=1e-6)
    memory.remember("not related yet")
    memory.background_jobs.worked_at -= 120
    assert [reason.check for reason in Health(memory).reasons()] == ["jobs"]


def test_serve_hosts_is_live(served: Callable[..., Clew]) -> None:
    gate = daemon_of(served(hosts=["memory.example"]), Listening(network=Place("10.0.0.1", 443)))._app._gate
    assert gate.hosts == {"10.0.0.1", "memory.example"}

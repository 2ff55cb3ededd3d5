"""Throw-away stores for every test. Being here also makes `toys` importable from anywhere."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from clew import native
from clew.clew import Clew
from clew.guard.engine import Engine
from clew.settings import Settings
from llm_server import LlmServer
from toys import ToldClock, ToyEmbedder, open_toy

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

# A property holds or does not; how fast a busy machine is says nothing about it. Two runs of one state of the code
# try the same examples, so that they say the same; `make torture` looks for others, and for more of them.
ANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("clew", ANY, max_examples=30, derandomize=True)
settings.register_profile("torture", ANY, max_examples=500, print_blob=True)
settings.load_profile("clew")

if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite that runs in the background is started deaf to Ctrl-C, and so would be the processes it starts: the
    # tests that send one would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:  # a run needs less than two
    # Where a sync costs nothing: thousands of stores wait for the disk longer than they work, and no test can tell
    # a disk that keeps its word. What a power cut leaves of a store is proven with a disk of our own (tests/crash).
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# For the processes that are started from here. Thousands of small questions have no use for the threads of numpy's
# linear algebra, which take a third of the time that a process needs to start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay until the last has run: the collector need not look through them each time, nor while
    they are gathered."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """What a process has once, and later tests in it would find: the defaults that all settings share, its
    environment and its directory."""
    before = _shared()
    yield
    assert _shared() == before


def _shared() -> tuple[object, ...]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return list(Settings(MEMORY).items()), environment, os.getcwd()


@pytest.fixture(scope="session", autouse=True)
def memory_is_given_back(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """After a failure the stores stay, as on a disk, to be looked at; pytest keeps those of three runs."""
    yield
    if tmp_path_factory.getbasetemp().is_relative_to(MEMORY) and not request.session.testsfailed:
        shutil.rmtree(tmp_path_factory.getbasetemp(), ignore_errors=True)


@pytest.fixture(params=["python", "compiled"])
def by_both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that runs with what is compiled, and without."""
    if request.param == "python":
        monkeypatch.setattr(native, "compiled", None)
    elif native.compiled is None:
        pytest.skip("not compiled here")


@pytest.fixture(scope="session", autouse=True)
def one_policy_engine() -> Iterator[None]:
    """Every store of this process asks the same engine, which never changes: to read and validate the shipped
    policies takes longer than most tests. Who gives an engine of its own, or a process of its own, starts anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clew.guard.pep.Engine", cache(Engine))
        yield


@pytest.fixture
def clock() -> ToldClock:
    """Stands still between looks; `clock.pass_by(hours=1)` lets time pass."""
    return ToldClock()


@pytest.fixture
def clew_at(clock: ToldClock) -> Iterator[Callable[..., Clew]]:
    """Opens the store in a home directory, without a model unless one is given; closed when the test ends."""
    with ExitStack() as opened:

        def open_at(home: Path, **options: Any) -> Clew:
            return opened.enter_context(open_toy(home / "clew.db", **{"clock": clock} | options))

        yield open_at


@pytest.fixture
def memory(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """A new store with a small deterministic model."""
    return clew_at(tmp_path / "home", embedder=ToyEmbedder())


@pytest.fixture
def llm_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """A language model's endpoint on this machine; what it answers is for the test to say."""
    monkeypatch.setenv("no_proxy", "*")
    with LlmServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The PostgreSQL of this run, shared by all its processes. Who stops a server starts one of its own."""
    from clew.bench.postgres_server import why_not  # here, not above: only some tests need what these load

    if reason := why_not():
        pytest.skip(reason)
    from clew.store.postgres import migrate
    from postgres_server import shared_postgres

    own = tmp_path_factory.getbasetemp()
    with shared_postgres(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own, migrate) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A fresh database with Clew's schema, as the role the application has."""
    with postgres.fresh_database(user="clew_app") as url:
        yield url

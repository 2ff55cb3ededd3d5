"""Many replicas on one PostgreSQL: sessions, the queue, what is kept of reads and the rollout are shared by all.

The torture of the queue runs across processes of their own, while workers are killed, backends end, and the server
crashes. Nothing acknowledged is lost, nothing is there twice, no stale worker acknowledges anything.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from proxy import Proxy
from queue_actors import LEASE_S, cycles, open_at
from queue_checks import Actor, Promise, check_rows, drain

from clew.bench.postgres_server import PostgresServer, why_not
from clew.clew import Clew
from clew.compose import open_clew
from clew.errors import Conflict
from clew.model.scope import Scope
from clew.store.postgres import migrate
from lease_clock import LeaseClock
from toys import ToldClock, ToyEmbedder, contents, open_toy

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]

SHOP = Scope(project="shop")
REPLICAS = 4


@pytest.fixture(autouse=True)
def nobody_is_left_running() -> Iterator[None]:
    yield
    Actor.end_all()


@pytest.fixture
def replicas(postgres_url: str, clock: ToldClock) -> Iterator[list[Clew]]:
    """Each with connections and caches of its own, as processes have."""
    with ExitStack() as opened:
        made = (open_toy(postgres_url, embedder=ToyEmbedder(), clock=clock) for _ in range(REPLICAS))
        yield [opened.enter_context(clew) for clew in made]


# -- what one does, the others see ----------------------------------------------------------------------------


def test_what_one_remembers_the_next_recall_of_every_other_finds(replicas: list[Clew]) -> None:
    for number, clew in enumerate(replicas):
        for other in replicas:  # so that each has something in its caches
            assert len(other.recall("deploy day", scope=SHOP).results) == number
        clew.remember(f"deploy day {number} is friday", scope=SHOP)
    assert all(len(other.recall("deploy day", scope=SHOP).results) == REPLICAS for other in replicas)


def test_what_one_forgets_or_edits_no_other_recalls_as_it_was(replicas: list[Clew]) -> None:
    first, second, third, _ = replicas
    forgotten, edited = (first.remember(f"deploy day {number} is friday", scope=SHOP) for number in (1, 2))
    assert len(third.recall("deploy day", scope=SHOP).results) == 2
    first.forget(forgotten.id, scope=SHOP)
    second.edit(edited.id, content="deploy day 2 is monday", scope=SHOP)
    assert contents(third.recall("deploy day", scope=SHOP)) == ["deploy day 2 is monday"]


def test_the_rollout_mode_that_one_sets_is_the_mode_of_all(replicas: list[Clew]) -> None:
    replicas[0].remember("deploy day is friday", scope=SHOP)
    for mode, clew in zip(("shadow", "off", "canary"), replicas, strict=False):
        clew.rollout.set(mode)
        told = [other.context("deploy", scope=SHOP, strategy="hybrid_graph").trace for other in replicas]
        assert {trace["rollout_mode"] for trace in told} == {mode}


def test_a_session_is_claimed_once_and_its_lock_counts_everywhere(replicas: list[Clew]) -> None:
    session = replicas[0].sessions.start(project="shop").id
    token = replicas[1].sessions.claim(session, "one")
    for other in replicas:
        with pytest.raises(Conflict):
            other.sessions.claim(session, "another")
    replicas[2].queue.enqueue(session, "tell them")
    [delivery] = [replicas[3].queue.claim(session, "one", token)]
    assert delivery
    assert replicas[0].queue.ack(session, delivery.delivery_id, "one", token)


# -- the torture of the queue, across processes ----------------------------------------------------------------


def check(url: str, promises: list[Promise]) -> None:
    with psycopg.connect(url) as administrator:
        found = administrator.execute(
            "SELECT id, session_id, text, state, fencing_token, seq FROM clew.session_memory_injects"
        )
        check_rows({row[0]: row[1:] for row in found}, promises)  # type: ignore[misc]


@contextmanager
def a_store(url: str, sessions: int) -> Iterator[tuple[Clew, LeaseClock]]:
    with open_at(url) as clew:
        leases = LeaseClock(clew.store)  # type: ignore[arg-type]
        for _ in range(sessions):
            clew.sessions.start(project="p")
        yield clew, leases


def owned(url: str) -> str:
    """As one who sees every org."""
    return url.replace("clew_app@", "postgres@", 1)


def survive(
    url: str, disturb: Callable[[], object], *, rounds: int, sessions: int, seed: int, checked_at: str = ""
) -> float:
    """Four processes that work on the same sessions; each round something happens to the server, then they are
    killed. Returns the longest time that they took to go on."""
    rng, promises, slowest_s = random.Random(seed), list[Promise](), 0.0
    with a_store(url, sessions) as (clew, leases):
        for round in range(rounds):
            roles = ("produce", "work", "produce", "work")
            actors = [Actor(role, url, seed * 10_000 + round * 4 + at) for at, role in enumerate(roles)]
            for producer in actors[::2]:
                producer.read(rng.randrange(5, 20))  # until it has done something; the workers are anywhere
            for _ in range(3):
                disturb()
                began = time.monotonic()
                for producer in actors[::2]:
                    producer.read_fresh(3)
                slowest_s = max(slowest_s, time.monotonic() - began)
            rng.shuffle(actors)
            promises += [promise for actor in actors for promise in actor.finish(kill=True)]
            leases.pass_by(rng.choice([LEASE_S + 1, LEASE_S + 1, 3_600.0, -30.0, 0.0]))
            check(checked_at or owned(url), promises)
        promises += drain(clew, leases)
        check(checked_at or owned(url), promises)
    assert {kind for kind, *_ in promises} >= {"put", "got", "ack"}
    return slowest_s


def kill_backends(url: str) -> None:
    with psycopg.connect(owned(url), autocommit=True) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'clew' AND datname = current_database()"
        )


def test_four_processes_lose_and_double_nothing_when_they_and_their_backends_are_killed(postgres_url: str) -> None:
    assert survive(postgres_url, lambda: kill_backends(postgres_url), rounds=1, sessions=5, seed=1) < 3.0


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
def test_four_processes_lose_and_double_nothing_when_the_server_crashes(seed: int) -> None:
    rng = random.Random(seed)
    with PostgresServer() as server:
        migrate(server.url())
        url = server.url(user="clew_app")
        faults = [lambda: server.restart(immediate=True), server.restart, lambda: kill_backends(url)]
        assert survive(url, lambda: rng.choice(faults)(), rounds=25, sessions=20, seed=seed + 1) < 3.0


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
def test_four_processes_lose_and_double_nothing_on_a_line_that_breaks_and_stalls(
    postgres_url: str, seed: int
) -> None:
    rng = random.Random(seed)
    with Proxy(postgres_url) as proxy:
        proxy.at_commit = lambda: rng.choice(["unsent", "unanswered", "delayed"]) if rng.random() < 0.02 else ""
        faults = [proxy.drop, proxy.hide, lambda: proxy.stall(2.0)]
        survive(
            proxy.url,
            lambda: rng.choice(faults)(),
            rounds=20,
            sessions=20,
            seed=seed,
            checked_at=owned(postgres_url),
        )


def survive_crowd(url: str, *, workers: int, sessions: int, texts: int, times: int, seed: int) -> None:
    rng = random.Random(seed)
    with a_store(url, sessions) as (clew, leases):
        producers = [Actor("repeat", url, seed + number, texts, times) for number in range(2)]
        crowd = [Actor("work", url, seed + 100 + number) for number in range(workers)]
        for _ in range(sessions * texts // 20):
            producers[0].read(5)  # as the work goes on, locks are stolen from workers that still live
            leases.pass_by(rng.choice([LEASE_S + 1, LEASE_S + 1, 7_200.0, -3_600.0]))
        promises = [promise for actor in producers for promise in actor.finish(kill=False)]
        promises += [promise for actor in crowd for promise in actor.finish(kill=True)]
        check(owned(url), promises)
        promises += drain(clew, leases)
        check(owned(url), promises)
    assert sum(kind == "put" for kind, *_ in promises) == sessions * texts
    assert sum(kind == "ack" for kind, *_ in promises) > 0


def test_a_crowd_and_a_flood_of_duplicates_leave_each_text_once_and_in_order(postgres_url: str) -> None:
    survive_crowd(postgres_url, workers=2, sessions=4, texts=6, times=4, seed=1)


@pytest.mark.torture
def test_eight_workers_on_a_hundred_sessions_with_fifty_duplicates_of_everything(postgres_url: str) -> None:
    survive_crowd(postgres_url, workers=8, sessions=100, texts=5, times=25, seed=1)


def test_a_holder_that_was_paused_beyond_its_lease_acknowledges_nothing(postgres_url: str) -> None:
    """Paused anywhere, also in a transaction, which the server gives up."""
    with a_store(postgres_url, 1) as (clew, leases):
        [session] = [session.id for session in clew.sessions.list()]
        for number in range(40):
            clew.queue.enqueue(session, f"text {number}")
        holder = Actor("work", postgres_url, 1)
        holder.read_until_got()
        holder.pause()
        kill_backends(postgres_url)  # what it may have had in hand
        leases.pass_by(LEASE_S + 1)
        token = clew.sessions.claim(session, "thief")
        stolen = [tuple(map(str, step)) for step in cycles(clew, session, "thief", token, beats=False)]
        holder.resume()
        leases.pass_by(LEASE_S + 1)
        holder.read(1)
        told = holder.finish(kill=True)
    check(owned(postgres_url), told + stolen)
    assert sum(kind == "ack" for kind, *_ in stolen) > 0


def test_a_worker_that_was_killed_is_followed_by_another_when_its_lease_has_run_out(postgres_url: str) -> None:
    """By the real clock of the server."""
    with open_toy(postgres_url, deliver={"lease_s": 1.0}) as clew:
        session = clew.sessions.start(project="p").id
        clew.queue.enqueue(session, "tell them")
        lost = clew.sessions.claim(session, "killed")
        assert clew.queue.claim(session, "killed", lost)
        token, began = 0, time.monotonic()
        while not token:
            try:
                token = clew.sessions.claim(session, "next")
            except Conflict:
                assert time.monotonic() - began < 10
                time.sleep(0.02)
        delivery = clew.queue.claim(session, "next", token)
        assert delivery
        assert not clew.queue.ack(session, delivery.delivery_id, "killed", lost)
        assert clew.queue.ack(session, delivery.delivery_id, "next", token)


# -- daemons ---------------------------------------------------------------------------------------------------


class Daemon:
    """`clew serve` on the database of all, in a home of its own."""

    def __init__(self, url: str, home: Path) -> None:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("CLEW_")}
        own = {"CLEW_HOME": str(home), "CLEW_URL": url, "CLEW_EMBED__PROVIDER": "none"}
        command = [sys.executable, "-m", "clew", "serve", "--json"]
        self.process = subprocess.Popen(command, env=kept | own, stdout=-1, stderr=subprocess.DEVNULL, text=True)

    def connect(self) -> Clew:
        assert self.process.stdout
        return open_clew(f"unix://{json.loads(self.process.stdout.readline())['socket']}")

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def daemons(postgres_url: str) -> Iterator[list[Daemon]]:
    with TemporaryDirectory() as folder:  # short: the address of a socket has room for little
        started = [Daemon(postgres_url, Path(folder) / str(number)) for number in range(REPLICAS)]
        try:
            yield started
        finally:
            for daemon in started:
                daemon.process.kill()
                daemon.process.communicate(timeout=60)


def test_four_daemons_share_one_store_and_go_on_when_one_of_them_and_every_backend_is_killed(
    daemons: list[Daemon], postgres_url: str
) -> None:
    with ExitStack() as opened:
        first, *others = [opened.enter_context(daemon.connect()) for daemon in daemons]
        session = first.sessions.start(project="shop").id
        token = first.sessions.claim(session, "one")
        first.queue.enqueue(session, "tell them")
        first.remember("deploy day is friday", scope=SHOP)
        assert daemons[0].end(signal.SIGKILL) == -signal.SIGKILL
        kill_backends(postgres_url)
        for other in others:
            assert contents(other.recall("deploy day", scope=SHOP)) == ["deploy day is friday"]
            with pytest.raises(Conflict):
                other.sessions.claim(session, "another")
        delivery = others[0].queue.claim(session, "one", token)
        assert delivery
        assert others[1].queue.ack(session, delivery.delivery_id, "one", token)
    assert [daemon.end(signal.SIGTERM) for daemon in daemons[1:]] == [0, 0, 0]

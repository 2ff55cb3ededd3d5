"""PostgreSQL that restarts, ends connections, stalls or does not answer: what a write and a read promise anyway.

What was acknowledged is there, once. What was not is either run again or reported. Whoever comes after the server
is back is served within three seconds."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import psycopg
import pytest
from proxy import Fault, Proxy
from psycopg import sql

from clew.bench.postgres_server import PostgresServer, why_not
from clew.errors import ClewError, Conflict, InvalidInput, Misconfigured, StoreRefused, Unavailable
from clew.store import postgres_pool
from clew.store.postgres import PostgresEngine, migrate, schema_found
from clew.store.postgres_pool import Places
from clew.store.postgres_session import PostgresSession

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ORG = "acme"
BACK_S = 3.0  # within which everyone is served again


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    with Proxy(postgres_url) as proxy:
        yield proxy


@pytest.fixture
def engine(proxy: Proxy) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine(proxy.url)) as engine:
        engine.write(start)
        yield engine


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """One that may be stopped."""
    with PostgresServer() as server:
        migrate(server.url())
        yield server


class Adding:
    """Adds one; knows how often it was run, and lets something happen in between."""

    def __init__(self, *in_between: Callable[[PostgresSession], object], org: str = ORG, name: str = "n") -> None:
        self._in_between = iter(in_between)
        self._org, self._name = org, name
        self.runs = 0

    def __call__(self, session: PostgresSession) -> int:
        self.runs += 1
        if self._org:
            session.bind(self._org)
        session.connection.execute("UPDATE meta SET value = value::int + 1 WHERE key = %s", (self._name,))
        for happens in self._in_between:
            happens(session)
            break
        return session.run("meta_put", key="last", value="1")


def start(session: PostgresSession) -> None:
    session.run("meta_put", key="n", value="0")


def value(engine: PostgresEngine, name: str = "n") -> int:
    with engine.read() as session:
        return int(session.value("meta_get", key=name) or 0)


def kill_all(url: str) -> None:
    """Every backend of Clew's on this database."""
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'clew' AND datname = current_database()"
        )


def code_of(work: Callable[[], object]) -> str:
    with pytest.raises(ClewError) as caught:
        work()
    assert caught.value.next
    return caught.value.code


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def told_by(engine: PostgresEngine) -> str:
    """What whoever asks is told to do next; nothing when he is answered."""
    try:
        value(engine)
    except ClewError as error:
        return error.next
    return ""


# -- commits whose fate is not known --------------------------------------------------------------------------


@pytest.mark.parametrize("org", [ORG, ""])
def test_a_write_whose_commit_never_left_is_run_again_and_is_there_once(
    engine: PostgresEngine, proxy: Proxy, org: str
) -> None:
    add = Adding(org=org)
    proxy.once("unsent")
    engine.write(add)
    assert (add.runs, value(engine)) == (2, 1)


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("org", [ORG, ""])
def test_a_commit_whose_answer_was_lost_is_known_to_be_there(
    engine: PostgresEngine, proxy: Proxy, org: str, durable: bool
) -> None:
    add = Adding(org=org)
    proxy.once("unanswered")
    engine.write(add, durable=durable)
    assert (add.runs, value(engine)) == (1, 1)


@pytest.mark.parametrize(("fault", "times"), [("unsent", 1), ("unanswered", 2), ("hidden", 1)])
def test_what_is_sent_with_its_commit_is_run_again_when_its_answer_is_lost(
    engine: PostgresEngine, proxy: Proxy, fault: Fault, times: int
) -> None:
    """Its number is not known by then: nobody can be asked, and nobody need be. It may be done twice."""
    proxy.once(fault)
    assert engine.write(lambda session: session.finish("counter_next", org_id=ORG, name="c", step=1)) == [(times,)]


def test_a_commit_that_is_still_on_its_way_is_waited_for(engine: PostgresEngine, proxy: Proxy) -> None:
    add = Adding()
    proxy.once("delayed")
    engine.write(add)
    assert (add.runs, value(engine)) == (1, 1)


def test_a_commit_that_never_arrives_at_a_server_that_was_not_told_is_run_again(
    engine: PostgresEngine, proxy: Proxy
) -> None:
    add, began = Adding(), time.monotonic()
    proxy.once("hidden")
    engine.write(add)
    assert (add.runs, value(engine)) == (2, 1)
    assert time.monotonic() - began < BACK_S


def test_a_commit_after_a_part_that_was_undone_is_known_too(engine: PostgresEngine, proxy: Proxy) -> None:
    add = Adding(org="")

    def after_a_failed_part(session: PostgresSession) -> None:
        with suppress(InvalidInput), session.savepoint():
            session.bind(ORG)
            raise InvalidInput("not this part")
        add(session)

    proxy.once("unanswered")
    engine.write(after_a_failed_part)
    assert (add.runs, value(engine)) == (1, 1)


def test_a_commit_that_nobody_can_be_asked_about_is_said_to_be_unknown(proxy: Proxy) -> None:
    with closing(PostgresEngine(proxy.url, wait_s=0.3)) as engine:
        engine.write(start)

        def refuse_everyone() -> Fault:
            proxy.is_refusing = True
            return "unanswered"

        proxy.at_commit = refuse_everyone
        add = Adding()
        assert code_of(lambda: engine.write(add)) == "COMMIT_UNKNOWN"
        proxy.at_commit, proxy.is_refusing = lambda: "", False
        assert (add.runs, value(engine)) == (1, 1)


def test_a_write_that_a_crash_lost_is_not_taken_for_the_one_that_got_its_number(own_server: PostgresServer) -> None:
    """After a crash PostgreSQL gives the numbers of transactions that left nothing in its log to others."""
    with closing(PostgresEngine(own_server.url(user="clew_app"))) as engine:
        engine.write(start)
        lost = PostgresSession(
            engine._pool.begun("BEGIN", deadline=time.monotonic() + 5), engine._queries, is_writing=True
        )
        Adding()(lost)
        own_server.restart(immediate=True)
        assert not engine._was_committed(lost)  # a number of the future
        with psycopg.connect(own_server.url(), autocommit=True) as other:
            while int(other.execute("SELECT pg_current_xact_id()::text").fetchone()[0]) < int(lost.xid or 0):  # type: ignore[index]
                pass
        assert not engine._was_committed(lost)
        engine._pool.give_back(lost.connection)


# -- lost connections -----------------------------------------------------------------------------------------


def drops(proxy: Proxy) -> Callable[[PostgresSession], object]:
    return lambda _session: proxy.drop()


def test_a_write_that_lost_its_connection_half_way_is_run_again(engine: PostgresEngine, proxy: Proxy) -> None:
    add = Adding(drops(proxy), drops(proxy))
    engine.write(add)
    assert (add.runs, value(engine)) == (3, 1)


@pytest.mark.parametrize("kind", [ValueError, lambda text: Unavailable(text), lambda text: Conflict(text)])
def test_a_lost_connection_is_one_whatever_the_action_makes_of_it(
    engine: PostgresEngine, proxy: Proxy, kind: Callable[[str], Exception]
) -> None:
    add = Adding(drops(proxy))

    def wraps(session: PostgresSession) -> None:
        try:
            add(session)
        except psycopg.Error:
            raise kind("something of my own") from None

    engine.write(wraps)
    assert (add.runs, value(engine)) == (2, 1)


def test_a_lost_connection_that_the_action_passes_over_is_not_acknowledged(
    engine: PostgresEngine, proxy: Proxy
) -> None:
    add = Adding(drops(proxy))

    def passes_over(session: PostgresSession) -> None:
        with suppress(psycopg.Error):
            add(session)

    engine.write(passes_over)
    assert (add.runs, value(engine)) == (2, 1)


def test_a_failure_that_the_action_passes_over_is_not_acknowledged(engine: PostgresEngine) -> None:
    """COMMIT after an error undoes everything and says so only in passing."""

    def passes_over(session: PostgresSession) -> None:
        Adding()(session)
        with suppress(psycopg.Error):
            session.many("meta_put", [("key", None)])

    assert code_of(lambda: engine.write(passes_over)) == "STORE_CONFLICT"
    assert value(engine) == 0


def test_what_an_action_raises_itself_is_raised_once_and_leaves_nothing(engine: PostgresEngine) -> None:
    add = Adding()

    def fails(session: PostgresSession) -> None:
        add(session)
        raise InvalidInput("my own mistake", next="mend it")

    assert code_of(lambda: engine.write(fails)) == "INVALID_INPUT"
    assert (add.runs, value(engine)) == (1, 0)


def test_killed_backends_are_nothing_to_the_next_read_and_write(engine: PostgresEngine, postgres_url: str) -> None:
    seen = engine.data_version()
    with ThreadPoolExecutor(4) as pool:  # several idle connections
        list(pool.map(engine.write, [Adding() for _ in range(8)]))
    kill_all(postgres_url)
    assert value(engine) == 8
    kill_all(postgres_url)
    engine.write(Adding())
    kill_all(postgres_url)
    assert engine.data_version() != seen
    assert value(engine) == 9


def test_a_backend_killed_in_the_middle_of_a_write_does_not_surface(
    engine: PostgresEngine, postgres_url: str
) -> None:
    add = Adding(lambda _session: kill_all(postgres_url))
    engine.write(add)
    assert (add.runs, value(engine)) == (2, 1)


def test_a_reader_is_told_only_when_its_backend_is_killed_in_the_middle(
    engine: PostgresEngine, postgres_url: str
) -> None:
    def read_on() -> None:
        with engine.read() as session:
            session.value("meta_get", key="n")
            kill_all(postgres_url)
            session.value("meta_get", key="n")

    assert code_of(read_on) == "STORE_UNREACHABLE"
    assert value(engine) == 0


def test_a_reader_whose_backend_is_killed_before_it_asked_is_served_by_another(
    engine: PostgresEngine, postgres_url: str
) -> None:
    with engine.read() as session:
        kill_all(postgres_url)
        assert session.value("meta_get", key="n") == "0"
        assert session.value("counter_get", org_id=ORG, name="none") is None


def dawdle(session: PostgresSession) -> None:
    session.connection.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
    time.sleep(0.1)  # longer than that


def test_a_writer_that_dawdles_is_given_up_by_the_server_and_run_again(engine: PostgresEngine) -> None:
    add, shown = Adding(dawdle), list[object]()

    def shows(session: PostgresSession) -> None:
        add(session)
        shown.append(session.connection.execute("SHOW idle_in_transaction_session_timeout").fetchone())

    engine.write(shows)
    assert (add.runs, value(engine), shown) == (2, 1, [("30s",)])


def test_a_reader_that_the_server_gave_up_is_told(engine: PostgresEngine) -> None:
    def read_on() -> None:
        with engine.read() as session:
            dawdle(session)
            session.value("meta_get", key="n")

    assert code_of(read_on) == "STORE_UNREACHABLE"


def test_a_ghost_that_the_server_still_takes_for_us_does_not_keep_our_lock(
    engine: PostgresEngine, proxy: Proxy
) -> None:
    add, began = Adding(lambda _session: proxy.hide()), time.monotonic()
    engine.write(add)
    assert (add.runs, value(engine)) == (2, 1)
    assert time.monotonic() - began < BACK_S


def test_a_server_that_refuses_for_a_while_is_waited_for(engine: PostgresEngine, proxy: Proxy) -> None:
    proxy.is_refusing = True
    proxy.drop()
    threading.Timer(0.5, lambda: setattr(proxy, "is_refusing", False)).start()
    engine.write(Adding())
    assert value(engine) == 1


def test_a_server_that_stays_away_is_given_up_after_the_time_that_was_given(proxy: Proxy) -> None:
    with closing(PostgresEngine(proxy.url, wait_s=0.3)) as engine:
        engine.write(start)
        proxy.is_refusing = True
        proxy.drop()
        assert code_of(lambda: engine.write(Adding())) == "STORE_UNREACHABLE"
        assert code_of(lambda: value(engine)) == "STORE_UNREACHABLE"
        assert code_of(engine.data_version) == "STORE_UNREACHABLE"


def test_two_seconds_without_a_sign_fail_nothing_and_double_nothing(engine: PostgresEngine, proxy: Proxy) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(engine.write, Adding()) for _ in range(40)]
        reads = [pool.submit(value, engine) for _ in range(8)]
        proxy.stall(2.0)
        for future in (*done, *reads):
            future.result(timeout=20)
    assert value(engine) == 40


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="how it is told the kernel is Linux's")
def test_a_peer_that_vanished_is_noticed_by_both_sides(engine: PostgresEngine) -> None:
    with engine.read() as session:
        line = socket.socket(fileno=os.dup(session.connection.fileno()))
        shown = session.connection.execute("SHOW client_connection_check_interval").fetchone()
    with line:
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        asked = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT]
        assert [line.getsockopt(socket.IPPROTO_TCP, option) for option in asked] == [5, 2, 3]
    assert shown == ("1s",)


def test_what_the_url_says_about_the_line_goes_before(proxy: Proxy) -> None:
    with closing(PostgresEngine(f"{proxy.url}&application_name=mine")) as engine, engine.read() as session:
        assert session.connection.execute("SHOW application_name").fetchone() == ("mine",)


def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    """Whoever gives a place back and asks again at once comes after those who wait."""
    places, turns = Places(1), []
    assert places.acquire(timeout=0)

    def ask(name: str) -> None:
        assert places.acquire(timeout=10)
        turns.append(name)
        places.release()

    threads = []
    for name in ("first", "second"):
        threads.append(threading.Thread(target=ask, args=[name]))
        threads[-1].start()
        while len(places._waiting) < len(threads):
            time.sleep(0.001)
    places.release()
    ask("again")
    for thread in threads:
        thread.join()
    assert turns == ["first", "second", "again"]
    assert places.acquire(timeout=0)
    assert not places.acquire(timeout=0.01)


# -- a server that crashes ------------------------------------------------------------------------------------


class Writers:
    """Threads that add to a number each, as fast as they can; `acknowledged` is what was promised."""

    def __init__(self, engine: PostgresEngine, threads: int) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self.acknowledged = [0] * threads
        self.slowest_s = 0.0
        self.failures: list[Exception] = []
        for number in range(threads):
            engine.write(lambda tx, number=number: tx.run("meta_put", key=f"n{number}", value="0"))  # type: ignore[misc]
        self._threads = [threading.Thread(target=self._add, args=[number]) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    def _add(self, number: int) -> None:
        add = Adding(org=f"org{number % 2}", name=f"n{number}")
        while not self._stop.is_set():
            try:
                self._engine.write(add)
                self.acknowledged[number] += 1
            except Exception as error:  # whatever it is, the test should tell
                self.failures.append(error)
                return

    def progress(self) -> None:
        """Returns when each has had an answer since."""
        before = list(self.acknowledged)
        deadline = time.monotonic() + 30
        while any(now <= then for now, then in zip(self.acknowledged, before, strict=True)) and not self.failures:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def finish(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not self.failures
        found = [value(self._engine, f"n{number}") for number in range(len(self.acknowledged))]
        assert found == self.acknowledged, "something acknowledged is lost, or something was done twice"


def survive_restarts(server: PostgresServer, *, restarts: int, threads: int, seed: int) -> float:
    """Returns the longest time that anyone waited after the server was back."""
    rng, slowest_s = random.Random(seed), 0.0
    with closing(PostgresEngine(server.url(user="clew_app"))) as engine:
        writers = Writers(engine, threads)
        for _ in range(restarts):
            writers.progress()
            time.sleep(rng.random() * 0.02)  # anywhere in the middle
            server.restart(immediate=rng.random() < 0.8)
            began = time.monotonic()
            writers.progress()
            slowest_s = max(slowest_s, time.monotonic() - began)
        writers.finish()
    return slowest_s


def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_crashes(own_server: PostgresServer) -> None:
    assert survive_restarts(own_server, restarts=3, threads=4, seed=1) < BACK_S


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost_or_doubled_in_hundreds_of_crashes(
    own_server: PostgresServer, seed: int
) -> None:
    assert survive_restarts(own_server, restarts=100, threads=8, seed=seed) < BACK_S


def survive_faults(engine: PostgresEngine, proxy: Proxy, *, faults: int, seed: int) -> None:
    rng = random.Random(seed)
    kinds: list[Fault] = ["unsent", "unanswered", "delayed", "hidden"]
    seen: set[str] = set()

    def sometimes() -> Fault:
        fault = rng.choice(kinds) if rng.random() < 0.05 else ""
        seen.add(fault)
        return fault

    writers = Writers(engine, 4)
    proxy.at_commit = sometimes
    for _ in range(faults):
        writers.progress()
        rng.choice([proxy.drop, proxy.hide, lambda: proxy.stall(rng.random() * 0.2)])()
    writers.progress()
    proxy.at_commit = lambda: ""
    writers.finish()
    assert seen.issuperset(kinds) or faults < 50


def test_writers_count_right_through_a_line_that_breaks_everywhere(engine: PostgresEngine, proxy: Proxy) -> None:
    survive_faults(engine, proxy, faults=8, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
def test_writers_count_right_through_a_line_that_breaks_hundreds_of_times(
    engine: PostgresEngine, proxy: Proxy, seed: int
) -> None:
    survive_faults(engine, proxy, faults=300, seed=seed)


# -- too many at once -----------------------------------------------------------------------------------------


def test_who_finds_all_connections_in_use_waits_for_one(postgres_url: str) -> None:
    with closing(PostgresEngine(postgres_url, connections=1)) as engine, ThreadPoolExecutor(1) as pool:
        engine.write(start)
        with engine.read():
            waiting = pool.submit(engine.write, Adding())
            assert not waiting.done()
        waiting.result(timeout=5)
        assert value(engine) == 1


def test_who_waits_too_long_for_a_connection_is_told_what_to_do(postgres_url: str) -> None:
    with closing(PostgresEngine(postgres_url, connections=2, wait_s=0.2)) as engine, ThreadPoolExecutor(1) as pool:
        with engine.read(), engine.read(), ThreadPoolExecutor(2) as others:
            held, free = threading.Barrier(3), threading.Event()

            def hold() -> None:
                with engine.read():
                    held.wait(5)
                    free.wait(5)

            holders = [others.submit(hold)]  # the second place: the nested read above took none
            threading.Thread(target=held.wait).start()
            held.wait(5)
            assert code_of(lambda: pool.submit(engine.write, start).result()) == "POOL_EXHAUSTED"
            free.set()
            holders[0].result()
        engine.write(start)


def test_a_read_inside_a_write_never_waits_for_the_write_to_end(postgres_url: str) -> None:
    with closing(PostgresEngine(postgres_url, connections=1)) as engine:
        engine.write(start)

        def read_inside(session: PostgresSession) -> int:
            Adding()(session)
            return value(engine)

        assert (engine.write(read_inside), value(engine)) == (0, 1)


def test_writers_that_wait_for_a_lock_leave_connections_to_readers(postgres_url: str) -> None:
    with closing(PostgresEngine(postgres_url, connections=4, wait_s=5.0)) as engine, ThreadPoolExecutor(8) as pool:
        engine.write(start)
        holds, free = threading.Event(), threading.Event()

        def hold(session: PostgresSession) -> None:
            session.bind(ORG)
            holds.set()
            free.wait(10)

        writers = [pool.submit(engine.write, hold)]
        holds.wait(5)
        writers += [pool.submit(engine.write, Adding()) for _ in range(7)]
        assert [value(engine) for _ in range(20)] == [0] * 20
        free.set()
        for writer in writers:
            writer.result(timeout=10)
        assert value(engine) == 7


def test_readers_that_write_and_writers_do_not_wait_for_each_other(postgres_url: str) -> None:
    """With one place for writers: it is taken by one that waits for the connection of a reader that wants it."""
    with closing(PostgresEngine(postgres_url, connections=1, wait_s=5.0)) as engine, ThreadPoolExecutor(1) as pool:
        engine.write(start)
        with engine.read():
            waiting = pool.submit(engine.write, Adding())
            eventually(lambda: not engine._pool._writers._free)
            began = time.monotonic()
            engine.write(Adding())
            assert time.monotonic() - began < BACK_S
        waiting.result(timeout=5)
        assert value(engine) == 2


def test_connections_that_nobody_needed_for_long_are_let_go(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresEngine(postgres_url)) as engine:
        with engine.read() as one, engine.read() as two, engine.read() as three:
            links = [session.connection for session in (one, two, three)]
        assert [link.closed for link in links] == [False] * 3
        monkeypatch.setattr(postgres_pool, "IDLE_S", 0.0)
        with engine.read() as another:
            assert [link.closed for link in links] == [True] * 3 and another.connection not in links


def test_what_gone_connections_left_behind_is_tidied_up_now_and_then(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "INSERT INTO clew_writes (writer, number, at) VALUES (7, 1, now() - interval '2 days')"
    there = "SELECT count(*) FROM clew_writes WHERE writer = 7"
    found = []
    for every_s in (3_600.0, 3_600.0, 0.0):
        monkeypatch.setattr("clew.store.postgres.TIDY_EVERY_S", every_s)
        with closing(PostgresEngine(postgres_url)) as engine, engine.read() as session:
            found += session.connection.execute(there.encode()).fetchall()
        with closing(PostgresEngine(postgres_url)) as engine:
            engine.write(lambda tx: tx.connection.execute(f"{old} ON CONFLICT DO NOTHING".encode()) and None)
    assert found == [(0,), (1,), (0,)]


def refuse(session: PostgresSession) -> None:
    session.connection.execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")


def test_a_serialization_failure_is_run_again(engine: PostgresEngine) -> None:
    add = Adding(refuse, refuse)
    engine.write(add)
    assert (add.runs, value(engine)) == (3, 1)


def test_a_serialization_failure_that_stays_is_reported_in_time(proxy: Proxy) -> None:
    with closing(PostgresEngine(proxy.url, wait_s=0.2)) as engine:
        add = Adding(*[refuse] * 1_000)
        assert code_of(lambda: engine.write(add)) == "STORE_BUSY"
        assert 1 < add.runs < 100


def test_writers_that_lock_in_opposite_order_both_finish(engine: PostgresEngine) -> None:
    both = threading.Barrier(2)
    runs = [0, 0]

    def crossing(number: int) -> None:
        def action(session: PostgresSession) -> None:
            runs[number] += 1
            session.bind(f"org{number}")
            if max(runs) == 1:
                both.wait(5)
            session.bind(f"org{1 - number}")
            Adding()(session)

        engine.write(action)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(crossing, range(2)))
    assert (sorted(runs), value(engine)) == ([1, 2], 2)


def test_who_would_rather_not_wait_gives_up_when_another_writes(engine: PostgresEngine) -> None:
    holds, free = threading.Event(), threading.Event()

    def hold(session: PostgresSession) -> None:
        session.bind(ORG)
        holds.set()
        free.wait(10)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(engine.write, hold)
        holds.wait(5)
        began = time.monotonic()
        assert code_of(lambda: engine.write_unless_busy(lambda tx: tx.bind(ORG), wait_ms=50)) == "STORE_BUSY"
        assert time.monotonic() - began < 5.0  # it is held for ten
        engine.write_unless_busy(lambda tx: tx.bind("another"), wait_ms=50)
        free.set()


def test_who_would_rather_not_wait_does_not_wait_for_a_server_that_is_away_either(
    engine: PostgresEngine, proxy: Proxy
) -> None:
    proxy.is_refusing = True
    proxy.drop()
    began = time.monotonic()
    assert code_of(lambda: engine.write_unless_busy(start, wait_ms=50)) == "STORE_UNREACHABLE"
    assert time.monotonic() - began < BACK_S


def test_a_deadlock_in_a_part_that_was_undone_leaves_the_decision_to_the_action(engine: PostgresEngine) -> None:
    add = Adding(refused_in_a_part)

    def decides(session: PostgresSession) -> None:
        add(session)
        raise InvalidInput("my own decision", next="mend it")

    assert code_of(lambda: engine.write(decides)) == "INVALID_INPUT"
    assert (add.runs, value(engine)) == (1, 0)
    engine.write(Adding(refused_in_a_part))
    assert value(engine) == 1


def refused_in_a_part(session: PostgresSession) -> None:
    with suppress(psycopg.Error), session.savepoint():
        session._execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40P01'; END $$", {})


def test_what_fails_after_a_failure_does_not_hide_it(engine: PostgresEngine) -> None:
    """The rest of the transaction fails too, and says nothing of why."""
    add = Adding(passed_over("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40P01'; END $$"))
    engine.write(add)
    assert (add.runs, value(engine)) == (2, 1)
    with pytest.raises(StoreRefused, match="42883"):
        engine.write(Adding(passed_over("SELECT no_such_function()")))


def passed_over(statement: str) -> Callable[[PostgresSession], object]:
    def run(session: PostgresSession) -> None:
        with suppress(psycopg.Error):
            session._execute(statement, {})

    return run


# -- what the server refuses ----------------------------------------------------------------------------------

SECRET = "the-secret-word"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"SELECT '{SECRET}'::int", "22P02 invalid input syntax for type integer:"),
        ("SELECT no_such_column", '42703 column "no_such_column" does not exist'),
        (f"SELECT '{SECRET} & &'::tsquery", "42601 syntax error in tsquery"),
        ("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '54000', DETAIL = '" + SECRET + "'; END $$", "54000 no"),
        ("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'XX000', HINT = '" + SECRET + "'; END $$", "XX000 no"),
    ],
)
def test_what_the_server_refuses_is_told_with_its_code_and_nothing_that_may_be_content(
    engine: PostgresEngine, statement: str, message: str
) -> None:
    for use in (engine.write, reading(engine)):
        with pytest.raises(StoreRefused) as caught:
            use(lambda session: session.connection.execute(statement))  # type: ignore[call-overload]
        assert caught.value.code == "STORE_REFUSED" and caught.value.next
        assert f"refused this: {message}" in caught.value.message and SECRET not in caught.value.message


def reading(engine: PostgresEngine) -> Callable[[Callable[[PostgresSession], object]], object]:
    def use(action: Callable[[PostgresSession], object]) -> object:
        with engine.read() as session:
            return action(session)

    return use


def test_a_server_without_memory_is_not_taken_for_one_that_is_away(engine: PostgresEngine) -> None:
    def lacks(session: PostgresSession) -> None:
        session.connection.execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53200'; END $$")

    with pytest.raises(Unavailable, match="53200 no"):
        engine.write(lacks)


@pytest.mark.parametrize(
    ("user", "database", "code"),
    [("nobody_of_that_name", "postgres", "LOGIN_REFUSED"), ("clew_app", "no_such_database", "DATABASE_MISSING")],
)
def test_who_is_not_let_in_is_told_at_once(postgres: PostgresServer, user: str, database: str, code: str) -> None:
    url, began = postgres.url(database, user=user), time.monotonic()
    with closing(PostgresEngine(url)) as engine:
        assert code_of(lambda: engine.write(start)) == code
    assert code_of(lambda: schema_found(url)) == code
    assert time.monotonic() - began < BACK_S


def test_a_wrong_password_is_refused_at_once(own_server: PostgresServer) -> None:
    with psycopg.connect(own_server.url(), autocommit=True) as administrator:
        administrator.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
        [place] = administrator.execute("SHOW hba_file").fetchone()  # type: ignore[misc]
        rule = sql.SQL("COPY (SELECT 'local all locked scram-sha-256') TO {}").format(sql.Literal(place))
        administrator.execute(rule)
        administrator.execute("SELECT pg_reload_conf()")
    url = own_server.url(user="locked").replace("locked@", "locked:wrong-one@")
    with closing(PostgresEngine(url)) as engine:
        eventually(lambda: "password" in told_by(engine))  # its settings are read anew
        began = time.monotonic()
        with pytest.raises(Misconfigured) as caught:
            value(engine)
    assert caught.value.code == "LOGIN_REFUSED" and "wrong-one" not in caught.value.message
    assert time.monotonic() - began < BACK_S


def test_a_server_without_a_connection_left_says_what_to_do(postgres: PostgresServer) -> None:
    with postgres.fresh_database(user="clew_app") as url, psycopg.connect(url) as first:
        administrators = url.replace("clew_app@", "postgres@")
        with psycopg.connect(administrators, autocommit=True) as administrator:
            administrator.execute(f"ALTER DATABASE {first.info.dbname} CONNECTION LIMIT 1".encode())
        with closing(PostgresEngine(url, wait_s=0.2)) as engine, pytest.raises(Unavailable) as caught:
            value(engine)
        assert caught.value.code == "TOO_MANY_CONNECTIONS" and "max_connections" in caught.value.next


# -- what is promised, and the end ----------------------------------------------------------------------------


def test_only_a_write_that_need_not_last_is_committed_without_waiting_for_the_disk(engine: PostgresEngine) -> None:
    def asked(session: PostgresSession) -> object:
        return session.connection.execute("SHOW synchronous_commit").fetchone()

    told = [engine.write(asked, durable=durable) for durable in (True, False, True)]
    assert told == [("on",), ("off",), ("on",)]


def test_a_server_that_promises_little_by_default_is_asked_for_more(postgres: PostgresServer) -> None:
    with postgres.fresh_database(user="postgres") as url:
        with psycopg.connect(url, autocommit=True) as administrator:
            for setting in ("synchronous_commit = off", "default_transaction_isolation = 'serializable'"):
                administrator.execute(
                    f"ALTER ROLE ALL IN DATABASE {administrator.info.dbname} SET {setting}".encode()
                )
        with closing(PostgresEngine(url)) as engine:
            told = engine.write(lambda tx: [tx.connection.execute(b"SHOW " + name).fetchone() for name in SETTINGS])
    assert told == [("on",), ("read committed",)]


SETTINGS = (b"synchronous_commit", b"transaction_isolation")


def test_a_closed_engine_says_so(postgres_url: str) -> None:
    engine = PostgresEngine(postgres_url)
    engine.write(start)
    engine.close()
    engine.close()
    for use in (
        lambda: engine.write(start),
        lambda: value(engine),
        engine.data_version,
        lambda: engine.submit(start),
    ):
        assert code_of(use) == "STORE_CLOSED"


def test_what_was_handed_over_is_written_before_the_store_closes(postgres_url: str) -> None:
    with closing(PostgresEngine(postgres_url)) as engine:
        engine.write(start)
        handed_over = [engine.submit(Adding()) for _ in range(20)]
    assert all(future.done() and future.result() == 1 for future in handed_over)
    with closing(PostgresEngine(postgres_url)) as engine:
        assert value(engine) == 20


def test_a_store_that_is_closed_leaves_no_connection_behind(proxy: Proxy) -> None:
    with closing(PostgresEngine(proxy.url)) as engine:
        engine.write(start)
        reading = engine.read()
        session = reading.__enter__()
    assert session.value("meta_get", key="n") == "0"
    reading.__exit__(None, None, None)
    assert session.connection.closed

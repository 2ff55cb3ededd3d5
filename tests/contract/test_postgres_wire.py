"""What is sent together and answered together: how often the server is waited for, and what a failure undoes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any

import psycopg
import pytest
from engines import opened
from memories import NOW
from sessions import put, started

from clew.bench.postgres_server import why_not
from clew.deliver.queue import acknowledge, claim, claim_next, confirm
from clew.deliver.sessions import refresh
from clew.deliver.states import DeliverPolicy
from clew.errors import Conflict, StoreRefused
from clew.model.session import Beat
from clew.store.postgres import PostgresEngine
from clew.store.postgres_insert import MOST
from clew.store.postgres_queries import compiled
from clew.store.postgres_session import MANY, PostgresSession
from clew.store.postgres_wire import PREPARED_FROM, Statement, Wire, statement

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ORG = "acme"
POLICY = DeliverPolicy(
    lease_s=60, max_attempts=5, max_pending=10, max_text_bytes=1_000, late_ack_s=60, redeliver_on_new_epoch=False
)


@pytest.fixture
def engine(postgres_url: str) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine(postgres_url)) as engine:
        yield engine


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was sent each time that someone waited."""
    found: list[int] = []
    answer = Wire.answer

    def counted(wire: Wire) -> Any:
        found.append(len(wire._sent))
        return answer(wire)

    monkeypatch.setattr(Wire, "answer", counted)
    return found


def count(engine: PostgresEngine, name: str) -> int:
    with engine.read() as session:
        return int(session.value("counter_get", org_id=ORG, name=name) or 0)


def step(session: PostgresSession, name: str) -> None:
    session.put("counter_next", org_id=ORG, name=name, step=1)


def refused(session: PostgresSession) -> None:
    """Nobody waits for it: that it was refused is told later."""
    session.many("meta_put", [("key", None)])


def test_a_claim_and_its_acknowledgement_wait_for_the_server_four_times(
    postgres_url: str, waits: list[int]
) -> None:
    with closing(opened(postgres_url)) as store:
        lock = started(store)
        for number in range(3):
            put(store, lock, f"text {number}")
        for _ in range(3):
            waits.clear()
            found = store.write(
                lambda tx: claim_next(tx, lock, policy=POLICY, now=NOW), durable=False, lock="session"
            )
            assert found is not None
            told = store.write(
                lambda tx, id=found.delivery_id: acknowledge(tx, lock, id, policy=POLICY, now=NOW),  # type: ignore[misc]
                lock="session",
            )
            assert told
    assert len(waits) == 4


def test_what_nothing_speaks_against_is_claimed_and_acknowledged_with_two_waits(
    postgres_url: str, waits: list[int]
) -> None:
    with closing(opened(postgres_url)) as store:
        lock = started(store)
        for number in range(3):
            put(store, lock, f"text {number}")
        for _ in range(3):
            waits.clear()
            found = store.write(lambda tx: claim(tx, lock, policy=POLICY, now=NOW), durable=False, lock="session")
            assert found is not None
            told = partial(confirm, lock=lock, receipt="consumed", policy=POLICY, now=NOW)
            assert store.write(partial(told, delivery_id=found.delivery_id), lock="session")
        assert len(waits) == 2
        waits.clear()
        assert store.write(lambda tx: claim(tx, lock, policy=POLICY, now=NOW), durable=False) is None


def test_a_beat_waits_twice_whatever_it_brings_and_takes(postgres_url: str, waits: list[int]) -> None:
    with closing(opened(postgres_url)) as store:
        lock = started(store)
        beat = partial(refresh, lock=lock, policy=POLICY, now=NOW)
        for number in range(3):
            put(store, lock, f"text {number}")
        acked: list[str] = []
        for _ in range(3):
            waits.clear()
            inject = store.write(partial(beat, acked=acked), lock="session").inject
            assert inject is not None and len(waits) == 2
            acked = [inject.delivery_id]
        assert store.write(partial(beat, acked=acked), lock="session") == Beat(refreshed=True)
        waits.clear()
        assert store.write(beat, durable=False, lock="session") == Beat(refreshed=True)
        assert len(waits) == 2


def test_what_is_asked_after_the_end_is_a_transaction_of_its_own(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "before")
        assert session.finish("counter_next", org_id=ORG, name="end", step=1) == [(1,)]
        step(session, "after")
        raise Conflict("my own", code="MINE")

    with pytest.raises(Conflict, match="my own"):
        engine.write(action)
    assert [count(engine, name) for name in ("before", "end", "after")] == [1, 1, 0]


def test_a_part_is_not_ended_with_what_would_end_the_transaction(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        with suppress(Conflict), session.savepoint():
            session.finish("counter_next", org_id=ORG, name="inside", step=1)
            raise Conflict("my own", code="MINE")
        session.finish("counter_next", org_id=ORG, name="end", step=1)

    engine.write(action)
    assert [count(engine, name) for name in ("inside", "end")] == [0, 1]


def test_what_was_refused_before_the_end_undoes_everything(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "before")
        refused(session)
        session.finish("counter_next", org_id=ORG, name="end", step=1)

    with pytest.raises(Conflict):
        engine.write(action)
    assert [count(engine, name) for name in ("before", "end")] == [0, 0]


def test_what_is_refused_later_is_not_acknowledged(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "n")
        refused(session)

    with pytest.raises(Conflict):
        engine.write(action)
    assert count(engine, "n") == 0


def test_what_is_refused_later_undoes_the_part_that_it_belongs_to(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "before")
        with suppress(psycopg.Error), session.savepoint():
            step(session, "inside")
            refused(session)
        step(session, "after")

    engine.write(action)
    assert [count(engine, name) for name in ("before", "inside", "after")] == [1, 0, 1]


def test_what_was_refused_before_a_part_began_undoes_everything(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "before")
        refused(session)
        with suppress(psycopg.Error), session.savepoint():
            step(session, "inside")
        with suppress(psycopg.Error):
            step(session, "after")

    with pytest.raises(Conflict) as caught:
        engine.write(action)
    assert caught.value.code == "STORE_CONFLICT"
    assert [count(engine, name) for name in ("before", "inside", "after")] == [0, 0, 0]


def test_what_was_sent_before_an_action_failed_is_undone_on_a_connection_that_stays(
    engine: PostgresEngine,
) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "n")
        raise Conflict("my own", code="MINE")

    for _ in range(3):
        with pytest.raises(Conflict, match="my own"):
            engine.write(action)
    engine.write(lambda session: step(session, "n"))
    assert count(engine, "n") == 1


def test_questions_asked_together_are_answered_in_their_order(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> list[Any]:
        asked = [("counter_next", {"org_id": ORG, "name": name, "step": at}) for at, name in enumerate("abca", 1)]
        return session.together(asked)

    assert engine.write(action) == [[(1,)], [(2,)], [(3,)], [(5,)]]


def test_what_is_expected_is_asked_along_and_not_once_more(engine: PostgresEngine, waits: list[int]) -> None:
    def action(session: PostgresSession) -> list[Any]:
        for name in "ab":
            session.expect("counter_next", org_id=ORG, name=name, step=1)
        waits.clear()
        found = [session.value("counter_next", org_id=ORG, name=name, step=1) for name in "cab"]
        assert len(waits) == 1
        return [*found, session.value("counter_next", org_id=ORG, name="a", step=1)]

    assert engine.write(action) == [1, 1, 1, 2]


def test_what_was_expected_with_other_values_is_asked_for_itself(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> Any:
        session.expect("counter_next", org_id=ORG, name="n", step=1)
        return session.value("counter_next", org_id=ORG, name="n", step=2)

    assert engine.write(action) == 3


def test_what_was_expected_in_a_part_goes_with_it(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> Any:
        session.bind(ORG)
        with suppress(Conflict), session.savepoint():
            session.expect("counter_next", org_id=ORG, name="n", step=1)
            raise Conflict("my own", code="MINE")
        return session.value("counter_next", org_id=ORG, name="n", step=1)

    assert engine.write(action) == 1


def test_a_read_whose_connection_is_gone_asks_anew_what_it_expected(
    engine: PostgresEngine, postgres_url: str
) -> None:
    engine.write(lambda session: step(session, "n"))
    with engine.read() as session:
        end(postgres_url, session)
        session.expect("counter_get", org_id=ORG, name="n")
        assert session.value("counter_get", org_id=ORG, name="none") is None
        assert session.value("counter_get", org_id=ORG, name="n") == 1


def test_rows_that_are_expected_come_first_and_none_is_given_twice(
    engine: PostgresEngine, waits: list[int]
) -> None:
    def action(session: PostgresSession) -> list[int]:
        session.expect_rows(ORG, "memories", 3)
        session.value("counter_get", org_id=ORG, name="n")
        waits.clear()
        found = session.next_rows("memories", 1)
        assert not waits
        return found + session.next_rows("memories", 4) + session.next_rows("memories", 1)

    first = engine.write(lambda session: session.next_rows("memories", 1))[0]
    assert engine.write(action) == list(range(first + 1, first + 7))


def test_what_is_planned_once_is_so_for_itself_alone(engine: PostgresEngine) -> None:
    def mode(session: PostgresSession) -> Any:
        session._send(statement("SELECT current_setting('plan_cache_mode')"))
        return session._wire.rows(session._answer())[0][0]

    once = next(name for name, query in compiled().items() if query.is_planned_once)
    with engine.read() as session:
        session._send_query(compiled()[once], dict.fromkeys(compiled()[once].names) | {"org_id": ORG})
        during = mode(session)
        session.value("counter_get", org_id=ORG, name="n")
        assert (during, mode(session)) == ("force_generic_plan", "auto")


def test_at_one_moment_a_thread_looks_once_whether_anything_has_changed(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    begun = engine._pool.begun
    monkeypatch.setattr(
        engine._pool,
        "begun",
        lambda statement, *, deadline: (looks.append(1), begun(statement, deadline=deadline))[1],
    )
    with engine.at_one_moment(), engine.at_one_moment():
        before = engine.data_version()
        engine.write(lambda session: step(session, "n"))
        assert (engine.data_version(), len(looks)) == (before, 1)
    assert engine.data_version() != before
    with ThreadPoolExecutor(1) as another, engine.at_one_moment():
        engine.data_version()
        assert another.submit(engine.data_version).result() != before


def test_large_questions_and_large_answers_pass_each_other(engine: PostgresEngine) -> None:
    """More than the buffers of both sides hold: whoever sent everything first would wait for ever."""
    text = "x" * 400_000

    def action(session: PostgresSession) -> int:
        found: list[int] = []
        for _ in range(30):
            session._send(statement("SELECT %(text)s::text"), [text], lambda answer: found.append(answer.ntuples))
        session._settle()
        return len(found)

    assert engine.write(action) == 30


def test_a_statement_is_prepared_by_its_second_use_and_by_the_types_of_its_values(engine: PostgresEngine) -> None:
    asked = Statement(b"SELECT $1", ("value",))
    with engine.read() as session:
        for value in (1, 1, "a", "a", 1, "a"):
            session._send(asked, [value])
            assert session._wire.rows(session._answer()) == [(value,)]
        names = session.connection.execute("SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT $1'")
        assert len(names.fetchall()) == 2 and PREPARED_FROM == 2


def test_a_statement_that_could_not_be_prepared_is_not_taken_for_one_that_was(engine: PostgresEngine) -> None:
    def ask(session: PostgresSession) -> None:
        session._send(Statement(b"SELECT * FROM no_such_table"))
        session._settle()

    for _ in range(PREPARED_FROM + 2):
        with pytest.raises(StoreRefused, match="42P01"):
            engine.write(ask)


def test_the_server_looks_at_a_table_when_many_rows_are_put_into_it(engine: PostgresEngine) -> None:
    """It plans for an empty table until then, and would compare each row with all before."""
    seen = "SELECT reltuples FROM pg_class WHERE oid = 'change'::regclass"
    rows = [(ORG, number, "", "memory", f"id{number}", "put") for number in range(MANY + 1)]
    engine.write(lambda session: session.many("change_insert", rows[:1]))
    with engine.read() as session:
        assert session.connection.execute(seen).fetchone() == (-1.0,)
    engine.write(lambda session: session.many("change_insert", rows[1:]))
    with engine.read() as session:
        assert session.connection.execute(seen).fetchone() == (float(MANY + 1),)


def test_the_server_looks_at_a_table_that_is_filled_row_by_row(engine: PostgresEngine) -> None:
    rows = [(ORG, number, "", "memory", f"id{number}", "put") for number in range(MANY)]

    def put(session: PostgresSession) -> None:
        for row in rows:
            session.many("change_insert", [row])

    engine.write(put)
    with engine.read() as session:
        seen = session.connection.execute("SELECT reltuples FROM pg_class WHERE oid = 'change'::regclass")
        assert seen.fetchone() == (float(MANY),)


def test_a_connection_whose_answers_are_not_those_to_what_was_noted_is_given_up(engine: PostgresEngine) -> None:
    """Ctrl-C may come after a statement was sent and before that was noted."""
    links = []

    def action(session: PostgresSession) -> None:
        links.append(session.link)
        step(session, "n")
        step(session, "n")
        session._wire._sent.pop()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.write(action)
    assert links[0].closed
    assert count(engine, "n") == 0


def test_what_psycopg_forgets_by_itself_is_not_what_we_prepared(engine: PostgresEngine) -> None:
    """When it sees something dropped it has the server forget every statement, were any of them its own."""

    def action(session: PostgresSession) -> None:
        for _ in range(PREPARED_FROM):
            step(session, "n")
        for _ in range(10):
            session.connection.execute("SELECT 1")
        session.connection.execute("CREATE TEMPORARY TABLE short ()")
        session.connection.execute("DROP TABLE short")
        session.connection.execute("SELECT 1")
        step(session, "n")

    engine.write(action)
    assert count(engine, "n") == PREPARED_FROM + 1


def test_a_read_that_asks_several_things_first_gets_another_connection_too(
    engine: PostgresEngine, postgres_url: str
) -> None:
    engine.write(lambda session: step(session, "n"))
    with engine.read() as session:
        end(postgres_url, session)
        asked = ("counter_get", {"org_id": ORG, "name": "n"})
        assert session.together([asked, asked]) == [[(1,)], [(1,)]]


def test_a_connection_that_comes_back_while_another_is_looked_for_is_as_good(
    engine: PostgresEngine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of what it was used for may still be on its way."""
    engine.write(lambda session: step(session, "n"))
    with engine.read() as gone, ExitStack() as before:
        other = before.enter_context(engine.read())
        assert other.value("counter_get", org_id=ORG, name="n") == 1
        drop = engine._pool._drop_kept
        monkeypatch.setattr(engine._pool, "_drop_kept", lambda: (drop(), before.close()))
        end(postgres_url, gone)
        assert gone.value("counter_get", org_id=ORG, name="n") == 1
        assert gone.link is other.link


def end(url: str, session: PostgresSession) -> None:
    """The backend of a session, and no other."""
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", (session.link.pid,))


def test_a_connection_does_not_keep_the_last_answer(engine: PostgresEngine) -> None:
    with engine.read() as session:
        assert session.value("counter_get", org_id=ORG, name="none") is None
        assert session.all("schema_number")
        assert session._wire._transformer.pgresult is None


def test_what_is_put_in_by_the_thousand_does_not_pile_up_in_memory(
    engine: PostgresEngine, waits: list[int]
) -> None:
    rows = [(ORG, number, "", "memory", f"id{number}", "put") for number in range(3 * MOST)]
    engine.write(lambda session: session.many("change_insert", rows[:1]))  # what is asked once
    engine.write(lambda session: session.many("change_insert", rows[1:MANY]))
    waits.clear()
    engine.write(lambda session: session.many("change_insert", rows[MANY:]))
    assert len(waits) >= 3


def test_what_was_refused_before_a_part_of_a_part_undoes_the_part_around_it(engine: PostgresEngine) -> None:
    """Who waits first is told, passes over it, and would leave the part around it for one that went well."""

    def action(session: PostgresSession) -> None:
        step(session, "before")
        with suppress(psycopg.Error), session.savepoint():
            refused(session)
            with suppress(psycopg.Error), session.savepoint():
                step(session, "inside")
        step(session, "after")

    engine.write(action)
    assert [count(engine, name) for name in ("before", "inside", "after")] == [1, 0, 1]


def test_an_answer_that_nobody_waits_for_any_more_spoils_nothing(engine: PostgresEngine) -> None:
    def action(session: PostgresSession) -> None:
        step(session, "before")
        with suppress(Conflict), session.savepoint():
            step(session, "inside")
            session._send(statement("SELECT 1"), told=lambda _answer: 1 // 0)
            raise Conflict("my own", code="MINE")
        step(session, "after")

    def fails(session: PostgresSession) -> None:
        session._send(statement("SELECT 1"), told=lambda _answer: 1 // 0)
        raise Conflict("my own", code="MINE")

    engine.write(action)
    with pytest.raises(Conflict, match="my own"):
        engine.write(fails)
    assert [count(engine, name) for name in ("before", "inside", "after")] == [1, 0, 1]
    assert not engine._pool._out

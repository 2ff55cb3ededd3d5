"""The queue of injects: rows in order, one in flight, one per text, and who holds the session."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import NOW, a_memory, texts
from sessions import a_session, claimed, put, started

from clew.deliver import queue
from clew.errors import Conflict
from clew.model.config import AgentRights, ProjectConfig
from clew.model.scope import Reach
from clew.model.session import AgentSession, Delivery, Lock
from clew.model.start import SessionSummary
from clew.model.times import to_micros
from clew.ports import Store, Tx


def head_text(store: Store, lock: Lock) -> str | None:
    with store.read() as tx:
        head = tx.injects.head(lock)
    assert head is not None
    return head.text


def seq_of(store: Store, lock: Lock) -> int:
    with store.read() as tx:
        head = tx.injects.head(lock)
    assert head is not None and head.seq is not None
    return head.seq


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts, agent=st.none() | texts, ids=st.lists(texts, max_size=4).map(tuple))
def test_what_is_put_in_is_what_is_read(store: Store, text: str, agent: str | None, ids: tuple[str, ...]) -> None:
    lock = started(store)
    inject = put(store, lock, text, agent=agent, observation_ids=ids, node_ids=ids, kind="user", phase="start")
    assert inject is not None
    assert (inject.text, inject.agent, inject.observation_ids, inject.node_ids) == (text, agent, ids, ids)
    assert (inject.state, inject.kind, inject.phase, inject.enqueued_at) == ("pending", "user", "start", NOW)
    with store.read() as tx:
        assert tx.injects.of_session("local", lock.session) == [inject]
        assert tx.injects.same("local", lock.session, inject.content_hash) == inject


def test_the_same_text_of_a_session_is_one_row(store: Store) -> None:
    lock, other = started(store), started(store)
    assert put(store, lock, "one")
    assert put(store, lock, "one") is None
    assert put(store, other, "one")


def test_the_head_is_the_one_in_flight_else_the_oldest_that_waits(store: Store) -> None:
    lock = started(store)
    for text in ("one", "two", "three"):
        put(store, lock, text)
    assert head_text(store, lock) == "one"
    store.write(lambda tx: tx.injects.hand_out("local", seq_of(store, lock), token=1, now=NOW))
    assert head_text(store, lock) == "one"
    store.write(lambda tx: tx.injects.ack("local", seq_of(store, lock), token=1, receipt="consumed", now=NOW))
    assert head_text(store, lock) == "two"
    store.write(lambda tx: tx.injects.close("local", seq_of(store, lock), "dead", reason="why", now=NOW))
    assert head_text(store, lock) == "three"


def test_the_head_knows_who_holds_the_session(store: Store) -> None:
    lock, over = started(store), started(store, ttl_s=0)
    answers = []
    for asker in (
        lock,
        replace(lock, worker="x"),
        replace(lock, token=lock.token + 1),
        over,
        started(store, holder=None),
    ):
        with store.read() as tx:
            answers.append(bool(tx.injects.head(asker).is_holder))  # type: ignore[union-attr]
    assert answers == [True, False, False, False, False]
    with store.read() as tx:
        assert tx.injects.head(replace(lock, session="ses_unknown")) is None
        assert tx.injects.head(replace(lock, reach=Reach.everything("other"))) is None


def test_a_second_in_flight_is_refused_by_the_database(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one")
    first = seq_of(store, lock)
    put(store, lock, "two")
    store.write(lambda tx: tx.injects.hand_out("local", first, token=1, now=NOW))
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.injects.hand_out("local", first + 1, token=1, now=NOW))
    with store.read() as tx:
        assert [row.state for row in tx.injects.of_session("local", lock.session)] == ["delivered", "pending"]


def test_handing_out_counts_and_keeps_the_first_time(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one")
    later = NOW + timedelta(minutes=1)
    for token, now in ((1, NOW), (2, later)):
        store.write(lambda tx, t=token, n=now: tx.injects.hand_out("local", seq_of(store, lock), token=t, now=n))  # type: ignore[misc]
    with store.read() as tx:
        [row] = tx.injects.of_session("local", lock.session)
    assert (row.attempts, row.fencing_token, row.receipt) == (2, 2, "printed")
    assert (row.first_delivered_at, row.last_delivered_at) == (NOW, later)


def taken(store: Store, lock: Lock) -> tuple[Delivery | None, list[tuple[str, int]]]:
    """What is handed out at one look, and what the rows are then."""
    delivery = store.write(lambda tx: tx.injects.take(lock, most=2, now=NOW), durable=False)
    with store.read() as tx:
        return delivery, [(row.state, row.attempts) for row in tx.injects.of_session("local", lock.session)]


def test_what_nothing_speaks_against_is_handed_out_at_one_look(store: Store) -> None:
    memory = a_memory("source")
    store.write(lambda tx: tx.memories.insert([memory]))
    lock = started(store)
    first = put(store, lock, "one", source_ids=(memory.id, "another-stores-id"))
    put(store, lock, "two")
    assert first is not None
    for attempts in (1, 2):
        assert taken(store, lock) == (
            Delivery(first.delivery_id, "one", "memory", attempts), [("delivered", attempts), ("pending", 0)],
        )  # fmt: skip
    with store.read() as tx:
        row = tx.injects.of_session("local", lock.session)[0]
    assert (row.fencing_token, row.receipt, row.first_delivered_at) == (lock.token, "printed", NOW)
    assert taken(store, lock)[0] is None  # handed out as often as it may be


def test_what_a_user_says_is_handed_out_although_its_source_is_gone(store: Store) -> None:
    store.write(lambda tx: tx.memories.insert([a_memory("gone", id="mem_gone", deleted_at=NOW)]))
    lock = started(store)
    said = put(store, lock, "one", kind="user", source_ids=("mem_gone",))
    assert said and taken(store, lock)[0] == Delivery(said.delivery_id, "one", "user", 1)


def test_there_is_nothing_to_take_in_an_empty_queue(store: Store) -> None:
    assert taken(store, started(store)) == (None, [])


@pytest.mark.parametrize(
    "asker",
    [
        {"worker": "x"},
        {"token": 99},
        {"session": "ses_unknown"},
        {"reach": Reach.everything("other")},
        {"reach": Reach("local", ("q",), None)},
        {"reach": Reach("local", None, ("bob",))},
    ],
)
def test_nobody_takes_or_acknowledges_what_is_not_theirs(store: Store, asker: dict[str, Any]) -> None:
    lock = started(store)
    inject = put(store, lock, "one")
    assert inject and taken(store, replace(lock, **asker))[0] is None
    assert taken(store, lock) == (Delivery(inject.delivery_id, "one", "memory", 1), [("delivered", 1)])
    assert not confirmed(store, replace(lock, **asker), inject.delivery_id)
    assert taken(store, lock)[1] == [("delivered", 2)]


def test_a_lock_that_has_run_out_takes_nothing(store: Store) -> None:
    lock = started(store, ttl_s=0)
    put(store, lock, "one")
    assert taken(store, lock) == (None, [("pending", 0)])


def revoke_source(tx: Tx, session: AgentSession) -> None:
    tx.memories.insert([a_memory("gone", id="mem_gone", deleted_at=NOW)])


REVOKED: dict[str, Callable[[Tx, AgentSession], object]] = {
    "the session is to stop": lambda tx, session: tx.sessions.ask_stop(session),
    "the session is finalizing": lambda tx, session: tx.sessions.move(
        session, "finalizing", outcome=None, ended_at=None
    ),
    "memory is off": lambda tx, session: tx.config.put_project(
        "local", session.project, ProjectConfig(memory_enabled=False), by="o", at=NOW
    ),
    "injection is off": lambda tx, session: tx.config.put_project(
        "local", session.project, ProjectConfig(runtime_inject_enabled=False), by="o", at=NOW
    ),
    "the agent is suspended": lambda tx, _session: tx.guarding.put_rights(
        "local", "a", AgentRights(suspended=True), by="o", at=NOW
    ),
    "its source is gone": revoke_source,
}


@pytest.mark.parametrize("why", REVOKED)
def test_what_something_speaks_against_is_left_for_a_closer_look(store: Store, why: str) -> None:
    lock = started(store)
    put(store, lock, "one", source_ids=("mem_gone",) if "source" in why else ())
    with store.read() as tx:
        session = tx.sessions.get(lock.reach, lock.session)
    assert session is not None
    store.write(lambda tx: REVOKED[why](tx, session))
    assert taken(store, lock) == (None, [("pending", 0)])


def test_what_a_user_says_is_taken_whatever_memory_may(store: Store) -> None:
    lock = started(store)
    off = ProjectConfig(memory_enabled=False)
    store.write(lambda tx: tx.config.put_project("local", "p", off, by="o", at=NOW))
    put(store, lock, "one", kind="user")
    assert taken(store, lock)[1] == [("delivered", 1)]


def confirmed(store: Store, lock: Lock, delivery: str, *, receipt: str = "consumed") -> bool:
    return store.write(lambda tx: tx.injects.confirm(lock, delivery, receipt=receipt, now=NOW))


def test_what_is_in_flight_is_acknowledged_at_one_look_and_nothing_else_is(store: Store) -> None:
    lock, other = started(store), started(store)
    first, second = put(store, lock, "one"), put(store, lock, "two")
    assert first and second
    taken(store, lock)
    assert [confirmed(store, lock, id) for id in (second.delivery_id, "inj_none")] == [False, False]
    assert not confirmed(store, other, first.delivery_id)
    assert confirmed(store, lock, first.delivery_id, receipt="recorded")
    with store.read() as tx:
        row = tx.injects.of_session("local", lock.session)[0]
    assert (row.state, row.receipt, row.ended_at, row.fencing_token) == ("acked", "recorded", NOW, lock.token)
    assert not confirmed(store, lock, first.delivery_id)  # a better receipt takes a closer look


def test_an_acknowledgement_after_the_end_takes_a_closer_look(store: Store) -> None:
    lock = started(store)
    inject = put(store, lock, "one")
    assert inject and taken(store, lock)[0]
    with store.read() as tx:
        session = tx.sessions.get(lock.reach, lock.session)
    assert session is not None
    store.write(lambda tx: tx.sessions.move(session, "failed", outcome=None, ended_at=NOW))
    assert not confirmed(store, lock, inject.delivery_id)


def test_an_acknowledgement_bears_the_token_of_whoever_acknowledged(store: Store) -> None:
    """Handing out need not last: after a crash the row may name the worker before."""
    lock = started(store)
    put(store, lock, "one")
    seq = seq_of(store, lock)
    store.write(lambda tx: tx.injects.hand_out("local", seq, token=1, now=NOW))
    tokens = []
    for token, receipt in ((2, "consumed"), (3, "recorded")):
        store.write(lambda tx, t=token, r=receipt: tx.injects.ack("local", seq, token=t, receipt=r, now=NOW))  # type: ignore[misc]
        with store.read() as tx:
            tokens += [row.fencing_token for row in tx.injects.of_session("local", lock.session)]
    assert tokens == [2, 2]


def test_a_receipt_is_for_a_delivery_of_this_session(store: Store) -> None:
    lock, other = started(store), started(store)
    inject = put(store, lock, "one")
    assert inject
    with store.read() as tx:
        mine, foreign = (tx.injects.receipt_target(each, inject.delivery_id) for each in (lock, other))
        assert tx.injects.receipt_target(replace(lock, session="ses_unknown"), inject.delivery_id) is None
    assert mine and mine.state == "pending" and mine.is_holder
    assert foreign and foreign.seq is None


def test_a_source_is_gone_when_it_was_forgotten_or_never_was_ours_to_have(store: Store) -> None:
    live, dead = a_memory("live"), a_memory("dead", deleted_at=NOW)
    store.write(lambda tx: tx.memories.insert([live, dead]))

    def gone(*ids: str) -> bool:
        with store.read() as tx:
            return tx.injects.are_sources_gone("local", json.dumps(ids), since=to_micros(NOW), now=NOW)

    assert not gone(live.id)
    assert gone(live.id, dead.id)
    assert gone("mem_0000000000000000000000000")
    assert not gone("another-stores-id")


@pytest.mark.parametrize(
    "change",
    [
        {"classification": "restricted"},
        {"superseded_by": "mem_other"},
        {"invalid_at": NOW},
        {"expires_at": NOW},
        {"updated_at": NOW + timedelta(microseconds=1)},
    ],
)
def test_a_source_is_gone_when_it_changed_or_no_longer_holds(store: Store, change: dict[str, Any]) -> None:
    sound, other = a_memory("sound"), a_memory("other", **change)
    store.write(lambda tx: tx.memories.insert([sound, other]))
    with store.read() as tx:
        gone = [
            tx.injects.are_sources_gone("local", json.dumps(ids), since=to_micros(NOW), now=NOW)
            for ids in ([sound.id], [sound.id, other.id])
        ]
    assert gone == [False, True]


def test_a_source_is_gone_while_the_memory_of_its_project_is_off(store: Store) -> None:
    ours, shared = a_memory("ours", project="bank"), a_memory("shared", project=None)
    off = ProjectConfig(memory_enabled=False)

    def change(tx: Tx) -> None:
        tx.memories.insert([ours, shared])
        for project in ("bank", None):
            tx.config.put_project("local", project, off, by="o", at=NOW)

    store.write(change)
    with store.read() as tx:
        gone = [
            tx.injects.are_sources_gone("local", json.dumps([one.id]), since=to_micros(NOW), now=NOW)
            for one in (ours, shared)
        ]
    assert gone == [True, False]


def test_a_summary_is_a_source_that_is_there_or_gone(store: Store) -> None:
    summary = SessionSummary("sum_1", "local", "ses_1", "shop", None, None, None, None, None, "VAT", "It went.")
    store.write(lambda tx: tx.injections.put_summary(summary, at=NOW))
    with store.read() as tx:
        gone = [
            tx.injects.are_sources_gone(org, json.dumps([id]), since=to_micros(NOW), now=NOW)
            for org, id in (("local", "sum_1"), ("local", "sum_2"), ("other", "sum_1"))
        ]
    assert gone == [False, True, True]


def test_sources_are_what_was_shown_and_what_it_rests_on(store: Store) -> None:
    inject = put(store, started(store), "one", observation_ids=("m1", "m2"), source_ids=("m2", "m3"))
    assert inject and inject.observation_ids == ("m1", "m2")
    assert inject.source_ids == ("m1", "m2", "m3")


def test_erasing_a_memory_erases_what_rests_on_it(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one", source_ids=("m1",))
    assert store.write(lambda tx: tx.injects.erase_memories("local", ["m1"], now=NOW)) == 1


def test_a_text_without_sources_is_told_and_erased_by_its_id(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one", source_ids=("m1",))
    quoting = put(store, lock, "two")
    assert quoting
    with store.read() as tx:
        assert tx.injects.unsourced("local", "p", None) == [(quoting.delivery_id, "two")]
        for elsewhere in (("other", "p", None), ("local", "q", None), ("local", None, None), ("local", "p", "bob")):
            assert tx.injects.unsourced(*elsewhere) == []
    store.write(lambda tx: tx.injects.erase("local", quoting.delivery_id, now=NOW))
    with store.read() as tx:
        assert tx.injects.unsourced("local", "p", None) == []


def test_a_cancelled_text_is_opened_again_with_its_new_sources(store: Store) -> None:
    lock = started(store)
    first = put(store, lock, "one", source_ids=("m1",))
    put(store, lock, "two")
    store.write(lambda tx: tx.injects.close("local", seq_of(store, lock), "cancelled", reason="why", now=NOW))
    with store.read() as tx:
        assert first and tx.injects.same("local", lock.session, first.content_hash) is None
    again = put(store, lock, "one", source_ids=("m2",), phase="start")
    assert again == replace(first, source_ids=("m2",), phase="start")
    assert put(store, lock, "one") is None


def test_what_the_agent_has_makes_room_for_the_same_text_only_if_asked(store: Store) -> None:
    lock = started(store)
    first = put(store, lock, "one")
    seq = seq_of(store, lock)
    store.write(lambda tx: tx.injects.hand_out("local", seq, token=1, now=NOW))
    store.write(lambda tx: tx.injects.ack("local", seq, token=1, receipt="consumed", now=NOW))
    assert first and put(store, lock, "one") is None
    store.write(lambda tx: tx.injects.make_room("local", lock.session, first.content_hash))
    second = put(store, lock, "one")
    assert second and second.delivery_id != first.delivery_id and second.content_hash == first.content_hash
    store.write(lambda tx: tx.injects.make_room("local", lock.session, first.content_hash))  # it still waits
    assert put(store, lock, "one") is None
    with store.read() as tx:
        assert [one.state for one in tx.injects.of_session("local", lock.session)] == ["acked", "pending"]


@pytest.mark.parametrize("is_handed_out", [True, False])
def test_what_was_cancelled_makes_room_only_if_the_agent_may_have_it(store: Store, is_handed_out: bool) -> None:
    lock = started(store)
    first = put(store, lock, "one")
    seq = seq_of(store, lock)
    if is_handed_out:
        store.write(lambda tx: tx.injects.hand_out("local", seq, token=1, now=NOW))
    store.write(lambda tx: tx.injects.close("local", seq, "cancelled", reason="why", now=NOW))
    assert first
    store.write(lambda tx: tx.injects.make_room("local", lock.session, first.content_hash))
    second = put(store, lock, "one")
    assert second and (second.delivery_id != first.delivery_id) == is_handed_out


def test_the_head_knows_whether_its_agent_is_suspended(store: Store) -> None:
    lock = started(store)
    rights = AgentRights(suspended=True)
    for org, expected in (("other", 0), ("local", 1)):
        store.write(lambda tx, org=org: tx.guarding.put_rights(org, "a", rights, by="o", at=NOW))  # type: ignore[misc]
        with store.read() as tx:
            assert tx.injects.head(lock).is_suspended == expected  # type: ignore[union-attr]


def test_erasing_memories_touches_what_quotes_them_and_nothing_else(store: Store) -> None:
    lock, foreign = started(store), started(store, org="other")
    put(store, lock, "one", observation_ids=("m1", "m2"))
    put(store, lock, "two", observation_ids=("m12",))
    put(store, lock, "three")
    put(store, foreign, "one", observation_ids=("m1",))
    assert store.write(lambda tx: tx.injects.erase_memories("local", ["m1", "m9"], now=NOW)) == 1
    with store.read() as tx:
        rows = tx.injects.of_session("local", lock.session)
        assert [row.text for row in rows] == ["[forgotten]", "two", "three"]
        assert [row.state for row in rows] == ["cancelled", "pending", "pending"]
        assert tx.injects.of_session("other", foreign.session)[0].text == "one"


def test_what_waits_is_cancelled_and_what_is_in_flight_is_not(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one")
    put(store, lock, "two")
    store.write(lambda tx: tx.injects.hand_out("local", seq_of(store, lock), token=1, now=NOW))
    assert store.write(lambda tx: tx.injects.cancel_waiting("local", lock.session, reason="over", now=NOW)) == 1
    with store.read() as tx:
        assert [row.state for row in tx.injects.of_session("local", lock.session)] == ["delivered", "cancelled"]
        assert tx.injects.of_session("local", lock.session, state="cancelled")[0].reason == "over"


def test_what_was_in_flight_in_a_session_long_over_is_given_up(store: Store) -> None:
    old, young = a_session(), a_session()
    for session, ended in ((old, NOW - timedelta(hours=2)), (young, NOW)):
        store.write(lambda tx, s=session: tx.sessions.insert(s))  # type: ignore[misc]
        lock = Lock(Reach.everything("local"), session.id, "w", claimed(store, session, "w"))
        put(store, lock, "one")
        at, running = seq_of(store, lock), replace(session, state="running")
        store.write(lambda tx, at=at: tx.injects.hand_out("local", at, token=1, now=NOW))  # type: ignore[misc]
        store.write(lambda tx, s=running, e=ended: tx.sessions.move(s, "failed", outcome=None, ended_at=e))  # type: ignore[misc]
    before = NOW - timedelta(hours=1)
    assert store.write(lambda tx: tx.injects.give_up("local", before=before, reason="late", now=NOW)) == 1
    with store.read() as tx:
        assert [row.session for row in tx.injects.dead(Reach.everything("local"), limit=9)] == [old.id]
        assert tx.injects.dead(Reach.everything("other"), limit=9) == []


def test_only_acknowledged_start_blocks_are_opened_again(store: Store) -> None:
    lock = started(store)
    for text, phase in (("start", "start"), ("hint", "in_session")):
        put(store, lock, text, phase=phase)
        store.write(lambda tx: tx.injects.hand_out("local", seq_of(store, lock), token=1, now=NOW))
        store.write(lambda tx: tx.injects.ack("local", seq_of(store, lock), token=1, receipt="consumed", now=NOW))
    put(store, lock, "second start", phase="start")
    assert store.write(lambda tx: tx.injects.reopen("local", lock.session)) == 1
    with store.read() as tx:
        rows = tx.injects.of_session("local", lock.session)
    assert [(row.text, row.state, row.attempts) for row in rows] == [
        ("start", "pending", 0),
        ("hint", "acked", 1),
        ("second start", "pending", 0),
    ]


def test_room_counts_what_waits(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one")
    put(store, lock, "two")
    store.write(lambda tx: tx.injects.hand_out("local", seq_of(store, lock), token=1, now=NOW))
    with store.read() as tx:
        assert tx.injects.room("local", lock.session, since=NOW) == ("running", "p", "", "a", 1, 0)
        assert tx.injects.room("other", lock.session, since=NOW) is None


def with_dropped_policy(tx: Tx, org: str) -> None:
    tx.guarding.put_policy(org, "p", "text", by="o", at=NOW - timedelta(days=1))
    assert tx.guarding.drop_policy(org, "p", at=NOW) and not tx.guarding.drop_policy(org, "p", at=NOW)


@pytest.mark.parametrize(
    "change",
    [
        lambda tx: tx.guarding.put_policy("", "p", "text", by="o", at=NOW),
        lambda tx: tx.guarding.put_policy("local", "p", "text", by="o", at=NOW),
        lambda tx: with_dropped_policy(tx, ""),
        lambda tx: with_dropped_policy(tx, "local"),
        lambda tx: tx.guarding.put_rights("local", "a", AgentRights(clearance=1), by="o", at=NOW),
        lambda tx: (
            tx.transfers.grant("local", "pay", "p", by="o", now=NOW),
            tx.transfers.revoke("local", "pay", "p", now=NOW),
        ),
    ],
)
def test_room_tells_whether_rights_have_changed_since(store: Store, change: Callable[[Tx], object]) -> None:
    lock = started(store)
    store.write(change)
    with store.read() as tx:
        rooms = [tx.injects.room("local", lock.session, since=NOW - timedelta(seconds=s)) for s in (0, 1)]
    assert [room and room[5] for room in rooms] == [0, 1]


def test_other_rights_are_no_news(store: Store) -> None:
    lock, before = started(store), NOW - timedelta(seconds=1)

    def change(tx: Tx) -> None:
        tx.guarding.put_policy("other", "p", "text", by="o", at=NOW)
        with_dropped_policy(tx, "other")
        tx.guarding.put_rights("local", "b", AgentRights(clearance=1), by="o", at=NOW)
        tx.transfers.grant("local", "p", "pay", by="o", now=NOW)
        tx.transfers.revoke("local", "p", "pay", now=NOW)

    store.write(change)
    with store.read() as tx:
        room = tx.injects.room("local", lock.session, since=before)
    assert room and room[5] == 0


@pytest.mark.parametrize(
    ("whose", "cancelled"),
    [({}, {"one", "two", "three"}), ({"agent": "b"}, {"two"}), ({"project": "q"}, {"three"})],
)
def test_changed_rights_cancel_what_memory_would_say(
    store: Store, whose: dict[str, str], cancelled: set[str]
) -> None:
    locks = {"one": started(store), "two": started(store, agent="b"), "three": started(store, project="q")}
    for text, lock in locks.items():
        put(store, lock, text, source_ids=("m1",))
        put(store, lock, "of a user", kind="user", source_ids=("m1",))
        put(store, lock, "of nobody's memory")
    store.write(lambda tx: tx.injects.hand_out("local", seq_of(store, locks["two"]), token=1, now=NOW))
    store.write(lambda tx: tx.injects.revoke("local", **whose, reason="why", now=NOW))
    with store.read() as tx:
        rows = [row for lock in locks.values() for row in tx.injects.of_session("local", lock.session)]
    closed = [row for row in rows if row.state == "cancelled"]
    assert {(row.text, row.reason, row.ended_at) for row in closed} == {(text, "why", NOW) for text in cancelled}


def test_changed_rights_of_all_orgs_cancel_in_each(store: Store) -> None:
    locks = [started(store, org=org) for org in ("zeta", "alpha", "local")]
    for lock in locks:
        put(store, lock, "one", phase="start")

    def change(tx: Tx) -> None:
        tx.guarding.put_policy("", "p", "text", by="o", at=NOW)
        tx.audit.note("local", at=NOW, actor="o", action="policy_load", id="p", kind="policy")
        queue.revoke(tx, "", now=NOW)

    store.write(change)
    for lock in locks:
        with store.read() as tx:
            [row] = tx.injects.of_session(lock.reach.org, lock.session)
        assert (row.state, row.reason) == ("cancelled", "rights_changed")


def test_a_start_block_is_not_opened_again_as_it_was_after_rights_have_changed(store: Store) -> None:
    lock = started(store)
    put(store, lock, "one", phase="start")
    seq = seq_of(store, lock)
    store.write(lambda tx: tx.injects.hand_out("local", seq, token=1, now=NOW))
    store.write(lambda tx: tx.injects.ack("local", seq, token=1, receipt="consumed", now=NOW))
    store.write(lambda tx: tx.injects.revoke("local", reason="why", now=NOW))
    states = []
    for step in (lambda tx: None, lambda tx: tx.injects.reopen("local", lock.session)):
        store.write(step)
        with store.read() as tx:
            states += [row.state for row in tx.injects.of_session("local", lock.session)]
    assert states == ["acked", "cancelled"]
    assert put(store, lock, "one", phase="start")


MARKED = "- [m1] [in conflict with m2] tea"


@pytest.mark.parametrize(
    ("fields", "pair", "state"),
    [
        ({"text": "a fact", "node_ids": ("n1", "n2", "n3")}, ("n3", "n1"), "cancelled"),
        ({"text": "a fact", "node_ids": ("n1", "n3")}, ("n1", "n2"), "pending"),
        ({"text": MARKED, "observation_ids": ("m1",), "source_ids": ("m2",)}, ("m1", "m2"), "cancelled"),
        ({"text": MARKED, "observation_ids": ("m1",)}, ("m2", "m1"), "cancelled"),
        ({"text": MARKED, "observation_ids": ("m1",)}, ("m1", "m3"), "pending"),
        ({"text": "- [m1] tea\n- [m2] no tea", "observation_ids": ("m1", "m2")}, ("m1", "m2"), "pending"),
        ({"text": MARKED, "kind": "user"}, ("m1", "m2"), "pending"),
    ],
)
def test_what_is_taken_back_cancels_what_says_it(
    store: Store, fields: dict[str, Any], pair: tuple[str, str], state: str
) -> None:
    lock, other = started(store), started(store, org="other")
    for one in (lock, other):
        put(store, one, **fields)
    store.write(lambda tx: tx.injects.take_back("local", *pair, now=NOW))
    states = []
    for one in (lock, other):
        with store.read() as tx:
            states += [(row.state, row.reason) for row in tx.injects.of_session(one.reach.org, one.session)]
    assert states == [(state, "taken_back" if state == "cancelled" else None), ("pending", None)]


def test_room_tells_whether_something_was_taken_back_since(store: Store) -> None:
    lock, other = started(store), started(store, org="other")
    store.write(lambda tx: tx.injects.take_back("local", "n1", "n2", now=NOW))
    rooms = []
    for one, seconds in ((lock, 0), (lock, 1), (other, 1)):
        with store.read() as tx:
            rooms.append(tx.injects.room(one.reach.org, one.session, since=NOW - timedelta(seconds=seconds)))
    assert [room and room[5] for room in rooms] == [0, 2, 0]

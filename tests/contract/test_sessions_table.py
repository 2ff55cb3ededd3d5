"""The table of sessions and the locks on them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from memories import NOW
from sessions import EVERYTHING, HOUR, a_session, claimed, put, started

from clew.model.host import HostSession
from clew.model.inject import ContextInjectionLog
from clew.model.learning import Diagnostics
from clew.model.scope import Reach
from clew.model.session import AgentSession
from clew.ports import Store

LATER = NOW + timedelta(days=1)


def over(store: Store, **fields: Any) -> AgentSession:
    """One that ended at once."""
    session = a_session(**fields)
    store.write(lambda tx: tx.sessions.insert(session))
    store.write(lambda tx: tx.sessions.move(session, "stopped", outcome=None, ended_at=NOW))
    return session


def dropped(store: Store, *, org: str = "local", limit: int = 10) -> int:
    return store.write(lambda tx: tx.sessions.drop(org, before=LATER, limit=limit))


def left(store: Store, *sessions: AgentSession) -> list[bool]:
    with store.read() as tx:
        return [tx.sessions.get(Reach.everything(one.org), one.id) is not None for one in sessions]


def test_what_is_inserted_is_what_is_read(store: Store) -> None:
    session = a_session(
        user="ann", work_type="bug_fix", issue="P-1", issue_id="uuid", title="ti'tle", description="two\nlines"
    )
    store.write(lambda tx: tx.sessions.insert(session))
    with store.read() as tx:
        assert tx.sessions.get(EVERYTHING, session.id) == session
        assert tx.sessions.get(EVERYTHING, "ses_unknown") is None


def test_a_session_is_seen_by_its_org_and_its_user_only(store: Store) -> None:
    session = a_session(user="ann")
    store.write(lambda tx: tx.sessions.insert(session))
    with store.read() as tx:
        assert tx.sessions.get(Reach.everything("other"), session.id) is None
        assert tx.sessions.get(Reach("local", None, ("", "bob")), session.id) is None
        assert tx.sessions.get(Reach("local", None, ("", "ann")), session.id) == session


def test_a_claim_names_worker_token_and_when_it_was_first_claimed(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    later = NOW + timedelta(hours=1)
    for worker, now in (("w1", NOW), ("w2", later)):
        store.write(lambda tx, w=worker, n=now: tx.sessions.claim(session, worker=w, token=7, provider="x", now=n))  # type: ignore[misc]
    with store.read() as tx:
        found = tx.sessions.get(EVERYTHING, session.id)
    assert found == replace(
        session, state="running", worker="w2", fencing_token=7, provider_session="x", claimed_at=NOW
    )


def test_a_session_that_ended_cannot_be_claimed_by_accident(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    store.write(lambda tx: tx.sessions.move(session, "stopped", outcome=None, ended_at=NOW))
    store.write(lambda tx: tx.sessions.claim(session, worker="w", token=1, provider="", now=NOW))
    with store.read() as tx:
        assert tx.sessions.get(EVERYTHING, session.id).state == "stopped"  # type: ignore[union-attr]


def test_a_move_needs_the_state_it_started_from(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    assert store.write(lambda tx: tx.sessions.move(session, "stopped", outcome="rejected", ended_at=NOW))
    assert not store.write(lambda tx: tx.sessions.move(session, "running", outcome=None, ended_at=None))
    with store.read() as tx:
        found = tx.sessions.get(EVERYTHING, session.id)
    assert found == replace(session, state="stopped", outcome="rejected", ended_at=NOW)


def test_a_lock_is_held_by_worker_and_token_until_it_runs_out(store: Store) -> None:
    held, over = started(store), started(store, ttl_s=0)
    with store.read() as tx:
        assert tx.sessions.is_held(held)
        assert not tx.sessions.is_held(replace(held, worker="other"))
        assert not tx.sessions.is_held(replace(held, token=held.token + 1))
        assert not tx.sessions.is_held(over)


def test_whether_anyone_holds_a_session_is_told_without_a_name(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    seen = []
    for step in (
        lambda: None,
        lambda: claimed(store, session, "w", ttl_s=HOUR),
        lambda: store.write(lambda tx: tx.sessions.unlock(session)),
    ):
        step()
        with store.read() as tx:
            seen.append(tx.sessions.is_locked(session))
    assert seen == [False, True, False]


def test_a_token_grows_although_the_lock_was_given_back(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    first = claimed(store, session, "w")
    store.write(lambda tx: tx.sessions.unlock(session))
    assert claimed(store, session, "w") > first


def test_the_list_pages_past_what_may_not_be_seen(store: Store) -> None:
    for number in range(30):
        user = "ann" if number % 10 == 0 else "bob"
        session = a_session(user=user, created_at=NOW + timedelta(seconds=number))
        store.write(lambda tx, s=session: tx.sessions.insert(s))  # type: ignore[misc]
    ann = Reach("local", None, ("", "ann"))
    with store.read() as tx:
        found = tx.sessions.find(ann, project=None, state=None, limit=10, page=4)  # type: ignore[call-arg]
    assert [session.created_at.second for session in found] == [20, 10, 0]


def test_a_stop_is_asked_for(store: Store) -> None:
    session = a_session()
    store.write(lambda tx: tx.sessions.insert(session))
    store.write(lambda tx: tx.sessions.ask_stop(session))
    with store.read() as tx:
        assert tx.sessions.get(EVERYTHING, session.id) == replace(session, stop_requested=True)


def test_a_session_goes_with_its_queue_and_with_how_it_went(store: Store) -> None:
    lock, kept = started(store), started(store)
    for one in (lock, kept):
        put(store, one, "a block")
        told = Diagnostics(one.session, "p", "rework")
        store.write(lambda tx, told=told: tx.learning.put_diagnostics("local", told, now=NOW))  # type: ignore[misc]
    with store.read() as tx:
        session = tx.sessions.get(EVERYTHING, lock.session)
    assert session and store.write(lambda tx: tx.sessions.move(session, "failed", outcome=None, ended_at=NOW))
    assert dropped(store) == 1 and dropped(store) == 0
    with store.read() as tx:
        assert [len(tx.injects.of_session("local", one.session)) for one in (lock, kept)] == [0, 1]
        assert [bool(tx.learning.diagnostics("local", one.session)) for one in (lock, kept)] == [False, True]


def test_what_runs_or_waits_or_ended_lately_stays(store: Store) -> None:
    waiting, lately, gone = a_session(), a_session(), over(store)
    for one in (waiting, lately):
        store.write(lambda tx, one=one: tx.sessions.insert(one))  # type: ignore[misc]
    running = started(store, ttl_s=0)
    store.write(lambda tx: tx.sessions.move(lately, "stopped", outcome=None, ended_at=LATER))
    assert dropped(store) == 1
    assert left(store, waiting, lately, gone) == [True, True, False]
    with store.read() as tx:
        assert tx.sessions.get(EVERYTHING, running.session)


def test_a_session_stays_as_long_as_its_log(store: Store) -> None:
    """Outcomes teach what it was shown, and reports count it."""
    logged, other = over(store), over(store)
    row = ContextInjectionLog(session_id=logged.id, phase="start", outcome="injected")
    store.write(lambda tx: tx.injections.put(row, at=NOW))
    assert dropped(store) == 1 and left(store, logged, other) == [True, False]
    store.write(lambda tx: tx.injections.tidy("local", quiet_before=LATER, before=LATER, limit=10))
    assert dropped(store) == 1 and left(store, logged) == [False]


def test_a_session_stays_as_long_as_one_of_a_host_may_go_back_to_it(store: Store) -> None:
    """What its agent was told then is not said again."""
    first, other = over(store), over(store)
    row = HostSession("codex", "s1", first.id, 3, NOW, NOW, source="startup")
    store.write(lambda tx: tx.hosts.note_past("local", row))
    store.write(lambda tx: tx.hosts.put("local", replace(row, session_id="ses_new")))
    assert dropped(store) == 1 and left(store, first, other) == [True, False]
    store.write(lambda tx: tx.hosts.put("local", replace(row, ended_at=NOW)))
    store.write(lambda tx: tx.hosts.drop_sessions("local", before=LATER, limit=10))
    assert dropped(store) == 1 and left(store, first) == [False]


def test_the_oldest_of_one_org_go_first_and_no_more_than_a_portion(store: Store) -> None:
    aged = [over(store, created_at=NOW - timedelta(days=days)) for days in (1, 3, 2)]
    other = over(store, org="acme")
    assert dropped(store, limit=2) == 2
    assert left(store, *aged, other) == [True, False, False, True]


def test_a_session_is_abandoned_when_its_lock_ran_out_long_ago(store: Store) -> None:
    """By the database's clock, whatever ours says."""
    day = timedelta(days=1)
    silent = started(store, ttl_s=-2 * 24 * HOUR)
    for holder, ttl_s in (("w", HOUR), ("w", -HOUR), (None, 0.0)):  # held, silent only lately, waiting
        started(store, holder=holder, ttl_s=ttl_s)
    with store.read() as tx:
        found = tx.sessions.abandoned("local", silent=day, now=NOW + 2 * day, limit=10)
        assert [session.id for session in found] == [silent.session]
        assert tx.sessions.abandoned("acme", silent=day, now=NOW + 2 * day, limit=10) == []


def test_without_any_lock_a_session_is_abandoned_when_it_was_claimed_long_ago(store: Store) -> None:
    """As after a restore."""
    day, lock = timedelta(days=1), started(store)
    with store.read() as tx:
        session = tx.sessions.get(EVERYTHING, lock.session)
    assert session
    store.write(lambda tx: tx.sessions.unlock(session))
    with store.read() as tx:
        assert tx.sessions.abandoned("local", silent=day, now=NOW + day / 2, limit=10) == []
        assert tx.sessions.abandoned("local", silent=day, now=NOW + 2 * day, limit=10) == [session]


def test_a_session_of_a_host_that_goes_on_is_not_abandoned(store: Store) -> None:
    day, lock = timedelta(days=1), started(store, ttl_s=-2 * 24 * HOUR)
    row = HostSession("codex", "s1", lock.session, lock.token, NOW, NOW)
    for ended_at, count in ((None, 0), (NOW, 1)):
        store.write(lambda tx, at=ended_at: tx.hosts.put("local", replace(row, ended_at=at)))  # type: ignore[misc]
        with store.read() as tx:
            assert len(tx.sessions.abandoned("local", silent=day, now=NOW + 2 * day, limit=10)) == count

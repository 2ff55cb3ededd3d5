"""Sessions and events of hosts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memories import NOW
from sessions import a_session

from clew.model.host import HookEvent, HostSession
from clew.model.scope import Identity
from clew.ports import Store

WHO = Identity()
OTHERS = Identity("acme", "ann", roles=("member",))
SECOND = timedelta(seconds=1)
ROW = HostSession("codex", "s1", "ses_1", 3, NOW, NOW, source="startup", project="p", branch="main")


def an_event(id: str = "e1", *, agent: str | None = None, session: str = "s1") -> HookEvent:
    return HookEvent("codex", "tool_end", "PostToolUse", session, id, agent_id=agent)


def kept(
    store: Store, id: str, *, facts: str = "", who: Identity = WHO, late: int = 0, ends: tuple[str, ...] = ()
) -> bool:
    session = replace(a_session(user=who.user), org=who.org)

    def keep(tx):  # type: ignore[no-untyped-def]
        is_new = tx.hosts.add(who, an_event(id), fingerprint=f"f-{id}", at=NOW + late * SECOND)
        tx.hosts.place(who.org, id, session, facts=facts, ends=ends)
        return is_new

    return bool(store.write(keep))


def test_an_event_is_kept_once_per_org(store: Store) -> None:
    assert kept(store, "e1")
    assert not kept(store, "e1")
    assert kept(store, "e1", who=OTHERS)


def test_only_what_says_something_waits_oldest_first(store: Store) -> None:
    kept(store, "e3", facts='{"k":3}', late=3)
    kept(store, "e1", facts='{"k":1}', late=1)
    kept(store, "e2", late=2)
    kept(store, "e4", late=4, ends=("ses_a", "ses_b"))
    with store.read() as tx:
        found = tx.hosts.waiting("local", limit=10)
    assert [(one.event_id, one.facts, one.ends) for one in found] == [
        ("e1", '{"k":1}', ()), ("e3", '{"k":3}', ()), ("e4", "", ("ses_a", "ses_b")),
    ]  # fmt: skip


def test_what_waits_is_asked_for_org_by_org(store: Store) -> None:
    kept(store, "e2", facts='{"k":2}', late=2)
    kept(store, "e1", facts='{"k":1}', late=1, who=OTHERS)
    kept(store, "e3", late=3, who=replace(OTHERS, org="quiet"))
    with store.read() as tx:
        assert tx.hosts.waiting_orgs(limit=10) == ["acme", "local"]
        assert tx.hosts.waiting_orgs(limit=1) == ["acme"]
        [found] = tx.hosts.waiting("acme", limit=10)
    assert (found.org, found.event_id, found.user, found.roles) == ("acme", "e1", "ann", ("member",))


def test_clearing_up_in_one_org_leaves_the_others_alone(store: Store) -> None:
    later = NOW + 9 * SECOND
    for who in (WHO, OTHERS):
        kept(store, "e1", facts="{}", who=who)
        store.write(lambda tx, who=who: tx.hosts.captured(who.org, {"e1": "{}"}))  # type: ignore[misc]
        store.write(lambda tx, who=who: tx.hosts.put(who.org, ROW))  # type: ignore[misc]
    with store.read() as tx:
        assert tx.hosts.idle("acme", before=later, limit=10) == [ROW]
    store.write(lambda tx: tx.hosts.put("acme", replace(ROW, ended_at=NOW)))
    with store.read() as tx:
        assert [len(tx.hosts.idle(org, before=later, limit=9)) for org in ("acme", "local")] == [0, 1]
    assert store.write(lambda tx: tx.hosts.tidy("acme", facts_before=later, events_before=later)) == 1
    assert store.write(lambda tx: tx.hosts.drop_sessions("local", before=later, limit=10)) == 0
    assert store.write(lambda tx: tx.hosts.drop_sessions("acme", before=later, limit=10)) == 1
    with store.read() as tx:
        assert len(tx.hosts.facts("local", "codex", "s1", until=later, limit=9)) == 1
        assert tx.hosts.session("local", "codex", "s1") == ROW


def test_what_was_captured_no_longer_waits_and_keeps_its_facts(store: Store) -> None:
    kept(store, "e1", facts='{"k":1}')
    kept(store, "e2", facts='{"k":2}', late=1)
    store.write(lambda tx: tx.hosts.captured("local", {"e1": '{"k":1,"was":{}}'}))
    with store.read() as tx:
        assert [one.event_id for one in tx.hosts.waiting("local", limit=10)] == ["e2"]
        told = tx.hosts.facts("local", "codex", "s1", until=NOW + SECOND, limit=10)
        assert [(one.event_id, one.facts) for one in told] == [("e1", '{"k":1,"was":{}}'), ("e2", '{"k":2}')]
        assert [one.event_id for one in tx.hosts.facts("local", "codex", "s1", until=NOW, limit=10)] == ["e1"]
        assert tx.hosts.facts("acme", "codex", "s1", until=NOW + SECOND, limit=10) == []


def test_the_last_facts_are_those_that_are_told(store: Store) -> None:
    for number in range(5):
        kept(store, f"e{number}", facts="{}", late=number)
    with store.read() as tx:
        told = tx.hosts.facts("local", "codex", "s1", until=NOW + 9 * SECOND, limit=2)
    assert [one.event_id for one in told] == ["e3", "e4"]


def test_facts_of_a_session_are_forgotten_also_while_they_wait(store: Store) -> None:
    kept(store, "e1", facts='{"k":1}')
    with store.read() as tx:
        [row] = tx.hosts.waiting("local", limit=1)
    store.write(lambda tx: tx.hosts.forget_facts("acme", row.session or ""))
    store.write(lambda tx: tx.hosts.forget_facts("local", row.session or ""))
    with store.read() as tx:
        assert tx.hosts.waiting("local", limit=10) == []
        assert tx.hosts.facts("local", "codex", "s1", until=NOW, limit=10) == []


def test_the_words_of_sessions_are_those_of_their_own_place(store: Store) -> None:
    kept(store, "e1", facts='{"k":1}')
    store.write(lambda tx: tx.sessions.insert(a_session(id="ses_told", title="Fix it", description="soon")))
    with store.read() as tx:
        words = {words for _session, words in tx.sessions.words("local", "p", None)}
        others = [
            tx.sessions.words(*place)
            for place in (("local", None, None), ("local", "p", "ann"), ("acme", "p", None))
        ]
    assert (words, others) == ({'{"k":1}', "Fix it", "soon"}, [[], [], []])


def test_old_facts_go_and_then_old_events(store: Store) -> None:
    kept(store, "old", facts="{}")
    kept(store, "waits", facts="{}", late=1)
    store.write(lambda tx: tx.hosts.captured("local", {"old": "{}"}))
    later = NOW + 2 * SECOND
    assert store.write(lambda tx: tx.hosts.tidy("local", facts_before=later, events_before=NOW)) == 1
    assert not kept(store, "old")
    assert store.write(lambda tx: tx.hosts.tidy("local", facts_before=later, events_before=later)) == 1
    assert kept(store, "old")
    with store.read() as tx:
        assert [one.event_id for one in tx.hosts.waiting("local", limit=10)] == ["waits"]


def test_the_last_fact_of_a_session_stays_with_its_event(store: Store) -> None:
    for number in range(3):
        kept(store, f"e{number}", facts="{}", late=number)
    store.write(lambda tx: tx.hosts.captured("local", {f"e{number}": "{}" for number in range(3)}))
    store.write(lambda tx: tx.hosts.tidy("local", facts_before=NOW + 9 * SECOND, events_before=NOW))
    with store.read() as tx:
        told = tx.hosts.facts("local", "codex", "s1", until=NOW + 9 * SECOND, limit=10)
    assert [one.event_id for one in told] == ["e2"]


def test_what_was_forgotten_meanwhile_does_not_come_back(store: Store) -> None:
    kept(store, "e1", facts='{"k":1}')
    with store.read() as tx:
        [row] = tx.hosts.waiting("local", limit=1)
    store.write(lambda tx: tx.hosts.forget_facts("local", row.session or ""))
    store.write(lambda tx: tx.hosts.captured("local", {"e1": '{"k":1}'}))
    with store.read() as tx:
        assert tx.hosts.facts("local", "codex", "s1", until=NOW, limit=10) == []


def test_later_sessions_of_the_same_host_session_carry_nothing_of_what_is_forgotten(store: Store) -> None:
    kept(store, "e1", facts='{"k":1}')
    kept(store, "e2", facts='{"k":2}', late=1)
    store.write(lambda tx: tx.hosts.place("local", "e2", None, facts='{"k":2}'))  # of another session of ours
    store.write(lambda tx: tx.hosts.captured("local", {"e2": '{"k":2,"was":{"task":"x"}}'}))
    with store.read() as tx:
        [row] = tx.hosts.waiting("local", limit=1)
    store.write(lambda tx: tx.hosts.forget_facts("local", row.session or ""))
    with store.read() as tx:
        assert tx.hosts.facts("local", "codex", "s1", until=NOW + SECOND, limit=10) == []


def test_a_repetition_is_seen_in_its_own_session_and_time_only(store: Store) -> None:
    kept(store, "e1")
    with store.read() as tx:

        def repeated(event: HookEvent, *, org: str = "local", since: timedelta = -SECOND) -> bool:
            return tx.hosts.is_repeated(org, event, fingerprint="f-e1", since=NOW + since)

        assert repeated(an_event("e2"))
        assert not repeated(an_event("e1"))  # it is no repetition of itself
        assert not repeated(an_event("e2", agent="a"))
        assert not repeated(an_event("e2", session="s2"))
        assert not repeated(an_event("e2"), org="acme")
        assert not repeated(an_event("e2"), since=SECOND)


def test_a_session_of_a_host_is_kept_whole(store: Store) -> None:
    row = replace(ROW, printed="inj_1", printed_event="e1", printed_kind="prompt", printed_at=NOW, ended_at=NOW)
    store.write(lambda tx: tx.hosts.put("local", ROW))
    store.write(lambda tx: tx.hosts.put("local", row))
    store.write(lambda tx: tx.hosts.put("local", replace(ROW, agent_id="a1", session_id="ses_2")))
    with store.read() as tx:
        assert tx.hosts.session("local", "codex", "s1") == row
        assert tx.hosts.session("acme", "codex", "s1") is None
        assert [one.session_id for one in tx.hosts.agents("local", "codex", "s1")] == ["ses_2"]


def test_only_the_event_that_printed_is_marked_and_taken_back(store: Store) -> None:
    row = replace(ROW, printed="inj_1", printed_event="e1", printed_kind="tool_end")
    store.write(lambda tx: tx.hosts.put("local", row))
    kept(store, "e2")
    store.write(lambda tx: tx.hosts.printed(WHO, "e2", at=NOW))
    store.write(lambda tx: tx.hosts.unprint("local", an_event("e2")))
    with store.read() as tx:
        assert tx.hosts.session("local", "codex", "s1") == row
    kept(store, "e1")
    for who in (OTHERS, Identity(user="ann"), WHO):
        store.write(lambda tx, who=who: tx.hosts.printed(who, "e1", at=NOW))  # type: ignore[misc]
        with store.read() as tx:
            assert tx.hosts.session("local", "codex", "s1") == replace(row, printed_at=NOW if who is WHO else None)
    store.write(lambda tx: tx.hosts.unprint("local", an_event("e1")))
    with store.read() as tx:
        assert tx.hosts.session("local", "codex", "s1") == ROW
        assert tx.hosts.is_unprinted("local", "e1")


def test_hooks_are_counted_per_org(store: Store) -> None:
    for late in (0, 5):
        store.write(lambda tx, late=late: tx.hosts.note_fired("local", "codex", "Stop", at=NOW + late * SECOND))  # type: ignore[misc]
    with store.read() as tx:
        [fired] = tx.hosts.fired("local")
        assert (fired.count, fired.first_at, fired.last_at) == (2, NOW, NOW + 5 * SECOND)
        assert tx.hosts.has_fired("local", "codex", "Stop", since=NOW + 5 * SECOND)
        assert not tx.hosts.has_fired("local", "codex", "Stop", since=NOW + 6 * SECOND)
        assert not tx.hosts.has_fired("acme", "codex", "Stop", since=NOW)


def test_past_sessions_are_told_in_their_order(store: Store) -> None:
    for number, source in enumerate(("startup", "compact", None)):
        row = replace(ROW, session_id=f"ses_{number}", source=source, created_at=NOW + number * SECOND)
        store.write(lambda tx, row=row: tx.hosts.note_past("local", row))  # type: ignore[misc]
    with store.read() as tx:
        assert tx.hosts.past("local", ROW) == [("ses_0", "startup"), ("ses_1", "compact"), ("ses_2", "")]


def test_sessions_that_ended_long_ago_go_with_their_past_a_portion_at_a_time(store: Store) -> None:
    rows = [replace(ROW, host_session=f"s{number}", ended_at=NOW + number * SECOND) for number in range(3)]
    for row in (*rows, replace(ROW, host_session="open")):
        store.write(lambda tx, row=row: (tx.hosts.put("local", row), tx.hosts.note_past("local", row)))  # type: ignore[misc]
    before = NOW + 2 * SECOND
    gone = [store.write(lambda tx: tx.hosts.drop_sessions("local", before=before, limit=1)) for _ in range(3)]
    assert gone == [1, 1, 0]
    with store.read() as tx:
        assert [bool(tx.hosts.past("local", row)) for row in rows] == [False, False, True]
        assert tx.hosts.session("local", "codex", "open") and tx.hosts.session("local", "codex", "s2")

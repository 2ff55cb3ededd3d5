"""Change log, audit log and facts: ids only, in commit order, without a gap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import NOW

from clew.model.change import Change
from clew.ports import Store, Tx
from clew.store import ledger


def note(store: Store, *ids: str, org: str = "local") -> None:
    store.write(lambda tx: [tx.changes.note(org, "p", "memory", id, "put") for id in ids])


def since(store: Store, seq: int, *, org: str = "local", limit: int = 1000) -> list[Change] | None:
    with store.read() as tx:
        return tx.changes.since(org, seq, limit)


def test_a_change_names_the_row_and_nothing_else(store: Store) -> None:
    note(store, "mem_a")
    assert since(store, 0) == [Change(1, "p", "memory", "mem_a", "put")]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), st.integers(1, 4), st.booleans()), max_size=12))
def test_each_org_counts_its_own_commits_without_a_gap(store: Store, writes: list[tuple[str, int, bool]]) -> None:
    with store.read() as tx:
        starts = {org: tx.changes.last(org) for org in ("one", "two")}
    expected: dict[str, list[str]] = {"one": [], "two": []}
    for number, (org, count, fails) in enumerate(writes):
        ids = [f"mem_{number}_{n}" for n in range(count)]
        if fails:
            with pytest.raises(ZeroDivisionError):
                store.write(lambda tx, org=org, ids=ids: _note_and_fail(tx, org, ids))
        else:
            note(store, *ids, org=org)
            expected[org] += ids
    for org, ids in expected.items():
        changes = since(store, starts[org], org=org) or []
        assert [change.id for change in changes] == ids
        assert [change.seq for change in changes] == list(range(starts[org] + 1, starts[org] + 1 + len(ids)))


def _note_and_fail(tx: Tx, org: str, ids: list[str]) -> None:
    for id in ids:
        tx.changes.note(org, None, "memory", id, "put")
    raise ZeroDivisionError


def test_many_threads_leave_no_gap_and_no_duplicate(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: note(store, f"mem_{n}"), range(100)))
    changes = since(store, 0) or []
    assert [change.seq for change in changes] == list(range(1, 101))
    assert {change.id for change in changes} == {f"mem_{n}" for n in range(100)}


def test_a_reader_that_is_current_gets_an_empty_list(store: Store) -> None:
    assert since(store, 0) == []
    note(store, "mem_a")
    assert since(store, 1) == []


def test_a_reader_too_far_behind_is_told_to_start_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "CHANGES_KEPT", 10)
    for n in range(25):
        note(store, f"mem_{n}")
    assert since(store, 3) is None
    kept = since(store, 15) or []
    assert [change.seq for change in kept] == list(range(16, 26))


def test_one_commit_larger_than_the_log_leaves_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "CHANGES_KEPT", 10)
    note(store, *(f"mem_{n}" for n in range(25)))
    assert since(store, 0) is None
    assert len(since(store, 15) or []) == 10


def test_more_changes_than_asked_for_mean_start_anew(store: Store) -> None:
    note(store, "mem_a", "mem_b", "mem_c")
    assert since(store, 0, limit=2) is None
    assert len(since(store, 0, limit=3) or []) == 3


def test_a_reader_ahead_of_the_store_is_told_to_start_anew(store: Store) -> None:
    """The store was replaced by an older copy of itself."""
    note(store, "mem_a")
    assert since(store, 500) is None


def test_facts_are_kept_and_replaced(store: Store) -> None:
    with store.read() as tx:
        assert tx.meta.get("colour") is None
    for colour in ("red", "blue"):
        store.write(lambda tx, colour=colour: tx.meta.put("colour", colour))
    with store.read() as tx:
        assert tx.meta.get("colour") == "blue"


def test_an_audit_entry_is_an_id_and_a_hash_in_order(store: Store) -> None:
    def noted(tx: Tx) -> None:
        tx.audit.note("local", at=NOW, actor="ada", action="forget", id="mem_a", content_hash="abc")
        tx.audit.note("other", at=NOW, actor="bob", action="forget", id="mem_b")
        tx.audit.note("local", at=NOW, actor="ada", action="forget_hard", id="mem_a")

    store.write(noted)
    with store.read() as tx:
        found = tx.audit.entries("local")
        entries = [(one.seq, one.actor, one.action, one.id, one.content_hash) for one in found]
    assert entries == [(1, "ada", "forget", "mem_a", "abc"), (2, "ada", "forget_hard", "mem_a", "")]


def test_a_store_notices_that_another_one_on_the_same_data_committed(store: Store) -> None:
    before = store.data_version()
    note(store, "mem_a")
    assert store.data_version() != before


def test_at_one_moment_a_store_looks_once_whether_anything_has_changed(store: Store) -> None:
    before = store.data_version()
    with store.at_one_moment(), store.at_one_moment():
        assert store.data_version() == before
        note(store, "mem_a")
        assert store.data_version() == before
        with ThreadPoolExecutor(1) as another:
            assert another.submit(store.data_version).result() != before
    assert store.data_version() != before

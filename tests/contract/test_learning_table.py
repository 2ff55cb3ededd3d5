"""Ledger, history, diagnostics and weights: what is written is what is read, within one org."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memories import NOW, a_memory

from clew.model.inject import ContextInjectionLog, EdgeKey
from clew.model.learning import Diagnostics, Entry, Target, WeightChange
from clew.ports import Store

MEMORY = Target("memory", "mem_a", "mem_a", "p", 1.0)
ENTRY = Entry("ses_1", "rejected", 0.15, 0.0, NOW, seq=1, previous=1.0, weight=0.85)


def test_an_entry_is_read_as_it_was_written(store: Store) -> None:
    entries = [ENTRY, replace(ENTRY, session="ses_2", seq=2, misleading=True, previous=0.85, weight=0.7)]
    store.write(lambda tx: tx.learning.put_entries("local", MEMORY, entries))
    with store.read() as tx:
        assert tx.learning.ledger("local", MEMORY) == entries
        assert tx.learning.counted("local", "ses_2") == {("memory", "mem_a"): "rejected"}
        assert tx.learning.ledger("other", MEMORY) == [] and tx.learning.counted("other", "ses_2") == {}


def test_an_entry_of_the_same_session_replaces_the_one_before_and_keeps_its_place(store: Store) -> None:
    corrected = replace(ENTRY, outcome="accepted", alpha=0.1, signal=1.0, weight=1.0, at=NOW + timedelta(days=1))
    for entry in (ENTRY, corrected):
        store.write(lambda tx, entry=entry: tx.learning.put_entries("local", MEMORY, [entry]))
    with store.read() as tx:
        assert tx.learning.ledger("local", MEMORY) == [replace(corrected, at=NOW)]


def test_a_weight_moves_only_from_what_was_read(store: Store) -> None:
    memory = a_memory(project="p")
    store.write(lambda tx: tx.memories.insert([memory]))
    with store.read() as tx:
        target = tx.learning.memory(memory.org, memory.id)
    assert target == Target("memory", memory.id, memory.id, "p", 1.0)
    stale = target._replace(weight=0.5)
    assert store.write(lambda tx: tx.learning.put_weight(memory.org, stale, 0.1, now=NOW)) is False
    assert store.write(lambda tx: tx.learning.put_weight(memory.org, target, 0.85, now=NOW)) is True
    with store.read() as tx:
        assert tx.memories.weight_of(memory) == 0.85 and tx.learning.memory("other", memory.id) is None


def test_the_history_is_in_order_and_of_one_target(store: Store) -> None:
    change = WeightChange("memory", "mem_a", "ses_1", "p", "rejected", 1.0, 0.85, 0.15, NOW)
    changes = [change, replace(change, session="ses_2"), replace(change, key="mem_b")]
    store.write(lambda tx: [tx.learning.note_change("local", one) for one in changes])
    with store.read() as tx:
        assert tx.learning.history("local", "memory", "mem_a") == changes[:2]
        assert tx.learning.history("other", "memory", "mem_a") == []


def test_changes_of_weights_go_by_age_and_no_more_than_a_portion(store: Store) -> None:
    change = WeightChange("memory", "mem_a", "ses_1", "p", "rejected", 1.0, 0.85, 0.15, NOW)
    changes = [replace(change, at=NOW + timedelta(days=day)) for day in range(4)]
    for org in ("local", "acme"):
        store.write(lambda tx, org=org: [tx.learning.note_change(org, one) for one in changes])  # type: ignore[misc]
    before = NOW + timedelta(days=3)
    gone = [store.write(lambda tx: tx.learning.tidy("local", before=before, limit=2)) for _ in range(3)]
    assert gone == [2, 1, 0]
    with store.read() as tx:
        assert tx.learning.history("local", "memory", "mem_a") == changes[3:]
        assert tx.learning.history("acme", "memory", "mem_a") == changes


def test_diagnostics_are_read_as_they_were_written(store: Store) -> None:
    found = Diagnostics(
        "ses_1", "p", "rework", ("mem_a",), ("node",), (("a", "b", "uses"),), ({"tool": "Edit", "success": True},),
        ("a.py",), ({"message": "no", "tool": "Bash", "recoverable": False},), "style", "no", ("mem_a",),
        ("mem_b",),
    )  # fmt: skip
    store.write(lambda tx: tx.learning.put_diagnostics("local", found, now=NOW))
    store.write(lambda tx: tx.learning.put_diagnostics("local", found, now=NOW))
    with store.read() as tx:
        assert tx.learning.diagnostics("local", "ses_1") == found
        assert tx.learning.diagnostics("other", "ses_1") is None


def test_what_a_session_was_shown_is_read_in_its_order(store: Store) -> None:
    edge = EdgeKey("a", "b", "uses")
    first = ContextInjectionLog(session_id="ses_1", observation_ids=("mem_a",), graph_edge_keys=(edge,))
    second = ContextInjectionLog(session_id="ses_1", project_id="p", observation_ids=("mem_b",), delivered=True)
    foreign = ContextInjectionLog(session_id="ses_1", org_id="other", observation_ids=("mem_c",))
    for at, log in enumerate((first, second, foreign)):
        moment = NOW + timedelta(seconds=at)
        store.write(lambda tx, log=log, moment=moment: tx.injections.put(log, at=moment))
    with store.read() as tx:
        shown = tx.learning.shown("local", "ses_1")
    assert [(row.project, row.observation_ids, row.delivered) for row in shown] == [
        ("", ("mem_a",), False),
        ("p", ("mem_b",), True),
    ]
    assert shown[0].graph_edge_keys == (("a", "b", "uses"),)


def test_samples_count_entries_and_retirement_needs_both_a_low_weight_and_samples(store: Store) -> None:
    low, high = a_memory("low", weight=0.06), a_memory("high")
    store.write(lambda tx: tx.memories.insert([low, high]))
    for memory in (low, high):
        target = Target("memory", memory.id, memory.id, "", memory.weight)
        entries = [replace(ENTRY, session=f"ses_{at}", seq=at) for at in range(1, 4)]
        store.write(lambda tx, target=target, entries=entries: tx.learning.put_entries(low.org, target, entries))
    ids = [low.id, high.id, "mem_none"]
    with store.read() as tx:
        assert tx.learning.samples(low.org, ids) == {low.id: 3, high.id: 3, "mem_none": 0}
        assert tx.learning.retired(low.org, ids, below=0.1, samples=3) == {low.id}
        assert tx.learning.retired(low.org, ids, below=0.1, samples=4) == set()

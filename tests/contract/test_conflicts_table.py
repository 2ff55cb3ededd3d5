"""Conflicts and merges: rows to values and back, org by org."""

from __future__ import annotations

from datetime import timedelta

import pytest
from memories import NOW, a_memory

from clew.errors import ClewError
from clew.model.conflict import Conflict, ConflictDraft, Merge
from clew.model.scope import Reach, Scope
from clew.ports import Store, Tx

LATER = NOW + timedelta(hours=1)


def draft(rows: list[int], id: str = "con_1") -> ConflictDraft:
    found = ("contradicts", "rule", "other_value", 0.6, "s", "e")
    return ConflictDraft(id, rows[0], rows[1], *found, "h0", "h1", NOW)


def filled(store: Store, org: str = "local") -> list[int]:
    """Two memories, and a conflict between them."""
    memories = [a_memory(id=f"mem_{org}{at}", org=org, content_hash=f"h{at}") for at in range(2)]

    def fill(tx: Tx) -> list[int]:
        rows = tx.memories.insert(memories)
        tx.conflicts.put(org, draft(rows))
        return rows

    return store.write(fill)


def known(store: Store, org: str = "local") -> list[Conflict]:
    with store.read() as tx:
        return tx.conflicts.find(Reach.everything(org), now=NOW, limit=9, over=True)


def test_a_conflict_comes_back_as_it_was_noted(store: Store) -> None:
    filled(store)
    [one] = known(store)
    assert (one.id, one.a, one.b) == ("con_1", "mem_local0", "mem_local1")
    assert (one.kind, one.origin, one.rule) == ("contradicts", "rule", "other_value")
    assert (one.confidence, one.sentence, one.explanation, one.created_at) == (0.6, "s", "e", NOW)
    assert (one.keep, one.same_texts, one.stands) == ("", True, False)  # no edge says so
    with store.read() as tx:
        assert tx.conflicts.find(Reach.everything("local"), now=NOW, limit=9) == []


def test_w4_a_reach_is_applied_before_the_limit(store: Store) -> None:
    def fill(tx: Tx) -> None:
        for at, (project, user) in enumerate([("a", None), (None, "ann"), ("b", None), (None, None)]):
            own = [a_memory(id=f"m{at}{x}", project=project, user=user, content_hash=x) for x in "xy"]
            tx.conflicts.put("local", draft(tx.memories.insert(own), f"con_{at}"))

    store.write(fill)
    with store.read() as tx:
        for scope, seen in ((Scope(project="b"), ["con_2", "con_3"]), (Scope(user="ann"), ["con_1", "con_3"])):
            found = tx.conflicts.find(Reach.of(scope), now=NOW, limit=2, over=True)
            assert [one.id for one in found] == seen
            rest = tx.conflicts.find(Reach.of(scope), now=NOW, limit=2, over=True, after=found[0])
            assert [one.id for one in rest] == seen[1:]


def test_merges_come_page_by_page_the_newest_first(store: Store) -> None:
    for id in ("run_1", "run_3", "run_2"):
        store.write(lambda tx, id=id: tx.conflicts.put_merge("local", Merge(id, "m", 1, 1, (), "ada", NOW)))  # type: ignore[misc]
    with store.read() as tx:
        assert [one.id for one in tx.conflicts.merges("local", limit=2)] == ["run_3", "run_2"]
        assert [one.id for one in tx.conflicts.merges("local", limit=2, before="run_2")] == ["run_1"]


def test_two_orgs_do_not_see_each_others(store: Store) -> None:
    rows = filled(store)
    filled(store, "acme")
    with store.read() as tx:
        assert tx.conflicts.of_pair("acme", *rows, now=NOW) is None
        assert tx.conflicts.touching("acme", ["mem_local0"], now=NOW) == []
    store.write(lambda tx: tx.conflicts.drop("acme", "con_1"))
    assert (len(known(store)), known(store, "acme")) == (1, [])


def test_the_database_holds_one_conflict_per_unordered_pair(store: Store) -> None:
    rows = filled(store)
    with pytest.raises(ClewError):
        store.write(lambda tx: tx.conflicts.put("local", draft(rows[::-1], "con_2")))
    [one] = known(store)
    with store.read() as tx:
        assert tx.conflicts.of_pair("local", *rows[::-1], now=NOW) == one


def test_a_resolution_is_kept_with_who_and_when(store: Store) -> None:
    filled(store)
    decide = {"hashes": ("h0", "h1"), "by": "ada", "now": LATER}
    store.write(lambda tx: tx.conflicts.resolve("local", "con_1", "both", **decide))  # type: ignore[arg-type]
    [one] = known(store)
    assert (one.keep, one.resolved_by, one.resolved_at, one.state) == ("both", "ada", LATER, "resolved")


def test_a_conflict_goes_with_either_memory(store: Store) -> None:
    for at in range(2):
        org = f"org{at}"
        filled(store, org)
        store.write(lambda tx, at=at, org=org: tx.memories.delete(a_memory(id=f"mem_{org}{at}", org=org)))  # type: ignore[misc]
        assert known(store, org) == []


def test_a_merge_comes_back_until_it_is_undone(store: Store) -> None:
    made = Merge("run_1", "mem_a", 1, 2, (("mem_b", 3), ("mem_c", 1)), "ada", NOW)
    store.write(lambda tx: tx.conflicts.put_merge("local", made))
    with store.read() as tx:
        assert tx.conflicts.merge("local", "run_1") == made
        assert tx.conflicts.merges_into("local", "mem_a") == tx.conflicts.merges("local", limit=9) == [made]
        assert tx.conflicts.merge("acme", "run_1") is None
        assert tx.conflicts.merge_ids_from("local", "run") == ["run_1"]
    store.write(lambda tx: tx.conflicts.undo_merge("local", "run_1", by="bob", now=LATER))
    with store.read() as tx:
        assert tx.conflicts.merges_into("local", "mem_a") == []
        assert [one.undone_by for one in tx.conflicts.merges("local", limit=9)] == ["bob"]

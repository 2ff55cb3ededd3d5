"""Grants, fingerprints, weights elsewhere and retention policies: rows to values and back, org by org."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from memories import NOW, a_memory

from clew.model.govern import Grant, RetentionPolicy, StoredFingerprint
from clew.model.learning import Entry, Target
from clew.ports import Store, Tx

LATER = NOW + timedelta(hours=1)


def granted(store: Store, org: str = "local") -> list[Grant]:
    with store.read() as tx:
        return tx.transfers.grants(org)


def test_a_grant_is_given_once_and_again_after_it_was_revoked(store: Store) -> None:
    give = lambda tx: tx.transfers.grant("local", "a", "b", by="ada", now=NOW)  # noqa: E731
    revoke = lambda tx: tx.transfers.revoke("local", "a", "b", now=LATER)  # noqa: E731
    assert [store.write(step) for step in (give, give, revoke, revoke)] == [True, False, True, False]
    assert granted(store) == [Grant("a", "b", "ada", NOW, LATER)]
    assert store.write(give)
    assert granted(store) == [Grant("a", "b", "ada", NOW)]


def test_only_grants_in_force_and_in_this_direction_lead_into_a_project(store: Store) -> None:
    for org, source, dest in (("local", "a", "b"), ("local", "b", "a"), ("local", "c", "b"), ("other", "d", "b")):
        store.write(lambda tx, o=org, s=source, d=dest: tx.transfers.grant(o, s, d, by="ada", now=NOW))  # type: ignore[misc]
    store.write(lambda tx: tx.transfers.revoke("local", "c", "b", now=LATER))
    with store.read() as tx:
        assert [grant.source for grant in tx.transfers.grants_into("local", "b")] == ["a"]
        assert [grant.source for grant in tx.transfers.grants_into("other", "b")] == ["d"]


def test_a_fingerprint_is_replaced_by_a_newer_one(store: Store) -> None:
    old = StoredFingerprint("shop", frozenset({"lib:a"}), "h1", NOW)
    new = StoredFingerprint("shop", frozenset({"lib:a", "lib:b@2"}), "h2", LATER)
    for found in (old, new):
        store.write(lambda tx, found=found: tx.transfers.put_fingerprint("local", found))  # type: ignore[misc]
    with store.read() as tx:
        assert tx.transfers.fingerprint("local", "shop") == new
        assert tx.transfers.fingerprint("other", "shop") is None


def put_weight(tx: Tx, org: str, dest: str, id: str, weight: float, *, previous: float = 1.0) -> None:
    assert tx.learning.put_weight(org, Target("transferred", f"{id}@{dest}", id, dest, previous), weight, now=NOW)


def test_what_is_retired_elsewhere_has_a_low_weight_there_and_outcomes_behind_it(store: Store) -> None:
    target = Target("transferred", "mem_1@web", "mem_1", "web", 0.05)
    entries = [Entry(f"ses_{n}", "rejected", 0.15, 0.0, NOW, seq=n) for n in range(1, 6)]
    for id, weight in (("mem_1", 0.05), ("mem_2", 0.05)):
        store.write(lambda tx, i=id, w=weight: put_weight(tx, "local", "web", i, w))  # type: ignore[misc]
    store.write(lambda tx: tx.learning.put_entries("local", target, entries))
    with store.read() as tx:
        asked = partial(tx.transfers.retired, ids=["mem_1", "mem_2", "mem_3"])
        assert asked("local", "web", below=0.1, samples=5) == {"mem_1"}
        assert asked("local", "web", below=0.1, samples=6) == asked("local", "web", below=0.05, samples=5) == set()
        assert asked("local", "app", below=0.1, samples=5) == asked("other", "web", below=0.1, samples=5) == set()


def test_a_weight_elsewhere_belongs_to_one_project_and_goes_with_its_memory(store: Store) -> None:
    for org, dest in (("local", "web"), ("local", "app"), ("other", "web")):
        store.write(lambda tx, o=org, d=dest: tx.transfers.grant(o, "shop", d, by="ada", now=NOW))  # type: ignore[misc]
    store.write(lambda tx: tx.transfers.revoke("local", "shop", "app", now=LATER))
    store.write(lambda tx: put_weight(tx, "local", "web", "mem_1", 0.4))
    store.write(lambda tx: put_weight(tx, "local", "web", "mem_1", 0.45, previous=0.4))
    store.write(lambda tx: put_weight(tx, "local", "app", "mem_1", 0.9))
    store.write(lambda tx: put_weight(tx, "other", "web", "mem_1", 0.1))
    with store.read() as tx:
        assert tx.transfers.weights("local", "web", ["mem_1", "mem_2"]) == {"mem_1": 0.45}
    store.write(lambda tx: tx.transfers.drop_weights("local", "mem_1", source="shop"))
    with store.read() as tx:
        weights = [
            tx.transfers.weights(*at, ["mem_1"]) for at in (("local", "web"), ("local", "app"), ("other", "web"))
        ]
    assert weights == [{}, {}, {"mem_1": 0.1}]


def test_a_policy_comes_back_as_it_was_set_and_the_same_id_replaces_it(store: Store) -> None:
    first = RetentionPolicy("ret_1", 30.0, "soft", "shop", None, "note", "ada", NOW)
    second = RetentionPolicy("ret_1", 7.5, "hard", "shop", None, "note", "eve", NOW)
    for policy in (first, second):
        store.write(lambda tx, policy=policy: tx.transfers.put_retention("local", policy, now=NOW))  # type: ignore[misc]
    with store.read() as tx:
        assert tx.transfers.retention("local") == [second]
        assert tx.transfers.retention("other") == []
    assert [store.write(lambda tx: tx.transfers.drop_retention("local", "ret_1")) for _ in range(2)] == [
        True,
        False,
    ]


def test_orgs_with_policies_come_in_order_one_after_the_other(store: Store) -> None:
    for org, id in (("b", "ret_1"), ("b", "ret_2"), ("a", "ret_1")):
        policy = RetentionPolicy(id, 1.0)
        store.write(lambda tx, org=org, policy=policy: tx.transfers.put_retention(org, policy, now=NOW))  # type: ignore[misc]
    with store.read() as tx:
        assert [tx.transfers.orgs_with_retention(after=org) for org in ("", "a", "b")] == [["a"], ["b"], []]


def test_a_page_holds_forgotten_ones_and_no_other_orgs(store: Store) -> None:
    kept, gone = a_memory("kept"), a_memory("gone", deleted_at=NOW)
    store.write(lambda tx: tx.memories.insert([kept, gone, a_memory("foreign", org="other")]))
    with store.read() as tx:
        page = tx.transfers.page("local", after="", limit=10)
        assert [memory.id for memory in page] == sorted((kept.id, gone.id))
        assert not tx.transfers.page("local", after=page[-1].id, limit=10)

"""Keys in the store: found by hash whatever their org, by id only in their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from memories import NOW

from clew.errors import Conflict
from clew.model.kept import Kept, KeptKey
from clew.model.key import ApiKey
from clew.ports import Store

KEY = ApiKey("key_1", "acme", "ci", "ann", None, ("member", "reviewer"), NOW, "otto", NOW + timedelta(days=9))
HASH = b"h" * 32


def test_a_key_comes_back_as_it_was_put(store: Store) -> None:
    store.write(lambda tx: tx.keys.insert(KEY, HASH))
    with store.read() as tx:
        assert tx.keys.by_hash(HASH) == tx.keys.find("acme", "key_1") == KEY
        assert tx.keys.by_hash(b"x" * 32) is None and tx.keys.find("other", "key_1") is None


def test_no_two_keys_have_one_hash(store: Store) -> None:
    store.write(lambda tx: tx.keys.insert(KEY, HASH))
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.keys.insert(replace(KEY, id="key_2"), HASH))


def test_keys_are_listed_by_org_and_page(store: Store) -> None:
    for number in range(3):
        store.write(lambda tx, n=number: tx.keys.insert(replace(KEY, id=f"key_{n}"), bytes([n]) * 32))
    store.write(lambda tx: tx.keys.insert(replace(KEY, org="other"), HASH))
    with store.read() as tx:
        assert [one.id for one in tx.keys.page("acme", limit=2)] == ["key_0", "key_1"]
        assert [one.id for one in tx.keys.page("acme", limit=2, after="key_1")] == ["key_2"]


def test_a_key_is_revoked_once_and_only_in_its_org(store: Store) -> None:
    store.write(lambda tx: tx.keys.insert(KEY, HASH))
    assert store.write(lambda tx: tx.keys.revoke("other", "key_1", at=NOW)) is False
    assert store.write(lambda tx: tx.keys.revoke("acme", "key_1", at=NOW)) is True
    assert store.write(lambda tx: tx.keys.revoke("acme", "key_1", at=NOW + timedelta(days=1))) is False
    with store.read() as tx:
        found = tx.keys.by_hash(HASH)
    assert found is not None and found.revoked_at == NOW


def test_the_last_use_of_a_key_only_moves_on(store: Store) -> None:
    store.write(lambda tx: tx.keys.insert(KEY, HASH))
    for minutes in (5, 1):
        store.write(lambda tx, m=minutes: tx.keys.note_use("acme", "key_1", at=NOW + timedelta(minutes=m)))
    with store.read() as tx:
        found = tx.keys.find("acme", "key_1")
    assert found is not None and found.last_used_at == NOW + timedelta(minutes=5)


def test_answers_are_swept_in_one_org_and_by_their_age(store: Store) -> None:
    keys = {(org, age): KeptKey(org, "ann", f"k{age}") for org in ("acme", "other") for age in (1, 3)}
    for (_org, age), key in keys.items():
        kept = Kept(b"r", NOW - timedelta(days=age))
        store.write(lambda tx, key=key, kept=kept: tx.replays.begin(key, kept))  # type: ignore[misc]
    assert store.write(lambda tx: tx.replays.sweep("acme", before=NOW - timedelta(days=2))) == 1
    with store.read() as tx:
        assert [place for place, key in keys.items() if tx.replays.get(key) is None] == [("acme", 3)]

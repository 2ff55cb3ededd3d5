"""What every engine does with memories: all fields back, nothing to strangers, promises kept by the database."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import NOW, a_memory, any_memory

from clew.errors import Conflict, InvalidInput
from clew.model.memory import Filter, Indexed, Memory
from clew.model.scope import Reach, Scope
from clew.ports import Store, Tx
from toys import open_toy

SAME = "5a" * 32
fresh_orgs = (f"org {number}" for number in count())
on_one_store = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def insert(store: Store, *memories: Memory) -> list[int]:
    return store.write(lambda tx: tx.memories.insert(memories))


def get(store: Store, memory: Memory) -> Memory | None:
    with store.read() as tx:
        return tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)


# -- round trips -------------------------------------------------------------------------------------


@on_one_store
@given(any_memory)
def test_every_field_comes_back_as_it_was_stored(store: Store, memory: Memory) -> None:
    memory = replace(memory, org=next(fresh_orgs))
    insert(store, memory)
    assert get(store, memory) == memory


@on_one_store
@given(any_memory, any_memory)
def test_every_field_that_may_change_comes_back_as_it_was_updated(store: Store, old: Memory, new: Memory) -> None:
    old = replace(old, org=next(fresh_orgs))
    kept = {n: getattr(old, n) for n in "id org project user agent session namespace tool_call created_at".split()}
    new = replace(new, **kept)
    insert(store, old)
    assert store.write(lambda tx: tx.memories.update(new, change="edited", expected_version=old.version))
    assert get(store, old) == new


@on_one_store
@given(st.lists(any_memory, min_size=1, max_size=5))
def test_history_keeps_every_state_in_order(store: Store, states: list[Memory]) -> None:
    first = replace(states[0], org=next(fresh_orgs), version=1)
    fixed = {
        n: getattr(first, n) for n in "id org project user agent session namespace tool_call created_at".split()
    }
    chain = [replace(state, **fixed, version=number) for number, state in enumerate(states, 1)]
    insert(store, first)
    for old, new in pairwise(chain):
        store.write(lambda tx, old=old, new=new: _advance(tx, old, new))
    with store.read() as tx:
        versions = tx.memories.versions(chain[-1])
    assert [version.memory for version in versions] == chain
    assert [version.change for version in versions] == ["created", *["edited"] * (len(chain) - 1)]


def _advance(tx: Tx, old: Memory, new: Memory) -> None:
    tx.memories.keep_version(old)
    assert tx.memories.update(new, change="edited", expected_version=old.version)


def test_an_update_of_another_version_changes_nothing(store: Store) -> None:
    memory = a_memory()
    insert(store, memory)
    changed = replace(memory, content="changed", version=3)
    assert not store.write(lambda tx: tx.memories.update(changed, change="edited", expected_version=2))
    assert get(store, memory) == memory


def test_a_deleted_memory_is_gone_with_its_history(store: Store) -> None:
    memory = a_memory()
    insert(store, memory)
    store.write(lambda tx: _advance(tx, memory, replace(memory, content="b", version=2)))
    store.write(lambda tx: tx.memories.delete(memory))
    assert get(store, memory) is None
    insert(store, memory)
    with store.read() as tx:
        assert len(tx.memories.versions(memory)) == 1


def test_a_dense_row_is_never_used_twice(store: Store) -> None:
    """A vector that was made for a forgotten memory must not be filed under the one that came after it."""
    first = a_memory("first")
    [row] = insert(store, first)
    store.write(lambda tx: tx.memories.delete(first))
    assert insert(store, a_memory("second")) != [row]


# -- promises of the database ------------------------------------------------------------------------


def test_an_id_is_taken_once_per_org(store: Store) -> None:
    memory = a_memory()
    insert(store, memory)
    insert(store, replace(memory, org="other"))
    with pytest.raises(Conflict):
        insert(store, replace(memory, content_hash="another"))


@pytest.mark.parametrize("unique", ["content_hash", "upsert_key"])
def test_only_one_live_memory_has_the_same_text_or_key(store: Store, unique: str) -> None:
    insert(store, a_memory("first", **{unique: SAME}))
    with pytest.raises(Conflict):
        insert(store, a_memory("second", **{unique: SAME}))


@pytest.mark.parametrize("unique", ["content_hash", "upsert_key"])
@pytest.mark.parametrize(
    "elsewhere",
    [
        {"org": "other"}, {"project": "p"}, {"user": "u"}, {"type": "fact"}, {"deleted_at": NOW},
        {"invalid_at": NOW}, {"superseded_by": "mem_x"},
    ],
)  # fmt: skip
def test_the_same_text_or_key_may_live_elsewhere_or_be_history(
    store: Store, unique: str, elsewhere: dict[str, object]
) -> None:
    insert(store, a_memory("first", **{unique: SAME}))
    other = a_memory("second", **{unique: SAME} | elsewhere)
    insert(store, other)
    assert get(store, other) == other


def test_absent_upsert_keys_do_not_collide(store: Store) -> None:
    insert(store, a_memory("first"), a_memory("second"))
    with store.read() as tx:
        assert tx.memories.live_upsert(a_memory("third")) is None


def test_a_live_duplicate_is_found_by_its_hash(store: Store) -> None:
    memory = a_memory("said", upsert_key="k")
    insert(store, memory)
    with store.read() as tx:
        assert tx.memories.live_duplicate(replace(memory, id="mem_other")) == memory.id
        assert tx.memories.live_upsert(replace(memory, id="mem_other")) == memory.id
        assert tx.memories.live_duplicate(replace(memory, project="p")) is None


def test_who_holds_a_key_until_later_is_found_by_it(store: Store) -> None:
    later = NOW + timedelta(days=2)
    ending, over = (
        a_memory(text, upsert_key="k", invalid_at=at) for text, at in (("ending", later), ("over", NOW))
    )
    insert(
        store,
        ending,
        over,
        a_memory("another key", upsert_key="l", invalid_at=later),
        a_memory("held", upsert_key="k"),
    )
    with store.read() as tx:
        assert tx.memories.upserted_until(ending, NOW) == [ending.id]
        assert tx.memories.upserted_until(ending, later) == []
        assert tx.memories.upserted_until(replace(ending, project="p"), NOW) == []


def test_half_of_a_character_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput) as refused, store.read() as tx:
        tx.memories.get(Reach.everything("local"), "cut \ud83d")
    assert refused.value.code == "TEXT_NOT_UTF8"
    with pytest.raises(InvalidInput), store.read() as tx:
        tx.index.ids_matching(Reach.everything("local"), tags=("cut \ud83d",), agent="\ud83d")


def test_a_working_memory_has_an_end(store: Store) -> None:
    with pytest.raises(Conflict):
        insert(store, a_memory(layer="working"))


# -- visibility --------------------------------------------------------------------------------------

places = st.tuples(st.sampled_from([None, "p", "q"]), st.sampled_from([None, "u", "v"]))


@on_one_store
@given(
    st.lists(st.tuples(places, st.booleans(), st.booleans()), max_size=12),
    places,
    st.sampled_from(["scope", "across", "all"]),
)
def test_every_way_in_shows_exactly_what_the_scope_may_see(
    store: Store, written: list[tuple[tuple[str | None, str | None], bool, bool]], asked: object, kind: str
) -> None:
    org, (project, user) = next(fresh_orgs), asked  # type: ignore[misc]
    memories = [
        a_memory(f"text {n}", org=f"{org} foreign" if foreign else org, project=p, user=u, tags=("t",),
                 deleted_at=NOW if deleted else None)
        for n, ((p, u), deleted, foreign) in enumerate(written)
    ]  # fmt: skip
    rows = dict(zip([m.id for m in memories], store.write(lambda tx: _put_all(tx, memories)), strict=True))
    expected = {
        m.id for m in memories
        if m.org == org and m.deleted_at is None
        and (kind != "scope" or m.project in (None, project)) and (kind == "all" or m.user in (None, user))
    }  # fmt: skip
    scope = Scope(org, project, user)
    reach = {"scope": Reach.of(scope), "across": Reach.across_projects(scope), "all": Reach.everything(org)}[kind]
    with store.read() as tx:
        for way, ids in _ways_in(tx, reach, rows).items():
            assert sorted(ids) == sorted(expected), way


def _put_all(tx: Tx, memories: list[Memory]) -> list[int]:
    rows = tx.memories.insert(memories)
    for row, memory in zip(rows, memories, strict=True):
        if memory.deleted_at is None:
            tx.index.put(row, memory, Indexed(2, (7).to_bytes(4, "little") + b"\x02", b"\x00\x3c" * 4, "toy@1"))
    return rows


def _ways_in(tx: Tx, reach: Reach, rows: dict[str, int]) -> dict[str, list[str]]:
    ids, id_of = list(rows), {row: id for id, row in rows.items()}
    memories, index = tx.memories, tx.index
    found, size = memories.find(reach, Filter(), now=NOW, limit=100), index.size(reach)
    assert size == (len(found), 2 * len(found))
    return {
        "get": [id for id in ids if memories.get(reach, id)],
        "get_many": list(memories.get_many(reach, ids)),
        "at_rows": list(memories.at_rows(reach, list(id_of))),
        "find": [memory.id for memory in found],
        "all": [memory.id for memory in memories.all(reach, page=3)],
        "ids_from": [id for id in memories.ids_from(reach, "mem_") if id in rows],
        "scope_rows": [row[0] for row in index.scope_rows(reach, "toy@1", limit=100)],
        "rows_by_id": [row[0] for row in index.rows_by_id(reach, ids, "toy@1")],
        "rows_by_row": [row[0] for row in index.rows_by_row(reach, list(id_of), "toy@1")],
        "matching": [id_of[row] for row in index.matching(reach, 7)],
        "newest": [id_of[row] for row in index.newest(reach, limit=100)],
        "nearest": [id_of[row] for row in index.nearest(reach, "toy@1", np.ones((1, 4), np.float32), limit=100)[0]],
        "vectors": [id_of[row] for block in index.vectors(reach, "toy@1", block=2) for row, _vector in block],
        "ids_matching": index.ids_matching(reach, tags=["t"]),
    }


def test_memories_of_all_orgs_are_counted_up_to_a_number(store: Store) -> None:
    insert(store, *(a_memory(f"text {n}") for n in range(3)), a_memory(org="b"), a_memory("x", deleted_at=NOW))
    with store.read() as tx:
        assert [tx.memories.count_all(most=most) for most in (1, 3, 9)] == [1, 3, 4]
        assert tx.memories.count_all() == 4


def test_the_newest_memory_is_found_in_whatever_place_it_is(store: Store) -> None:
    places = [(org, project, user) for org in "ab" for project in (None, "p", "q") for user in (None, "u", "v")]
    with store.read() as tx:
        assert tx.memories.newest() is None
    for days, (org, project, user) in enumerate(places[::2] + places[1::2]):
        created = NOW + timedelta(days=days)
        insert(store, *(
            a_memory(f"{n}", org=org, project=project, user=user, created_at=created - n * timedelta(hours=1))
            for n in range(3)
        ))  # fmt: skip
        with store.read() as tx:
            assert tx.memories.newest() == created


# -- lists -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(), "ab"),
        (Filter(types=("fact",)), "b"),
        (Filter(tags=("red", "nowhere")), "a"),
        (Filter(tags=("\\u0000",)), "a"),
        (Filter(tags=("\\ufffd",)), ""),
        (Filter(layer="rule"), "b"),
        (Filter(namespace="n"), "a"),
        (Filter(agent="g"), "b"),
        (Filter(session="s"), "a"),
        (Filter(pattern="[a]"), "a"),
        (Filter(before=NOW), "b"),
        (Filter(superseded=True), "abc"),
        (Filter(deleted=True), "abd"),
        (Filter(deleted=True, expired=True), "abde"),
    ],
)
@pytest.mark.parametrize("reach", [Reach.everything("local"), Reach.of(Scope())], ids=["org", "places"])
def test_a_filter_means_what_it_says(store: Store, wanted: Filter, expected: str, reach: Reach) -> None:
    insert(
        store,
        a_memory("a", tags=("red", "\\u0000"), namespace="n", session="s"),
        a_memory("b", type="fact", layer="rule", agent="g", created_at=NOW - timedelta(days=1)),
        a_memory("c", superseded_by="mem_b"),
        a_memory("d", deleted_at=NOW),
        a_memory("e", layer="working", expires_at=NOW),
    )
    with store.read() as tx:
        found = tx.memories.find(reach, wanted, now=NOW, limit=10)
    assert "".join(sorted(memory.content for memory in found)) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a?c", ["a-c", "a.c", "abc"]), ("a.c", ["a.c"]), ("[a-b]bc", ["abc"]), ("[^a]bc", ["]bc"]),
        ("[]x]bc", ["]bc"]), ("[b-a]c", ["]bc", "abc"]), ("a[-.]c", ["a-c", "a.c"]), ("[a", []),
        ("(%_\\", ["(%_\\"]), ("a*c", ["a-c", "a.c", "abc"]),
    ],
)  # fmt: skip
def test_a_pattern_means_the_same_everywhere(store: Store, pattern: str, expected: list[str]) -> None:
    insert(store, *map(a_memory, ["abc", "a.c", "a-c", "]bc", "(%_\\"]))
    with store.read() as tx:
        found = tx.memories.find(Reach.everything("local"), Filter(pattern=pattern), now=NOW, limit=10)
    assert sorted(memory.content for memory in found) == expected


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_has_room_for_one_memory_at_least(place: Path | str, limit: int) -> None:
    with open_toy(place) as clew, pytest.raises(InvalidInput) as refused:
        clew.list(limit=limit)
    assert refused.value.code == "LIMIT_INVALID"


@pytest.mark.parametrize(
    "reach", [Reach.everything("local"), Reach.of(Scope(project="shop", user="ann"))], ids=["org", "places"]
)
@pytest.mark.parametrize("few", [1, 1_000])
def test_pages_hold_everything_once_and_newest_first(
    store: Store, reach: Reach, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.store.memories.FEW", few)
    places = [(None, None), ("shop", None), (None, "ann"), ("shop", "ann"), ("other", "bob")] * 7
    memories = [a_memory(str(n), project=project, user=user) for n, (project, user) in enumerate(places)]
    insert(store, *memories)
    pages, cursor = [], None
    with store.read() as tx:
        while page := tx.memories.find(reach, Filter(), now=NOW, limit=6, cursor=cursor):
            pages += [memory.id for memory in page]
            cursor = pages[-1]
    seen = [memory.id for memory in memories if reach.sees(memory.project, memory.user)]
    assert pages == sorted(seen, reverse=True)
    assert len(seen) == (35 if reach.places() is None else 28)


def test_working_memories_end_by_time_and_by_number(store: Store) -> None:
    working = [
        a_memory(
            str(n), layer="working", user="u", updated_at=NOW + timedelta(seconds=n), expires_at=NOW + timedelta(n)
        )
        for n in range(5)
    ]
    insert(store, *working)
    with store.read() as tx:
        assert tx.memories.expired_working("local", NOW) == [working[0].id]
        assert tx.memories.working_overflow("local", "u", 3) == [working[1].id, working[0].id]
        assert tx.memories.working_overflow("local", None, 0) == []


def test_what_files_brought_to_a_place_is_told_as_long_as_nobody_changed_it(store: Store) -> None:
    brought = {"project": "shop", "origin": "import", "metadata": {"source": "CLAUDE.md"}}
    kept = a_memory("from the file", **brought)
    others = [
        a_memory("forgotten", **brought | {"deleted_at": NOW}),
        a_memory("said", **brought | {"origin": "user"}),
        a_memory("elsewhere", **brought | {"project": "other"}),
        a_memory("of ann", **brought | {"user": "ann"}),
    ]
    insert(store, kept, *others)
    with store.read() as tx:
        [(id, content_hash, metadata, version)] = tx.memories.imported(Scope(project="shop"))
    assert (id, content_hash, json.loads(metadata)) == (kept.id, kept.content_hash, {"source": "CLAUDE.md"})
    assert version == 1


def test_what_a_clock_ahead_of_ours_has_dated_is_redated_in_one_org_alone(store: Store) -> None:
    later, org = NOW + timedelta(days=30), next(fresh_orgs)
    ahead = a_memory("ahead", org=org, at=later, valid_at=later, created_at=later, updated_at=later, project="shop")
    ended = a_memory("ended", org=org, invalid_at=later, updated_at=later)
    planned = a_memory("planned", org=org, valid_at=later)
    elsewhere = replace(ahead, id=f"{ahead.id[:-1]}z", org=next(fresh_orgs))
    insert(store, ahead, ended, planned)
    insert(store, elsewhere)
    moved = store.write(lambda tx: tx.memories.redate(org, NOW))
    assert sorted(moved, key=str) == sorted([(ahead.id, "shop"), (ended.id, None)], key=str)
    assert get(store, ahead) == replace(ahead, at=NOW, valid_at=NOW, created_at=NOW, updated_at=NOW)
    assert get(store, ended) == replace(ended, invalid_at=NOW, updated_at=NOW)
    assert get(store, planned) == planned and get(store, elsewhere) == elsewhere

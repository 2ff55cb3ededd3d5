"""The two indices: put, taken out again without a rest, and never wider than the scope."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import a_memory

from clew.guard.trust import is_told_unasked
from clew.model.memory import CLASSIFICATIONS, Indexed, Memory
from clew.model.scope import Reach, Scope
from clew.ports import Store, Tx
from clew.recall.analyse import hash_term
from clew.recall.segment import build_segment
from clew.remember.prepare import index_terms
from clew.remember.trust import TRUSTS

EVERYTHING = Reach.everything("local")
VECTOR = b"\x00\x3c" * 8


def put(tx: Tx, memory: Memory, indexed: Indexed | None = None) -> int:
    [row] = tx.memories.insert([memory])
    tx.index.put(row, memory, indexed or replace(index_terms(memory), vector=VECTOR, space="toy@1"))
    return row


def fill(tx: Tx, row: int, *, version: int, vector: bytes, org: str = "local", space: str = "toy@1") -> bool:
    return tx.index.fill_vector(org, row, version=version, vector=vector, space=space)


def terms_of(memory: Memory) -> list[int]:
    packed = index_terms(memory).terms
    return [int.from_bytes(packed[at : at + 4], "little") for at in range(0, len(packed) // 5 * 4, 4)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text("abcd ", min_size=1, max_size=30), st.booleans()), min_size=1, max_size=12))
def test_the_index_finds_what_was_put_and_nothing_that_was_dropped(
    store: Store, writes: list[tuple[str, bool]]
) -> None:
    memories = [a_memory(f"{n}x {text}") for n, (text, _drop) in enumerate(writes)]
    rows = [store.write(lambda tx, m=memory: put(tx, m)) for memory in memories]
    for row, memory, (_text, drop) in zip(rows, memories, writes, strict=True):
        if drop:
            store.write(lambda tx, row=row, m=memory: _drop(tx, row, m))
    with store.read() as tx:
        for row, memory, (_text, drop) in zip(rows, memories, writes, strict=True):
            found = [row in tx.index.matching(EVERYTHING, term) for term in terms_of(memory)]
            assert found == [not drop] * len(found)
    store.write(lambda tx: [_drop(tx, row, m) for row, m in zip(rows, memories, strict=True)])


def _drop(tx: Tx, row: int, memory: Memory) -> None:
    tx.index.drop("local", row)
    tx.memories.delete(memory)


def test_the_read_model_marks_what_is_never_told_unasked(store: Store) -> None:
    kinds = [(trust, label) for trust in (*TRUSTS, "new") for label in CLASSIFICATIONS]
    memories = [
        replace(a_memory(f"{n}x"), trust=trust, classification=label) for n, (trust, label) in enumerate(kinds)
    ]
    for memory in memories:
        store.write(lambda tx, m=memory: put(tx, m))  # type: ignore[misc]
    with store.read() as tx:
        segment = build_segment(tx.index.scope_rows(EVERYTHING, "toy@1", limit=100), 8)
    marked = dict(zip(segment.ids, segment.untold.tolist(), strict=True))
    assert marked == {memory.id: not is_told_unasked(memory) for memory in memories}
    assert len(set(marked.values())) == 2 and not segment.superseded.any()


def test_a_dropped_memory_leaves_nothing_in_any_index(store: Store) -> None:
    memory = a_memory("the cache lives in redis")
    row = store.write(lambda tx: put(tx, memory))
    store.write(lambda tx: tx.index.drop("local", row))
    with store.read() as tx:
        assert not any(tx.index.matching(EVERYTHING, term) for term in terms_of(memory))
        assert tx.index.terms_of("local", row) is None
        assert list(tx.index.vectors(EVERYTHING, "toy@1")) == []
        assert tx.index.size(EVERYTHING) == (0, 0)


def test_dropping_twice_does_no_harm(store: Store) -> None:
    memory = a_memory("once")
    row = store.write(lambda tx: put(tx, memory))
    for _ in range(2):
        store.write(lambda tx: tx.index.drop("local", row))
    store.write(lambda tx: tx.index.verify())


def test_put_drop_and_put_again_in_one_transaction_ends_with_the_last(store: Store) -> None:
    old, new = a_memory("old words"), index_terms(a_memory("new things"))

    def rewrite(tx: Tx) -> int:
        row = put(tx, old)
        tx.index.drop("local", row)
        tx.index.put(row, old, new)
        return row

    row = store.write(rewrite)
    with store.read() as tx:
        assert [tx.index.matching(EVERYTHING, term) for term in terms_of(a_memory("new things"))] == [[row], [row]]
        assert [tx.index.matching(EVERYTHING, term) for term in terms_of(old)] == [[], []]
        assert tx.index.damage("local") == {}


def test_a_word_of_another_org_or_project_is_not_found(store: Store) -> None:
    here = a_memory("shared word", project="p")
    there = a_memory("shared word", project="q")
    foreign = a_memory("shared word", org="other", project="p")
    row, *_ = [store.write(lambda tx, m=memory: put(tx, m)) for memory in (here, there, foreign)]
    with store.read() as tx:
        for term in terms_of(here):
            assert tx.index.matching(Reach("local", ("", "p"), ("",)), term) == [row]


def test_a_vector_belongs_to_one_space(store: Store) -> None:
    row = store.write(lambda tx: put(tx, a_memory()))
    with store.read() as tx:
        assert tx.index.count_without_vector("local", "toy@1") == 0
        assert tx.index.count_without_vector("local", "other@1") == 1
        assert [row[0] for row in tx.index.without_vector("local", "other@1", before=1 << 62, limit=10)] == [row]
        assert list(tx.index.vectors(EVERYTHING, "other@1")) == []
        assert tx.index.vector_counts(Reach.everything("local")) == {"toy@1": 1}


def test_a_vector_is_filled_in_unless_the_memory_changed_meanwhile(store: Store) -> None:
    memory = a_memory()
    row = store.write(lambda tx: put(tx, memory, index_terms(memory)))
    store.write(lambda tx: fill(tx, row, version=memory.version + 1, vector=b"\x00" * 16))
    with store.read() as tx:
        assert list(tx.index.vectors(EVERYTHING, "toy@1")) == []
    store.write(lambda tx: fill(tx, row, version=memory.version, vector=VECTOR))
    with store.read() as tx:
        assert list(tx.index.vectors(EVERYTHING, "toy@1")) == [[(row, VECTOR)]]


def test_a_new_model_replaces_the_vector(store: Store) -> None:
    memory = a_memory()
    row = store.write(lambda tx: put(tx, memory))
    store.write(lambda tx: fill(tx, row, version=1, vector=b"\x00\x38" * 8, space="new@1"))
    with store.read() as tx:
        assert tx.index.vector_counts(Reach.everything("local")) == {"new@1": 1}


def test_nothing_is_done_to_a_memory_under_the_name_of_another_org(store: Store) -> None:
    memory = a_memory("the cache lives in redis")
    row = store.write(lambda tx: put(tx, memory))
    store.write(lambda tx: tx.index.drop("other", row))
    assert not store.write(
        lambda tx: fill(tx, row, org="other", version=memory.version, vector=VECTOR, space="s@1")
    )
    with store.read() as tx:
        assert tx.index.terms_of("other", row) is None and tx.index.count_without_vector("other", "s@1") == 0
        assert tx.index.terms_of("local", row) == replace(index_terms(memory), vector=None, space="")
        assert tx.index.vector_counts(EVERYTHING) == {"toy@1": 1} and tx.index.damage("local") == {}


def test_what_is_wrong_with_the_index_is_counted_org_by_org(store: Store) -> None:
    memories = [a_memory("zebra", org=org) for org in ("local", "other")]
    rows = [store.write(lambda tx, m=memory: put(tx, m)) for memory in memories]
    store.write(lambda tx: tx.memories.insert([a_memory("not indexed", org="other")]))
    with store.read() as tx:
        assert (tx.index.damage("local"), tx.index.damage("other")) == ({}, {"missing": 1})
        assert [row for row, _memory in tx.memories.rows_after("local", 0, limit=9)] == rows[:1]


def test_a_rebuilt_index_finds_what_it_found_in_every_org(store: Store) -> None:
    memories = [a_memory("zebra", org=org) for org in ("local", "other")]
    rows = [store.write(lambda tx, m=memory: put(tx, m)) for memory in memories]
    store.write(lambda tx: tx.index.rebuild(["local", "other"]))
    with store.read() as tx:
        [term] = terms_of(memories[0])
        found = [tx.index.matching(Reach.everything(org), term) for org in ("local", "other")]
        assert found == [rows[:1], rows[1:]] and tx.index.damage("other") == {}


def test_a_memory_of_more_words_than_an_index_takes_at_once_is_found_by_each(store: Store) -> None:
    rng = random.Random(3)
    memory = a_memory("".join(map(chr, rng.choices(range(0x4E00, 0x9FA0), k=160_000))), project="p")
    row = store.write(lambda tx: put(tx, memory))
    store.write(lambda tx: put(tx, a_memory("short", project="p")))
    terms = terms_of(memory)
    asked = [hash_term(memory.content[:2]), terms[0], terms[-1], *rng.sample(terms, 20)]
    others = {hash_term(f"absent{number}") for number in range(20)}.difference(terms)
    with store.read() as tx:
        for reach in (EVERYTHING, Reach.of(Scope(project="p"))):
            assert [tx.index.matching(reach, term) for term in asked] == [[row]] * len(asked)
            assert [tx.index.matching(reach, term) for term in others] == [[]] * len(others)
        assert tx.index.matching(Reach.of(Scope(project="q")), asked[0]) == []
    store.write(lambda tx: _drop(tx, row, memory))
    with store.read() as tx:
        assert [tx.index.matching(EVERYTHING, term) for term in asked] == [[]] * len(asked)


def test_numbers_of_any_size_go_in_at_once(store: Store) -> None:
    """A list of small numbers, then one of large ones: the first must not decide how wide they all are."""

    def note(tx: Tx) -> None:
        for start in (1, 40_000, 3_000_000_000):
            tx.graph.put_names("local", [(start + number, False, start + number) for number in range(6)])

    store.write(note)
    with store.read() as tx:
        assert tx.edges.names_of("local", 3_000_000_005) == {(3_000_000_005, False)}

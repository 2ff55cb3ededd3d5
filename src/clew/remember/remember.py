"""The write path: drafts in, memories out.

In: drafts and the scope they belong to. Out: one `Remembered` per draft, in order.
Durable when it returns: rows, history, both indices and the change log, in one transaction per batch.
Run twice: the same text in the same place is found by its hash and not stored again.
Embedding is an extra: if it fails, the memory is stored without a vector, which is made up for later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice

from clew.errors import Conflict
from clew.model.memory import Draft, Memory, Prepared, Remembered
from clew.model.scope import Reach, Scope
from clew.ports import Clock, Embedder, Store, Tx
from clew.relate.embed import pack_vectors
from clew.remember.lifecycle import is_expired, not_found, put_state, revive, soft_delete, supersede
from clew.remember.prepare import WritePolicy, draft_memory, embedding_text, index_terms
from clew.remember.trust import TRUSTS

BATCH = 500


def remember(
    drafts: Iterable[Draft],
    scope: Scope,
    *,
    store: Store,
    embedder: Embedder | None,
    clock: Clock,
    policy: WritePolicy,
) -> Iterable[Remembered]:
    """Batch by batch; each batch is durable before the next one is taken from `drafts`."""
    remaining = iter(drafts)
    while batch := list(islice(remaining, BATCH)):
        now = clock.now()
        prepared = prepare(batch, scope, store=store, embedder=embedder, now=now, policy=policy)
        yield from store.write(partial(save, prepared=prepared, now=now, policy=policy))


def prepare(
    drafts: Sequence[Draft],
    scope: Scope,
    *,
    store: Store,
    embedder: Embedder | None,
    now: datetime,
    policy: WritePolicy,
) -> list[Prepared]:
    parents = _parents(drafts, scope, store)
    drafted = [
        draft_memory(draft, scope, now=now, policy=policy, parents=_trust_of_parents(draft, parents))
        for draft in drafts
    ]
    vectors = pack_vectors(embedder, [embedding_text(memory.title, memory.content) for memory, _masked in drafted])
    return [
        Prepared(memory, replace(index_terms(memory), vector=vector, space=space), masked, draft.supersedes)
        for draft, (memory, masked), (vector, space) in zip(drafts, drafted, vectors, strict=True)
    ]


def save(tx: Tx, prepared: Sequence[Prepared], *, now: datetime, policy: WritePolicy) -> list[Remembered]:
    saved = [_save_one(tx, item, now) for item in prepared]
    if any(item.memory.layer == "working" for item in prepared):
        _compact_working(tx, {(item.memory.org, item.memory.user) for item in prepared}, now, policy)
    return saved


def _save_one(tx: Tx, item: Prepared, now: datetime) -> Remembered:
    memory = item.memory
    known = _already_known(tx, memory, now)
    if known:
        return Remembered(_confirm(tx, known, item, now), deduplicated=True, masked=item.masked)
    replaced = _to_supersede(tx, item)
    if replaced:
        supersede(tx, replaced, memory, now)
    row = tx.memories.insert(memory)
    tx.index.put(row, memory, item.indexed)
    tx.changes.note(memory.org, memory.project, "memory", memory.id, "put")
    return Remembered(memory, superseded=replaced.id if replaced else None, masked=item.masked)


def _already_known(tx: Tx, memory: Memory, now: datetime) -> Memory | None:
    """The live memory with this text, or the one with this id when an import is repeated."""
    by_id = tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)
    if by_id and not Reach.of(memory.scope).sees(by_id.project, by_id.user):
        raise Conflict(
            f"the id {memory.id} is taken", code="MEMORY_ID_TAKEN", next="leave the id out to get a new one"
        )
    if by_id or memory.invalid_at is not None:  # born as history: it has no claim on being the live one
        return by_id
    id = tx.memories.live_duplicate(memory)
    known = tx.memories.get(Reach.of(memory.scope), id) if id else None
    if known and is_expired(known, now):
        soft_delete(tx, known, now)
        return None
    return known


def _confirm(tx: Tx, known: Memory, item: Prepared, now: datetime) -> Memory:
    """Said again: a more trusted first-hand statement lifts the trust, a working memory lives on."""
    stated = item.memory
    if known.deleted_at:
        return revive(tx, known, now)
    trust = known.trust
    if not stated.parents and TRUSTS.index(stated.trust) > TRUSTS.index(trust):
        trust = stated.trust
    expires_at = stated.expires_at if known.layer == stated.layer == "working" else known.expires_at
    if (trust, expires_at) == (known.trust, known.expires_at):
        return known
    confirmed = replace(known, trust=trust, expires_at=expires_at, updated_at=now, version=known.version + 1)
    return put_state(tx, known, confirmed, "confirmed")


def _to_supersede(tx: Tx, item: Prepared) -> Memory | None:
    memory = item.memory
    reach = Reach.of(memory.scope)
    id = item.supersedes or (tx.memories.live_upsert(memory) if memory.upsert_key else None)
    if id is None:
        return None
    replaced = tx.memories.get(reach, id)
    if replaced is None:
        raise not_found(id)
    return replaced


def _parents(drafts: Sequence[Draft], scope: Scope, store: Store) -> dict[str, Memory]:
    """The memories that drafts derive from; a parent one cannot see cannot be derived from."""
    ids = sorted({parent for draft in drafts for parent in draft.parents})
    if not ids:
        return {}
    with store.read() as tx:
        found = tx.memories.get_many(Reach.of(scope), ids)
    for id in ids:
        if id not in found:
            raise not_found(id)
    return found


def _trust_of_parents(draft: Draft, parents: Mapping[str, Memory]) -> dict[str, str]:
    return {id: parents[id].trust for id in draft.parents}


def _compact_working(tx: Tx, owners: set[tuple[str, str | None]], now: datetime, policy: WritePolicy) -> None:
    """Expired working memories go, and of each user only the newest stay."""
    for org, user in sorted(owners, key=str):
        gone = tx.memories.expired_working(org, now)
        gone += tx.memories.working_overflow(org, user, policy.working_max)
        for id in dict.fromkeys(gone):
            memory = tx.memories.get(Reach.everything(org), id)
            if memory:
                soft_delete(tx, memory, now)

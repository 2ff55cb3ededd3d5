"""The write path: drafts in, memories out.

In: drafts and the scope they belong to. Out: one `Remembered` per draft, in order.
Durable when it returns: rows, history, both indices and the change log, in one transaction per batch.
Run twice: the same text in the same place is found by its hash and not stored again.
Embedding is an extra: if it fails, the memory is stored without a vector, which is made up for later. What takes
longer than a write should, such as relations to other memories, is left to a job that is queued with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from clew.errors import Conflict
from clew.lazy import LazyModule
from clew.model.audit import digest_of_ids
from clew.model.ids import new_ids
from clew.model.kinds import looked_at
from clew.model.memory import Draft, Memory, Prepared, Remembered
from clew.model.scope import Reach, Scope
from clew.model.times import to_micros
from clew.ports import Clock, Embedder, Store, Tx
from clew.relate.embed import pack_vectors
from clew.relate.queue import enqueue, enqueue_changed
from clew.remember import key_names
from clew.remember.classify import demanded, highest
from clew.remember.graph import Entry, GraphPolicy, draft_of, map_memories, remap, remap_id
from clew.remember.lifecycle import (
    TEXT_TAKEN,
    May,
    is_expired,
    key_taken,
    may_change,
    may_read,
    not_found,
    put_state,
    revive,
    soft_delete,
    supersede,
    text_taken,
)
from clew.remember.prepare import MAX_LIST_ITEMS, NEW_WEIGHT, WritePolicy, draft_memory, embedding_text, index_terms
from clew.remember.trust import TRUSTS
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.guard import quarantine
else:
    quarantine = LazyModule("clew.guard.quarantine")  # what the user says does without

BATCH = 500
JOINED = 32  # memories of a batch that is saved together with others
_RAISED = ("confidential", "restricted")
Check = Callable[[Tx, Sequence[Prepared], datetime], None]


def remember(
    drafts: Iterable[Draft],
    scope: Scope,
    *,
    store: Store,
    embedder: Embedder | None,
    clock: Clock,
    policy: WritePolicy,
    graph: GraphPolicy,
    trust: str = "user",
    actor: str = "owner",
    check: Check | None = None,
    may: May | None = None,
    may_configure: Callable[[], bool] | None = None,
) -> Iterable[Remembered]:
    """Batch by batch; what was yielded is durable. `check` may refuse a batch within its transaction, `may` says
    what of the memories that are there already may be read and changed, `may_configure` whether a label or a
    weight that was given counts as of those who configure the org; it is asked where one was."""
    remaining = iter(drafts)
    while batch := list(islice(remaining, BATCH)):
        now = clock.now()
        drafting = replace(policy, may_lower=True, may_weigh=True) if _claims(batch, may_configure) else policy
        how = partial(prepare, store=store, embedder=embedder, now=now, policy=drafting, graph=graph, trust=trust)
        with looked_at(batch):
            saving = Saving(how(batch, scope, may=may), now, policy, graph, actor, check, may)
            saved = store.write(saving)
        for one in saved:
            yield _explained(one, policy) if one.memory.classification in _RAISED else one


def _claims(batch: Sequence[Draft], may_configure: Callable[[], bool] | None) -> bool:
    is_given = any(draft.classification or draft.weight != NEW_WEIGHT for draft in batch)
    return is_given and may_configure is not None and may_configure()


def stored(answer: Remembered) -> Remembered:
    """The answer to one memory alone, of which nothing else came in."""
    if answer.refused:
        raise text_taken()
    return answer


def _explained(answer: Remembered, policy: WritePolicy) -> Remembered:
    memory = answer.memory
    text, strict = f"{memory.title or ''}\n{memory.content}", policy.strict_token_rule
    asked = demanded(text, paths=memory.paths, masked=bool(answer.masked), strict_token_rule=strict)
    return replace(answer, label_because=asked.why) if asked and asked.tier == memory.classification else answer


def prepare(
    drafts: Sequence[Draft],
    scope: Scope,
    *,
    store: Store,
    embedder: Embedder | None,
    now: datetime,
    policy: WritePolicy,
    graph: GraphPolicy,
    trust: str = "user",
    may: May | None = None,
) -> list[Prepared]:
    key_names.check_place(scope)
    parents = _parents(drafts, scope, store, may)
    how = partial(draft_memory, scope=scope, now=now, policy=policy, trust=trust)
    ids = new_ids("mem", len(drafts), at_ms=to_micros(now) // 1000)
    drafted = [
        how(draft, parents=_parents_of(draft, parents), new=id) for draft, id in zip(drafts, ids, strict=True)
    ]
    vectors = pack_vectors(embedder, [embedding_text(memory.title, memory.content) for memory, _masked in drafted])
    return [
        Prepared(
            memory,
            index_terms(memory, vector, space),
            graph=draft_of(memory, graph),
            masked=masked,
            supersedes=draft.supersedes,
            has_given_id=draft.id is not None,
            has_given_label=draft.classification is not None or bool(draft.parents),
            suspicions=quarantine.suspicions(memory) if memory.trust != "user" else (),
        )
        for draft, (memory, masked), (vector, space) in zip(drafts, drafted, vectors, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Saving:
    """`save` of one batch, as a write that may be made together with others: threads that remember at once then
    cost little more than one that remembers as much. Only what is plainly new is; the rest is looked at one by
    one."""

    prepared: list[Prepared]
    now: datetime
    policy: WritePolicy
    graph: GraphPolicy
    actor: str
    check: Check | None
    may: May | None

    def __call__(self, tx: Tx) -> list[Remembered]:
        how = {"now": self.now, "policy": self.policy, "graph": self.graph, "actor": self.actor}
        return save(tx, self.prepared, **how, check=self.check, may=self.may)  # type: ignore[arg-type]

    @property
    def joins(self) -> Hashable:
        """Of batches for one place by the same writer, of whom nothing is checked."""
        if self.check or self.may or len(self.prepared) > JOINED or not all(map(_is_simple, self.prepared)):
            return None
        first = self.prepared[0].memory
        return first.org, first.project, first.user, self.actor, self.policy, self.graph

    def together(self, tx: Tx, actions: Sequence[Saving]) -> list[list[Remembered]]:
        prepared = [item for saving in actions for item in saving.prepared]
        if len(_plainly_new(tx, prepared)) < len(prepared):
            raise _NotTogether
        _insert(tx, prepared, self.graph, max(saving.now for saving in actions))
        answers = [[Remembered(item.memory, masked=item.masked) for item in saving.prepared] for saving in actions]
        for saving, written in zip(actions, answers, strict=True):
            _note(tx, written, saving.now, self.actor)
        return answers


class _NotTogether(Exception):
    """One of several batches holds what is not plainly new: each is saved by itself."""


def _is_simple(item: Prepared) -> bool:
    """Whether nothing but its text decides what becomes of it."""
    memory = item.memory
    return not (
        item.suspicions
        or item.has_given_id
        or item.supersedes
        or memory.superseded_by
        or memory.upsert_key
        or memory.layer == "working"
    )


def save(
    tx: Tx,
    prepared: Sequence[Prepared],
    *,
    now: datetime,
    policy: WritePolicy,
    graph: GraphPolicy,
    actor: str = "owner",
    check: Check | None = None,
    may: May | None = None,
) -> list[Remembered]:
    """All or nothing. What looks like an attack is kept apart, unless its text was let in before."""
    if check:
        check(tx, prepared, now)
    held = {
        at: quarantine.hold(tx, item, now=now, actor=actor)
        for at, item in enumerate(prepared)
        if item.suspicions and not _is_known(tx, item, now, may)
    }
    kept = [item for at, item in enumerate(prepared) if at not in held]
    saved = iter(_save(tx, kept, now=now, policy=policy, graph=graph, actor=actor, may=may) if kept else ())
    return [held[at] if at in held else next(saved) for at in range(len(prepared))]


def _save(
    tx: Tx,
    prepared: Sequence[Prepared],
    *,
    now: datetime,
    policy: WritePolicy,
    graph: GraphPolicy,
    actor: str,
    may: May | None,
) -> list[Remembered]:
    """Most of an import is plainly new and goes in together; the rest is looked at one by one."""
    tx.memories.expect(prepared[0].memory.org, len(prepared))
    tx.jobs.expect()
    new = _plainly_new(tx, prepared)
    given = any(item.has_given_id for item in prepared)
    _insert(tx, [item for item in prepared if item.memory.id in new], graph, now, may_replace=given)
    saved = [
        Remembered(item.memory, masked=item.masked)
        if item.memory.id in new
        else _save_one(tx, item, graph, now, may)
        for item in prepared
    ]
    for id in sorted({item.memory.superseded_by for item in prepared if item.memory.superseded_by}):
        remap_id(tx, prepared[0].memory.org, id, graph, now)  # brought along by an import, before or with it
    changed = [one for one in saved if one.id and (not one.deduplicated or one.memory.updated_at == now)]
    has_working = any(item.memory.layer == "working" for item in prepared)
    if not has_working:  # otherwise more may change
        tx.changes.expect(prepared[0].memory.org)
    _note(tx, changed, now, actor)
    if has_working:
        _compact_working(tx, {(item.memory.org, item.memory.user) for item in prepared}, now, policy)
    return saved


def _note(tx: Tx, written: Sequence[Remembered], now: datetime, actor: str) -> None:
    """Who wrote: one entry for a batch, so that an import does not pay for each memory."""
    if not written:
        return
    first, replaced = written[0].memory, [one.superseded for one in written if one.superseded]
    detail: dict[str, object] = {"superseded": replaced} if replaced else {}
    if len(written) > 1:
        detail |= {"count": len(written), "last": written[-1].id, "ids": digest_of_ids(one.id for one in written)}
    tx.audit.note(
        first.org,
        at=now,
        actor=actor,
        action="remember",
        id=first.id,
        content_hash=first.content_hash,
        detail=detail,
    )


def _plainly_new(tx: Tx, prepared: Sequence[Prepared]) -> set[str]:
    """Ids of those that neither replace anything nor say what is known or was said earlier in the batch, and that
    follow in their thread on none that may replace another: it would not be there yet."""
    given = [item.memory.id for item in prepared if item.has_given_id]
    seen = tx.memories.taken_ids(prepared[0].memory.org, given) if given else set()
    for type_ in {item.memory.type for item in prepared}:
        alike = [item.memory for item in prepared if item.memory.type == type_]
        known = tx.memories.live_hashes(alike[0], [memory.content_hash for memory in alike])
        seen |= {type_ + content_hash for content_hash in known}
    new = set()
    later: set[str | None] = set()  # the threads of these
    for item in prepared:
        memory = item.memory
        said = memory.type + memory.content_hash
        if memory.upsert_key or item.supersedes:
            later.add(memory.thread or "")
        elif memory.id not in seen and said not in seen and memory.thread not in later:
            new.add(memory.id)
        seen.add(memory.id)
        seen.add(said)
    return new


def _insert(
    tx: Tx, items: Sequence[Prepared], graph: GraphPolicy, now: datetime, *, may_replace: bool = False
) -> None:
    if not items:
        return
    rows = tx.memories.insert([item.memory for item in items])
    tx.index.put_many([(row, item.memory, item.indexed) for row, item in zip(rows, items, strict=True)])
    for item in items:
        tx.changes.note(item.memory.org, item.memory.project, "memory", item.memory.id, "put")
    entries = [Entry(row, item.memory, item.graph, may_replace) for row, item in zip(rows, items, strict=True)]
    map_memories(tx, entries, graph, now)
    enqueue(tx, items[0].memory.org, [item.memory.id for item in items], operation="add")


def _save_one(tx: Tx, item: Prepared, graph: GraphPolicy, now: datetime, may: May | None) -> Remembered:
    memory = item.memory
    known = _known(tx, item, now, may)
    if known and not may_read(may, known):
        # It cannot be stored beside what says the same in the same place. So nothing happens, and the answer
        # repeats what was said, without the id of what is hidden.
        return Remembered(replace(memory, id=""), masked=item.masked, refused=TEXT_TAKEN)
    replaced = _replaced(tx, item, known, now, may)
    for old in replaced:  # also when the text is known: what it was told to replace has ended all the same
        supersede(tx, old, replace(memory, id=known.id) if known else memory, now)
    superseded = replaced[0].id if replaced else None
    if known:
        confirmed = _confirm(tx, known, item, graph, now, may) if may_change(may, known) else known
        if replaced:
            remap_id(tx, confirmed.org, confirmed.id, graph, now)
        return Remembered(confirmed, True, superseded, item.masked)
    _insert(tx, [item], graph, now, may_replace=bool(replaced) or item.has_given_id)
    return Remembered(memory, superseded=superseded, masked=item.masked)


def _by_id(tx: Tx, memory: Memory) -> Memory | None:
    """The memory with this id, when an import is repeated."""
    known = tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)
    if known is None:
        return None
    if not Reach.of(memory.scope).sees(known.project, known.user) or known.content_hash != memory.content_hash:
        raise _taken(memory.id)
    return known


def _taken(id: str) -> Conflict:
    return Conflict(f"the id {id} is taken", code="MEMORY_ID_TAKEN", next="leave the id out to get a new one")


def _known(tx: Tx, item: Prepared, now: datetime, may: May | None) -> Memory | None:
    """The memory that says this already. What was forgotten comes back for those who may change it; to others its
    id is taken."""
    by_id = _by_id(tx, item.memory) if item.has_given_id else None
    if by_id and not by_id.deleted_at:
        return by_id
    known = _same_text(tx, item.memory, now) or by_id  # forgotten under this id, it may live on under another
    if known and known.deleted_at and not may_change(may, known, replace(known, deleted_at=None)):
        raise _taken(known.id)
    return known


def _is_known(tx: Tx, item: Prepared, now: datetime, may: May | None) -> bool:
    """What was forgotten is not: to come back, it is looked at like anything new."""
    known = _known(tx, item, now, may)
    return known is not None and known.deleted_at is None


def _same_text(tx: Tx, memory: Memory, now: datetime) -> Memory | None:
    """The live memory with this text. One born as history has no claim on being the live one."""
    id = None if memory.is_history else tx.memories.live_duplicate(memory)
    known = tx.memories.get(Reach.of(memory.scope), id) if id else None
    if known and is_expired(known, now):
        soft_delete(tx, known, now)
        return None
    return known


def _confirm(tx: Tx, known: Memory, item: Prepared, graph: GraphPolicy, now: datetime, may: May | None) -> Memory:
    """Said again: a more trusted first-hand statement lifts the trust, a stricter label counts, tags and paths are
    added, and it lives on as long as was said now."""
    stated = item.memory
    if known.deleted_at:
        return revive(tx, known, graph, now, may)
    # What is suspected may be an echo of what was released: repeating it makes it no more trusted.
    vouches = not stated.parents and not item.suspicions
    lifts = vouches and TRUSTS.index(stated.trust) > TRUSTS.index(known.trust)
    # The same words do not raise again what somebody lowered in spite of them.
    is_new_label = item.has_given_label or item.masked or not set(stated.paths) <= set(known.paths)
    confirmed = replace(
        known,
        trust=stated.trust if lifts else known.trust,
        origin=stated.origin if lifts else known.origin,
        layer=stated.layer if known.layer == "working" or stated.layer == "rule" else known.layer,
        expires_at=_later(known.expires_at, stated.expires_at),
        upsert_key=known.upsert_key or (None if known.is_history else stated.upsert_key),
        classification=highest(known.classification, stated.classification)
        if is_new_label
        else known.classification,
        tags=_united(known.tags, stated.tags) if vouches else known.tags,
        paths=_united(known.paths, stated.paths) if vouches else known.paths,
    )
    if confirmed == known:
        return known
    stored = put_state(tx, known, replace(confirmed, updated_at=now), "confirmed")
    is_labelled_anew = (stored.tags, stored.paths) != (known.tags, known.paths)
    if is_labelled_anew:
        tx.index.put_terms(tx.memories.row_of(stored), stored, index_terms(stored))
    if is_labelled_anew or stored.expires_at != known.expires_at:  # what it states lives as long as it does
        remap(tx, tx.memories.row_of(stored), stored, graph, now)
    enqueue_changed(tx, known, stored)
    return stored


def _united(known: tuple[str, ...], stated: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *stated)))[:MAX_LIST_ITEMS] if stated else known


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """None is for good."""
    return None if one is None or other is None else max(one, other)


def to_replace(tx: Tx, item: Prepared, now: datetime, may: May | None) -> list[Memory]:
    """What ends when it is saved."""
    return _replaced(tx, item, _known(tx, item, now, may), now, may)


def _replaced(tx: Tx, item: Prepared, known: Memory | None, now: datetime, may: May | None) -> list[Memory]:
    """Neither what says the same, nor what that has replaced already."""
    found = _to_supersede(tx, item, now, may)
    return [old for old in found if known is None or known.id not in (old.id, old.superseded_by)]


def _to_supersede(tx: Tx, item: Prepared, now: datetime, may: May | None) -> list[Memory]:
    """The memory it was told to replace, and those that hold its key until now, or until later, unless an import
    brought them as replaced by it. One that may not be read is not found, and its key is taken."""
    memory = item.memory
    ids = dict.fromkeys((item.supersedes, *(_key_holders(tx, memory, now) if memory.upsert_key else ())))
    found = {id: tx.memories.get(Reach.of(memory.scope), id) for id in ids if id}
    for id, old in found.items():
        if old is None or not may_read(may, old):
            raise not_found(id) if id == item.supersedes else key_taken(memory.upsert_key or "")
        if old.superseded_by and item.supersedes == id and not _says_so(tx, memory, old.superseded_by):
            raise _replaced_already(tx, old, may)
        if (old.project, old.user) != (memory.project, memory.user):
            raise Conflict(
                f"memory {old.id} belongs to another place than the one that would replace it",
                code="MEMORY_OF_ANOTHER_PLACE",
                next="remember it in the same project and for the same user: all who saw the old one must see it",
            )
    return [old for old in found.values() if old and old.superseded_by != memory.id]


def _key_holders(tx: Tx, memory: Memory, now: datetime) -> list[str | None]:
    """Nobody's, for a memory that is over."""
    if memory.superseded_by or (memory.invalid_at and memory.invalid_at <= now):
        return []
    return [tx.memories.live_upsert(memory), *tx.memories.upserted_until(memory, max(now, memory.valid_at))]


def _replaced_already(tx: Tx, old: Memory, may: May | None) -> Conflict:
    by = tx.memories.get(Reach.everything(old.org), old.superseded_by or "") if may else None
    if by and not may_read(may, by):
        return Conflict(
            f"memory {old.id} was replaced already", code="MEMORY_SUPERSEDED", next="remember it without replacing"
        )
    return Conflict(
        f"memory {old.id} was replaced by {old.superseded_by} already",
        code="MEMORY_SUPERSEDED",
        next=f"replace that one instead: --supersedes {old.superseded_by}",
    )


def _says_so(tx: Tx, memory: Memory, id: str) -> bool:
    """Whether the memory with this id holds the very text: told the same twice."""
    other = tx.memories.get(Reach.of(memory.scope), id)
    return other is not None and other.content_hash == memory.content_hash


def _parents(drafts: Sequence[Draft], scope: Scope, store: Store, may: May | None) -> dict[str, Memory]:
    """The memories that drafts derive from; a parent one cannot see cannot be derived from."""
    ids = sorted({parent for draft in drafts for parent in draft.parents})
    if not ids:
        return {}
    with store.read() as tx:
        found = tx.memories.get_many(Reach.of(scope), ids)
    found = {id: memory for id, memory in found.items() if may_read(may, memory)}
    needed = {parent for draft in drafts if not draft.past for parent in draft.parents}
    for id in needed.difference(found):  # an import may come without its parents
        raise not_found(id)
    return found


def _parents_of(draft: Draft, parents: Mapping[str, Memory]) -> Sequence[Memory]:
    return [parents[id] for id in draft.parents if id in parents] if draft.parents else ()


def _compact_working(tx: Tx, owners: set[tuple[str, str | None]], now: datetime, policy: WritePolicy) -> None:
    """Expired working memories go, and of each user only the newest stay."""
    for org, user in sorted(owners, key=str):
        gone = tx.memories.expired_working(org, now)
        gone += tx.memories.working_overflow(org, user, policy.working_max)
        for id in dict.fromkeys(gone):
            memory = tx.memories.get(Reach.everything(org), id)
            if memory:
                soft_delete(tx, memory, now)
                tx.audit.note(org, at=now, actor="clew", action="expire", id=id, content_hash=memory.content_hash)

"""The states a memory passes through after it was written. Each change keeps the state it replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from clew.errors import Conflict, NotFound
from clew.model.graph import Ties
from clew.model.memory import Indexed, Memory
from clew.model.scope import Reach
from clew.ports import Tx
from clew.relate.queue import enqueue
from clew.remember.graph import GraphPolicy, remap, remap_id, unmap_quietly
from clew.remember.prepare import index_terms
from clew.remember.ties import NONE, retie, ties_of

TEXT_TAKEN = "MEMORY_TEXT_TAKEN"
SHORTEST_ID = 8  # characters by which the beginning of an id is known

# What policies say about memories, one answer each: `Door.may`. None where everything is allowed.
May = Callable[[str, Sequence[Memory]], list[bool]]


def put_state(tx: Tx, old: Memory, new: Memory, change: str, ties: Ties = NONE) -> Memory:
    """Replace a memory's state; the old one becomes history. The indices are the caller's business."""
    old, new = with_present_weight(tx, old, new)
    tx.memories.keep_version(old, ties)
    numbered = replace(new, version=old.version + 1)
    if not tx.memories.update(numbered, change=change, expected_version=old.version):
        raise changed_meanwhile(old.id)
    tx.changes.note(new.org, new.project, "memory", new.id, "put")
    return numbered


def changed_meanwhile(id: str) -> Conflict:
    return Conflict(
        f"memory {id} was changed by someone else",
        code="MEMORY_CHANGED",
        next=f"look at it again: clew show {id}",
    )


def with_present_weight(tx: Tx, old: Memory, new: Memory) -> tuple[Memory, Memory]:
    """Both states with the weight that outcomes made of it since it was read. A change that is not about the
    weight must not write back the one it has read."""
    present = tx.memories.weight_of(old)
    if present == old.weight:
        return old, new
    untouched = new.weight == old.weight
    return replace(old, weight=present), replace(new, weight=present) if untouched else new


def supersede(tx: Tx, old: Memory, new: Memory, now: datetime) -> Memory:
    """The old memory stays, valid until the new one began, and points to it."""
    ended = max(old.valid_at, min(old.invalid_at or new.valid_at, new.valid_at))
    return put_state(tx, old, replace(old, superseded_by=new.id, invalid_at=ended, updated_at=now), "superseded")


def soft_delete(tx: Tx, memory: Memory, now: datetime) -> Memory:
    """Out of every index and every answer; history and row stay until a hard forget."""
    row = tx.memories.row_of(memory)
    gone = put_state(
        tx, memory, replace(memory, deleted_at=now, updated_at=now), "forgotten", ties_of(tx, memory, row)
    )
    tx.index.drop(memory.org, row)
    unmap_quietly(tx, row, memory, now)
    tx.changes.note(memory.org, memory.project, "memory", memory.id, "drop")
    return gone


def revive(tx: Tx, memory: Memory, graph: GraphPolicy, now: datetime, may: May | None = None) -> Memory:
    """Bring a softly forgotten memory back as it was; its vector is made up for later."""
    check_place(tx, memory, now, may)
    back = put_state(tx, memory, replace(memory, deleted_at=None, updated_at=now), "restored")
    row = tx.memories.row_of(back)
    tx.index.put(row, back, index_terms(back))
    remap(tx, row, back, graph, now)
    remap_id(tx, back.org, back.superseded_by, graph, now)  # who replaced it does so again
    retie(tx, memory, now)
    enqueue(tx, back.org, [back.id], operation="edit")
    return back


def reindex(tx: Tx, memory: Memory, indexed: Indexed) -> None:
    row = tx.memories.row_of(memory)
    tx.index.drop(memory.org, row)
    tx.index.put(row, memory, indexed)


def check_place(tx: Tx, memory: Memory, now: datetime, may: May | None = None) -> None:
    """Refuse a state whose text or key another live memory of the same place and type holds. One that may not be
    read is not named."""
    holder = None if memory.is_history else tx.memories.live_duplicate(memory)
    if holder is not None and holder != memory.id:
        raise _said_by(holder) if _is_readable(tx, memory.org, holder, may) else _said_already()
    holder = key_holder(tx, memory, now)
    if holder is not None:
        key = memory.upsert_key or ""
        raise _key_of(holder, key) if _is_readable(tx, memory.org, holder, may) else key_taken(key)


def key_holder(tx: Tx, memory: Memory, now: datetime) -> str | None:
    """Another memory that holds its key while it does: also one whose end lies ahead, unless it is to be replaced
    then. Nobody, for a memory that is over."""
    if not memory.upsert_key or memory.superseded_by or (memory.invalid_at and memory.invalid_at <= now):
        return None
    until = tx.memories.upserted_until(memory, max(now, memory.valid_at))
    ending = tx.memories.get_many(Reach.everything(memory.org), until).values() if until else ()
    holders = [tx.memories.live_upsert(memory), *(one.id for one in ending if not one.superseded_by)]
    return next((id for id in holders if id not in (None, memory.id)), None)


def _is_readable(tx: Tx, org: str, id: str, may: May | None) -> bool:
    memory = tx.memories.get(Reach.everything(org), id) if may else None
    return may is None or (memory is not None and may_read(may, memory))


def _said_by(holder: str) -> Conflict:
    return Conflict(
        f"memory {holder} says the same already",
        code="MEMORY_DUPLICATE",
        next=f"forget one of them: clew forget {holder}",
    )


def _said_already() -> Conflict:
    return Conflict("the same is said already", code="MEMORY_DUPLICATE", next="say it differently, or leave it")


def _key_of(holder: str, key: str) -> Conflict:
    return Conflict(
        f"memory {holder} holds the key '{key}'",
        code="MEMORY_KEY_TAKEN",
        next=f"forget it, or choose another key: clew forget {holder}",
    )


def text_taken() -> Conflict:
    """By a memory of which neither id nor words are told."""
    return Conflict(
        "what says the same is there already, and may not be shown to you",
        code=TEXT_TAKEN,
        next="say it in other words, or ask an owner of the org",
    )


def key_taken(key: str) -> Conflict:
    """By a memory that is not to be named."""
    return Conflict(f"the key '{key}' is taken", code="MEMORY_KEY_TAKEN", next="choose another key")


def may_read(may: May | None, memory: Memory) -> bool:
    return may is None or may("read", [memory])[0]


def may_change(may: May | None, *states: Memory) -> bool:
    """Whether someone may write the memory that has, or is to have, these states; the first must be readable."""
    return may is None or (may_read(may, states[0]) and all(may("write", states)))


def is_expired(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def not_found(id: str) -> NotFound:
    shown = id.encode("utf-8", "replace").decode()[:60]
    look = "check the id and the project: clew list"
    return NotFound(
        f"memory {shown} was not found",
        code="MEMORY_NOT_FOUND",
        next=look if len(id) >= SHORTEST_ID else f"write at least {SHORTEST_ID} characters of the id, or {look}",
    )

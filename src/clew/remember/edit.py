"""Change a memory, look at its history, go back.

In: an id, and the fields to change. Out: the memory as it is now. The state before is kept as a version.
Durable when it returns; run twice with the same values, the second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict, InvalidInput, NotFound
from clew.guard.trust import is_reserved
from clew.lazy import LazyModule
from clew.model.memory import Draft, Indexed, Memory, Version
from clew.model.scope import Reach, is_encodable
from clew.ports import Tx
from clew.relate.queue import enqueue_changed
from clew.remember.classify import classify, highest, holds_data, is_above
from clew.remember.graph import GraphPolicy, remap, remap_id, retract_found
from clew.remember.lifecycle import (
    SHORTEST_ID,
    May,
    check_place,
    is_expired,
    may_read,
    not_found,
    put_state,
    reindex,
    with_present_weight,
)
from clew.remember.prepare import WritePolicy, draft_memory, expiry
from clew.remember.ties import retie
from clew.remember.trust import trust_of

if TYPE_CHECKING:
    from clew.guard import quarantine
else:
    quarantine = LazyModule("clew.guard.quarantine")

EDITABLE = (
    "content", "type", "layer", "title", "tags", "category", "paths", "author", "thread", "at", "confidence",
    "weight", "classification", "valid_at", "invalid_at", "expires_at", "metadata", "upsert_key",
)  # fmt: skip
_ACTIONS = {"edited": "edit", "reverted": "revert"}
_TOLD = ("type", "layer", "confidence", "weight", "classification")
_TEXT = ("content", "title", "tags", "category", "paths", "author")


def edited(
    memory: Memory, changes: Mapping[str, Any], *, now: datetime, policy: WritePolicy, trust: str = "user"
) -> tuple[Memory, tuple[str, ...]]:
    """The memory with the changes applied, checked and masked like a new one. Pure.

    New words are trusted no more than whoever wrote them.
    """
    unknown = sorted(set(changes) - set(EDITABLE))
    if unknown or not changes:
        raise InvalidInput(
            f"'{unknown[0]}' cannot be edited" if unknown else "nothing to change was given",
            code="MEMORY_EDIT_INVALID",
            next=f"name one of: {', '.join(EDITABLE)}",
        )
    draft, masked = draft_memory(_as_draft(memory, changes), memory.scope, now=now, policy=policy)
    draft = replace(draft, classification=_label(memory, draft, changes, policy, masked=bool(masked)))
    if "layer" in changes or draft.layer != memory.layer:
        draft = replace(draft, expires_at=expiry(draft.layer, changes.get("expires_at"), now, policy))
    kept = {
        name: getattr(memory, name)
        for name in ("created_at", "origin", "trust", "parents", "tool_call", "superseded_by", "version")
    }
    new = replace(draft, id=memory.id, deleted_at=None, updated_at=now, **kept)
    if (
        memory.superseded_by
        and memory.invalid_at
        and (new.invalid_at is None or new.invalid_at > memory.invalid_at)
    ):
        raise _replaced(memory.id)
    if text_changed(memory, new):
        # What was observed is in our words: in anyone else's it is theirs.
        origin = trust if is_reserved(memory.origin) else memory.origin
        new = replace(new, trust=trust_of(memory.trust, [trust]), origin=origin)
    if trust == "user" and "metadata" not in changes and _is_vouched_for(memory, new):
        new = replace(new, metadata={key: value for key, value in new.metadata.items() if key != "unsure"})
    if trust != "user" and (words := quarantine.words_of(new)) != quarantine.words_of(memory):
        quarantine.refuse_suspicious(words, f"the new text of memory {new.id}")
    return new, masked


def _label(
    old: Memory, draft: Memory, changes: Mapping[str, Any], policy: WritePolicy, *, masked: bool = False
) -> str:
    """A label that is given counts, if whoever gives it may lower one. Otherwise the old one stays, unless the text
    asks for more than it did: somebody may have lowered it in spite of the words, though not of what it holds."""
    if changes.get("classification") is not None:
        return draft.classification if policy.may_lower else highest(old.classification, draft.classification)
    strict = policy.strict_token_rule
    before = classify(_words(old), paths=old.paths, type=old.type, strict_token_rule=strict)
    is_raised = is_above(draft.classification, before) or holds_data(_words(draft), masked=masked)
    return highest(old.classification, draft.classification) if is_raised else old.classification


def _words(memory: Memory) -> str:
    return f"{memory.title}\n{memory.content}" if memory.title else memory.content


def _is_vouched_for(old: Memory, new: Memory) -> bool:
    """Whoever puts right what was heard with doubt has looked at it."""
    return any(getattr(old, name) != getattr(new, name) for name in ("content", "type", "layer"))


def _replaced(id: str) -> Conflict:
    """It would hold beside what took its place, also where both have a key that only one may hold."""
    return Conflict(
        f"memory {id} was replaced, and an edit cannot make it hold for longer",
        code="MEMORY_SUPERSEDED",
        next=f"revert it to what it was before: clew history {id}",
    )


def _as_draft(memory: Memory, changes: Mapping[str, Any]) -> Draft:
    names = {field.name for field in fields(Draft)} & set(EDITABLE)
    values = {name: getattr(memory, name) for name in names - {"classification"}} | dict(changes)
    if changes.get("type") == "rule" and "layer" not in changes:
        values["layer"] = "rule"  # a rule by type is a rule by layer, and rules do not expire
    return Draft(**values)


def apply_edit(
    tx: Tx,
    old: Memory,
    new: Memory,
    indexed: Indexed | None,
    *,
    change: str,
    graph: GraphPolicy,
    actor: str = "owner",
    may: May | None = None,
) -> Memory:
    """Store the new state; `indexed` is given when the searchable text changed."""
    old, new = with_present_weight(tx, old, new)
    current = tx.memories.get(Reach.everything(old.org), old.id, deleted=True)
    if current and current.version == old.version and replace(new, updated_at=current.updated_at) == current:
        return current
    check_place(tx, new, new.updated_at, may)
    stored = put_state(tx, old, new, change)
    if indexed is not None:
        reindex(tx, stored, indexed)
    if (old.title, old.content) != (stored.title, stored.content):
        retract_found(tx, tx.memories.row_of(stored), stored, stored.updated_at)
    remap(tx, tx.memories.row_of(stored), stored, graph, stored.updated_at)
    if old.deleted_at or old.superseded_by != stored.superseded_by:
        for id in (old.superseded_by, stored.superseded_by):  # a revert: who replaced it does so no more, or again
            remap_id(tx, stored.org, id, graph, stored.updated_at)
    if old.deleted_at:
        retie(tx, old, stored.updated_at)
    enqueue_changed(tx, old, stored)
    _note(tx, old, stored, change, actor)
    return stored


def _note(tx: Tx, old: Memory, stored: Memory, change: str, actor: str) -> None:
    """Which fields, and the labels and weights from and to: what was written stays in the history alone."""
    changed = [name for name in EDITABLE if getattr(old, name) != getattr(stored, name)]
    told = {name: [getattr(old, name), getattr(stored, name)] for name in _TOLD if name in changed}
    tx.audit.note(
        stored.org,
        at=stored.updated_at,
        actor=actor,
        action=_ACTIONS.get(change, change),
        id=stored.id,
        content_hash=stored.content_hash,
        detail={"version": stored.version, "fields": changed, **told},
    )


def text_changed(old: Memory, new: Memory) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in _TEXT)


def version_of(tx: Tx, memory: Memory, number: int) -> Version:
    versions = tx.memories.versions(memory)
    for version in versions:
        if version.version == number:
            return version
    raise NotFound(
        f"memory {memory.id} has no version {number}",
        code="VERSION_NOT_FOUND",
        next=f"choose one of {versions[0].version} to {versions[-1].version}: clew history {memory.id}",
    )


def as_held_by(memory: Memory, version: Version) -> Memory:
    """An earlier state as policies see it: under its own label, forgotten only if the memory is so now."""
    return replace(version.memory, deleted_at=memory.deleted_at)


def reverted(memory: Memory, to: Version, now: datetime) -> Memory:
    """The earlier state with a new version number; what was forgotten softly comes back. Its weight is what
    outcomes have made of it until now: they judged the memory, not one of its wordings."""
    classification = highest(memory.classification, to.memory.classification)  # never lowered on the side
    return replace(
        to.memory,
        version=memory.version,
        updated_at=now,
        deleted_at=None,
        classification=classification,
        weight=memory.weight,
    )


def must_get(
    tx: Tx, reach: Reach, id: str, *, deleted: bool = False, now: datetime | None = None, may: May | None = None
) -> Memory:
    """The memory with this id or unique beginning of an id; anything else is 'not found'. With `now`, so is
    one that has expired; with `may`, one that may not be read."""
    if not isinstance(id, str):
        raise InvalidInput(
            f"an id is text, not {type(id).__name__}", code="MEMORY_ID_INVALID", next="pass the id of a memory"
        )
    if not is_encodable(id):
        raise not_found(id)
    memory = tx.memories.get(reach, id, deleted=deleted)
    if memory is None and len(id) >= SHORTEST_ID:
        found = _starting(tx, reach, id, deleted=deleted, may=may)
        if len(found) > 1:
            raise InvalidInput(
                f"{len(found) if may is None else 'several'} memories start with {id}",
                code="MEMORY_ID_AMBIGUOUS",
                next="write more of the id",
            )
        memory = tx.memories.get(reach, found[0], deleted=deleted) if found else None
    if memory is None or (now and is_expired(memory, now)) or not may_read(may, memory):
        is_forgotten = memory is None and not deleted and _is_forgotten(tx, reach, id, may)
        raise _forgotten(id) if is_forgotten else not_found(id)
    return memory


def _is_forgotten(tx: Tx, reach: Reach, id: str, may: May | None) -> bool:
    """For those who may see its history all the same."""
    try:
        must_get(tx, reach, id, deleted=True, may=may)
    except (NotFound, InvalidInput):
        return False
    return True


def _forgotten(id: str) -> NotFound:
    return NotFound(
        f"memory {id[:60]} was forgotten",
        code="MEMORY_NOT_FOUND",
        next=f"clew revert {id[:60]} N brings it back, with a version N that clew history {id[:60]} lists",
    )


def _starting(tx: Tx, reach: Reach, prefix: str, *, deleted: bool, may: May | None) -> list[str]:
    """The ids that start so. Where not all may be read, two of those that may: it takes no more to be ambiguous."""
    ids = tx.memories.ids_from(reach, prefix, deleted=deleted)
    if may is None:
        return ids
    found = (memory for id in ids if (memory := tx.memories.get(reach, id, deleted=deleted)))
    return [memory.id for memory in islice((one for one in found if may_read(may, one)), 2)]

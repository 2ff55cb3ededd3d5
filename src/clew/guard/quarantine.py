"""Quarantine: text that looks like an attack on its readers waits outside of memories until someone judges it.

In: what the write path prepared and the tripwire suspects. Out: an answer that names the reasons. Such a text is in
one table only, so there is no index, graph or export it could be recalled from. Released, it goes through the write
path under its id, with the trust it had: a release says that it is no attack, not that it is true.
Run twice: the same text is kept once; a release of what was released already finds the memory.
After 30 days it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict, InvalidInput, NotFound
from clew.guard.tripwire import trip
from clew.lazy import LazyModule
from clew.model.access import Resource
from clew.model.memory import Indexed, Memory, Prepared, Remembered
from clew.model.quarantine import Quarantined
from clew.model.scope import Reach
from clew.ports import Tx

if TYPE_CHECKING:
    from clew.remember import graph as mapping
    from clew.remember import lifecycle
    from clew.remember import remember as remembering
    from clew.remember.graph import GraphPolicy
    from clew.remember.lifecycle import May
    from clew.remember.prepare import WritePolicy
else:
    # The write path looks here, and a release goes back into it.
    mapping, remembering = LazyModule("clew.remember.graph"), LazyModule("clew.remember.remember")
    lifecycle = LazyModule("clew.remember.lifecycle")

KEPT_DAYS = 30
MAX_PAGE = 1_000


def suspicions(memory: Memory) -> tuple[str, ...]:
    """Why a text that nobody vouches for looks like an attack. What the user said is never suspected."""
    return () if memory.trust == "user" else trip("\n".join(words_of(memory)))


def words_of(memory: Memory) -> list[str]:
    """Everything of it that can show up in an answer, a graph or a prompt."""
    labels = (memory.title, memory.author, memory.category, memory.thread, *memory.tags, *memory.paths)
    places = (memory.project, memory.namespace, memory.agent, memory.session, memory.upsert_key)
    return [memory.content, *(label for label in (*labels, *places) if label), *_texts_in(memory.metadata)]


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, inner in value.items():
                yield str(key)
                yield from _texts_in(inner)
        case list():
            for inner in value:
                yield from _texts_in(inner)


def refuse_suspicious(words: Sequence[str], what: str) -> None:
    """For words of an agent that have no place in quarantine: a new state of a memory, the name of a thing."""
    reasons = trip("\n".join(words))
    if reasons:
        raise InvalidInput(
            f"{what} looks like an attack on its readers: {', '.join(reasons)}",
            code="TEXT_SUSPICIOUS",
            next="have a user write it, or remember it on its own and have it reviewed",
        )


def hold(tx: Tx, item: Prepared, *, now: datetime, actor: str) -> Remembered:
    """Keep it apart. What has waited for too long goes at the same time, so the table cannot grow for ever."""
    tx.guarding.expire_quarantine(item.memory.org, now)
    until = now + timedelta(days=KEPT_DAYS)
    there = tx.guarding.quarantine(item.memory, item.suspicions, at=now, expires_at=until)
    if there is None:
        _note(tx, item.memory, item.suspicions, action="quarantine", now=now, actor=actor)
        return Remembered(item.memory, masked=item.masked, quarantined=item.suspicions)
    if there.memory.content_hash != item.memory.content_hash:
        raise Conflict(
            f"the id {item.memory.id} is taken", code="MEMORY_ID_TAKEN", next="leave the id out to get a new one"
        )
    # In the words of whoever says it now: the row's title and tags may be another's.
    return Remembered(
        replace(item.memory, id=there.memory.id), True, masked=item.masked, quarantined=item.suspicions
    )


def release(
    tx: Tx,
    held: Quarantined,
    indexed: Indexed,
    *,
    policy: WritePolicy,
    graph: GraphPolicy,
    now: datetime,
    actor: str,
    may: May | None = None,
) -> Remembered:
    """Remember it after all. `indexed` is what the indices keep of it, as `prepare.index_terms` made it; `may` is
    about what is there already: to review is not to change that."""
    memory = held.memory
    if not tx.guarding.drop_quarantined(memory.org, memory.id):  # by someone else, meanwhile
        return released_before(tx, memory.org, memory.id, may=may)
    prepared = Prepared(memory, indexed, graph=mapping.draft_of(memory, graph), has_given_id=True)
    [stored] = remembering.save(tx, [prepared], now=now, policy=policy, graph=graph, actor=actor, may=may)
    _note(tx, stored.memory, held.reasons, action="quarantine_release", now=now, actor=actor)
    return stored


def released_before(tx: Tx, org: str, id: str, *, may: May | None = None) -> Remembered:
    memory = tx.memories.get(Reach.everything(org), id)
    if memory is None or not lifecycle.may_read(may, memory):
        raise not_held(id)
    return Remembered(memory, deduplicated=True)


def drop(tx: Tx, held: Quarantined, *, now: datetime, actor: str) -> None:
    if not tx.guarding.drop_quarantined(held.memory.org, held.id):
        raise not_held(held.id)
    _note(tx, held.memory, held.reasons, action="quarantine_drop", now=now, actor=actor)


def resources(held: Sequence[Quarantined]) -> list[Resource]:
    """As policies see them."""
    return [
        Resource(
            "memory", one.id, one.memory.org, one.memory.project, one.memory.user,
            classification=one.memory.classification, quarantined=True, writer=one.memory.author,
        )
        for one in held
    ]  # fmt: skip


def not_held(id: str) -> NotFound:
    return NotFound(
        f"nothing in quarantine has the id {id[:60]}", code="QUARANTINE_NOT_FOUND", next="see: clew quarantine list"
    )


def is_held(id: str) -> NotFound:
    """For those who may review: why `show` does not find it."""
    return NotFound(
        f"memory {id[:60]} is in quarantine", code="MEMORY_QUARANTINED", next=f"see: clew quarantine show {id[:60]}"
    )


def _note(tx: Tx, memory: Memory, reasons: Sequence[str], *, action: str, now: datetime, actor: str) -> None:
    tx.audit.note(
        memory.org,
        at=now,
        actor=actor,
        action=action,
        id=memory.id,
        content_hash=memory.content_hash,
        detail={"reasons": list(reasons)},
    )

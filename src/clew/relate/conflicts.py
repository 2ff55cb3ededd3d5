"""Conflicts: two memories that cannot both be current. They are noted and shown; a person decides them.

In: what a rule, a model or a person found between two memories; later a decision. Out: at most one conflict per
unordered pair. Nothing has to close one: it stands only while both memories hold with the texts it was found in and
an edge still says so. A decision ends memories the way any change does, with history, so `clew revert` undoes it,
and what it had settled is open again. Noted twice, or decided twice in the same way: the second time changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clew.errors import Conflict as Conflicting
from clew.errors import InvalidInput, NotFound
from clew.model.conflict import USER, Conflict, ConflictDraft, Dispute
from clew.model.ids import new_id
from clew.model.memory import Memory
from clew.model.relation import Finding
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Tx
from clew.relate.queue import enqueue
from clew.remember.graph import GraphPolicy, remap_id
from clew.remember.lifecycle import May, is_expired, may_read, put_state, supersede
from clew.values import dataclass

PAGE = 200
MIN_PREFIX = 8


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a decision did. `undo`: the memories it ended, each with the version that brings it back."""

    id: str
    keep: str
    kept: tuple[str, ...]
    ended: tuple[str, ...] = ()
    undo: tuple[tuple[str, int], ...] = ()
    changed: bool = True

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"id": self.id, "keep": self.keep, "kept": list(self.kept)}
        answer |= {"ended": list(self.ended), "changed": self.changed}
        return answer | {"undo": [f"clew revert {id} {version}" for id, version in self.undo]}


# -- noting ----------------------------------------------------------------------------------------


def note(
    tx: Tx,
    *,
    org: str,
    older: tuple[int, Memory],
    newer: tuple[int, Memory],
    finding: Finding,
    now: datetime,
) -> str:
    """Open a conflict, or keep the one there is; returns its id. What was decided for the same two texts stays
    decided, unless a person says again that they contradict each other."""
    known = tx.conflicts.of_pair(org, older[0], newer[0], now=now)
    if known and _is_settled(known, finding):
        return known.id
    if known:
        tx.conflicts.drop(org, known.id)
    id = known.id if known and not known.keep else new_id("con", at_ms=to_micros(now) // 1_000)
    draft = ConflictDraft(
        id=id,
        a_row=older[0],
        b_row=newer[0],
        kind=finding.type,
        origin=finding.origin,
        rule=finding.rule,
        confidence=finding.confidence,
        sentence=finding.sentence,
        explanation=finding.explanation,
        a_hash=older[1].content_hash,
        b_hash=newer[1].content_hash,
        created_at=known.created_at if known and id == known.id else now,
    )
    tx.conflicts.put(org, draft)
    return id


def _is_settled(known: Conflict, finding: Finding) -> bool:
    """Whether there is nothing to add to what is known: what a person said or decided weighs more than what is
    found, and of what is found the surest."""
    if finding.origin == USER:
        return known.origin == USER and not known.keep
    if known.origin == USER:
        return not known.keep or known.same_texts
    return known.same_texts and (bool(known.keep) or (known.stands and known.confidence >= finding.confidence))


def note_link(
    tx: Tx,
    org: str,
    ends: Sequence[tuple[int, Memory]],
    *,
    now: datetime,
    origin: str = USER,
    confidence: float = 1.0,
) -> None:
    """Somebody, or a file, says that two memories contradict each other."""
    older, newer = sorted(ends, key=lambda end: (end[1].at, end[0]))
    said = Finding("contradicts", older[1].id, confidence=confidence, origin=origin)
    note(tx, org=org, older=older, newer=newer, finding=said, now=now)


def unnote_link(tx: Tx, org: str, rows: Sequence[int], *, now: datetime) -> None:
    """They take it back. What was found besides had given way to it, so it is looked for again."""
    known = tx.conflicts.of_pair(org, *rows, now=now)
    if known and known.origin == USER:
        tx.conflicts.drop(org, known.id)
        enqueue(tx, org, known.pair, operation="edit")


# -- looking ---------------------------------------------------------------------------------------


def find(
    tx: Tx, reach: Reach, *, now: datetime, limit: int, over: bool = False, after: Conflict | None = None
) -> tuple[list[Dispute], Conflict | None]:
    """The surest first, as far as the reach sees both memories, and where to go on from, if there may be more;
    `over`: also those that are not open."""
    size = max(limit, PAGE)
    found = tx.conflicts.find(reach, now=now, limit=size, over=over, after=after)
    return _with_memories(tx, reach, found, now), found[-1] if len(found) == size else None


def must_get(tx: Tx, reach: Reach, id: str, *, now: datetime, may: May | None = None) -> Dispute:
    """By its id or a unique beginning of it. One whose memories may not both be seen is not there."""
    found = tx.conflicts.get(reach.org, id, now=now)
    if found is None and len(id) >= MIN_PREFIX:
        known = [tx.conflicts.get(reach.org, one, now=now) for one in tx.conflicts.ids_from(reach.org, id)]
        both_seen = _with_memories(tx, reach, [one for one in known if one], now)
        seen = [one for one in both_seen if may_read(may, one.a) and may_read(may, one.b)]
        if len(seen) > 1:
            raise InvalidInput(
                f"{len(seen)} conflicts start with {id}", code="CONFLICT_ID_AMBIGUOUS", next="write more of the id"
            )
        found = seen[0].conflict if seen else None
    disputes = _with_memories(tx, reach, [found], now) if found else []
    if not disputes:
        raise not_found(id)
    return disputes[0]


def not_found(id: str) -> NotFound:
    return NotFound(
        f"conflict {id[:60]} was not found", code="CONFLICT_NOT_FOUND", next="see which there are: clew conflicts"
    )


def _with_memories(tx: Tx, reach: Reach, found: Sequence[Conflict], now: datetime) -> list[Dispute]:
    ids = sorted({id for one in found for id in one.pair})
    memories = {
        id: memory for id, memory in tx.memories.get_many(reach, ids).items() if not is_expired(memory, now)
    }
    return [Dispute(one, memories[one.a], memories[one.b]) for one in found if memories.keys() >= {one.a, one.b}]


# -- deciding --------------------------------------------------------------------------------------


def keep_of(dispute: Dispute, said: str) -> str:
    """a, b, both or neither; either memory may be named by its id or the beginning of it."""
    word = said.strip()
    if word.lower() in ("a", "b", "both", "neither"):
        return word.lower()
    named = [
        side
        for side, memory in (("a", dispute.a), ("b", dispute.b))
        if word == memory.id or (len(word) >= MIN_PREFIX and memory.id.startswith(word))
    ]
    if len(named) != 1:
        raise InvalidInput(
            f"'{word[:60]}' is neither A ({dispute.a.id}) nor B ({dispute.b.id})",
            code="KEEP_INVALID",
            next="choose A, B, both, neither, or the id of one of the two",
        )
    return named[0]


def resolve(
    tx: Tx, dispute: Dispute, keep: str, *, graph: GraphPolicy, now: datetime, actor: str = "owner"
) -> Resolved:
    """`a`, `b`: the other one is superseded by it. `both`: exactly these two texts go together. `neither`: both
    end now."""
    org, id = dispute.a.org, dispute.conflict.id
    current = tx.conflicts.get(org, id, now=now)
    if current is None:
        raise not_found(id)
    if current.keep == keep and not current.is_open:
        return Resolved(id, keep, _kept(dispute, keep), _ended(dispute, keep), changed=False)
    if not current.stands:
        raise _is_over(current)
    losers = [memory for memory in (dispute.a, dispute.b) if memory.id in _ended(dispute, keep)]
    if keep in ("a", "b"):
        _replace(tx, getattr(dispute, keep), losers[0], graph, now)
    else:
        for memory in losers:
            end_now(tx, memory, now)
    hashes = (dispute.a.content_hash, dispute.b.content_hash)
    tx.conflicts.resolve(org, id, keep, hashes=hashes, by=actor, now=now)
    tx.injects.take_back(org, *current.pair, now=now)
    detail = {"keep": keep, "memories": [dispute.a.id, dispute.b.id]}
    tx.audit.note(org, at=now, actor=actor, action="resolve_conflict", kind="conflict", id=id, detail=detail)
    undo = tuple((memory.id, memory.version) for memory in losers)
    return Resolved(id, keep, _kept(dispute, keep), _ended(dispute, keep), undo)


def end_now(tx: Tx, memory: Memory, now: datetime) -> Memory:
    """It no longer holds; history, and the way back, stay."""
    ended = max(memory.valid_at, now)
    return put_state(tx, memory, replace(memory, invalid_at=ended, updated_at=now), "invalidated")


def _replace(tx: Tx, winner: Memory, loser: Memory, graph: GraphPolicy, now: datetime) -> None:
    check_covers(winner, loser)
    supersede(tx, loser, winner, now)
    remap_id(tx, winner.org, winner.id, graph, now)  # states that it replaced the other


def check_covers(winner: Memory, loser: Memory) -> None:
    """Who saw the loser must see the winner: it lies in the same place, or in a wider one."""
    if winner.project in (None, loser.project) and winner.user in (None, loser.user):
        return
    raise Conflicting(
        f"memory {winner.id} cannot take the place of {loser.id}: not all who see that one would see it",
        code="MEMORY_OF_ANOTHER_PLACE",
        next="keep the other one, or remember it in the same project and for the same user",
    )


def _kept(dispute: Dispute, keep: str) -> tuple[str, ...]:
    return tuple(memory.id for side, memory in (("a", dispute.a), ("b", dispute.b)) if keep in (side, "both"))


def _ended(dispute: Dispute, keep: str) -> tuple[str, ...]:
    kept = _kept(dispute, keep)
    return tuple(memory.id for memory in (dispute.a, dispute.b) if memory.id not in kept)


def _is_over(conflict: Conflict) -> Conflicting:
    if conflict.keep:
        return Conflicting(
            f"conflict {conflict.id} was resolved already: {conflict.keep}",
            code="CONFLICT_RESOLVED",
            next="bring back what it ended first: clew history ID tells the version, clew revert ID N takes it",
        )
    return Conflicting(
        f"conflict {conflict.id} is over: its memories no longer contradict each other",
        code="CONFLICT_CLOSED",
        next="there is nothing to resolve; see what is open: clew conflicts",
    )

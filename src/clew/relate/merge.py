"""Near-duplicates made one, on request, with lineage and a way back.

In: the memory to keep, and those that say the same. Out: one run that says what was done. The others are
superseded by it and stay in the history; it takes over their tags, paths and key. Its text, trust, weight and
confidence stay its own: it is derived from nothing, so it has no new parents, and being repeated makes nothing more
trusted. Durable when it returns; merged twice, the second time changes nothing. The way back is relate/unmerge.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clew.errors import Conflict, InvalidInput
from clew.model.conflict import Merge
from clew.model.ids import new_id
from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Tx
from clew.relate.alike import NEARLY, Suggestion, neighbours, suggestions, united
from clew.relate.conflicts import check_covers
from clew.remember.classify import highest
from clew.remember.graph import GraphPolicy, remap
from clew.remember.lifecycle import is_expired, put_state, supersede
from clew.remember.prepare import index_terms
from clew.remember.trust import trust_of
from clew.values import dataclass

MAX_DISPUTED = 100_000


@dataclass(frozen=True, slots=True)
class Merged:
    """`run` is None in a dry run, and when there was nothing left to merge and no single run had done it."""

    kept: Memory
    merged: tuple[str, ...]
    added_tags: tuple[str, ...] = ()
    added_paths: tuple[str, ...] = ()
    run: str | None = None
    changed: bool = True
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"run": self.run} if self.run else {}
        answer |= {"kept": self.kept.id, "merged": list(self.merged), "changed": self.changed}
        answer |= {"added_tags": list(self.added_tags), "added_paths": list(self.added_paths)}
        return answer | {"dry_run": self.dry_run} | ({"undo": f"clew merge --undo {self.run}"} if self.run else {})


# -- suggesting ------------------------------------------------------------------------------------


def suggest(tx: Tx, reach: Reach, memories: Sequence[Memory], *, now: datetime) -> list[Suggestion]:
    """Groups of near-duplicates among these memories, which whoever asks may read. What is in open conflict is no
    duplicate, however alike it is, nor is what one keeps to oneself of what others see: that is for its owner to
    bring up."""
    live = {memory.id: memory for memory in memories if not memory.is_history and not is_expired(memory, now)}
    disputed = {one.pair for one in tx.conflicts.find(reach, now=now, limit=MAX_DISPUTED)}
    near = neighbours(live, tx.conflicts.alike(reach.org, least=NEARLY, now=now))

    def may_merge(winner: Memory, loser: Memory) -> bool:
        pair = (min(winner.id, loser.id), max(winner.id, loser.id))
        return pair not in disputed and _why_not(winner, loser) is None and _is_for_as_many(winner, loser)

    return suggestions(live, near, may_merge=may_merge)


# -- merging ---------------------------------------------------------------------------------------


def planned(winner: Memory, losers: Sequence[Memory], *, now: datetime) -> Merged:
    """What a merge would do; refuses what must not be merged."""
    left = _left(winner, losers)
    _check(winner, left, now)
    new = _united(winner, left)
    return Merged(
        winner,
        tuple(loser.id for loser in left),
        added_tags=new.tags[len(winner.tags) :],
        added_paths=new.paths[len(winner.paths) :],
        changed=bool(left),
        dry_run=True,
    )


def merge(
    tx: Tx, winner: Memory, losers: Sequence[Memory], *, graph: GraphPolicy, now: datetime, actor: str = "owner"
) -> Merged:
    plan = planned(winner, losers, now=now)
    left = _left(winner, losers)
    if not left:
        return replace(plan, run=_done_by(tx, winner, losers), dry_run=False)
    for loser in left:  # first: a key is free only when its holder has ended (memories_sh.md W18)
        supersede(tx, loser, winner, now)
    kept = _take_over(tx, winner, _united(winner, left), now)
    remap(tx, tx.memories.row_of(kept), kept, graph, now)
    run = Merge(
        new_id("run", at_ms=to_micros(now) // 1_000),
        winner.id,
        winner.version,
        kept.version,
        tuple((loser.id, loser.version) for loser in left),
        actor,
        now,
    )
    tx.conflicts.put_merge(winner.org, run)
    detail = {"run": run.id, "merged": [loser.id for loser in left]}
    tx.audit.note(winner.org, at=now, actor=actor, action="merge", id=winner.id, detail=detail)
    return replace(plan, kept=kept, run=run.id, dry_run=False)


def _done_by(tx: Tx, winner: Memory, losers: Sequence[Memory]) -> str | None:
    """The run that merged all of these."""
    asked = {loser.id for loser in losers}
    runs = tx.conflicts.merges_into(winner.org, winner.id)
    return next((run.id for run in reversed(runs) if asked <= run.merged), None)


def _left(winner: Memory, losers: Sequence[Memory]) -> list[Memory]:
    """Those that it has not replaced yet, each once."""
    distinct = {loser.id: loser for loser in losers}
    return [loser for loser in distinct.values() if loser.superseded_by != winner.id]


def _take_over(tx: Tx, winner: Memory, new: Memory, now: datetime) -> Memory:
    if new == winner:
        return winner
    kept = put_state(tx, winner, replace(new, updated_at=now), "merged")
    tx.index.put_terms(tx.memories.row_of(kept), kept, index_terms(kept))
    return kept


def _united(winner: Memory, losers: Sequence[Memory]) -> Memory:
    """With the labels of the others, as far as they are for as many people, trusted as much and not more
    confidential: else a merge would lend words the trust of the one that is kept, or show them to more people.
    And with a key that one of them had, so that what is written under it next replaces the one that is kept."""
    open_ones = [
        loser
        for loser in losers
        if _is_for_as_many(winner, loser)
        and trust_of(winner.trust, [loser.trust]) == winner.trust
        and highest(winner.classification, loser.classification) == winner.classification
    ]
    keys = [loser.upsert_key for loser in open_ones if loser.upsert_key and _is_same_place(winner, loser)]
    return replace(
        winner,
        tags=united(winner.tags, (loser.tags for loser in open_ones)),
        paths=united(winner.paths, (loser.paths for loser in open_ones)),
        upsert_key=winner.upsert_key or (keys[0] if keys else None),
    )


def _is_for_as_many(winner: Memory, loser: Memory) -> bool:
    """Whether all who see the winner could see the other one too."""
    return loser.user in (None, winner.user) and loser.project in (None, winner.project)


def _is_same_place(one: Memory, other: Memory) -> bool:
    return (one.project, one.user, one.type) == (other.project, other.user, other.type)


def _check(winner: Memory, losers: Sequence[Memory], now: datetime) -> None:
    for memory in (winner, *losers):
        if memory.is_history or is_expired(memory, now):
            raise Conflict(
                f"memory {memory.id} no longer holds",
                code="MEMORY_SUPERSEDED",
                next=f"merge what replaced it instead: clew show {memory.id}",
            )
    for loser in losers:
        if loser.id == winner.id:
            raise InvalidInput(
                f"memory {winner.id} cannot be merged into itself",
                code="MERGE_WITH_ITSELF",
                next="name the memory to keep first, then the others",
            )
        if reason := _why_not(winner, loser):
            raise reason


def _why_not(winner: Memory, loser: Memory) -> Conflict | None:
    """Why one cannot stand for the other: fewer people would see it, or it would be gone sooner."""
    try:
        check_covers(winner, loser)
    except Conflict as error:
        return error
    if (loser.layer == "rule") > (winner.layer == "rule"):
        return _loses(winner, loser, "a rule is always shown, and the one to keep is none", "MERGE_LOSES_RULE")
    if winner.expires_at and (loser.expires_at is None or loser.expires_at > winner.expires_at):
        return _loses(winner, loser, "it would expire with the one to keep", "MERGE_LOSES_TIME")
    return None


def _loses(winner: Memory, loser: Memory, why: str, code: str) -> Conflict:
    return Conflict(
        f"memory {loser.id} would be lost: {why}",
        code=code,
        next=f"keep that one: clew merge {loser.id} {winner.id}",
    )

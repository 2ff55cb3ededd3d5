"""Merges taken back.

In: a run. Out: what it set is as it was, as far as it is still so; what was changed since stays. Merges that build
upon each other are undone from the last one on. Durable when it returns; undone twice, the second time changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clew.errors import Conflict, NotFound
from clew.model.conflict import Merge
from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.ports import Tx
from clew.remember.edit import apply_edit, version_of
from clew.remember.graph import GraphPolicy
from clew.remember.prepare import index_terms
from clew.values import dataclass

PAGE = 200
MIN_PREFIX = 8
MaySee = Callable[[Mapping[str, Memory]], bool]  # whether all of these may be seen


@dataclass(frozen=True, slots=True)
class Undone:
    """`left`: those that were forgotten or brought back by hand since; they stay so."""

    run: str
    kept: str
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    changed: bool = True

    def as_json(self) -> dict[str, Any]:
        lists = {"restored": list(self.restored), "left": list(self.left)}
        return {"run": self.run, "kept": self.kept} | lists | {"changed": self.changed}


def must_get(tx: Tx, org: str, id: str, *, may_see: MaySee) -> Merge:
    """By its id or a unique beginning of it. One of which not all may be seen is not there."""
    ids = [id] if len(id) < MIN_PREFIX or tx.conflicts.merge(org, id) else tx.conflicts.merge_ids_from(org, id)
    found = [run for one in ids if (run := tx.conflicts.merge(org, one)) and may_see(memories_of(tx, org, run))]
    if len(found) != 1:
        raise not_found(id)
    return found[0]


def memories_of(tx: Tx, org: str, run: Merge) -> dict[str, Memory]:
    """Those of a run that are still there, forgotten ones included, whoever may see them."""
    reach = Reach.everything(org)
    ids = (run.winner, *(id for id, _version in run.losers))
    return {id: memory for id in ids if (memory := tx.memories.get(reach, id, deleted=True))}


def not_found(id: str) -> NotFound:
    return NotFound(
        f"merge {id[:60]} was not found", code="MERGE_NOT_FOUND", next="see which there are: clew merge --list"
    )


def undo(
    tx: Tx, run: Merge, *, org: str, may_see: MaySee, graph: GraphPolicy, now: datetime, actor: str = "owner"
) -> Undone:
    """Takes back what the merge set, as far as it is still so."""
    run = tx.conflicts.merge(org, run.id) or run  # somebody may have undone it since it was read
    if run.undone_at:
        return Undone(run.id, run.winner, changed=False)
    memories = memories_of(tx, org, run)
    winner = memories.get(run.winner)
    if winner and run.after != run.before:  # first: a key is free only when its holder gave it back
        if later := _later(tx, org, run, winner):
            raise _is_not_last(run, later.id if may_see(memories_of(tx, org, later)) else None)
        _take_back(tx, winner, run, graph=graph, now=now, actor=actor)
    merged = {id: memories.get(id) for id, _version in run.losers}
    back = [loser for loser in merged.values() if loser and _stands_for(run, loser)]
    for loser in back:
        as_before = replace(loser, superseded_by=None, invalid_at=None, updated_at=now)
        apply_edit(tx, loser, as_before, None, change="reverted", graph=graph, actor=actor)
    tx.conflicts.undo_merge(org, run.id, by=actor, now=now)
    tx.audit.note(org, at=now, actor=actor, action="undo_merge", id=run.winner, detail={"run": run.id})
    restored = tuple(loser.id for loser in back)
    return Undone(run.id, run.winner, restored, tuple(id for id in merged if id not in restored))


def _stands_for(run: Merge, loser: Memory) -> bool:
    return loser.superseded_by == run.winner and loser.deleted_at is None


def _take_back(tx: Tx, winner: Memory, run: Merge, *, graph: GraphPolicy, now: datetime, actor: str) -> None:
    """The tags, paths and key that it added. One that was forgotten keeps them: it holds no key, and nobody
    finds it."""
    if winner.deleted_at:
        return
    before, after = (version_of(tx, winner, number).memory for number in (run.before, run.after))
    back = replace(
        winner,
        tags=_without(winner.tags, set(after.tags) - set(before.tags)),
        paths=_without(winner.paths, set(after.paths) - set(before.paths)),
        upsert_key=before.upsert_key if winner.upsert_key == after.upsert_key else winner.upsert_key,
        updated_at=now,
    )
    stored = apply_edit(tx, winner, back, None, change="reverted", graph=graph, actor=actor)
    tx.index.put_terms(tx.memories.row_of(stored), stored, index_terms(stored))


def _without(labels: Sequence[str], added: set[str]) -> tuple[str, ...]:
    return tuple(label for label in labels if label not in added)


def _later(tx: Tx, org: str, run: Merge, winner: Memory) -> Merge | None:
    """A merge that was made upon this one and not undone: of the same winner, or one that the winner lost."""
    found = [
        one for one in tx.conflicts.merges_into(org, winner.id) if one.id != run.id and one.before >= run.after
    ]
    if winner.superseded_by:
        above = tx.conflicts.merges_into(org, winner.superseded_by)
        found = [one for one in above if winner.id in one.merged] or found
    return max(found, key=lambda one: (one.before, one.after), default=None)


def _is_not_last(run: Merge, later: str | None) -> Conflict:
    move = (
        f"undo that one first: clew merge --undo {later}" if later else "ask an owner of the org to undo that first"
    )
    return Conflict(f"memory {run.winner} was merged again since merge {run.id}", code="MERGE_NOT_LAST", next=move)

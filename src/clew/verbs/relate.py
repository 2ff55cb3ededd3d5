"""The verbs about conflicts and near-duplicates: each checks who asks and hands over to a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from clew.lazy import LazyModule
from clew.model.conflict import Conflict, Dispute, Merge
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.memory import Memory
from clew.model.scope import Identity, Reach, Scope

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.guard.doors import Door
    from clew.relate import conflicts as disputing
    from clew.relate import corroborate as corroborating
    from clew.relate import merge as merging
    from clew.relate import unmerge as unmerging
    from clew.relate.alike import Suggestion
    from clew.remember import edit
else:
    disputing, corroborating, merging, unmerging = (
        LazyModule(f"clew.relate.{name}") for name in ("conflicts", "corroborate", "merge", "unmerge")
    )
    edit = LazyModule("clew.remember.edit")


@checked
class Conflicts:
    """Memories that cannot both be current: list and resolve. One is there for those who may read both memories."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def list(
        self,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        everything: bool = False,
        limit: int = 20,
    ) -> Sequence[Dispute]:
        """The surest first; `everything`: also those that were resolved or are over."""
        check_limit(limit)
        clew = self._clew
        reach, door = clew._reach_of_id(scope, identity), clew._doors.door(identity, scope)
        find = partial(disputing.find, reach=reach, now=clew.clock.now(), limit=limit, over=everything)
        found: list[Dispute] = []
        after: Conflict | None = None
        while len(found) < limit:
            with clew.store.read() as tx:
                page, after = find(tx, after=after)
            found += _readable(door, page)
            if after is None:
                break
        return found[:limit]

    def show(self, id: str, *, scope: Scope | None = None, identity: Identity | None = None) -> Dispute:
        clew = self._clew
        reach, door = clew._reach_of_id(scope, identity), clew._doors.door(identity, scope)
        with clew.store.read() as tx:
            found = disputing.must_get(tx, reach, id, now=clew.clock.now(), may=door.asked)
        if not _readable(door, [found]):
            raise disputing.not_found(id)
        return found

    def resolve(
        self, id: str, keep: str, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> disputing.Resolved:
        """`keep`: a, b, both, neither, or the id of one of the two. Needs the right to write both."""
        clew, who = self._clew, identity or Identity()
        dispute = self.show(id, scope=scope, identity=identity)
        clew._doors.door(identity, scope).must("write", dispute.a, dispute.b)
        resolve = partial(disputing.resolve, dispute=dispute, keep=disputing.keep_of(dispute, keep))
        resolve = partial(resolve, graph=clew._graph_policy, actor=who.actor)
        # As of when it is written, or what is rendered while this waits for its turn would tell the conflict.
        return clew.store.write(lambda tx: resolve(tx, now=clew.clock.now()))


@checked
class Merges:
    """Near-duplicates made one, with lineage, and undone; and how many sources say the same."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def suggest(
        self, scope: Scope | None = None, *, identity: Identity | None = None, limit: int = 20
    ) -> Sequence[Suggestion]:
        """Groups of memories that say the same, and which one would be kept. Reads every memory in scope."""
        check_limit(limit)
        clew = self._clew
        reach, door = clew._reach_of_id(scope, identity), clew._doors.door(identity, scope)
        with clew.store.read() as tx:
            memories = list(tx.memories.all(reach))
        readable = door.readable(memories, _itself)
        with clew.store.read() as tx:
            return merging.suggest(tx, reach, readable, now=clew.clock.now())[:limit]

    def merge(
        self,
        keep: str,
        others: Sequence[str],
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        dry_run: bool = False,
    ) -> merging.Merged:
        """The others are superseded by the one to keep. Needs the right to write all of them."""
        clew, now, who = self._clew, self._clew.clock.now(), identity or Identity()
        reach, door = clew._reach_of_id(scope, identity), clew._doors.door(identity, scope)
        winner, *losers = self._memories((keep, *others), reach, door)
        for memory, asked in zip((winner, *losers), (keep, *others), strict=True):
            door.must("write", memory, asked=asked)
        if dry_run:
            return merging.planned(winner, losers, now=now)
        merge = partial(merging.merge, winner=winner, losers=losers, graph=clew._graph_policy)
        return clew.store.write(partial(merge, now=now, actor=who.actor))

    def undo(self, id: str, *, identity: Identity | None = None) -> unmerging.Undone:
        """What the merge set is as it was before. Needs the right to write all that it was made of."""
        clew, who = self._clew, identity or Identity()
        reach, door = clew._reach_of_id(None, identity), clew._doors.door(identity, None)
        may_see = partial(_may_see, door, reach)
        with clew.store.read() as tx:
            run = unmerging.must_get(tx, reach.org, id, may_see=may_see)
            memories = unmerging.memories_of(tx, reach.org, run)
        door.must("write", *memories.values())
        undo = partial(unmerging.undo, run=run, org=reach.org, may_see=may_see, graph=clew._graph_policy)
        return clew.store.write(partial(undo, now=clew.clock.now(), actor=who.actor))

    def list(self, *, identity: Identity | None = None, limit: int = 20) -> Sequence[Merge]:
        """The newest first, of memories that may all be read."""
        check_limit(limit)
        clew = self._clew
        reach, door = clew._reach_of_id(None, identity), clew._doors.door(identity, None)
        found: list[Merge] = []
        before: dict[str, str] = {}
        while len(found) < limit:
            with clew.store.read() as tx:
                runs = tx.conflicts.merges(reach.org, limit=unmerging.PAGE, **before)
                page = [(run, unmerging.memories_of(tx, reach.org, run)) for run in runs]
            seen = [(run, memories) for run, memories in page if _may_see(door, reach, memories)]
            found += [_remaining(run, memories) for run, memories in seen if run.merged & memories.keys()]
            if len(runs) < unmerging.PAGE:
                break
            before = {"before": runs[-1].id}
        return found[:limit]

    def corroboration(
        self, id: str, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> corroborating.Corroboration:
        """How many independent sources say what a memory says, among what may be read."""
        clew = self._clew
        memory = clew.show(id, scope=scope, identity=identity)
        reach, door = clew._reach_of_id(scope, identity), clew._doors.door(identity, scope)
        with clew.store.read() as tx:
            same = corroborating.says_the_same(tx, reach, memory, now=clew.clock.now())
        return corroborating.corroboration(memory, door.readable(same, _itself))

    def _memories(self, ids: Sequence[str], reach: Reach, door: Door) -> Sequence[Memory]:
        with self._clew.store.read() as tx:
            return [edit.must_get(tx, reach, id, now=self._clew.clock.now(), may=door.asked) for id in ids]


def _itself(memory: Memory) -> Memory:
    return memory


def _may_see(door: Door, reach: Reach, memories: Mapping[str, Memory]) -> bool:
    """Whether all of these, of which there is at least one, are in reach and may be read."""
    found = list(memories.values())
    in_reach = all(reach.sees(memory.project, memory.user) for memory in found)
    return bool(found) and in_reach and all(door.may("read", found))


def _remaining(run: Merge, memories: Mapping[str, Memory]) -> Merge:
    """Without the ids of what was erased: nobody can say who might know them."""
    return replace(run, losers=tuple(loser for loser in run.losers if loser[0] in memories))


def _readable(door: Door, found: Sequence[Dispute]) -> list[Dispute]:
    return door.readable(door.readable(found, lambda one: one.a), lambda one: one.b)

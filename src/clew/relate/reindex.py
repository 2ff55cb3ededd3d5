"""Make the indices anew with the present analyser and embedder.

In: a store. Out: a report. It goes org by org; each batch is one consistent transaction, readers go on meanwhile,
and the change log tells read models what to look at again. A full-text index that is damaged is first filled anew
from the stored terms, and what dangles in the graph goes. Interrupted, the next run starts over and passes quickly
over what is done; run twice, the second changes nothing. Analysing happens outside the write lock; a memory changed
meanwhile is left to whoever changed it. The graph is made anew where it is not what a memory gives to it now, or
where that is still pending, however often it has failed. How memories are related is left to jobs, one for each
that is live: those from before there were jobs have none. No language model is asked in them. What a clock that was
well ahead has dated later than now is of now.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from clew.errors import StoreRefused
from clew.model.facts import ANALYSER
from clew.model.job import BACKFILL
from clew.model.memory import Indexed, Memory
from clew.model.progress import Progress
from clew.ports import Clock, Embedder, Store, Tx
from clew.recall.analyse import REVISION
from clew.relate.embed import BackfillPolicy, embed_missing
from clew.relate.queue import enqueue_everything
from clew.remember.graph import GraphPolicy, is_mapped, remap
from clew.remember.prepare import index_terms
from clew.values import dataclass

BATCH = 500
EVERY_ATTEMPT = 1 << 62

Entry = tuple[int, Memory, Indexed]


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """`changed` of `memories` got new terms and `graph` a new part of the graph; `rebuilt` says that the full-text
    index was filled anew; `jobs` wait to relate memories to others; `redated` had been dated by a clock ahead."""

    memories: int
    changed: int
    rebuilt: bool
    vectors: int
    graph: int = 0
    jobs: int = 0
    redated: int = 0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def reindex(
    store: Store, embedder: Embedder | None, *, graph: GraphPolicy, clock: Clock, progress: Progress
) -> ReindexReport:
    rebuilt = mend(store)
    with store.read() as tx:
        orgs, total = tx.config.orgs(), tx.memories.count_all()
    done = changed = mapped = redated = 0
    for org in orgs:
        redated += store.write(partial(_redate, org=org, clock=clock))
        for size, new_terms, new_parts in _reindex_org(store, org, graph=graph, now=clock.now()):
            done, changed, mapped = done + size, changed + new_terms, mapped + new_parts
            progress(done, max(done, total))
    store.write(stamp)
    at_once = BackfillPolicy(pause_ms=0)  # somebody waits for it
    vectors = embed_missing(store, embedder, policy=at_once, progress=progress) if embedder else 0
    jobs = enqueue_everything(store, operation=BACKFILL) if graph.write else 0
    return ReindexReport(done, changed, rebuilt, vectors, mapped, jobs, redated)


def _reindex_org(store: Store, org: str, *, graph: GraphPolicy, now: datetime) -> Iterator[tuple[int, int, int]]:
    """Batch by batch: how many memories, how many of them got new terms, and how many a new part of the graph."""
    pending = _begin_mapping(store, org, now) if graph.write else set()
    row = 0
    while batch := _batch(store, org, after=row):
        row = batch[-1][0]
        stale = _stale(store, batch)
        changed = store.write(partial(_put, stale=stale), durable=False) if stale else 0
        mapped = _map_batch(store, batch, pending, policy=graph, now=now) if graph.write else 0
        yield len(batch), changed, mapped
    if pending:
        store.write(partial(_drop_pending, org=org, gone=pending), durable=False)


def mend(store: Store) -> bool:
    """Fill the full-text index anew if it is broken or holds what it should not."""
    if not _is_broken(store):
        return False
    store.write(lambda tx: tx.index.rebuild(tx.config.orgs()))
    return True


def stamp(tx: Tx) -> None:
    """Say with which analyser the terms of this store were made."""
    tx.meta.put(ANALYSER, str(REVISION))


def _is_broken(store: Store) -> bool:
    try:
        store.write(lambda tx: tx.index.verify(), durable=False)
        with store.read() as tx:
            return any(tx.index.damage(org) for org in tx.config.orgs())
    except StoreRefused:
        return True


def _redate(tx: Tx, *, org: str, clock: Clock) -> int:
    """What was written while the clock was ahead would be hidden until then. The time is asked for within the
    transaction: what others wrote before it is not ahead of it."""
    moved = tx.memories.redate(org, clock.now())
    for id, project in moved:
        tx.changes.note(org, project, "memory", id, "put")
    return len(moved)


def _batch(store: Store, org: str, *, after: int) -> list[tuple[int, Memory]]:
    with store.read() as tx:
        return tx.memories.rows_after(org, after, limit=BATCH)


def _stale(store: Store, batch: list[tuple[int, Memory]]) -> list[Entry]:
    """Those whose stored terms are not what the analyser makes of them now."""
    indexed = [index_terms(memory) for _row, memory in batch]
    with store.read() as tx:
        return [
            (row, memory, new)
            for (row, memory), new in zip(batch, indexed, strict=True)
            if tx.index.terms_of(memory.org, row) != new
        ]


def _put(tx: Tx, *, stale: list[Entry]) -> int:
    changed = 0
    for row, memory, indexed in stale:
        if tx.index.put_terms(row, memory, indexed):
            tx.changes.note(memory.org, memory.project, "memory", memory.id, "put")
            changed += 1
    return changed


# -- the graph -------------------------------------------------------------------------------------


def _begin_mapping(store: Store, org: str, now: datetime) -> set[int]:
    """Sweep what dangles; returns the rows of the memories that are still to be mapped."""
    with store.read() as tx:
        is_damaged = bool(tx.edges.dangling(org))
        pending = tx.graph.pending(org, max_attempts=EVERY_ATTEMPT, patient=now, limit=EVERY_ATTEMPT)
    if is_damaged:
        store.write(partial(_sweep, org=org), durable=False)
    return set(pending)


def _sweep(tx: Tx, *, org: str) -> None:
    for project, node in sorted(tx.edges.sweep(org)):
        tx.changes.note(org, project, "node", str(node), "put")


def _map_batch(
    store: Store,
    batch: list[tuple[int, Memory]],
    pending: set[int],
    *,
    policy: GraphPolicy,
    now: datetime,
) -> int:
    """Map those whose part of the graph is missing or not what it should be. They are taken out of `pending`."""
    waiting = pending.intersection(row for row, _memory in batch)
    pending -= waiting
    with store.read() as tx:
        stale = [(row, memory) for row, memory in batch if row in waiting or not is_mapped(tx, row, memory, policy)]
    return store.write(partial(_map, stale=stale, policy=policy, now=now), durable=False) if stale else 0


def _map(tx: Tx, *, stale: list[tuple[int, Memory]], policy: GraphPolicy, now: datetime) -> int:
    mapped = 0
    for row, seen in stale:
        memory = tx.graph.memory_at(seen.org, row)
        if memory is not None:
            mapped += remap(tx, row, memory, policy, now)
            tx.changes.note(memory.org, memory.project, "memory", memory.id, "put")
    return mapped


def _drop_pending(tx: Tx, *, org: str, gone: set[int]) -> None:
    """Nothing is to be made any more of memories that are not there."""
    for row in gone:
        if tx.graph.memory_at(org, row) is None:
            tx.graph.drop_pending(org, row)

"""Make the indices anew with the present analyser and embedder.

In: a store. Out: a report. Each batch is one consistent transaction, readers go on meanwhile, and the change log
tells read models what to look at again. A full-text index that is damaged is first filled anew from the stored
terms. Interrupted, the next run starts over and passes quickly over what is done; run twice, the second changes
nothing. Analysing happens outside the write lock; a memory changed meanwhile is left to whoever changed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from clew.errors import StoreRefused
from clew.model.facts import ANALYSER
from clew.model.memory import Indexed, Memory
from clew.model.progress import Progress
from clew.ports import Embedder, Store, Tx
from clew.recall.analyse import REVISION
from clew.relate.embed import embed_missing
from clew.remember.prepare import index_terms

BATCH = 500

Entry = tuple[int, Memory, Indexed]


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """`changed` of `memories` got new terms; `rebuilt` says that the full-text index was filled anew."""

    memories: int
    changed: int
    rebuilt: bool
    vectors: int

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def reindex(store: Store, embedder: Embedder | None, *, progress: Progress) -> ReindexReport:
    rebuilt = mend(store)
    with store.read() as tx:
        total = tx.memories.count_all()
    done = changed = row = 0
    while batch := _batch(store, after=row):
        row = batch[-1][0]
        stale = _stale(store, batch)
        changed += store.write(partial(_put, stale=stale), durable=False) if stale else 0
        done += len(batch)
        progress(done, max(done, total))
    store.write(stamp)
    vectors = embed_missing(store, embedder, progress=progress) if embedder else 0
    return ReindexReport(done, changed, rebuilt, vectors)


def mend(store: Store) -> bool:
    """Fill the full-text index anew if it is broken or holds what it should not."""
    if not _is_broken(store):
        return False
    store.write(lambda tx: tx.index.rebuild())
    return True


def stamp(tx: Tx) -> None:
    """Say with which analyser the terms of this store were made."""
    tx.meta.put(ANALYSER, str(REVISION))


def _is_broken(store: Store) -> bool:
    try:
        store.write(lambda tx: tx.index.verify(), durable=False)
        with store.read() as tx:
            return bool(tx.index.damage())
    except StoreRefused:
        return True


def _batch(store: Store, *, after: int) -> list[tuple[int, Memory]]:
    with store.read() as tx:
        return tx.memories.rows_after(after, limit=BATCH)


def _stale(store: Store, batch: list[tuple[int, Memory]]) -> list[Entry]:
    """Those whose stored terms are not what the analyser makes of them now."""
    indexed = [index_terms(memory) for _row, memory in batch]
    with store.read() as tx:
        return [
            (row, memory, new)
            for (row, memory), new in zip(batch, indexed, strict=True)
            if tx.index.terms_of(row) != new
        ]


def _put(tx: Tx, *, stale: list[Entry]) -> int:
    changed = 0
    for row, memory, indexed in stale:
        if tx.index.put_terms(row, memory, indexed):
            tx.changes.note(memory.org, memory.project, "memory", memory.id, "put")
            changed += 1
    return changed

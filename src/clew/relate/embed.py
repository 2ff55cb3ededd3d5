"""Vectors for memories: packed for the store, and made up for where they are missing.

Embedding is an extra. A provider that fails costs a memory its vector, never its write; the next pass
fills the gap. A switch of model is the same gap for every memory, filled org by org, newest first.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.errors import Misconfigured
from clew.model.ids import new_id
from clew.model.job import BACKFILL, BackfillState
from clew.model.progress import Progress, no_progress
from clew.ports import Embedder, Row, Store, Tx
from clew.relate.queue import enqueue
from clew.remember.prepare import embedding_text
from clew.values import dataclass

logger = logging.getLogger(__name__)

Vector = tuple[bytes | None, str]
RESPONSE_INVALID = "EMBEDDING_RESPONSE_INVALID"
LEASE_S = 120.0  # taken anew with every batch, the slowest of which takes less
_STORE = ""  # vectors are of no org


@dataclass(frozen=True, slots=True)
class BackfillPolicy:
    """How many at once, and how long the rest between. A slow model takes a second for 64, and no longer is a stop
    waited for."""

    batch: int = 64
    pause_ms: int = 25


_DEFAULT = BackfillPolicy()


@dataclass(frozen=True, slots=True)
class Turn:
    """Of the processes that could make the vectors of a space, one does."""

    space: str
    holder: str = field(default_factory=lambda: new_id("backfill"))

    def begin(self, total: int) -> Callable[[Tx], bool]:
        """False while it is paused, or somebody else is at it."""
        return lambda tx: self.goes_on(tx) and tx.jobs.begin_backfill(self.space, total=total)

    def goes_on(self, tx: Tx) -> bool:
        return tx.leases.claim(_STORE, self._key, holder=self.holder, ttl_s=LEASE_S) is not None

    def end(self, tx: Tx, *, status: str, error: str) -> None:
        """Nothing, if somebody else has taken over."""
        if token := tx.leases.claim(_STORE, self._key, holder=self.holder, ttl_s=LEASE_S):
            tx.leases.finish(_STORE, self._key, token)
            tx.jobs.end_backfill(self.space, status, error=error)

    @property
    def _key(self) -> str:
        return f"backfill/{self.space}"


def pack_vectors(embedder: Embedder | None, texts: Sequence[str]) -> list[Vector]:
    """(float16 bytes, space) per text; None where the embedder failed, so that the vector comes later."""
    if embedder is None or not texts:
        return [(None, "")] * len(texts)
    try:
        return _pack(embedder, texts)
    except Exception as error:  # a plug-in and an extra: whatever it raises, the memory is stored
        logger.warning("no vectors for %d memories: %s", len(texts), getattr(error, "code", type(error).__name__))
        return [(None, "")] * len(texts)


def embed_missing(
    store: Store,
    embedder: Embedder,
    *,
    policy: BackfillPolicy = _DEFAULT,
    progress: Progress = no_progress,
    should_stop: Callable[[], bool] = lambda: False,
    rest: Callable[[float], object] = time.sleep,
) -> int:
    """Give every memory a vector of the embedder's space, org by org, newest first; returns how many were made.

    Interrupted at any point it goes on where it stopped, since what is done is in the store. While it is paused,
    nothing happens, in whatever process, nor while another process does it. An embedder that fails ends it with its
    error. What a new vector means for the relations of a memory is left to a job.
    """
    turn = Turn(embedder.space.key)
    with store.read() as tx:
        is_paused = tx.jobs.is_backfill_paused(turn.space)
        total = 0 if is_paused else count_missing(tx, turn.space)
    if not total or not store.write(turn.begin(total), durable=False):
        return 0
    done, status, error = 0, "idle", ""
    try:
        for made in _fill_batches(store, embedder, turn, policy, should_stop, rest):
            done += made
            if made:
                progress(done, max(done, total))
            status = "idle" if made else "completed"
    except BaseException as trouble:
        error = getattr(trouble, "code", type(trouble).__name__)
        raise
    finally:
        store.write(partial(turn.end, status=status, error=error), durable=False)
    return done


def _fill_batches(
    store: Store,
    embedder: Embedder,
    turn: Turn,
    policy: BackfillPolicy,
    should_stop: Callable[[], bool],
    rest: Callable[[float], object],
) -> Iterator[int]:
    """How many were made, batch by batch; 0 at last when none is missing any more. Ends if it lasted so long that
    somebody else took over."""
    began = time.monotonic()
    for org, rows in _batches(store, turn.space, policy.batch):
        if should_stop() or rows is None:
            return
        vectors = _pack(embedder, [embedding_text(title, content) for *_, title, content in rows])
        now = time.monotonic()
        fill = partial(_fill, turn=turn, org=org, rows=rows, vectors=vectors, seconds=now - began)
        if not store.write(fill, durable=False):
            return
        began = now
        yield len(rows)
        rest(policy.pause_ms / 1e3)
    yield 0


def _batches(store: Store, space: str, limit: int) -> Iterator[tuple[str, list[Row] | None]]:
    """(org, rows of what lacks a vector); None for the rows once somebody paused it."""
    with store.read() as tx:
        orgs = tx.config.orgs()
    for org in orgs:
        before = 1 << 62
        while (rows := _missing(store, org, space, before, limit)) is None or rows:
            yield org, rows
            before = rows[-1][0] if rows else before


def _pack(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    space = embedder.space.key
    return [(vector, space) for vector in packed(embedder, texts)]


def packed(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of some texts as they are kept. A plug-in may answer anything: what is no vector is refused."""
    rows = np.asarray(embedder.embed(texts))
    halves = _halves(rows) if rows.shape == (len(texts), embedder.space.dim) else None
    if halves is None:
        raise Misconfigured("the embedder's answer is not one vector per text", code=RESPONSE_INVALID)
    return halves


def _halves(rows: NDArray[np.floating[Any]]) -> list[bytes] | None:
    """The bytes of each row, in numbers of 16 bits; None where a number is none."""
    is_plain = rows.dtype == np.float32 and rows.flags.c_contiguous and sys.byteorder == "little"
    if native.compiled is not None and is_plain:
        found: list[bytes] | None = native.compiled.halve(rows, rows.shape[1])
        return found
    return [row.tobytes() for row in rows.astype("<f2")] if np.isfinite(rows).all() else None


def _missing(store: Store, org: str, space: str, before: int, limit: int) -> list[Row] | None:
    """None once somebody paused it."""
    with store.read() as tx:
        if tx.jobs.is_backfill_paused(space):
            return None
        return tx.index.without_vector(org, space, before=before, limit=limit)


def _fill(tx: Tx, *, turn: Turn, org: str, rows: list[Row], vectors: list[Vector], seconds: float) -> bool:
    if not turn.goes_on(tx):
        return False
    filled: list[str] = []
    for (row, project, id, version, *_), (vector, space) in zip(rows, vectors, strict=True):
        if vector and tx.index.fill_vector(org, row, version=version, vector=vector, space=space):
            tx.changes.note(org, project, "memory", id, "put")
            filled.append(id)
    enqueue(tx, org, filled, operation=BACKFILL)
    tx.jobs.count_backfilled(turn.space, len(rows), seconds=seconds)
    return True


# -- for those who look after it -------------------------------------------------------------------------


def count_missing(tx: Tx, space: str) -> int:
    """How many memories lack a vector of a space, in all orgs."""
    return sum(tx.index.count_without_vector(org, space) for org in tx.config.orgs())


def backfill_state(store: Store, space: str) -> BackfillState:
    """How far it is, what remains, and how long that will take at the rate so far."""
    with store.read() as tx:
        remaining = count_missing(tx, space)
        state = tx.jobs.backfill(space, remaining=remaining)
    return replace(state, status="completed") if state.status == "idle" and not remaining else state

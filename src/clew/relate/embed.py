"""Vectors for memories: packed for the store, and made up for where they are missing.

Embedding is an extra. A provider that fails costs a memory its vector, never its write; the next pass
fills the gap. A switch of model is the same gap for every memory, filled newest first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from clew.model.progress import Progress, no_progress
from clew.ports import Embedder, Row, Store, Tx
from clew.remember.prepare import embedding_text

logger = logging.getLogger(__name__)

BATCH = 64  # a slow model takes a second for this many, and no longer is a stop waited for
Vector = tuple[bytes | None, str]


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
    progress: Progress = no_progress,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:
    """Give every memory a vector of the embedder's space, newest first; returns how many were made.

    Interrupted at any point it goes on where it stopped, since what is done is in the store. An embedder
    that fails ends it with its error.
    """
    space = embedder.space.key
    with store.read() as tx:
        total = tx.index.count_without_vector(space)
    done, before = 0, 1 << 62
    while not should_stop() and (rows := _missing(store, space, before)):
        vectors = _pack(embedder, [embedding_text(title, content) for *_, title, content in rows])
        store.write(partial(_fill, rows=rows, vectors=vectors), durable=False)
        before = rows[-1][0]
        done += len(rows)
        progress(done, total)
    return done


def _pack(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    packed = embedder.embed(texts).astype("<f2")
    return [(row.tobytes(), embedder.space.key) for row in packed]


def _missing(store: Store, space: str, before: int) -> list[Row]:
    with store.read() as tx:
        return tx.index.without_vector(space, before=before, limit=BATCH)


def _fill(tx: Tx, *, rows: list[Row], vectors: list[Vector]) -> None:
    for (row, org, project, id, version, *_), (vector, space) in zip(rows, vectors, strict=True):
        if vector is not None:
            tx.index.fill_vector(row, version, vector, space)
            tx.changes.note(org, project, "memory", id, "put")

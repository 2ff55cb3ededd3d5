"""Vectors for memories: packed for the store, and made up for where they are missing.

Embedding is an extra. A provider that fails costs a memory its vector, never its write; the next pass
fills the gap. A switch of model is the same gap for every memory, filled newest first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from clew.errors import ClewError
from clew.ports import Embedder, Row, Store, Tx
from clew.remember.prepare import embedding_text

logger = logging.getLogger(__name__)

BATCH = 256
Vector = tuple[bytes | None, str]


def pack_vectors(embedder: Embedder | None, texts: Sequence[str]) -> list[Vector]:
    """(float16 bytes, space) per text; None where there is no vector."""
    if embedder is None or not texts:
        return [(None, "")] * len(texts)
    try:
        vectors = embedder.embed(texts)
    except ClewError as error:  # degrade to lexical: the vector comes later
        logger.warning("no vectors for %d memories: %s", len(texts), error.code)
        return [(None, "")] * len(texts)
    packed = vectors.astype("<f2")
    return [(row.tobytes() if row.any() else None, embedder.space.key) for row in packed]


def embed_missing(
    store: Store, embedder: Embedder, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Give every memory a vector of the embedder's space, newest first; returns how many were made.

    Interrupted at any point it goes on where it stopped, since what is done is in the store.
    """
    space = embedder.space.key
    with store.read() as tx:
        total = tx.index.count_without_vector(space)
    done, before = 0, 1 << 62
    while rows := _missing(store, space, before):
        texts = [embedding_text(title, content) for *_, title, content in rows]
        vectors = pack_vectors(embedder, texts)
        store.write(partial(_fill, rows=rows, vectors=vectors), durable=False)
        before = rows[-1][0]
        done += sum(vector is not None for vector, _ in vectors)
        progress(done, total)
    return done


def _missing(store: Store, space: str, before: int) -> list[Row]:
    with store.read() as tx:
        return tx.index.without_vector(space, before=before, limit=BATCH)


def _fill(tx: Tx, *, rows: list[Row], vectors: list[Vector]) -> None:
    for (row, org, project, id, version, *_), (vector, space) in zip(rows, vectors, strict=True):
        if vector is not None:
            tx.index.fill_vector(row, version, vector, space)
            tx.changes.note(org, project, "memory", id, "put")

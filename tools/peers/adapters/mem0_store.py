"""mem0 with raw adds: no language model extracts anything; Qdrant keeps the vectors in a local folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from embedding import DIM, Embedding
from units import Unit

from adapters import Place, Store

USER = "bench"


class MiniLm:
    """What mem0 asks of an embedder, in place of the endpoint its constructor insists on."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        asks = memory_action == "search"
        row = self._embedding.query(text) if asks else self._embedding.documents([text])[0]
        numbers: list[float] = row.tolist()
        return numbers

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class Mem0Store(Store):
    batch = 100  # how often we look at the clock; mem0 itself is asked one by one

    def __init__(self, place: Place) -> None:
        os.environ |= {"MEM0_DIR": str(place.folder / "mem0"), "MEM0_TELEMETRY": "False"}
        os.environ.setdefault("OPENAI_API_KEY", "unused")  # a client is built even if it is never asked
        from mem0 import Memory

        where = {"path": str(place.folder / "qdrant"), "embedding_model_dims": DIM}
        store = {"provider": "qdrant", "config": where | {"collection_name": "bench"}}
        self._memory: Any = Memory.from_config(
            {"vector_store": store, "history_db_path": str(place.folder / "history.db")}
        )
        self._memory.embedding_model = MiniLm(place.vectors)

    def add_many(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self._memory.add(unit.labelled, user_id=USER, metadata={"unit": unit.id}, infer=False)

    def search(self, question: str, k: int) -> list[str]:
        found = self._memory.search(question, top_k=k, filters={"user_id": USER})
        return [row["metadata"]["unit"] for row in found["results"]]


def open_store(place: Place) -> Store:
    return Mem0Store(place)

"""Chroma: a persistent client with vectors given by the caller, cosine distance."""

from __future__ import annotations

from collections.abc import Sequence

import chromadb
from chromadb.config import Settings
from units import Unit

from adapters import Place, Store


class ChromaStore(Store):
    batch = 1000

    def __init__(self, place: Place) -> None:
        client = chromadb.PersistentClient(str(place.folder), settings=Settings(anonymized_telemetry=False))
        self._vectors = place.vectors
        self._collection = client.create_collection(
            "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_many(self, units: Sequence[Unit]) -> None:
        texts = [unit.labelled for unit in units]
        self._collection.add(
            ids=[unit.id for unit in units], documents=texts, embeddings=self._vectors.documents(texts)
        )

    def search(self, question: str, k: int) -> list[str]:
        vector = self._vectors.query(question)
        found = self._collection.query(query_embeddings=vector[None], n_results=k)
        return list(found["ids"][0])


def open_store(place: Place) -> Store:
    return ChromaStore(place)

"""LangGraph's stores: SqliteStore (sqlite-vec, on disk) or InMemoryStore, with the caller's embedding function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embedding import DIM, Embedding
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from units import Unit

from adapters import Place, Store

NAMESPACE = ("bench",)


class MiniLm(Embeddings):
    """What LangGraph asks of an embedding: lists of numbers."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in self._embedding.either(texts)]  # SqliteStore asks it for questions too

    def embed_query(self, text: str) -> list[float]:
        numbers: list[float] = self._embedding.query(text).tolist()
        return numbers


class LangGraphStore(Store):
    def __init__(self, store: Any, *, batch: int, closes: Any = None) -> None:
        self._store, self._closes, self.batch = store, closes, batch

    def add_many(self, units: Sequence[Unit]) -> None:
        puts = [PutOp(NAMESPACE, unit.id, {"text": unit.labelled}) for unit in units]
        self._store.batch(puts)

    def search(self, question: str, k: int) -> list[str]:
        return [item.key for item in self._store.search(NAMESPACE, query=question, limit=k)]

    def close(self) -> None:
        if self._closes:
            self._closes.__exit__(None, None, None)


def open_store(place: Place) -> Store:
    index: dict[str, Any] = {"dims": DIM, "embed": MiniLm(place.vectors)}
    if place.variant == "memory":
        from langgraph.store.memory import InMemoryStore

        # InMemoryStore refuses a batch in which two memories have the same text, so one by one.
        return LangGraphStore(InMemoryStore(index=index | {"fields": ["text"]}), batch=1)
    from langgraph.store.sqlite import SqliteStore

    # The documentation says `fields`; SqliteStore reads `text_fields` and else embeds the whole JSON value.
    opened = SqliteStore.from_conn_string(
        str(place.folder / "store.db"), index=index | {"fields": ["text"], "text_fields": ["text"]}
    )
    store = opened.__enter__()
    store.setup()
    return LangGraphStore(store, batch=500, closes=opened)

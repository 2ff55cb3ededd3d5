"""LanceDB: an exact scan over the vectors, or hybrid with its own full-text index and reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence

import lancedb
import pyarrow
from embedding import DIM
from lancedb.rerankers import RRFReranker
from units import Unit

from adapters import Place, Store

SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("text", pyarrow.string()), ("vector", pyarrow.list_(pyarrow.float32(), DIM))]
)


class LanceStore(Store):
    batch = 1000

    def __init__(self, place: Place) -> None:
        self._vectors = place.vectors
        self._is_hybrid = place.variant == "hybrid"
        self._table = lancedb.connect(str(place.folder)).create_table("bench", schema=SCHEMA)

    def add_many(self, units: Sequence[Unit]) -> None:
        texts = [unit.labelled for unit in units]
        flat = pyarrow.array(self._vectors.documents(texts).reshape(-1))
        columns = [[unit.id for unit in units], texts, pyarrow.FixedSizeListArray.from_arrays(flat, DIM)]
        self._table.add(pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], schema=SCHEMA))

    def settle(self) -> None:
        if self._is_hybrid:
            self._table.create_fts_index("text", replace=True)

    def search(self, question: str, k: int) -> list[str]:
        vector = self._vectors.query(question)
        if self._is_hybrid:
            asked = self._table.search(query_type="hybrid").vector(vector).text(question).rerank(RRFReranker())
        else:
            asked = self._table.search(vector)
        return [str(row) for row in asked.limit(k).to_arrow()["id"].to_pylist()]


def open_store(place: Place) -> Store:
    return LanceStore(place)

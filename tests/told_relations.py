"""What tests of relations need: a model that is told its vectors, and a look at what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.relation import Finding
from clew.model.scope import Scope
from clew.model.space import VectorSpace
from clew.ports import Tx
from clew.relate.statements import replace_relations

SHOP = Scope(project="shop")
OpenAt = Callable[..., Clew]


@dataclass
class ToldEmbedder:
    """Gives each text the vector it was told, made as long as one; unrelated is 0 and the same is 1."""

    told: Mapping[str, Sequence[float]]
    is_remote: bool = False
    asked: list[str] = field(default_factory=list)
    failing: Exception | None = None

    @property
    def space(self) -> VectorSpace:
        return VectorSpace("told", "1", len(next(iter(self.told.values()))), 0.0, 1.0)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        if self.failing:
            raise self.failing
        rows = np.array([self.told.get(text, [0.0] * self.space.dim) for text in texts], np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=rows, where=norms > 0)


def open_told(clew_at: OpenAt, folder: Path, told: Mapping[str, Sequence[float]], **settings: Any) -> Clew:
    return clew_at(folder / "told", embedder=ToldEmbedder(told), **settings)


def remember(clew: Clew, *texts: str, scope: Scope = SHOP, **fields: Any) -> list[str]:
    return [clew.remember(text, scope=scope, **fields).id for text in texts]


def rows(clew: Clew, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Straight from the file."""
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def edges(clew: Clew, *types: str) -> set[tuple[str, str, str]]:
    """(from, type, to) of what was found, memories by their content and conditions by their key."""
    found = rows(
        clew,
        """SELECT coalesce(m.content, a.node_key), e.edge_type, coalesce(o.content, b.node_key) FROM graph_edges e
        JOIN graph_nodes a ON a.row = e.from_row LEFT JOIN memories m ON m.row = a.memory_row
        JOIN graph_nodes b ON b.row = e.to_row LEFT JOIN memories o ON o.row = b.memory_row
        WHERE a.node_type = 'memory' OR b.node_type = 'memory'""",
    )
    wanted = types or ("similar_to", "contradicts", "supersedes", "caused_by", "depends_on", "prefers_over",
                       "specializes", "conditional_on")  # fmt: skip
    return {(source, kind, target) for source, kind, target in found if kind in wanted}


def both_ways(kind: str, one: str, other: str) -> set[tuple[str, str, str]]:
    return {(one, kind, other), (other, kind, one)}


def replace(clew: Clew, id: str, *findings: Finding, **options: Any) -> None:
    """As a job does, with these findings."""

    def write(tx: Tx) -> None:
        memory = current(clew, id)
        row = tx.memories.row_of(memory)
        replace_relations(tx, memory, row, findings, now=clew.clock.now(), **options)

    clew.store.write(write)


def current(clew: Clew, id: str) -> Memory:
    return clew.show(id, scope=SHOP)

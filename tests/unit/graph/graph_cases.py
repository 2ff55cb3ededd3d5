"""Small graphs by name, run through the production path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clew.graph.adjacency import Csr, Edges, build_csr
from clew.graph.case import activate_case

VECTORS = json.loads((Path(__file__).parent / "graph_activation.json").read_text(encoding="utf-8"))
RAW = {"pagerank_iterations": 0, "lateral_inhibition": None}
NO_INHIBITION = {"lateral_inhibition": None}


def edges(text: str, type_: str = "entity") -> list[dict[str, Any]]:
    """`A-B .9, B-C` are two edges; without a number the confidence is missing."""
    found = []
    for part in text.split(","):
        ends, _, confidence = part.strip().partition(" ")
        source, target = ends.split("-")
        edge = {"from": source, "to": target, "type": type_}
        found.append(edge | ({"confidence": float(confidence)} if confidence else {}))
    return found


def run(graph: list[dict[str, Any]], seeds: str, **settings: Any) -> list[dict[str, Any]]:
    return activate_case({"edges": graph, "seeds": list(seeds), "settings": settings})  # type: ignore[return-value]


def scores(graph: list[dict[str, Any]], seeds: str, **settings: Any) -> dict[str, float]:
    return {row["node"]: row["score"] for row in run(graph, seeds, **settings)}


def csr(rows: Sequence[tuple[int, int, float, float, str]], size: int) -> Csr:
    """An index over rows of source, target, weight, confidence and type."""
    types = list(dict.fromkeys(row[4] for row in rows))
    columns = Edges(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.float64),
        np.array([row[3] for row in rows], np.float64),
        np.array([types.index(row[4]) for row in rows], np.int16),
    )
    return build_csr(columns, types, size)

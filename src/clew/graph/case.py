"""One activation written down as plain values: edges and seeds by name, settings, and back the result by name.

It is what a test vector, the command line and a bug report have in common, and it runs the code that recall runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn, cast, get_args

import numpy as np

from clew.errors import InvalidInput
from clew.graph.activation import Activated, Activation, Refinement, spread
from clew.graph.adjacency import Csr, Edges, build_csr

# Engram keeps one file per type and reads them in this order; other types follow.
FILE_ORDER = {"entity": 0, "time": 1, "causal": 2}
EXAMPLE = (
    '{"edges": [{"from": "a", "to": "b", "type": "entity", "weight": 1, "confidence": 0.9}], '
    '"seeds": ["a"], "settings": {"max_steps": 3}}'
)


def activate_case(case: Mapping[str, object]) -> list[dict[str, object]]:
    """The nodes that the case activates, best first. Bounds that the case does not set are not applied."""
    if not isinstance(case, Mapping):
        _refuse("The case is not an object")
    edges = [_edge(edge, at) for at, edge in enumerate(_items(case, "edges"))]
    edges.sort(key=lambda edge: FILE_ORDER.get(edge[2], len(FILE_ORDER)))
    seeds = [_name(seed, f"Seed {at}") for at, seed in enumerate(_items(case, "seeds"))]
    settings = _settings(case.get("settings"))
    names = dict.fromkeys(name for source, target, *_ in edges for name in (source, target))
    numbers = {name: number for number, name in enumerate(names | dict.fromkeys(seeds))}
    found = spread(_graph(edges, numbers), [numbers[seed] for seed in seeds], settings)
    labels = list(numbers)
    return [_row(one, labels) for one in found]


def _row(one: Activated, labels: Sequence[str]) -> dict[str, object]:
    names = {"node": labels[one.node], "seed": labels[one.seed], "path": [labels[node] for node in one.path]}
    return one._asdict() | names | {"edge_confidences": list(one.edge_confidences)}


def _graph(edges: Sequence[tuple[str, str, str, float, float]], numbers: Mapping[str, int]) -> Csr:
    types = list(dict.fromkeys(edge[2] for edge in edges))
    columns = Edges(
        np.array([numbers[edge[0]] for edge in edges], np.int64),
        np.array([numbers[edge[1]] for edge in edges], np.int64),
        np.array([edge[3] for edge in edges], np.float64),
        np.array([edge[4] for edge in edges], np.float64),
        np.array([types.index(edge[2]) for edge in edges], np.int16),
    )
    return build_csr(columns, types, len(numbers))


def _edge(edge: object, at: int) -> tuple[str, str, str, float, float]:
    if not isinstance(edge, Mapping):
        _refuse(f"Edge {at} is not an object")
    source, target, type_ = (_name(edge.get(key), f"`{key}` of edge {at}") for key in ("from", "to", "type"))
    weight, confidence = (_number(edge.get(key), f"`{key}` of edge {at}") for key in ("weight", "confidence"))
    return source, target, type_, weight, confidence


def _settings(given: object) -> Activation:
    settings = {} if given is None else given
    if not isinstance(settings, Mapping):
        _refuse("`settings` is not an object")
    usuals = {"max_steps": 3, "decay": 0.7, "confidence_floor": 0.2, "pagerank_iterations": 8}
    numbers = [_number(settings.get(key), f"`{key}`", usual) for key, usual in usuals.items()]
    steps, decay, floor, iterations = numbers
    beta, top_m = _inhibition(settings.get("lateral_inhibition", {}))
    refinement = settings.get("refinement", "compat")
    if refinement not in get_args(Refinement):
        _refuse(f"`refinement` is none of {', '.join(get_args(Refinement))}")
    return Activation(
        max_steps=int(steps), decay=decay, confidence_floor=floor, iterations=int(iterations),
        beta=beta, top_m=top_m, refinement=cast(Refinement, refinement),
        fan_out=_bound(settings, "fan_out"), max_expanded=_bound(settings, "max_expanded"),
    )  # fmt: skip


def _inhibition(given: object) -> tuple[float | None, int]:
    if given is None:
        return None, 0
    if not isinstance(given, Mapping):
        _refuse("`lateral_inhibition` is neither an object nor null")
    return _number(given.get("beta"), "`beta`", 0.15), int(_number(given.get("top_m"), "`top_m`", 7))


def _bound(settings: Mapping[str, object], key: str) -> int | None:
    value = settings.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _refuse(f"`{key}` is neither a whole number nor null")
    return value


def _items(case: Mapping[str, object], key: str) -> Sequence[object]:
    items = case.get(key)
    if not isinstance(items, (list, tuple)):
        _refuse(f"`{key}` is not a list")
    return items


def _name(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        _refuse(f"{what} is not a name")
    return value


def _number(value: object, what: str, default: float = 1.0) -> float:
    if value is None:
        return default
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        _refuse(f"{what} is not a number")
    return float(value)


def _refuse(message: str) -> NoReturn:
    raise InvalidInput(message, code="GRAPH_CASE_INVALID", next=f"write the case like this: {EXAMPLE}")

"""Requests as they are counted: one to start from, and what came of it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

from clew.model.rollout import Metric

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ERROR = "STORE_IO"

_numbers = count()


def applied(at: datetime = NOON, *, expanded: int = 1, **fields: Any) -> Metric:
    """Two memories from the baseline, and what the graph added."""
    plain: dict[str, Any] = {
        "org": "local", "created_at": at, "id": f"req_{next(_numbers):08d}", "path": "expand", "mode": "canary",
        "requested_strategy": "hybrid_graph", "applied_strategy": "hybrid_graph", "eligible": True,
        "shadow_executed": False, "baseline_candidates": 2, "graph_candidates": 3, "graph_expanded_count": expanded,
        "would_expand_count": expanded, "total_candidates": 2 + expanded, "could_expand": True,
    }  # fmt: skip
    return Metric(**plain | fields)


def unused(at: datetime, reason: str, **fields: Any) -> Metric:
    """The graph was asked for and not used."""
    plain = {"applied_strategy": "baseline", "graph_expanded_count": 0, "total_candidates": 2}
    return applied(at, **plain | {"fallback_reason": reason} | fields)


def failed(at: datetime = NOON, **fields: Any) -> Metric:
    plain = {"graph_error": ERROR, "graph_candidates": 0, "would_expand_count": 0}
    return unused(at, "graph_expansion_error", **plain | fields)


def blocked(at: datetime = NOON, *, error: str = "", would: int = 1, **fields: Any) -> Metric:
    """By the gate; its shadow run worked unless it names an error."""
    ran = {"shadow_executed": True, "graph_error": error, "would_expand_count": 0 if error else would}
    return unused(at, "quality_gate_blocked", **ran | fields)


def shadowed(at: datetime = NOON, *, error: str = "", **fields: Any) -> Metric:
    ran = {"mode": "shadow", "eligible": False, "shadow_executed": True, "graph_error": error}
    return unused(at, "shadow_mode", **ran | fields)

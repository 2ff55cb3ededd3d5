"""The recall matrix: what each work type gets. An operator's data, with shipped values behind it.

Each field is resolved by itself: the org's row, what the settings say for the org (`inject.org_overrides`, a
budget), the row for all orgs, the shipped value, the value of a work type that nobody knows (rensei.md 2.8).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from clew.errors import InvalidInput
from clew.inject.budget import DEFAULT_CONTEXT_BUDGET
from clew.inject.gates import HasStore
from clew.model.config import MatrixRow, RecallSettings

_log = logging.getLogger(__name__)

FIELDS = ("graph_enabled", "observation_budget", "graph_budget", "top_k", "depth")
SHIPPED: Mapping[str, MatrixRow] = MappingProxyType(  # rensei.md
    {
        work_type: MatrixRow(None, work_type, graph_enabled=work_type != "chore", observation_budget=tokens)
        for work_type, tokens in DEFAULT_CONTEXT_BUDGET.items()
    }
)
UNKNOWN = RecallSettings()  # graph on, 500, 500, 10, 2
MAX_WORK_TYPE = 60
LIMITS = {"observation_budget": (0, 100_000), "graph_budget": (0, 100_000), "top_k": (1, 100), "depth": (0, 8)}


class HasMatrix(Protocol):
    """An open Clew, as far as its recall matrix goes."""

    @property
    def matrix(self) -> Any: ...


class HasSettings(HasStore, Protocol):
    """An open Clew, as far as its store and its settings go."""

    @property
    def settings(self) -> Any: ...


def resolve_recall(clew: HasSettings, org_id: str, work_type: str | None) -> RecallSettings:
    """What a work type gets in an org. If that cannot be read: the shipped budgets, and no graph."""
    configured = clew.settings.inject.org_overrides.of(org_id, work_type)
    try:
        with clew.store.read() as tx:
            return resolved(work_type, *tx.config.matrix_rows(org_id, work_type or ""), configured=configured)
    except Exception as error:  # budgets are an extra; the graph is the riskier part and stays off
        _log.warning("the recall matrix could not be read: %s", type(error).__name__)
        return unreadable(work_type)


def set_recall(clew: HasMatrix, work_type: str, *, org_id: str | None = None, **fields: Any) -> RecallSettings:
    """Change a row of the matrix; for operators, and audited. The same as `clew.matrix.set`."""
    settings: RecallSettings = clew.matrix.set(work_type, org=org_id, **fields)
    return settings


def resolved(
    work_type: str | None, org_row: MatrixRow | None, all_row: MatrixRow | None, *, configured: int | None = None
) -> RecallSettings:
    """`configured`: the budget that the settings give this org."""
    by_settings = MatrixRow(None, work_type or "", observation_budget=configured)
    shipped = SHIPPED.get(work_type or "")
    layers = (("org", org_row), ("settings", by_settings), ("all orgs", all_row), ("shipped", shipped))
    values: dict[str, Any] = {}
    sources: list[tuple[str, str]] = []
    for field in FIELDS:
        said = next(
            ((name, value) for name, row in layers if (value := getattr(row, field, None)) is not None), None
        )
        source, value = said or ("default", getattr(UNKNOWN, field))
        values[field] = value
        sources.append((field, source))
    return RecallSettings(**values, sources=tuple(sources))


def unreadable(work_type: str | None) -> RecallSettings:
    shipped = resolved(work_type, None, None)
    return replace(shipped, graph_enabled=False, sources=(*shipped.sources[1:], ("graph_enabled", "error")))


def changed(row: MatrixRow, fields: Mapping[str, Any]) -> MatrixRow:
    """The row with other values; what is out of range is refused."""
    check_work_type(row.work_type)
    for name, value in fields.items():
        if name not in FIELDS:
            raise _invalid(f"it has no field '{name[:40]}'", f"choose: {', '.join(FIELDS)}")
        least, most = LIMITS.get(name, (0, 1))
        is_number = isinstance(value, int) and (isinstance(value, bool) == (name == "graph_enabled"))
        if not is_number or not least <= value <= most:
            expected = "on or off" if name == "graph_enabled" else f"a whole number from {least} to {most:,}"
            raise _invalid(f"{name} is no such value", f"give {expected}")
    return replace(row, **fields)


def check_work_type(work_type: str) -> None:
    if not work_type.strip() or len(work_type) > MAX_WORK_TYPE or not work_type.isprintable():
        raise InvalidInput(
            f"a work type is one line of 1 to {MAX_WORK_TYPE} characters",
            code="WORK_TYPE_INVALID",
            next=f"such as {', '.join(SHIPPED)}",
        )


def _invalid(why: str, next_move: str) -> InvalidInput:
    return InvalidInput(f"the recall matrix cannot be set so: {why}", code="RECALL_MATRIX_INVALID", next=next_move)

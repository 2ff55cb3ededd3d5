"""The stored switches that a session's injection depends on, read together and kept until something is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clew.inject.matrix import resolved
from clew.model.config import OrgFeatures, ProjectConfig, RecallSettings
from clew.ports import Store
from clew.values import dataclass

MAX_KEPT = 512
BudgetOf = Callable[[str, str | None], int | None]  # of an org and a work type


def _no_budget(_org: str, _work_type: str | None) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Switched:
    project: ProjectConfig
    features: OrgFeatures
    recall: RecallSettings


class Switches:
    """Thread-safe. A commit of any process makes the next look a fresh one: nothing here is ever out of date."""

    def __init__(self, store: Store, *, pushes: bool = True, budget_of: BudgetOf = _no_budget) -> None:
        """`pushes` and `budget_of`: what the settings of this installation say."""
        self._store, self._pushes, self._budget_of = store, pushes, budget_of
        self._kept: dict[tuple[int, str, str | None, str | None], tuple[int, Switched]] = {}

    def of(self, org: str, project: str | None, work_type: str | None) -> Switched:
        connection, version = self._store.data_version()
        key = (connection, org, project, work_type)
        known = self._kept.get(key)
        if known and known[0] == version:
            return known[1]
        switched = self._read(org, project, work_type)
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = (version, switched)
        return switched

    def _read(self, org: str, project: str | None, work_type: str | None) -> Switched:
        with self._store.read() as tx:
            rows = tx.config.matrix_rows(org, work_type or "")
            config, features = tx.config.project(org, project), tx.config.features(org)
        if not self._pushes:
            config = replace(config, runtime_inject_enabled=False)
        return Switched(config, features, resolved(work_type, *rows, configured=self._budget_of(org, work_type)))

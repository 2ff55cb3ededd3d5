"""The stored switches that a session's injection depends on, read together and kept until something is written."""

from __future__ import annotations

from clew.inject.matrix import resolved
from clew.model.config import OrgFeatures, ProjectConfig, RecallSettings
from clew.ports import Store
from clew.values import dataclass

MAX_KEPT = 512


@dataclass(frozen=True, slots=True)
class Switched:
    project: ProjectConfig
    features: OrgFeatures
    recall: RecallSettings


class Switches:
    """Thread-safe. A commit of any process makes the next look a fresh one: nothing here is ever out of date."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
            return Switched(tx.config.project(org, project), tx.config.features(org), resolved(work_type, *rows))

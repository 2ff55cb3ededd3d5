"""Switches in the store: of projects, of orgs, and of work types in the recall matrix. Rows to values and back."""

from __future__ import annotations

from datetime import datetime

from clew.model.config import MatrixRow, OrgFeatures, ProjectConfig
from clew.model.times import to_micros
from clew.store.session import Row, Session


class ConfigTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def project(self, org: str, project: str | None) -> ProjectConfig:
        row = self._session.one("project_config", org_id=org, project_id=project or "")
        return _project(row) if row else ProjectConfig()

    def projects(self, org: str) -> dict[str, ProjectConfig]:
        """Those that were configured; the others have the defaults."""
        return {name: _project(rest) for name, *rest in self._session.all("project_configs", org_id=org)}

    def put_project(self, org: str, project: str | None, config: ProjectConfig, *, by: str, at: datetime) -> None:
        self._session.run(
            "project_config_put",
            org_id=org,
            project_id=project or "",
            memory_enabled=config.memory_enabled,
            graph_enabled=config.graph_enabled,
            runtime_inject_enabled=config.runtime_inject_enabled,
            updated_by=by,
            updated_at=to_micros(at),
        )

    def features(self, org: str) -> OrgFeatures:
        row = self._session.one("org_features", org_id=org)
        return OrgFeatures(*map(bool, row)) if row else OrgFeatures()

    def put_features(self, org: str, features: OrgFeatures, *, by: str, at: datetime) -> None:
        when = to_micros(at)
        self._session.run("org_features_put", org_id=org, **features.as_json(), updated_by=by, updated_at=when)

    def orgs(self) -> list[str]:
        return [org for (org,) in self._session.all("orgs_known") if org]

    def matrix_row(self, org: str | None, work_type: str) -> MatrixRow | None:
        row = self._session.one("matrix_row", org_id=org or "", work_type=work_type)
        return _matrix_row(row) if row else None

    def matrix_rows(self, org: str, work_type: str) -> tuple[MatrixRow | None, MatrixRow | None]:
        """The org's own row and the one for all orgs."""
        rows = self._session.all("matrix_rows", org_id=org, work_type=work_type)
        found = {row.org: row for row in map(_matrix_row, rows)}
        return found.get(org or None), found.get(None)

    def matrix(self, org: str) -> list[MatrixRow]:
        """Every row that counts for an org, by work type."""
        return [_matrix_row(row) for row in self._session.all("matrix_of_org", org_id=org)]

    def put_matrix(self, row: MatrixRow, *, by: str, at: datetime) -> None:
        self._session.run(
            "matrix_put",
            org_id=row.org or "",
            work_type=row.work_type,
            graph_enabled=row.graph_enabled,
            observation_budget=row.observation_budget,
            graph_budget=row.graph_budget,
            top_k=row.top_k,
            depth=row.depth,
            updated_by=by,
            updated_at=to_micros(at),
        )


def _project(row: Row | list[int | None]) -> ProjectConfig:
    memory, graph, inject, version = row
    return ProjectConfig(bool(memory), None if graph is None else bool(graph), bool(inject), version or 0)


def _matrix_row(row: Row) -> MatrixRow:
    org, work_type, graph, *rest = row
    return MatrixRow(org or None, work_type, None if graph is None else bool(graph), *rest)

"""Switches in the store: defaults without a row, versions that grow, orgs apart."""

from __future__ import annotations

from memories import NOW

from clew.model.config import MatrixRow, OrgFeatures, ProjectConfig
from clew.ports import Store


def put(store: Store, project: str, config: ProjectConfig, *, org: str = "local") -> None:
    store.write(lambda tx: tx.config.put_project(org, project, config, by="me", at=NOW))


def test_a_project_without_a_row_has_everything_on(store: Store) -> None:
    with store.read() as tx:
        assert tx.config.project("local", "shop") == ProjectConfig(True, True, True, 0)
        assert tx.config.features("local") == OrgFeatures(False, False)


def test_every_switch_comes_back_and_each_change_is_a_version(store: Store) -> None:
    for graph in (True, False, None):
        put(store, "shop", ProjectConfig(False, graph, False))
    with store.read() as tx:
        assert tx.config.project("local", "shop") == ProjectConfig(False, None, False, 3)


def test_enabling_one_project_never_affects_another_or_another_org(store: Store) -> None:
    put(store, "shop", ProjectConfig(memory_enabled=False))
    put(store, "shop", ProjectConfig(graph_enabled=False), org="acme")
    with store.read() as tx:
        assert set(tx.config.projects("local")) == {"shop"}
        assert tx.config.project("local", "till") == ProjectConfig()
        assert tx.config.project("acme", "shop").memory_enabled


def test_features_come_back(store: Store) -> None:
    store.write(lambda tx: tx.config.put_features("acme", OrgFeatures(True, True), by="me", at=NOW))
    with store.read() as tx:
        assert tx.config.features("acme") == OrgFeatures(True, True) and "acme" in tx.config.orgs()


def test_the_matrix_ships_with_four_work_types(store: Store) -> None:
    with store.read() as tx:
        rows = {row.work_type: (row.graph_enabled, row.observation_budget) for row in tx.config.matrix("any")}
    assert rows == {"bug_fix": (True, 750), "feature": (True, 400), "refactor": (True, 600), "chore": (False, 300)}


def test_a_row_of_an_org_stands_beside_the_one_for_all(store: Store) -> None:
    own = MatrixRow("acme", "chore", graph_enabled=True, depth=0)
    store.write(lambda tx: tx.config.put_matrix(own, by="op", at=NOW))
    with store.read() as tx:
        mine, everybodys = tx.config.matrix_rows("acme", "chore")
        assert tx.config.matrix_rows("other", "chore")[0] is None
    assert mine == MatrixRow("acme", "chore", True, depth=0, version=1)
    assert everybodys == MatrixRow(None, "chore", False, 300, version=1)

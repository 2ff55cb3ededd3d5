"""Gates: what is switched on for a project, and why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.inject import explain_graph_gate, is_graph_enabled_for_project
from clew.inject.gates import (
    delivery_gate,
    first_closed,
    graph_gate,
    graph_settings_gate,
    memory_gate,
    work_type_gate,
)
from clew.model.config import OrgFeatures, ProjectConfig, RecallSettings

TABLE = list(product((True, False), (True, False, None), (True, False)))


@pytest.mark.parametrize(("memory_on", "graph_on", "kg"), TABLE)
def test_r002_r003_the_whole_table(memory: Clew, memory_on: bool, graph_on: bool | None, kg: bool) -> None:
    config = ProjectConfig(memory_enabled=memory_on, graph_enabled=graph_on)
    memory.store.write(lambda tx: tx.config.put_project("local", "shop", config, by="me", at=memory.now()))
    memory.store.write(lambda tx: tx.config.put_features("local", OrgFeatures(kg), by="me", at=memory.now()))
    expected = memory_on and (graph_on is True or kg)
    assert is_graph_enabled_for_project(memory, "local", "shop") is expected
    reason = "ok" if expected else "graph_off" if memory_on else "memory_off"
    assert explain_graph_gate(memory, "local", "shop").reason == reason


def test_r004_a_project_cannot_opt_out_of_the_plan() -> None:
    gate = graph_gate(ProjectConfig(graph_enabled=False), OrgFeatures(kg_enabled=True))
    assert gate and "whatever the project says" in gate.words


def test_r005_no_other_flag_is_asked(memory: Clew) -> None:
    [columns] = [[row[1] for row in _columns(memory, table)] for table in ("org_features",)]
    assert "graph_engine_enabled" not in columns
    assert "graph_engine_enabled" not in [path for path, *_rest in memory.settings.items()]


def _columns(memory: Clew, table: str) -> list[tuple[object, ...]]:
    with memory.store.read() as tx:
        return tx.session.connection.execute(f"PRAGMA table_info({table})").fetchall()  # type: ignore[attr-defined]


def test_a_new_project_has_everything_on(memory: Clew) -> None:
    assert is_graph_enabled_for_project(memory, "local", "new")
    assert delivery_gate(ProjectConfig()) and memory_gate(ProjectConfig())


def test_switches_that_cannot_be_read_are_off(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path)
    clew.close()
    assert explain_graph_gate(clew, "local", "shop").reason == "error"


@pytest.mark.parametrize(
    ("off", "named"), [({"write": False}, "write"), ({"recall": False}, "recall"), ({"shadow": True}, "shadow")]
)
def test_the_settings_of_the_graph_come_before_the_projects(off: dict[str, bool], named: str) -> None:
    gate = graph_settings_gate(**({"write": True, "recall": True, "shadow": False} | off))
    assert gate.reason == "graph_off" and f"graph.{named}" in gate.words


def test_c15_the_first_closed_gate_gives_the_reason() -> None:
    closed = (
        graph_gate(ProjectConfig(memory_enabled=False), OrgFeatures()),
        graph_gate(ProjectConfig(graph_enabled=None), OrgFeatures()),
        work_type_gate(RecallSettings(graph_enabled=False), "chore"),
    )
    assert [first_closed(closed[at:]).reason for at in range(3)] == [
        "memory_off",
        "graph_off",
        "work_type_excluded",
    ]
    assert first_closed([]).is_open

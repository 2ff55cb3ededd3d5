"""Whether a session gets anything, and whether it gets the graph: each gate says why. Pure but for two functions.

In the order of CONTRACTS: the project's memory, the graph's settings, how far it is rolled out, the project's and
the org's graph, the work type. The first gate that is closed gives the reason that the injection log keeps
(rensei.md C-15).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from clew.model.config import GateDecision, OrgFeatures, ProjectConfig, RecallSettings
from clew.ports import Store
from clew.rollout.standing import Standing

OPEN = GateDecision(True, "ok")
_log = logging.getLogger(__name__)


class HasStore(Protocol):
    """An open Clew, as far as reading its store goes."""

    @property
    def store(self) -> Store: ...


def is_graph_enabled_for_project(clew: HasStore, org_id: str, project_id: str | None) -> bool:
    """Memory enabled, and the project's graph or the org's plan says so. No other flag is asked."""
    return explain_graph_gate(clew, org_id, project_id).is_open


def explain_graph_gate(clew: HasStore, org_id: str, project_id: str | None) -> GateDecision:
    try:
        with clew.store.read() as tx:
            return graph_gate(tx.config.project(org_id, project_id), tx.config.features(org_id))
    except Exception as error:  # the graph is an extra: a switch that cannot be read is off
        _log.warning("the switches of a project could not be read: %s", type(error).__name__)
        return GateDecision(False, "error", "the switches could not be read")


def memory_gate(project: ProjectConfig) -> GateDecision:
    if project.memory_enabled:
        return GateDecision(True, "ok", "memory is on for this project")
    return GateDecision(False, "memory_off", "memory is off for this project: nothing is looked for")


def graph_gate(project: ProjectConfig, features: OrgFeatures) -> GateDecision:
    """rensei.md R-002: memory and (the project's graph or the org's plan). A project cannot opt out of the plan."""
    if not project.memory_enabled:
        return memory_gate(project)
    if project.graph_enabled:
        return GateDecision(True, "ok", "the project has its graph on")
    if features.kg_enabled:
        return GateDecision(True, "ok", "the org's plan grants the graph, whatever the project says")
    said = "has not switched it on" if project.graph_enabled is None else "has switched it off"
    return GateDecision(False, "graph_off", f"the project {said}, and the org's plan does not grant it")


def graph_settings_gate(*, write: bool, recall: bool, shadow: bool) -> GateDecision:
    """What the settings of this installation say, whichever project asks."""
    for is_on, words in (
        (write, "the setting graph.write is off: no graph is kept"),
        (recall, "the setting graph.recall is off: the graph is not used"),
        (not shadow, "the setting graph.shadow is on: the graph is only compared, never shown"),
    ):
        if not is_on:
            return GateDecision(False, "graph_off", words)
    return GateDecision(True, "ok", "the settings let the graph be used")


def rollout_gate(standing: Standing) -> GateDecision:
    """What is in the shadow is not shown; in the words of a recall's fallback."""
    if standing.mode == "off":
        return GateDecision(False, "rollout_off", "the rollout mode of the org is off: clew rollout set shadow")
    if standing.mode == "shadow":
        return GateDecision(False, "shadow_mode", "the rollout mode of the org is shadow: the graph is not shown")
    if standing.gate.is_blocked:
        codes = ", ".join(standing.gate.reason_codes)
        return GateDecision(False, "quality_gate_blocked", f"the quality gate blocks the graph: {codes}")
    return GateDecision(True, "ok", "the rollout mode of the org is canary, and the quality gate is open")


def work_type_gate(settings: RecallSettings, work_type: str | None) -> GateDecision:
    named = work_type or "a session without a work type"
    if settings.graph_enabled:
        return GateDecision(True, "ok", f"the recall matrix includes the graph for {named}")
    return GateDecision(False, "work_type_excluded", f"the recall matrix leaves the graph out for {named}")


def delivery_gate(project: ProjectConfig, *, setting: bool = True) -> GateDecision:
    if not setting:
        words = "the setting inject.runtime is off: blocks are computed and logged, but never pushed"
        return GateDecision(False, "inject_off", words)
    if project.runtime_inject_enabled:
        return GateDecision(True, "ok", "blocks are pushed to running sessions")
    return GateDecision(False, "inject_off", "blocks are computed and logged, but never pushed")


def first_closed(gates: Iterable[GateDecision]) -> GateDecision:
    """The first that is closed; when all are open, that."""
    return next((gate for gate in gates if not gate), GateDecision(True, "ok", "every gate is open"))

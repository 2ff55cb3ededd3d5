"""Switches that live in the store: per project, per org, and per work type in the recall matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """A project nobody configured has everything on. `graph_enabled` None: nobody said, which is not on."""

    memory_enabled: bool = True
    graph_enabled: bool | None = True
    runtime_inject_enabled: bool = True
    version: int = 0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class OrgFeatures:
    kg_enabled: bool = False
    feedback_weighting_disabled: bool = False

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """What the recall matrix says for one org and work type. `sources` tells where each field came from."""

    graph_enabled: bool = True
    observation_budget: int = 500
    graph_budget: int = 500
    top_k: int = 10
    depth: int = 2
    sources: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__[:-1]} | {"sources": dict(self.sources)}


@dataclass(frozen=True, slots=True)
class AgentRights:
    """What is known of an agent beyond its credential."""

    clearance: int = 2
    suspended: bool = False
    can_write: bool = True


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a gate is open, and the reason in a word: one of the codes of the injection log."""

    is_open: bool
    reason: str

    def __bool__(self) -> bool:
        return self.is_open

"""Switches that live in the store: per project, per org, and per work type in the recall matrix."""

from __future__ import annotations

from typing import Any

from clew.values import dataclass

CLEARANCE, HIGHEST = 2, 3  # of an agent that nobody described, and the one that every label is within


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
class MatrixRow:
    """One row of the recall matrix; org None is for all orgs, a None field leaves it to the next row."""

    org: str | None
    work_type: str
    graph_enabled: bool | None = None
    observation_budget: int | None = None
    graph_budget: int | None = None
    top_k: int | None = None
    depth: int | None = None
    version: int = 0

    def as_json(self) -> dict[str, Any]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


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
    """What is known of an agent beyond its credential: what it may by itself."""

    clearance: int = CLEARANCE
    suspended: bool = False
    can_write: bool = True

    @property
    def beside_a_user(self) -> int:
        """The clearance next to a user. The default keeps nothing from it: it stands in every row, meant or not."""
        return self.clearance if self.clearance < CLEARANCE else HIGHEST

    @property
    def narrow(self) -> bool:
        """Whether something is kept from the agent that its user may."""
        return self.suspended or not self.can_write or self.beside_a_user < HIGHEST

    def as_json(self) -> dict[str, Any]:
        return {"clearance": self.clearance, "suspended": self.suspended, "can_write": self.can_write}


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a gate is open, and the reason: a code of the injection log, and the same in words."""

    is_open: bool
    reason: str
    words: str = ""

    def __bool__(self) -> bool:
        return self.is_open

    def as_json(self) -> dict[str, Any]:
        return {"open": self.is_open, "reason": self.reason, "words": self.words}


@dataclass(frozen=True, slots=True)
class ProjectShown:
    """A project's switches, and every gate that an injected block has to pass."""

    project: str
    config: ProjectConfig
    features: OrgFeatures
    gates: tuple[tuple[str, GateDecision], ...] = ()
    work_types: tuple[tuple[str, GateDecision], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "project": self.project,
            **self.config.as_json(),
            "org_features": self.features.as_json(),
            "gates": {name: gate.as_json() for name, gate in self.gates},
            "work_types": {name: gate.as_json() for name, gate in self.work_types},
        }


@dataclass(frozen=True, slots=True)
class MatrixShown:
    """What a work type gets in an org, field by field, and where each value comes from."""

    work_type: str
    org: str
    settings: RecallSettings

    def as_json(self) -> dict[str, Any]:
        return {"work_type": self.work_type, "org": self.org, **self.settings.as_json()}

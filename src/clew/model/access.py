"""Who wants to do what with which row: the values that policies decide over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from clew.model.memory import CLASSIFICATIONS, Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass

# The parent of `inject` is `read`: what may not be read cannot be injected. `review` is for quarantined text.
ACTIONS = ("read", "inject", "write", "feedback", "delete", "export", "transfer", "review", "configure", "operate")


@dataclass(frozen=True, slots=True)
class Resource:
    """A row as it was loaded from the store, never as a caller describes it."""

    kind: str  # memory | node | project | org | matrix
    id: str
    org: str  # of a row of the matrix: '' is for all orgs
    project: str | None = None
    user: str | None = None  # whose private one it is
    classification: str = "restricted"
    quarantined: bool = False
    deleted: bool = False
    shared_with: tuple[str, ...] = ()
    writer: str | None = None  # the user whose words they are

    @classmethod
    def of_memory(cls, memory: Memory) -> Resource:
        return cls(
            "memory", memory.id, memory.org, memory.project, memory.user,
            classification=memory.classification, deleted=memory.deleted_at is not None, writer=memory.author,
        )  # fmt: skip

    @property
    def sensitivity(self) -> int:
        """From 0, public, to 3, restricted; a label nobody knows counts as restricted."""
        return CLASSIFICATIONS.index(self.classification) if self.classification in CLASSIFICATIONS else 3


@dataclass(frozen=True, slots=True)
class AccessContext:
    """In which session and project it happens; made by us from the session's row. No project: the whole org."""

    org: str
    project: str | None = None
    session: str | None = None
    user: str | None = None
    similarity_pct: int = 0  # of two projects, for `transfer`


@dataclass(frozen=True, slots=True)
class Decision:
    """`policies` are the ids of those that decided; `reason` says why it is a deny without one."""

    allowed: bool
    policies: tuple[str, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True, slots=True)
class AddedPolicy:
    """A file of Cedar policies beside the shipped ones; org '' is for all orgs."""

    org: str
    name: str
    text: str
    version: int
    loaded_by: str
    loaded_at: datetime

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("name", "version", "loaded_by", "text")}
        return {"org": self.org or "*", "loaded_at": to_rfc3339(self.loaded_at), **told}


@dataclass(frozen=True, slots=True)
class AddedPolicies:
    """What an org has beside the shipped set. The version moves with every change, also when one is dropped."""

    version: tuple[int, int] = (0, 0)
    policies: tuple[AddedPolicy, ...] = ()


PolicySource = Callable[[str], AddedPolicies]


@dataclass(frozen=True, slots=True)
class Denial:
    """One entry of the decision log: ids only."""

    org: str
    principal: str
    action: str
    kind: str
    id: str
    decision: Decision

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__ if name != "decision"}
        return told | {"reason": self.decision.reason, "policies": list(self.decision.policies)}

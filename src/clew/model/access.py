"""Who wants to do what with which row: the values that policies decide over."""

from __future__ import annotations

from dataclasses import dataclass

from clew.model.memory import CLASSIFICATIONS, Memory

# The parent of `inject` is `read`: what may not be read cannot be injected. `review` is for quarantined text.
ACTIONS = ("read", "inject", "write", "feedback", "delete", "export", "transfer", "review", "configure", "operate")


@dataclass(frozen=True, slots=True)
class Resource:
    """A row as it was loaded from the store, never as a caller describes it."""

    kind: str  # memory | node | project | org
    id: str
    org: str
    project: str | None = None
    user: str | None = None  # whose private one it is
    classification: str = "restricted"
    quarantined: bool = False
    deleted: bool = False
    shared_with: tuple[str, ...] = ()

    @classmethod
    def of_memory(cls, memory: Memory) -> Resource:
        return cls(
            "memory", memory.id, memory.org, memory.project, memory.user,
            classification=memory.classification, deleted=memory.deleted_at is not None,
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

"""Two memories that cannot both be current, and near-duplicates that were made one."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from clew.model.memory import Memory
from clew.model.times import to_rfc3339
from clew.values import dataclass

USER, IMPORT = "user", "import"  # origins besides those of model/relation.py


class ConflictDraft(NamedTuple):
    """A conflict as it is noted. `a` is the memory that came first; the hashes say which texts are meant."""

    id: str
    a_row: int
    b_row: int
    kind: str  # contradicts | supersedes
    origin: str  # rule | llm | user | import
    rule: str
    confidence: float
    sentence: str
    explanation: str
    a_hash: str
    b_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Conflict:
    """As it is stored, seen at one moment.

    `stands`: both memories hold, an edge still says so, and, unless a person said it, their texts are those it was
    found in. `same_texts` alone: the texts are still those.
    """

    id: str
    a: str
    b: str
    kind: str
    origin: str
    rule: str
    confidence: float
    sentence: str
    explanation: str
    created_at: datetime
    keep: str
    resolved_at: datetime | None
    resolved_by: str
    stands: bool
    same_texts: bool

    @property
    def pair(self) -> tuple[str, str]:
        return min(self.a, self.b), max(self.a, self.b)

    @property
    def is_compatible(self) -> bool:
        """Somebody decided that both of exactly these texts hold."""
        return self.keep == "both" and self.same_texts

    @property
    def is_outdated(self) -> bool:
        """It was found in texts that have changed since. What a person said is not about the wording."""
        return self.origin != USER and not self.same_texts

    @property
    def is_open(self) -> bool:
        """Also when it was resolved, and what that ended was brought back."""
        return self.stands and not self.is_compatible

    @property
    def state(self) -> str:
        """open | resolved | closed: the last when it is over and nobody decided it."""
        if self.is_open:
            return "open"
        return "resolved" if self.keep else "closed"


@dataclass(frozen=True, slots=True)
class Dispute:
    """A conflict with both memories, for someone who may read both."""

    conflict: Conflict
    a: Memory
    b: Memory

    def as_json(self) -> dict[str, Any]:
        found = self.conflict
        named = {name: getattr(found, name) for name in ("id", "state", "kind", "confidence", "origin")}
        told = {name: value for name in ("rule", "explanation", "sentence") if (value := getattr(found, name))}
        decided = {}
        if found.keep and found.resolved_at:
            decided = {
                "keep": found.keep,
                "resolved_at": to_rfc3339(found.resolved_at),
                "resolved_by": found.resolved_by,
            }
        ends = {"a": self.a.as_json(), "b": self.b.as_json()}
        return named | told | {"created_at": to_rfc3339(found.created_at)} | decided | ends


@dataclass(frozen=True, slots=True)
class Merge:
    """One run: which memories were made one, and the versions they had before."""

    id: str
    winner: str
    before: int
    after: int
    losers: tuple[tuple[str, int], ...]
    made_by: str
    at: datetime
    undone_at: datetime | None = None
    undone_by: str = ""

    @property
    def merged(self) -> frozenset[str]:
        return frozenset(id for id, _version in self.losers)

    def as_json(self) -> dict[str, Any]:
        made: dict[str, Any] = {"id": self.id, "kept": self.winner, "merged": [id for id, _version in self.losers]}
        made |= {"by": self.made_by, "at": to_rfc3339(self.at)}
        if self.undone_at:
            made |= {"undone_at": to_rfc3339(self.undone_at), "undone_by": self.undone_by}
        return made

"""One entry of the change log: ids only, in commit order per org."""

from __future__ import annotations

from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    seq: int
    project: str
    kind: str
    id: str
    op: str  # put | drop

"""What looking after a store answers: its numbers, its health, and what was copied where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `next` names how to mend it; a check that passed needs none."""

    name: str
    ok: bool
    detail: str
    next: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail} | (
            {"next": self.next} if self.next else {}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Live memories that the caller may see, and the file they are in."""

    org: str
    memories: int
    by_project: Mapping[str, int]  # '' holds what belongs to no project
    by_type: Mapping[str, int]
    by_layer: Mapping[str, int]
    content_bytes: int
    path: str  # of the file, or the address of the database
    file_bytes: int
    log_bytes: int
    bytes_per_memory: float  # of the whole file, all orgs: what one more memory costs
    space: str  # of the present embedder; '' without one
    vectors: Mapping[str, int]  # by space
    coverage: float  # share of memories with a vector in the present space
    schema: int
    last_change: int
    graph: Mapping[str, int]  # nodes, edges and links of the org; for its owner
    jobs: Mapping[str, int]  # by state; for its owner

    def without_file(self) -> Stats:
        """For all but those who run the store: the file grows with what every org writes."""
        return replace(self, path="", file_bytes=0, log_bytes=0, bytes_per_memory=0.0)

    def as_json(self) -> dict[str, Any]:
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class BackupReport:
    path: Path
    bytes: int
    memories: int

    def as_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "bytes": self.bytes, "memories": self.memories}


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """`previous` is where the content from before was put; None when there was none."""

    path: Path
    source: Path
    memories: int
    previous: Path | None = None

    def as_json(self) -> dict[str, Any]:
        answer = {"path": str(self.path), "source": str(self.source), "memories": self.memories}
        return answer | ({"previous": str(self.previous)} if self.previous else {})


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else value

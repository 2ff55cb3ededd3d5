"""What an earlier import of a file brought: what the file says no more, and what was edited since.

Whoever imports CLAUDE.md again has corrected it: what was taken out of it is not current any more, however well it
would be found. It is told, and forgotten on request. A file is known by its path from the root of the repository;
one that lies elsewhere is not, since others have the same name. What somebody edited since is theirs, and stays;
the line that it came from is not brought in once more beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import NamedTuple

from clew.errors import InvalidInput
from clew.model.host import Around
from clew.model.scope import Reach, Scope
from clew.ports import Tx

NOTHING_REPLACED = "IMPORT_REPLACES_NOTHING"


def source_of(path: Path, around: Around | None) -> str | None:
    """How memories name the file they come from; None for one that lies outside."""
    if around is None or around.root is None:
        return None
    try:
        return path.resolve().relative_to(Path(around.root).resolve()).as_posix()
    except (OSError, ValueError):
        return None


class Brought(NamedTuple):
    """What a file brought to a place before, and is current."""

    untouched: Mapping[str, str]  # id to content hash
    edited: Mapping[str, str]  # the hash of a text that it had, to the id

    def no_longer_said(self, said: Set[str]) -> list[str]:
        """Ids of what came with a text that is not among these."""
        return [id for id, content_hash in self.untouched.items() if content_hash not in said]

    def is_nothing_said(self, said: Set[str]) -> bool:
        return said.isdisjoint(self.untouched.values()) and said.isdisjoint(self.edited)


def brought(tx: Tx, scope: Scope, source: str) -> Brought:
    rows = [row for row in tx.memories.imported(scope) if json.loads(row[2]).get("source") == source]
    untouched = {id: content_hash for id, content_hash, _metadata, version in rows if version == 1}
    changed = tx.memories.get_many(Reach.of(scope), [id for id, _hash, _metadata, version in rows if version > 1])
    edited = {
        state.memory.content_hash: memory.id
        for memory in changed.values()
        for state in tx.memories.versions(memory)
        if state.memory.content_hash != memory.content_hash
    }
    return Brought(untouched, edited)


def outside(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path.name} lies outside of this directory and its repository: what an earlier one brought is not known",
        code=NOTHING_REPLACED,
        next="import it from the directory it lies in, or leave --replace out",
    )


def only_notes() -> InvalidInput:
    return InvalidInput(
        "only notes can take the place of what they brought before",
        code=NOTHING_REPLACED,
        next="leave --replace out: what an export or a transcript brought is known by its ids",
    )

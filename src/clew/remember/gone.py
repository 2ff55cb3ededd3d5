"""What an earlier import of a file brought, and the file says no more.

Whoever imports CLAUDE.md again has corrected it: what was taken out of it is not current any more, however well it
would be found. It is told, and forgotten on request. A file is known by its path from the root of the repository;
one that lies elsewhere is not, since others have the same name. What somebody edited since is theirs, and stays.
"""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path

from clew.errors import InvalidInput
from clew.model.host import Around
from clew.model.scope import Scope
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


def no_longer_said(tx: Tx, scope: Scope, source: str, said: Set[str]) -> list[str]:
    """Ids of what this file brought to this place, without those whose content hash is among what it says now."""
    return [
        id
        for id, content_hash, metadata in tx.memories.imported(scope)
        if content_hash not in said and json.loads(metadata).get("source") == source
    ]


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

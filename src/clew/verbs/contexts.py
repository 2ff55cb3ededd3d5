"""A context as the documented route answers it (memories_sh.md 8.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.lazy import LazyModule

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.recall.context import Context
    from clew.rollout import payload
else:
    payload = LazyModule("clew.rollout.payload")

RULES_ONLY = "rules_only"


def context_payload(clew: Clew, found: Context, *, query: str, mode: str, org: str) -> dict[str, Any]:
    """The baseline in its order, then what the graph adds, each addition with its way there. There are no skill
    files: a skill is a memory like the others."""
    working = [payload.memory_json(result.memory) for result in found.working]
    long_term = [payload.memory_json(result.memory) for result in found.long_term]
    added = [payload.memory_json(entry.memory) | {"graph": payload.provenance(entry)} for entry in found.added]
    memories = [] if mode == RULES_ONLY else [*working, *long_term, *added]
    return {
        "mode": mode,
        "query": query,
        "rules": [payload.memory_json(result.memory) for result in found.rules],
        "memories": memories,
        "conflicts": [conflict.as_json() for conflict in found.conflicts],
        "skillFiles": [],
        "workingMemories": working,
        "longTermMemories": long_term,
        "trace": clew.rollout.documented(found.trace, org) if found.trace else {},
    }

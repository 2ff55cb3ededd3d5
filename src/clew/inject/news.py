"""What was said later about the same: the news of a memory. Nothing is decided here, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from clew.guard.trust import is_told_unasked
from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.recall import disputes
from clew.remember.trust import trust_of_origin

if TYPE_CHECKING:
    from clew.ports import Tx


def overtaking(tx: Tx, reach: Reach, memories: Sequence[Memory], now: datetime) -> dict[str, list[Memory]]:
    """By the ids of those that are overtaken: what the user said later, and what ends it. Whether that may be told,
    the caller has to ask."""
    pairs = disputes.touching(tx, reach, [one.id for one in memories], now)
    ends = [(one.memory_a_id, one.memory_b_id) for one in pairs if one.edge_type == "supersedes"]
    known = tx.memories.get_many(reach, sorted({id for pair in ends for id in pair})) if ends else {}
    asked = {one.id for one in memories}
    found: dict[str, list[Memory]] = {}
    for pair in ends:
        if known.keys() >= set(pair):
            old, new = sorted((known[id] for id in pair), key=_said)
            if (
                old.id in asked
                and _said(old) < _said(new)
                and trust_of_origin(new.origin) == "user"
                and is_told_unasked(new)
            ):
                found.setdefault(old.id, []).append(new)
    return found


def _said(memory: Memory) -> tuple[datetime, datetime]:
    return memory.at, memory.created_at

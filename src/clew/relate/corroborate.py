"""Corroboration: how many independent sources say what a memory says. It is told, and moves no weight.

A source is an origin, not a memory: whoever says something twice in one session is one witness, and a summary is
none, because it only repeats what it was made from. So nobody becomes more believable by repeating themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.ports import Tx
from clew.relate.alike import NEARLY, same_claim, text_of
from clew.remember.lifecycle import is_expired
from clew.values import dataclass

Origin = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Corroboration:
    """`corroborated_by`: the independent sources besides the first; `memories` say the same."""

    corroborated_by: int
    memories: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"corroborated_by": self.corroborated_by, "says_the_same": list(self.memories)}


def origin_of(memory: Memory) -> Origin:
    """One session is one witness, whoever speaks in it; outside of sessions it is who said it, where, and how."""
    if memory.session:
        return ("session", memory.session)
    return ("said", memory.user or memory.author, memory.agent, memory.thread, memory.origin)


def independent(memories: Iterable[Memory]) -> int:
    """How many sources there are behind memories that say the same. Pure."""
    return len({origin_of(memory) for memory in memories if not memory.parents})


def corroboration(memory: Memory, same: Iterable[Memory]) -> Corroboration:
    others = {other.id: other for other in same if other.id != memory.id}
    sources = independent((memory, *others.values()))
    return Corroboration(max(0, sources - 1), tuple(sorted(others)))


def says_the_same(tx: Tx, reach: Reach, memory: Memory, *, now: datetime) -> list[Memory]:
    """What was merged into it, and its near-duplicates, as far as the reach sees them. What contradicts it, or
    names another number, does not say the same."""
    merged = _merged_into(tx, memory)
    disputed = {
        id for one in tx.conflicts.touching(memory.org, [memory.id], now=now) if one.is_open for id in one.pair
    }
    near = set(tx.conflicts.alike_to(memory.org, memory.id, least=NEARLY, now=now)) - merged - disputed
    found = tx.memories.get_many(reach, sorted(merged | near)).values()
    text = text_of(memory)
    return [
        other
        for other in found
        if not is_expired(other, now)
        and (other.id in merged or (not other.is_history and same_claim(text, text_of(other))))
    ]


def _merged_into(tx: Tx, memory: Memory) -> set[str]:
    """Also what had been merged into these."""
    found: set[str] = set()
    ahead = [memory.id]
    while ahead:
        runs = tx.conflicts.merges_into(memory.org, ahead.pop())
        new = {id for run in runs for id, _version in run.losers} - found - {memory.id}
        found |= new
        ahead += sorted(new)
    return found

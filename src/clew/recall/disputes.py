"""Which memories of an answer cannot both be current. They are told, never decided here.

In: the ids of an answer. Out: one entry per unordered pair, the surest first, then by ids. A pair is in dispute
when a conflict between the two is open, or when an edge that may be seen says that they contradict each other,
unless somebody decided that both of exactly these texts hold, or it was found in texts that have changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from clew.model.recalled import CONTRADICTS, REPLACES, InConflict
from clew.model.scope import Reach

if TYPE_CHECKING:
    from clew.ports import Tx  # not at run time: every start that meets a conflict would pay for it

_EXPLANATIONS = {"contradicts": CONTRADICTS, "supersedes": REPLACES}


def among(tx: Tx, reach: Reach, ids: Sequence[str], now: datetime) -> tuple[InConflict, ...]:
    """Pairs of which both are in the answer."""
    answered = set(ids)
    found = [one for one in touching(tx, reach, ids, now) if {one.memory_a_id, one.memory_b_id} <= answered]
    return tuple(sorted(found, key=lambda one: (-one.confidence, one.memory_a_id, one.memory_b_id)))


def others_of(tx: Tx, reach: Reach, ids: Sequence[str], now: datetime) -> dict[str, tuple[str, ...]]:
    """For each of these memories those it is in conflict with; whether they may be named, the caller has to ask."""
    others: dict[str, set[str]] = {}
    for one in touching(tx, reach, ids, now):
        others.setdefault(one.memory_a_id, set()).add(one.memory_b_id)
        others.setdefault(one.memory_b_id, set()).add(one.memory_a_id)
    return {id: tuple(sorted(others[id])) for id in ids if id in others}


def touching(tx: Tx, reach: Reach, ids: Sequence[str], now: datetime) -> list[InConflict]:
    """Every pair that one of these memories is part of, once."""
    try:
        return _found(tx, reach, ids, now)
    except Exception:  # an extra: an answer without is better than none
        return []


def _found(tx: Tx, reach: Reach, ids: Sequence[str], now: datetime) -> list[InConflict]:
    tx.graph.expect_contradictions(reach, ids, now)
    noted = tx.conflicts.touching(reach.org, ids, now=now)
    settled = {one.pair for one in noted if one.is_compatible or one.is_outdated}
    pairs: dict[tuple[str, str], InConflict] = {}
    for one, other, sure in tx.graph.contradictions(reach, ids, now):
        pair = (min(one, other), max(one, other))
        if pair not in settled and (pair not in pairs or pairs[pair].confidence < sure):
            pairs[pair] = InConflict(*pair, sure)
    for conflict in noted:
        if conflict.is_open:
            explanation = conflict.explanation or _EXPLANATIONS[conflict.kind]
            pairs[conflict.pair] = InConflict(
                *conflict.pair, conflict.confidence, conflict.kind, explanation, conflict.id
            )
    return list(pairs.values())

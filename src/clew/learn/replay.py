"""How outcomes move a weight: an exponential average over the entries of its ledger, in their order. Pure.

The average depends on the order, so a corrected outcome is not undone by an inverse: the entries from the
corrected one on are played again, each with what it said at the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from clew.model.learning import FAILED, Entry
from clew.model.session import OUTCOMES

LEAST = {"memory": 0.05, "transferred": 0.05, "summary": 0.05}  # others may reach 0: rensei.md 2.3
# What misleads: so many failed sessions, and such a share of all, in so many days before. rensei.md 2.3
MISLEADING_SESSIONS, MISLEADING_SHARE, MISLEADING_DAYS = 3, 0.6, 30


def moved(weight: float, *, alpha: float, signal: float, least: float = 0.0) -> float:
    """w(1 - a) + s a. Success never lowers and failure never lifts a weight that a person put outside [least, 1]:
    above 1 the weight itself is the top of the scale, below the least it is the bottom."""
    return max(min(least, weight), weight * (1 - alpha) + signal * max(1.0, weight) * alpha)


def said(entry: Entry) -> tuple[float, float]:
    """(alpha, signal) of an entry as they count."""
    return (min(1.0, 2 * entry.alpha), 0.0) if entry.misleading else (entry.alpha, entry.signal)


def played(entries: Sequence[Entry], *, kind: str, since: int = 0) -> list[Entry]:
    """The ledger with everything from place `since` on played again. The first of these starts from its `previous`.

    Where an entry did not start from what the one before had left, a person had set the weight in between; what
    they set stands.
    """
    result = list(entries[:since])
    for place in range(since, len(entries)):
        entry = entries[place]
        follows = place > since and entry.previous == entries[place - 1].weight
        start = result[-1].weight if follows else entry.previous
        misleading = kind not in ("node", "edge") and entry.outcome in FAILED and misleads(result, entry.at)
        entry = replace(entry, misleading=misleading, previous=start)
        alpha, signal = said(entry)
        result.append(replace(entry, weight=moved(start, alpha=alpha, signal=signal, least=LEAST.get(kind, 0.0))))
    return result


def looks_back(at: datetime) -> datetime:
    """What is older says nothing about an entry of that time."""
    return at - timedelta(days=MISLEADING_DAYS)


def misleads(before: Sequence[Entry], at: datetime) -> bool:
    """Whether what came before shows that a memory misleads. Verdicts of people are not sessions."""
    recent = [one for one in before if one.outcome in OUTCOMES and one.at > looks_back(at)]
    failed = sum(one.outcome in FAILED for one in recent)
    return failed >= MISLEADING_SESSIONS and failed / len(recent) >= MISLEADING_SHARE

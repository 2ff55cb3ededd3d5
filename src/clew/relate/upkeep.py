"""What is done beside the writes, in small portions: mend the graph, let edges decay, apply retention policies.

In: a store. Out: whether more is left. Called after writes, so the look whether there is anything to do costs three
look-ups, and what is done at once is bounded. Even that is a tenth of a single write: a process that left nothing
for later looks once a second (`Looks`). Nothing here is durable by itself or needed by a write: what is lost with a
power cut is found again, and run twice it does nothing the second time.

Edges that have expired are left where they are: no walk follows them, and they go with their memories.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.lazy import LazyModule
from clew.model.facts import EDGE_DECAY_AT, RETENTION_AT
from clew.ports import Store, Tx
from clew.relate.decay import DecayPolicy, decay_some, due
from clew.remember.graph import MAX_ATTEMPTS, PATIENCE, GraphPolicy, repair

if TYPE_CHECKING:
    from clew.relate import retention
else:
    retention = LazyModule("clew.relate.retention")

logger = logging.getLogger(__name__)

MENDED_AT_ONCE = 8  # orgs
LOOK_EVERY = timedelta(seconds=1)


def upkeep(store: Store, policy: GraphPolicy, decay: DecayPolicy, now: datetime) -> bool:
    """One portion; whether there is more to do right away."""
    with store.read() as tx:
        tx.meta.expect(EDGE_DECAY_AT, RETENTION_AT)
        pending = _pending(tx, now) if policy.write else []
        is_due = decay.edge_decay and due(tx, now, decay.cadence)
        is_over = tx.meta.get(RETENTION_AT) is not None and retention.due(tx, now)
    more = bool(pending) and _mend(store, pending[:MENDED_AT_ONCE], policy, now)
    if is_due:
        more = decay_some(store, decay, now) or more
    if is_over:
        more = retention.run_some(store, now) or more
    return more


def _mend(store: Store, orgs: Sequence[str], policy: GraphPolicy, now: datetime) -> bool:
    """Whether more is pending. Where nothing could be mended, trying again at once would not help."""
    mended = [store.write(partial(repair, org=org, policy=policy, now=now), durable=False) for org in orgs]
    if not any(mended):
        return False
    with store.read() as tx:
        return bool(_pending(tx, now))


def _pending(tx: Tx, now: datetime) -> list[str]:
    return tx.edges.pending_orgs(max_attempts=MAX_ATTEMPTS, patient=now - PATIENCE)


class Looks:
    """When a look is worth it after a write: if this process left something for later since the last one, if that
    failed or did not come to an end, and once a second, for what time and other processes bring."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._at: datetime | None = None
        self._left = 0

    def after_write(self, look: Callable[[], bool], now: datetime) -> bool:
        """`look` is an upkeep; returns whether there is more to do. The write before it has succeeded and stays so:
        a failure is logged, without content."""
        if self._at is not None and self._left == self._store.left_behind and abs(now - self._at) < LOOK_EVERY:
            return False
        self._at, self._left = (
            now,
            self._store.left_behind,
        )  # at once: those who write beside this one need not look, too
        try:
            more = look()
        except Exception as error:  # an extra beside the write; the next one tries again, and `clew doctor` tells
            logger.warning("the graph was not looked after: %s", getattr(error, "code", type(error).__name__))
            self._at = None
            return False
        if more:
            self._at = None
        return more

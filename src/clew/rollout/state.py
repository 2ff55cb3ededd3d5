"""How far the graph is rolled out for an org, looked up once and kept: every recall asks.

Read again when anybody committed something or a minute has passed. The gate's verdict is at most a minute old, as
whoever stored requests kept it, or else evaluated here, once a minute per org and process. Nothing is written.
Rights are not at stake here, so that what cannot be read is taken for the default: the graph is applied, and the
gate does not block.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clew.lazy import LazyModule
from clew.model.rollout import DEFAULT_MODE, FEW, HYBRID_GRAPH
from clew.rollout.standing import CANARY, GateSeen, Standing

if TYPE_CHECKING:
    import logging

    from clew.ports import Store, Tx
    from clew.rollout import gate as gates
else:
    logging = LazyModule("logging")
    gates = LazyModule("clew.rollout.gate")  # a process that asks one question seldom has enough to judge

KEPT_FOR = timedelta(minutes=1)
MAX_KEPT = 512
NOT_JUDGED = GateSeen("insufficient_data")


class RolloutState:
    """Thread-safe: what two threads look up at once is the same."""

    def __init__(self, store: Store, *, window_hours: float) -> None:
        self._store, self._window_hours = store, window_hours
        self._kept: dict[tuple[int, str, str | None], tuple[int, datetime, Standing]] = {}
        self._gates: dict[str, tuple[datetime, GateSeen]] = {}

    def of(self, org: str, *, project: str | None = None, now: datetime) -> Standing:
        try:
            connection, version = self._store.data_version()
            key = (connection, org, project)
            known = self._kept.get(key)
            if known and known[0] == version and _is_fresh(known[1], now):
                return known[2]
            looked_at, standing = self._read(org, project, now)
        except Exception as error:  # the rollout is an extra to every read
            code = getattr(error, "code", type(error).__name__)
            if code != "STORE_CLOSED":  # a process that ends has no use for it
                logging.getLogger(__name__).warning("the rollout of an org cannot be read: %s", code)
            return CANARY
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = (version, looked_at, standing)
        return standing

    def _read(self, org: str, project: str | None, now: datetime) -> tuple[datetime, Standing]:
        """With when the oldest part of it was looked at."""
        since = now - timedelta(hours=self._window_hours)
        with self._store.read() as tx:
            row = tx.rollout.standing(org, project, since=since, few=FEW - 1)
            looked_at, gate = self._gate(tx, org, now, is_enough=row.is_enough)
        return looked_at, Standing(
            mode=row.mode or DEFAULT_MODE,
            default_strategy=row.default_strategy or HYBRID_GRAPH,
            gate=gate,
            memory_on=project is None or row.memory_on,
        )

    def _gate(self, tx: Tx, org: str, now: datetime, *, is_enough: bool) -> tuple[datetime, GateSeen]:
        known = self._gates.get(org)
        if known and _is_fresh(known[0], now):
            return known
        known = self._judged(tx, org, now) if is_enough else (now, NOT_JUDGED)
        if len(self._gates) >= MAX_KEPT:
            self._gates.clear()
        self._gates[org] = known
        return known

    def _judged(self, tx: Tx, org: str, now: datetime) -> tuple[datetime, GateSeen]:
        """Whoever stores requests keeps the verdict; counting again would cost some ms where there are many."""
        stored = tx.rollout.verdict(org)
        if stored and stored.window_hours == self._window_hours and _is_fresh(stored.judged_at, now):
            return stored.judged_at, GateSeen(stored.status, stored.is_blocked, stored.reason_codes)
        gate = gates.evaluate_gate(tx.rollout, org, now=now, window_hours=self._window_hours)
        return now, GateSeen(gate.status, gate.canary_blocked, tuple(gate.reason_codes))


def _is_fresh(since: datetime, now: datetime) -> bool:
    return timedelta(0) <= now - since < KEPT_FOR

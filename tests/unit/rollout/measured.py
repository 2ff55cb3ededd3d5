"""What a store says of requests that were counted in it, for tests of the plan, the policy and the alarms."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from clew.model.rollout import Metric
from clew.ports import Store
from clew.rollout.gate import Gate, evaluate_gate
from clew.rollout.plan import Plan, build_plan
from clew.rollout.summary import Summary, read_summary

HOURS = 24.0


def add(store: Store, metrics: Iterable[Metric]) -> None:
    rows = list(metrics)
    store.write(lambda tx: tx.rollout.add(rows))


def measured(store: Store, now: datetime) -> tuple[Summary, Gate]:
    with store.read() as tx:
        return (
            read_summary(tx.rollout, "local", now=now, window_hours=HOURS),
            evaluate_gate(tx.rollout, "local", now=now, window_hours=HOURS),
        )


def planned(store: Store, now: datetime, mode: str = "canary") -> Plan:
    return build_plan(mode, *measured(store, now), now=now)

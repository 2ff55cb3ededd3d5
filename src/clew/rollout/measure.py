"""Everything that is known of an org's rollout at one moment, in one value. Reads, writes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clew.model.rollout import Policy, Rollout
from clew.rollout.gate import Gate, evaluate_gate
from clew.rollout.plan import Plan, build_plan
from clew.rollout.policy import AUTOPILOT
from clew.rollout.summary import Summary, read_summary
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.ports import RolloutTable
    from clew.rollout.upkeep import RolloutPolicy


@dataclass(frozen=True, slots=True)
class Measured:
    rollout: Rollout
    policy: Policy
    summary: Summary
    gate: Gate
    plan: Plan


def measure(
    table: RolloutTable, org: str, settings: RolloutPolicy, *, now: datetime, hours: float | None = None
) -> Measured:
    """`hours`: what the summary looks back on; the windows of the gate are those of the settings."""
    rollout = table.mode(org) or Rollout(settings.default_mode)
    summary = read_summary(table, org, now=now, window_hours=hours or settings.window_hours)
    gate = evaluate_gate(table, org, now=now, window_hours=settings.window_hours)
    applied = _is_autopilots(rollout, settings, now)
    plan = build_plan(rollout.mode, summary, gate, now=now, autopilot=settings.autopilot, applied=applied)
    return Measured(rollout, table.policy(org) or Policy(), summary, gate, plan)


def _is_autopilots(rollout: Rollout, settings: RolloutPolicy, now: datetime) -> bool:
    """Whether the autopilot moved the mode within this window."""
    at = rollout.updated_at
    return rollout.updated_by == AUTOPILOT and at is not None and now - at < timedelta(hours=settings.window_hours)

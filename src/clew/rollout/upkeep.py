"""What follows from newly counted requests: old ones go, and the autopilots move what they are allowed to.

Runs in the transaction that stores the requests. Running it twice changes nothing more: a window is judged once,
and a mode moves only forward, from off to shadow to canary.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from clew.lazy import LazyModule
from clew.model.rollout import DEFAULT_MODE, FEW, Verdict

if TYPE_CHECKING:
    from clew.model.rollout import Policy
    from clew.ports import Tx
    from clew.rollout import gate as gates
    from clew.rollout import measure as measuring
    from clew.rollout import plan as planning
    from clew.rollout import policy as judging
    from clew.rollout.plan import Plan
else:  # needed once per window, and a short-lived process comes by with every question
    gates, measuring, planning, judging = (
        LazyModule(f"clew.rollout.{name}") for name in ("gate", "measure", "plan", "policy")
    )

VERDICT_AGE = timedelta(seconds=30)  # half of what readers take for fresh


class RolloutPolicy(NamedTuple):
    """What the settings say about the rollout."""

    window_hours: float = 24.0
    keep_days: float = 7.0
    autopilot: bool = False
    strategy_autopilot: bool = True
    is_on: bool = True  # graph.write and graph.recall

    @property
    def default_mode(self) -> str:
        """Of an org for which nobody set one (memories_sh.md 7.1)."""
        return DEFAULT_MODE if self.is_on else "off"

    @property
    def kept(self) -> timedelta:
        """The gate compares two windows: these are kept whatever the setting says."""
        return max(timedelta(days=self.keep_days), 2 * timedelta(hours=self.window_hours))


def look_after(tx: Tx, org: str, settings: RolloutPolicy, *, now: datetime) -> None:
    """Mostly a few looks: the gate speaks once a minute, and there is more to do once per window."""
    tx.rollout.prune(org, before=now - settings.kept)
    _keep_verdict(tx, org, settings.window_hours, now)
    may_move = settings.autopilot and settings.is_on and _mode(tx, org, settings) != "canary"
    policy = tx.rollout.policy(org)
    last = policy.last_evaluated_at if policy else None
    if may_move or last is None or not timedelta(0) <= now - last < timedelta(hours=settings.window_hours):
        measured = measuring.measure(tx.rollout, org, settings, now=now)
        _judge(tx, org, measured, settings, now)
        if may_move:
            _move(tx, org, measured.plan, now)


def _keep_verdict(tx: Tx, org: str, hours: float, now: datetime) -> None:
    """For readers: they ask with every question, and counting takes longer the more requests there are."""
    known = tx.rollout.verdict(org)
    if known and known.window_hours == hours and timedelta(0) <= now - known.judged_at < VERDICT_AGE:
        return
    if tx.rollout.standing(org, None, since=now - timedelta(hours=hours), few=FEW - 1).is_enough:
        gate = gates.evaluate_gate(tx.rollout, org, now=now, window_hours=hours)
        verdict = Verdict(now, hours, gate.status, gate.canary_blocked, tuple(gate.reason_codes))
        tx.rollout.put_verdict(org, verdict)


def _mode(tx: Tx, org: str, settings: RolloutPolicy) -> str:
    rollout = tx.rollout.mode(org)
    return rollout.mode if rollout else settings.default_mode


def _judge(tx: Tx, org: str, measured: measuring.Measured, settings: RolloutPolicy, now: datetime) -> None:
    before, hours, autopilot = measured.policy, settings.window_hours, settings.strategy_autopilot
    after: Policy = judging.judged(before, measured.plan, now=now, window_hours=hours, autopilot=autopilot)
    if after is before:
        return
    tx.rollout.put_policy(org, after)
    if after.default_strategy != before.default_strategy:
        changed = {"default_strategy": before.default_strategy}, {"default_strategy": after.default_strategy}
        note_change(tx, org, judging.AUTOPILOT, *changed, now=now)


def _move(tx: Tx, org: str, plan: Plan, now: datetime) -> None:
    mode = planning.next_mode(plan)
    if mode is not None:
        tx.rollout.set_mode(org, mode, by=judging.AUTOPILOT, at=now)
        note_change(tx, org, judging.AUTOPILOT, {"mode": plan.current_mode}, {"mode": mode}, now=now)


def note_change(
    tx: Tx, org: str, actor: str, before: dict[str, str], after: dict[str, str], *, now: datetime
) -> None:
    detail = {"before": before, "after": after}
    tx.audit.note(org, at=now, actor=actor, action="configure", id=org, kind="rollout", detail=detail)

"""What a request without a strategy gets, moved by windows and not by requests.

A window is judged once. Two ready ones in a row make the graph the default; one with evidence against the graph
takes that back. Too few requests are no evidence: whoever starts with the graph keeps it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clew.model.rollout import BASELINE, HYBRID_GRAPH
from clew.rollout.plan import GATE_BLOCKED

if TYPE_CHECKING:
    from clew.model.rollout import Policy
    from clew.rollout.plan import Plan

READY_WINDOWS = 2  # memories_sh.md 7.5, in a row
AUTOPILOT = "autopilot"  # who moved it


def is_due(policy: Policy, *, now: datetime, window_hours: float) -> bool:
    """Whether a whole window went by since the last verdict; one from the future was given by a wrong clock."""
    last = policy.last_evaluated_at
    return last is None or not timedelta(0) <= now - last < timedelta(hours=window_hours)


def judged(policy: Policy, plan: Plan, *, now: datetime, window_hours: float, autopilot: bool = True) -> Policy:
    """The policy after this window; the very same one while it is not due. Without the autopilot only the streak
    moves."""
    if not is_due(policy, now=now, window_hours=window_hours):
        return policy
    streak = policy.ready_window_streak + 1 if plan.ready_for_default_on else 0
    strategy = _moved(policy.default_strategy, plan, streak) if autopilot else policy.default_strategy
    is_new = strategy != policy.default_strategy or policy.updated_at is None
    return policy._replace(
        default_strategy=strategy,
        ready_window_streak=streak,
        last_decision=plan.default_behavior_decision,
        last_evaluated_at=now,
        updated_at=now if is_new else policy.updated_at,
        updated_by=AUTOPILOT if is_new else policy.updated_by,
    )


def speaks_against(plan: Plan) -> bool:
    """Whether the requests of this window show that the graph fails or adds nothing. The gate says so: its limits
    are no wider than those of the plan, and it asks for enough requests first."""
    return GATE_BLOCKED in plan.blocker_codes


def _moved(strategy: str, plan: Plan, streak: int) -> str:
    if strategy == HYBRID_GRAPH:
        return BASELINE if speaks_against(plan) else HYBRID_GRAPH
    return HYBRID_GRAPH if streak >= READY_WINDOWS else strategy

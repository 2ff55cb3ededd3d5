"""The mode of each org, its default strategy, and what was counted of its requests. Rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from clew.model.rollout import Metric, Policy, RequestCounts, Rollout, StandingRow, Verdict, WindowCounts
from clew.model.times import from_micros, to_micros
from clew.store.session import Session

# In the order in which the query names them, org and time before, project and what follows it behind.
_COUNTED = (
    "id", "path", "mode", "requested_strategy", "applied_strategy", "eligible", "shadow_executed",
    "baseline_candidates", "graph_candidates", "graph_expanded_count", "would_expand_count", "total_candidates",
    "could_expand", "fallback_triggered", "fallback_reason", "graph_error",
)  # fmt: skip


class RolloutTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- mode and default strategy ---------------------------------------------------------------------

    def mode(self, org: str) -> Rollout | None:
        """None: nobody set one."""
        row = self._session.one("rollout_mode", org_id=org)
        return Rollout(row[0], from_micros(row[1]), row[2]) if row else None

    def set_mode(self, org: str, mode: str, *, by: str, at: datetime) -> Rollout:
        values = {"mode": mode, "updated_at": to_micros(at), "updated_by": by}
        self._session.run("rollout_mode_put", org_id=org, **values)
        return Rollout(mode, at, by)

    def policy(self, org: str) -> Policy | None:
        """None: it was never judged."""
        row = self._session.one("retrieval_policy", org_id=org)
        if row is None:
            return None
        strategy, streak, decision, judged, updated, by = row
        return Policy(strategy, streak, decision, _time(judged), from_micros(updated), by)

    def put_policy(self, org: str, policy: Policy) -> None:
        """`policy.updated_at` must be set."""
        if policy.updated_at is None:
            raise ValueError("a policy is stored with the time of its change")
        self._session.run(
            "retrieval_policy_put",
            org_id=org,
            default_strategy=policy.default_strategy,
            ready_window_streak=policy.ready_window_streak,
            last_decision=policy.last_decision,
            last_evaluated_at=to_micros(policy.last_evaluated_at) if policy.last_evaluated_at else None,
            updated_at=to_micros(policy.updated_at),
            updated_by=policy.updated_by,
        )

    def verdict(self, org: str) -> Verdict | None:
        row = self._session.one("rollout_verdict", org_id=org)
        if row is None:
            return None
        at, hours, status, is_blocked, codes = row
        return Verdict(from_micros(at), hours, status, bool(is_blocked), tuple(json.loads(codes)))

    def put_verdict(self, org: str, verdict: Verdict) -> None:
        at, hours, status, is_blocked, codes = verdict
        self._session.run(
            "rollout_verdict_put",
            org_id=org,
            judged_at=to_micros(at),
            window_hours=hours,
            status=status,
            is_blocked=is_blocked,
            reason_codes=json.dumps(codes),
        )

    # -- counted requests ------------------------------------------------------------------------------

    def add(self, metrics: Sequence[Metric]) -> None:
        """Those that are there already stay as they are."""
        self._session.many("rollout_metric_add", [_values(metric) for metric in metrics])

    def prune(self, org: str, *, before: datetime, limit: int = 2_000) -> int:
        """Forget the oldest `limit` of those counted before; how many there were."""
        values = {"before": to_micros(before), "limit": limit}
        return self._session.run("rollout_metrics_prune", org_id=org, **values)

    def window(self, org: str, since: datetime, until: datetime) -> WindowCounts:
        """From `since` to just before `until`."""
        span = {"since": to_micros(since), "until": to_micros(until)}
        row = self._session.one("rollout_window", org_id=org, **span)
        return WindowCounts(*(value or 0 for value in row or ()))

    def summary(self, org: str, since: datetime, *, until: datetime) -> RequestCounts:
        """With both ends; what a wrong clock counted in the future is not among them."""
        asked: dict[str, Any] = {"org_id": org, "since": to_micros(since), "until": to_micros(until)}
        row = self._session.one("rollout_summary", **asked)
        last = self._session.one("rollout_last_fallback", **asked) or (None, "")
        values: list[Any] = [*(value or 0 for value in row or ()), _time(last[0]), last[1]]
        return RequestCounts(*values)

    def standing(self, org: str, project: str | None, *, since: datetime, few: int) -> StandingRow:
        """What every recall asks, in one look."""
        asked = {"project_id": project or "", "since": to_micros(since), "few": few}
        row = self._session.one("rollout_standing", org_id=org, **asked)
        mode, strategy, memory_enabled, is_enough = row or (None, None, None, None)
        return StandingRow(mode, strategy, memory_enabled != 0, bool(is_enough))

    def orgs(self) -> list[str]:
        """With a mode or with counted requests, in the order of their names."""
        return [org for (org,) in self._session.all("rollout_orgs")]


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _values(metric: Metric) -> tuple[Any, ...]:
    counted = (getattr(metric, name) for name in _COUNTED)
    owner = (metric.project or "", metric.user or "", metric.semantic_model, metric.duration_ms)
    return (metric.org, to_micros(metric.created_at), *counted, *owner)

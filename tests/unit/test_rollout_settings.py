"""Every setting of the section 'rollout' changes what Clew does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from counted import applied, failed
from toys import ToldClock

OpenAt = Callable[..., Clew]


@pytest.fixture
def opened(clew_at: OpenAt, tmp_path: Path) -> Callable[..., Clew]:
    def open_with(**rollout: Any) -> Clew:
        return clew_at(tmp_path / str(len(list(tmp_path.iterdir()))), rollout=rollout)

    return open_with


def add(clew: Clew, *, good: int = 0, bad: int = 0) -> None:
    now = clew.now()
    rows = [applied(now) for _ in range(good)] + [failed(now) for _ in range(bad)]
    clew.store.write(lambda tx: tx.rollout.add(rows))


def count_one(clew: Clew) -> None:
    clew.recall("anything")
    clew.rollout.flush()


@pytest.mark.parametrize(("hours", "blocked"), [(24, True), (1, False)])
def test_rollout_window_hours_is_live(
    opened: Callable[..., Clew], clock: ToldClock, hours: float, blocked: bool
) -> None:
    clew = opened(window_hours=hours)
    add(clew, bad=20)
    clock.pass_by(hours=2)
    assert clew.rollout.show().measured.gate.canary_blocked == blocked
    assert clew._rollout_state.of("local", now=clew.now()).gate.is_blocked == blocked


@pytest.mark.parametrize(("autopilot", "mode"), [(True, "shadow"), (False, "off")])
def test_rollout_autopilot_is_live(opened: Callable[..., Clew], autopilot: bool, mode: str) -> None:
    clew = opened(autopilot=autopilot)
    clew.rollout.set("off")
    count_one(clew)
    assert clew.rollout.show().measured.rollout.mode == mode


@pytest.mark.parametrize(("autopilot", "default"), [(True, "baseline"), (False, "hybrid_graph")])
def test_rollout_strategy_autopilot_is_live(opened: Callable[..., Clew], autopilot: bool, default: str) -> None:
    clew = opened(strategy_autopilot=autopilot)
    add(clew, bad=20)
    count_one(clew)
    assert clew.rollout.show().measured.policy.default_strategy == default


@pytest.mark.parametrize(("days", "left"), [(2, 1), (10, 6)])
def test_rollout_keep_days_is_live(opened: Callable[..., Clew], clock: ToldClock, days: float, left: int) -> None:
    clew = opened(keep_days=days)
    add(clew, good=5)
    clock.pass_by(days=5)
    count_one(clew)
    since = clock.now().replace(year=2020)
    assert clew.rollout.metrics(since).summary.counts.total_requests == left

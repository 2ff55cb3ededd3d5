"""Every verb that takes a time refuses one that has no zone, is no time, or lies outside the calendar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from clew import Clew, Filter, InvalidInput
from toys import open_toy

ODD = {
    "zoneless": datetime(2026, 1, 1),
    "text": "2026-01-01",
    "first": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    "last": datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
}
TAKERS: dict[str, Callable[[Clew, Any], object]] = {
    "at": lambda clew, time: clew.remember("A fact", at=time),
    "valid_at": lambda clew, time: clew.remember("A fact", valid_at=time),
    "invalid_at": lambda clew, time: clew.remember("A fact", invalid_at=time),
    "expires_at": lambda clew, time: clew.remember("A fact", expires_at=time),
    "recall": lambda clew, time: clew.recall("fact", as_of=time),
    "context": lambda clew, time: clew.context("fact", as_of=time),
    "list": lambda clew, time: clew.list(Filter(before=time)),
    "forget_many": lambda clew, time: clew.forget_many(Filter(before=time)),
    "report since": lambda clew, time: clew.report(since=time),
    "report until": lambda clew, time: clew.report(until=time),
    "metrics": lambda clew, time: clew.rollout.metrics(time),
    "replay": lambda clew, time: clew.rollout.replay(since=time),
    "spend": lambda clew, time: clew.jobs.spend(since=time),
    "edges": lambda clew, time: clew.graph.edges(since=time),
    "audit": lambda clew, time: clew.audit.list(since=time),
    "impact": lambda clew, time: clew.learn.impact(since=time),
    "pareto": lambda clew, time: clew.learn.pareto(until=time),
    "keys": lambda clew, time: clew.keys.create("ci", roles=("admin",), expires=time),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with open_toy(tmp_path_factory.mktemp("times") / "clew.db") as opened:
        opened.remember("A fact there is")
        yield opened


@pytest.mark.parametrize("time", ODD.values(), ids=ODD)
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_a_time_that_is_none_is_refused(memory: Clew, take: Callable[[Clew, Any], object], time: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        take(memory, time)
    assert refused.value.code == "TIME_INVALID"

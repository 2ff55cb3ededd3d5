"""What an org may spend on language models, and what it spent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import Denied, Unavailable
from clew.model.scope import Identity
from clew.relate.spend import Spend, SpendPolicy, day_of, minute_of, tokens_in
from toys import START, ToldClock


def purse(clew: Clew, **limits: Any) -> Spend:
    return Spend(clew.store, SpendPolicy(**limits), now=clew.now)


def reserve(spend: Spend, tokens: int = 100, *, org: str = "local", task: str = "classification") -> Any:
    return spend.reserve(org, "toy", task, input_tokens=tokens, output_tokens=0)


def refusal(spend: Spend, tokens: int = 100, *, org: str = "local") -> str:
    with pytest.raises(Unavailable) as caught:
        reserve(spend, tokens, org=org)
    assert caught.value.next
    return caught.value.code


def used(clew: Clew) -> int:
    return clew.jobs.spend().used_today


def test_the_budget_ends_at_its_last_token(memory: Clew) -> None:
    spend = purse(memory, daily_tokens=250)
    reserve(spend), reserve(spend)
    assert refusal(spend, 51) == "LLM_BUDGET_EXHAUSTED"
    reserve(spend, 50)


def test_no_tokens_at_all_is_a_budget_too(memory: Clew) -> None:
    assert refusal(purse(memory, daily_tokens=0), 1) == "LLM_BUDGET_EXHAUSTED"


def test_a_call_is_settled_at_what_it_took(memory: Clew) -> None:
    spend = purse(memory, daily_tokens=250)
    spend.settle(reserve(spend, 200), input_tokens=20, output_tokens=5)
    assert used(memory) == 25
    reserve(spend, 225)


def test_a_call_whose_process_died_keeps_its_estimate(memory: Clew) -> None:
    reserve(purse(memory), 70)
    assert used(memory) == 70


def test_the_next_day_has_a_budget_of_its_own(memory: Clew, clock: ToldClock) -> None:
    spend = purse(memory, daily_tokens=100)
    reserve(spend)
    assert refusal(spend) == "LLM_BUDGET_EXHAUSTED"
    clock.pass_by(days=1)
    reserve(spend)


def test_a_call_over_midnight_is_settled_on_the_day_it_began(memory: Clew, clock: ToldClock) -> None:
    spend = purse(memory)
    reserved = reserve(spend, 100)
    clock.pass_by(days=1)
    spend.settle(reserved, input_tokens=10, output_tokens=0)
    [row] = memory.jobs.spend().rows
    assert (row.day, row.input_tokens) == (START.date().isoformat(), 10)


def test_orgs_do_not_share_a_budget_or_a_rate(memory: Clew) -> None:
    spend = purse(memory, daily_tokens=100, calls_per_minute=1)
    reserve(spend, org="a")
    reserve(spend, org="b")
    assert refusal(spend, org="a") == "LLM_BUDGET_EXHAUSTED"


def test_the_rate_is_that_of_a_minute(memory: Clew, clock: ToldClock) -> None:
    spend = purse(memory, calls_per_minute=2)
    reserve(spend), reserve(spend)
    assert refusal(spend) == "LLM_RATE_LIMITED"
    clock.pass_by(minutes=1)
    reserve(spend)


def test_a_refused_call_counts_nowhere(memory: Clew) -> None:
    spend = purse(memory, calls_per_minute=1)
    reserve(spend, 10)
    refusal(spend, 10)
    assert (used(memory), memory.jobs.spend().total.calls) == (10, 1)


def test_two_stores_on_one_file_share_budget_and_rate(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    one, two = clew_at(tmp_path), clew_at(tmp_path)
    reserve(purse(one, calls_per_minute=2)), reserve(purse(two, calls_per_minute=2))
    assert refusal(purse(one, calls_per_minute=2)) == refusal(purse(two, calls_per_minute=2)) == "LLM_RATE_LIMITED"
    assert refusal(purse(one, daily_tokens=250)) == refusal(purse(two, daily_tokens=250)) == "LLM_BUDGET_EXHAUSTED"


RACER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from clew.errors import Unavailable
from clew.relate.spend import Spend, SpendPolicy
from clew.store.sqlite import open_engine
from clew.store.store import Store
store = Store(open_engine(Path(sys.argv[1])))
spend = Spend(store, SpendPolicy(calls_per_minute=25), now=lambda: datetime(2026, 3, 1, tzinfo=UTC))
made = 0
for _ in range(20):
    try:
        spend.reserve("local", "toy", "classification", input_tokens=1, output_tokens=0)
        made += 1
    except Unavailable:
        pass
store.close()
print(made)
"""


def test_processes_that_race_make_no_call_too_many(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew_at(tmp_path)  # the store is there before they race
    command = [sys.executable, "-c", RACER, str(tmp_path / "clew.db")]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [int(process.communicate(timeout=60)[0]) for process in racing]
    assert sum(made) == 25


# -- the readout -----------------------------------------------------------------------------------------


def test_the_readout_tells_days_models_tasks_failures_and_cost(memory: Clew, clock: ToldClock) -> None:
    spend = purse(memory, input_price=3.0, output_price=15.0)
    spend.settle(reserve(spend), input_tokens=1_000, output_tokens=200)
    spend.settle(
        reserve(spend, task="semantic_extraction"), input_tokens=500, output_tokens=0, failure="LLM_STATUS: 503"
    )
    spend.withhold("local", "toy", "semantic_extraction", 3)
    judged, extracted = (row.as_json() for row in memory.jobs.spend().rows)
    named = {"day": "2026-03-01", "model": "toy", "task": "classification"}
    assert judged == named | {
        "calls": 1, "failures": 0, "withheld": 0, "input_tokens": 1_000, "output_tokens": 200, "cost": 0.006
    }  # fmt: skip
    assert (extracted["calls"], extracted["failures"], extracted["withheld"]) == (1, 1, 3)
    assert (extracted["cost"], extracted["last_failure"]) == (0.0015, "LLM_STATUS: 503")


def test_the_readout_sums_up_and_says_what_is_left_of_today(memory: Clew) -> None:
    spend = purse(memory)
    spend.settle(reserve(spend), input_tokens=40, output_tokens=2)
    document = memory.jobs.spend().as_json()
    assert document["today"] == {"used": 42, "limit": 1_000_000, "left": 999_958}
    assert document["total"]["calls"] == 1 and document["enabled"] is False


def test_the_readout_goes_back_a_week_unless_told_otherwise(memory: Clew, clock: ToldClock) -> None:
    reserve(purse(memory))
    clock.pass_by(days=8)
    assert memory.jobs.spend().rows == ()
    assert len(memory.jobs.spend(since=START).rows) == 1


def test_what_an_org_spends_is_for_those_who_look_after_it(memory: Clew) -> None:
    reserve(purse(memory), org="acme")
    assert len(memory.jobs.spend(identity=Identity(org="acme", user="ada", roles=("admin",))).rows) == 1
    assert memory.jobs.spend().rows == ()  # another org's
    with pytest.raises(Denied):
        memory.jobs.spend(identity=Identity(org="acme", user="bob", roles=("member",)))


# -- arithmetic ------------------------------------------------------------------------------------------


@given(st.integers(0, 10**7))
def test_tokens_are_characters_by_four_rounded_up(chars: int) -> None:
    assert chars <= 4 * tokens_in(chars) < chars + 4


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e3), st.floats(0, 1e3))
def test_cost_is_what_a_million_tokens_cost_by_a_million(given: int, taken: int, sent: float, got: float) -> None:
    exact = given * sent + taken * got
    assert abs(SpendPolicy(input_price=sent, output_price=got).cost_micros(given, taken) - exact) <= 0.5


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_days_and_minutes_are_those_of_utc(moment: datetime) -> None:
    assert day_of(moment) == f"{moment:%Y-%m-%d}"
    assert datetime.fromtimestamp(minute_of(moment) * 60, UTC) == moment.replace(second=0, microsecond=0)

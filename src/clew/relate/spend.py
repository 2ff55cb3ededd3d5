"""What an org may spend on language models: tokens per day, calls per minute. Counted in the store, so that every
process of an org draws on the same budget.

A call is reserved at its estimate before it is made and settled at what it took. Whoever dies in between leaves
the estimate standing: the budget is never overdrawn by more than what calls under way take above their estimates.
Minutes are those of the clock, so at most twice the rate passes within any sixty seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

from clew.errors import Unavailable
from clew.model.llm import Spent, Usage
from clew.ports import Store, Tx
from clew.values import dataclass

BUDGET_EXHAUSTED, RATE_LIMITED = "LLM_BUDGET_EXHAUSTED", "LLM_RATE_LIMITED"
CHARS_PER_TOKEN = 4  # as everywhere in Clew: DESIGN.md, decision 9


@dataclass(frozen=True, slots=True)
class SpendPolicy:
    """Prices are per million tokens, in whatever currency."""

    daily_tokens: int = 1_000_000
    calls_per_minute: int = 60
    input_price: float = 0.0
    output_price: float = 0.0

    def cost_micros(self, input_tokens: int, output_tokens: int) -> int:
        return round(input_tokens * self.input_price + output_tokens * self.output_price)


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was set aside for one call."""

    org: str
    estimate: Usage


class Spend:
    """The purse of every org in one store."""

    def __init__(self, store: Store, policy: SpendPolicy, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._policy = policy
        self._now = now

    def reserve(self, org: str, model: str, task: str, *, input_tokens: int, output_tokens: int) -> Reservation:
        """Set aside one call, or refuse it. Checked and written in one transaction."""
        now = self._now()
        cost = self._policy.cost_micros(input_tokens, output_tokens)
        estimate = Usage(
            day_of(now),
            model,
            task,
            calls=1,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_micros=cost,
        )
        self._store.write(lambda tx: self._set_aside(tx, org, estimate, minute_of(now)), durable=False)
        return Reservation(org, estimate)

    def _set_aside(self, tx: Tx, org: str, estimate: Usage, minute: int) -> None:
        wanted = estimate.input_tokens + estimate.output_tokens
        if tx.spend.used(org, estimate.day) + wanted > self._policy.daily_tokens:
            raise Unavailable(
                f"org '{org}' has used its {self._policy.daily_tokens:,} tokens of today",
                code=BUDGET_EXHAUSTED,
                next="wait until tomorrow (UTC), or raise llm.daily_tokens",
            )
        if tx.spend.calls_in(org, minute) >= self._policy.calls_per_minute:
            raise Unavailable(
                f"org '{org}' has made its {self._policy.calls_per_minute:,} calls of this minute",
                code=RATE_LIMITED,
                next="wait a minute, or raise llm.calls_per_minute",
            )
        tx.spend.count_call(org, minute)
        tx.spend.add(org, estimate)

    def settle(self, reserved: Reservation, *, input_tokens: int, output_tokens: int, failure: str = "") -> None:
        """Put what the call took in the place of its estimate. `failure` is for people to read."""
        estimate = reserved.estimate
        difference = replace(
            estimate,
            calls=0,
            failures=int(bool(failure)),
            input_tokens=input_tokens - estimate.input_tokens,
            output_tokens=output_tokens - estimate.output_tokens,
            cost_micros=self._policy.cost_micros(input_tokens, output_tokens) - estimate.cost_micros,
            last_failure=failure,
        )
        self._store.write(lambda tx: tx.spend.add(reserved.org, difference), durable=False)

    def withhold(self, org: str, model: str, task: str, count: int) -> None:
        """Count texts that were not sent because of their label."""
        usage = Usage(day_of(self._now()), model, task, withheld=count)
        self._store.write(lambda tx: tx.spend.add(org, usage), durable=False)


def spent(tx: Tx, org: str, *, since: date, now: datetime, daily_tokens: int, enabled: bool) -> Spent:
    """What was spent since a day, and what is left of today."""
    rows = tx.spend.since(org, since.isoformat())
    return Spent(org, since, enabled, tuple(rows), tx.spend.used(org, day_of(now)), daily_tokens)


def tokens_in(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)


def day_of(now: datetime) -> str:
    return now.astimezone(UTC).date().isoformat()


def minute_of(now: datetime) -> int:
    return int(now.timestamp() // 60)

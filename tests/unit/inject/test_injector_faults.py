"""What hangs or is late: the caller has its answer in time, and nothing comes of it afterwards.

110 ms is the one hard number here, so it is measured; everything else waits for events.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import injector_toys
import pytest
from injector_toys import Agent, Everything, Gate, Told, event, found, quickest, wait_for

from clew.clew import Clew
from clew.inject.injector import InSessionMemoryInjector
from clew.model.access import Decision
from clew.model.inject import InjectionResult, Observation

ANSWER_S = 0.110
PATH = "src/pay/vat.py"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


class Slow:
    """A part that hangs until its gate is opened, and then does its work."""

    def __init__(self, gate: Gate, part: Any) -> None:
        self._gate, self._part = gate, part

    def retrieve(self, *asked: Any) -> list[Observation]:
        self._gate.wait()
        found: list[Observation] = self._part.retrieve(*asked)
        return found

    def decide(self, *asked: Any, **options: Any) -> list[Decision]:
        self._gate.wait()
        decided: list[Decision] = self._part.decide(*asked, **options)
        return decided

    @property
    def supports_message_injection(self) -> bool:
        return True

    def inject_message(self, session: str, text: str) -> None:
        self._gate.wait()
        self._part.inject_message(session, text)


def injector(*parts: Any, config: Any = None, **named: Any) -> InSessionMemoryInjector:
    """With the documented limit."""
    return injector_toys.injector(*parts, config={"latencyBudgetMs": 100} | (config or {}), **named)


def asked(told: InSessionMemoryInjector) -> InjectionResult:
    return told.handle_verb_event(event(paths=(PATH,)))


def test_r088_a_slow_store_is_answered_for_in_time(memory: Clew, gate: Gate) -> None:
    told = injector(Slow(gate, Told([found(memory, "VAT is rounded per line", 0.9)])))
    result = asked(told)
    assert (result.outcome, result.reason) == ("budget-exceeded", "deadline")
    assert quickest(lambda: asked(told)) <= ANSWER_S


def test_r112_a_late_result_is_not_delivered_and_not_seen(memory: Clew, gate: Gate) -> None:
    agent, store = Agent(), Told([found(memory, "VAT is rounded per line", 0.9)])
    told = injector(Slow(gate, store), agent, config={"threads": 1})
    assert asked(told).outcome == "budget-exceeded"
    gate.open()
    assert wait_for(lambda: asked(told).outcome == "injected")  # once the thread is free, as if nothing had been
    assert len(agent.heard) == 1


def test_fc11_a_policy_engine_that_hangs_is_a_silence_in_time(memory: Clew, gate: Gate) -> None:
    agent = Agent()
    told = injector(Told([found(memory, "VAT", 0.9)]), agent, pep=Slow(gate, Everything()))
    assert asked(told).outcome == "budget-exceeded"
    assert quickest(lambda: asked(told)) <= ANSWER_S
    gate.open()
    assert wait_for(lambda: asked(told).outcome == "injected")
    assert len(agent.heard) == 1


def test_when_all_threads_are_stuck_the_answer_comes_at_once(gate: Gate) -> None:
    told = injector(Slow(gate, Told()), config={"threads": 2})
    assert [asked(told).reason for _ in range(2)] == ["deadline", "deadline"]
    result = asked(told)
    assert (result.outcome, result.reason) == ("budget-exceeded", "all_busy")
    assert quickest(lambda: asked(told)) < 0.02


def test_r113_an_agent_that_takes_too_long_to_be_told_has_not_seen_it(memory: Clew, gate: Gate) -> None:
    agent = Agent()
    told = injector(Told([found(memory, "VAT", 0.9)]), Slow(gate, agent), config={"threads": 1})
    assert asked(told).outcome == "budget-exceeded"
    gate.open()
    assert wait_for(lambda: asked(told).outcome == "injected")


def test_the_budget_is_the_configured_one(gate: Gate) -> None:
    told = injector(Slow(gate, Told()), config={"latencyBudgetMs": 20})
    assert 0.02 <= quickest(lambda: asked(told)) < 0.09


def test_two_tools_at_once_do_not_both_say_the_same(memory: Clew, gate: Gate) -> None:
    agent = Agent()
    told = injector_toys.injector(Told([found(memory, "VAT is rounded per line", 0.9)]), Slow(gate, agent))
    first = threading.Thread(target=lambda: asked(told))
    first.start()
    assert gate.reached.wait(10)  # the first is about to say it
    assert (asked(told).outcome, asked(told).reason) == ("no-match", "seen")
    gate.open()
    first.join(10)
    assert len(agent.heard) == 1

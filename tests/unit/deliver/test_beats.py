"""The reference worker loop against a real queue, with a clock and an agent that are told what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from desks import Desk

from clew.deliver import BeatsReport, NotReady, run_beats
from clew.errors import Conflict, Unavailable


@dataclass
class Agent:
    """Runs for `turns` waits; what happens in each is given by `during`."""

    desk: Desk
    turns: int = 4
    during: dict[int, Callable[[], object]] = field(default_factory=dict)
    refuses: dict[str, Exception] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 0.0
    waited: int = 0

    def inject(self, text: str) -> None:
        if text in self.refuses:
            raise self.refuses[text]
        self.heard.append(text)

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        self.desk.leases.pass_by(seconds)
        self.waited += 1
        self.during.get(self.waited, lambda: None)()
        return self.waited >= self.turns

    def run(self, **options: Any) -> BeatsReport:
        options = {"clew": self.desk.clew, "session_id": self.desk.id, "worker_id": "w1"} | options
        return run_beats(self, sleep=self.slept.append, clock=lambda: self.now, **options)


@pytest.fixture(autouse=True)
def no_start_block(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> list[str]:
    """The block at the start is another's story; who asks for it, and when, is told here."""
    asked: list[str] = []
    start = lambda self, session: asked.append(desk.clew.sessions.show(session).state)  # noqa: E731
    monkeypatch.setattr(type(desk.clew.inject), "start", start, raising=False)
    return asked


def test_r065_injects_arrive_one_per_beat_and_are_acknowledged_on_the_next(desk: Desk) -> None:
    desk.put("one", "two", "three")
    states = []
    agent = Agent(desk, turns=4)
    agent.during = {turn: lambda: states.append(desk.states()) for turn in (1, 2, 3)}
    report = agent.run()
    assert agent.heard == ["one", "two", "three"]
    assert states == [
        ["delivered", "pending", "pending"],
        ["acked", "delivered", "pending"],
        ["acked", "acked", "delivered"],
    ]
    assert (report.ended, report.beats, len(report.given)) == ("done", 4, 3)


def test_r060_the_start_block_is_asked_for_after_the_claim(desk: Desk, no_start_block: list[str]) -> None:
    Agent(desk, turns=1).run()
    assert no_start_block == ["running"]


def test_r064_a_start_block_that_fails_does_not_concern_the_worker(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, session: str) -> None:
        raise RuntimeError

    monkeypatch.setattr(type(desk.clew.inject), "start", fail, raising=False)
    desk.put("one")
    agent = Agent(desk, turns=1)
    assert agent.run().ended == "done"
    assert agent.heard == ["one"]


def test_the_last_delivery_is_acknowledged_when_the_agent_is_done(desk: Desk) -> None:
    desk.put("one")
    Agent(desk, turns=1).run()
    assert desk.states() == ["acked"]


def test_an_agent_in_the_middle_of_a_turn_is_asked_again_without_a_second_delivery(desk: Desk) -> None:
    [delivery] = desk.put("one")
    agent = Agent(desk, turns=3, refuses={"one": NotReady()})
    agent.during = {2: agent.refuses.clear}
    report = agent.run()
    assert agent.heard == ["one"]
    assert report.given == (delivery,)
    assert desk.clew.queue.list(desk.id)[0].attempts == 1


def test_a_turn_that_ends_early_gets_the_held_inject_before_the_next_beat(desk: Desk) -> None:
    desk.put("one")
    agent = Agent(desk, turns=2, refuses={"one": NotReady()})
    agent.during = {1: agent.refuses.clear}
    early = agent.wait
    agent.wait = lambda seconds: early(1.0)  # type: ignore[method-assign]
    report = agent.run()
    assert agent.heard == ["one"]
    assert report.beats == 1


def test_what_the_agent_cannot_take_is_a_dead_letter_with_the_kind_of_error(desk: Desk) -> None:
    bad, good = desk.put("bad", "good")
    agent = Agent(desk, refuses={"bad": ValueError("the text itself")})
    report = agent.run()
    assert agent.heard == ["good"]
    assert report.dead == {bad: "ValueError"}
    assert desk.states() == ["dead", "acked"]
    assert desk.reasons()[0] == "ValueError"
    assert report.given == (good,)


def test_a_delivery_whose_acknowledgement_got_lost_is_not_given_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("one")
    real = desk.clew.sessions.refresh
    losing = iter([False, True])

    def lossy(*args: Any, **options: Any) -> Any:
        if next(losing, False):
            options["acked"] = ()  # the request arrived without it
        return real(*args, **options)

    monkeypatch.setattr(type(desk.clew.sessions), "refresh", lambda self, *a, **o: lossy(*a, **o))
    agent = Agent(desk, turns=4)
    agent.run()
    assert agent.heard == ["one"]
    assert desk.states() == ["acked"]


def test_a_revoked_inject_is_dropped_although_the_worker_holds_it(desk: Desk) -> None:
    desk.put("one")
    agent = Agent(desk, turns=3, refuses={"one": NotReady()})

    def revoke() -> None:
        desk.clew.projects.set("shop", "runtime-inject", False)
        agent.refuses.clear()

    agent.during = {1: revoke}
    assert agent.run().given == ()
    assert agent.heard == []


def test_an_inject_that_was_revoked_and_put_in_again_is_given_and_holds_nothing_up(desk: Desk) -> None:
    desk.put("one")
    agent = Agent(desk, turns=8, refuses={"one": NotReady()})

    def put_in_again() -> None:
        desk.clew.projects.set("shop", "runtime-inject", True)
        desk.put("one", "two")
        agent.refuses.clear()

    agent.during = {1: lambda: desk.clew.projects.set("shop", "runtime-inject", False), 3: put_in_again}
    agent.run()
    assert agent.heard == ["one", "two"]
    assert desk.states() == ["acked", "acked"]


def test_a_stop_request_ends_the_loop_at_once_and_brings_nothing(desk: Desk) -> None:
    desk.put("one", "two")
    agent = Agent(desk, turns=9)
    agent.during = {1: lambda: desk.clew.sessions.stop(desk.id)}
    report = agent.run()
    assert (report.ended, report.beats, agent.heard) == ("stopped", 2, ["one"])
    assert desk.states() == ["acked", "pending"]


def test_a_lost_lock_ends_the_loop_and_nothing_is_acknowledged_any_more(desk: Desk) -> None:
    desk.put("one")
    agent = Agent(desk, turns=9)

    def stolen() -> None:
        desk.leases.pass_by(91)
        desk.claim_session("w2")

    agent.during = {1: stolen}
    report = agent.run()
    assert report.ended == "lost"
    assert desk.states() == ["delivered"]


def test_a_beat_is_tried_three_times_with_growing_pauses_and_three_failed_beats_lose_the_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(self: object, *args: object, **options: object) -> None:
        tried.append(args)
        raise Unavailable("the store is away")

    monkeypatch.setattr(type(desk.clew.sessions), "refresh", fail)
    agent = Agent(desk, turns=99)
    report = agent.run()
    assert (report.ended, report.beats) == ("lost", 0)
    assert len(tried) == 9
    assert agent.slept == [1.0, 2.0] * 3


def test_a_store_that_comes_back_in_time_is_no_news(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("one")
    real = type(desk.clew.sessions).refresh
    failures = iter([True] * 5)

    def flaky(self: Any, *args: Any, **options: Any) -> Any:
        if next(failures, False):
            raise Unavailable("the store is away")
        return real(self, *args, **options)

    monkeypatch.setattr(type(desk.clew.sessions), "refresh", flaky)
    agent = Agent(desk, turns=3)
    assert agent.run().ended == "done"
    assert agent.heard == ["one"]


def test_a_session_that_another_worker_holds_cannot_be_served(desk: Desk) -> None:
    desk.claim_session("w2")
    with pytest.raises(Conflict):
        Agent(desk).run()


def test_twenty_lines_wire_a_runner(desk: Desk) -> None:
    class Runner:
        said: list[str]

        def __init__(self) -> None:
            self.said = []

        def inject(self, text: str) -> None:
            self.said.append(text)

        def wait(self, seconds: float) -> bool:
            return True

    runner = Runner()
    desk.put("from memory")
    report = run_beats(runner, clew=desk.clew, session_id=desk.id, worker_id="runner-1")
    desk.clew.sessions.end(desk.id, worker="runner-1", token=report.token)
    assert runner.said == ["from memory"]
    assert desk.states() == ["acked"]


def test_the_last_beat_takes_nothing_that_nobody_could_be_given(desk: Desk) -> None:
    desk.put("one", "two")
    Agent(desk, turns=1).run()
    assert desk.states() == ["acked", "pending"]


def test_a_turn_may_last_longer_than_an_inject_is_redelivered(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(max_attempts=3)
    desk.put("one")
    agent = Agent(desk, turns=9, refuses={"one": NotReady()})
    agent.during = {7: agent.refuses.clear}
    assert (agent.run().ended, agent.heard, desk.states()) == ("done", ["one"], ["acked"])

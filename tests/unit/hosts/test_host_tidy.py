"""What hooks leave behind in the store does not grow for ever."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from clew.clew import Clew
from clew.model.host import Around
from clew.model.inject import ContextInjectionLog
from clew.model.scope import Reach, Scope
from toys import ToldClock

_ids = (f"{number:032x}" for number in count(1))


def tell(clew: Clew, event: str, **fields: Any) -> None:
    raw = {"hook_event_name": event, "session_id": "s-1", "cwd": "/home/dev/shop", **fields}
    clew.hosts.event("claude-code", raw, event_id=next(_ids), around=Around(project="shop"))


def test_what_hooks_leave_behind_goes_after_its_time(memory: Clew, clock: ToldClock) -> None:
    tell(memory, "SessionStart", source="startup")
    tell(memory, "PreToolUse", tool_name="Bash", tool_input={"command": "pytest tests/frobnicate"}, tool_use_id="t")
    tell(memory, "PostToolBatch", tool_calls=[])
    tell(memory, "SessionEnd", reason="other")
    [session] = memory.sessions.list()

    def left(*, days: int) -> tuple[list[str], bool]:
        clock.pass_by(hours=24 * days)
        while memory.hosts.capture_waiting():
            pass
        with memory.store.read() as tx:
            row = tx.hosts.session("local", "claude-code", "s-1")
            return [log.phase for log in tx.injections.of_session("local", session.id)], row is not None

    first, is_known = left(days=0)
    assert "in_session" in first and "start" in first and is_known
    assert left(days=8) == (["start"], True)
    assert left(days=90) == ([], False)


def test_a_clock_that_was_ahead_and_is_right_again_does_not_stop_the_clearing_up(
    memory: Clew, clock: ToldClock
) -> None:
    clock.pass_by(days=3_000)
    assert memory.hosts.capture_waiting() == 0
    clock.pass_by(days=-3_000)
    tell(memory, "SessionStart", source="startup")
    tell(memory, "SessionEnd", reason="other")
    clock.pass_by(days=91)
    while memory.hosts.capture_waiting():
        pass
    with memory.store.read() as tx:
        assert tx.hosts.session("local", "claude-code", "s-1") is None


def test_where_no_daemon_runs_the_end_of_a_session_clears_up(memory: Clew, clock: ToldClock) -> None:
    """As in a program of one's own: its looks at tool calls, 2 kB each, would stay for good."""

    def looked() -> str:
        id = memory.sessions.start(project="shop").id
        assert memory.inject.record(ContextInjectionLog(session_id=id, phase="in_session", outcome="no-match"))
        memory.sessions.stop(id)
        return id

    first = looked()
    assert len(memory.inject.log(first)) == 1
    clock.pass_by(days=8)
    assert len(memory.inject.log(looked())) == 1
    assert memory.inject.log(first) == []


def test_a_session_goes_ninety_days_after_its_end_and_what_it_taught_stays(memory: Clew, clock: ToldClock) -> None:
    known = memory.remember("Orders are sent by courier.", scope=Scope(project="shop")).memory.id
    session = memory.sessions.start(project="shop", title="Send the orders")
    told = ContextInjectionLog(
        session_id=session.id, project_id="shop", phase="start", observation_ids=(known,), delivered=True
    )
    assert memory.inject.record(told)
    token = memory.sessions.claim(session.id, "w")
    memory.queue.enqueue(session.id, "Orders are sent by courier.")
    memory.sessions.end(session.id, "rejected", worker="w", token=token)
    weight = memory.learn.show(known).weight

    def left(*, days: int) -> tuple[bool, int, int]:
        clock.pass_by(days=days)
        memory.hosts.capture_waiting()
        with memory.store.read() as tx:
            queue = tx.injects.of_session("local", session.id)
            history = tx.learning.history("local", "memory", known)
            is_there = tx.sessions.get(Reach.everything("local"), session.id) is not None
        return is_there, len(queue), len(history)

    assert weight < 1.0 and left(days=89) == (True, 1, 1)
    assert left(days=2) == (False, 0, 1)
    assert left(days=300) == (False, 0, 0)
    shown = memory.learn.show(known)
    assert (shown.weight, shown.samples) == (weight, 1)


def test_what_may_be_acknowledged_for_longer_stays_for_longer(
    clew_at: Callable[..., Clew], tmp_path: Path, clock: ToldClock
) -> None:
    memory = clew_at(tmp_path, deliver={"late_ack_s": 200 * 86_400})
    session = memory.sessions.start(project="shop")
    token = memory.sessions.claim(session.id, "w")
    memory.queue.enqueue(session.id, "Orders are sent by courier.")
    delivery = memory.queue.claim(session.id, "w", token)
    memory.sessions.end(session.id, worker="w", token=token)
    clock.pass_by(days=100)
    memory.hosts.capture_waiting()
    assert delivery and memory.queue.ack(session.id, delivery.delivery_id, "w", token)

"""What hooks leave behind in the store does not grow for ever."""

from __future__ import annotations

from itertools import count
from typing import Any

from clew.clew import Clew
from clew.model.host import Around
from clew.model.inject import ContextInjectionLog
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

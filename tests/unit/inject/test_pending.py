"""What waits for an agent's next turn."""

from __future__ import annotations

import pytest

from clew.inject.pending import Pending, PendingInjection


def blocks(pending: Pending, session: str = "s1") -> list[str]:
    return [one.block for one in pending.drain(session)]


def test_r098_draining_gives_everything_in_order_and_leaves_nothing() -> None:
    pending = Pending()
    for text in ("one", "two"):
        pending.keep("s1", PendingInjection("s1", text))
    assert blocks(pending) == ["one", "two"]
    assert blocks(pending) == []


def test_sessions_do_not_get_each_others_blocks() -> None:
    pending = Pending()
    pending.keep("s1", PendingInjection("s1", "one"))
    assert blocks(pending, "s2") == []
    assert blocks(pending) == ["one"]


def test_more_than_an_agent_could_read_drops_the_oldest() -> None:
    pending = Pending()
    for number in range(40):
        pending.keep("s1", PendingInjection("s1", str(number)))
    assert blocks(pending) == [str(number) for number in range(8, 40)]


def test_sessions_that_never_come_back_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.inject.pending.MAX_SESSIONS", 2)
    pending = Pending()
    for session in ("s1", "s2", "s3"):
        pending.keep(session, PendingInjection(session, "text"))
    assert [len(blocks(pending, session)) for session in ("s1", "s2", "s3")] == [0, 1, 1]

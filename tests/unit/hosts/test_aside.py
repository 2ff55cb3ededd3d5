"""Work that nobody waits for longer than it is worth."""

from __future__ import annotations

import threading
import time

import pytest

from clew.hosts.aside import Aside


def test_what_is_quick_is_answered_and_what_fails_says_so() -> None:
    aside = Aside(1)
    assert aside.within(5, "a", lambda: 7) == 7
    with pytest.raises(ValueError, match="no"):
        aside.within(5, "a", lambda: int("no"))


def test_what_hangs_is_left_and_not_tried_again_until_it_is_back() -> None:
    aside, begun, free, calls = Aside(2), threading.Event(), threading.Event(), []

    def hang() -> bool:
        calls.append(1)
        begun.set()
        return free.wait(30)

    assert aside.within(0.01, "dead", hang) is None
    assert begun.wait(30)
    assert aside.within(30, "dead", hang) is None and len(calls) == 1
    assert aside.within(5, "alive", lambda: True)
    free.set()
    deadline = time.monotonic() + 10
    while not aside.within(5, "dead", lambda: True):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_with_every_thread_hanging_nobody_waits() -> None:
    aside, free = Aside(1), threading.Event()
    assert aside.within(0.01, "dead", free.wait) is None
    assert aside.within(30, "alive", lambda: True) is None
    free.set()

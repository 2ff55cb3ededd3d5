"""The verb bus: who is told what, in which order, how often."""

from __future__ import annotations

import threading

import pytest
from injector_toys import Gate, event, wait_for

from clew.inject.bus import Recent, VerbBus, VerbFilter
from clew.model.inject import VerbEvent


def test_subscribers_are_told_in_the_order_in_which_they_came() -> None:
    bus, told = VerbBus(), list[str]()
    for name in ("first", "second", "third"):
        bus.subscribe(lambda _event, name=name: told.append(name))  # type: ignore[misc]
    assert bus.emit(event()) == 3
    assert told == ["first", "second", "third"]


def test_a_subscriber_that_fails_keeps_nothing_from_the_next() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(lambda _event: 1 / 0)
    bus.subscribe(told.append)
    assert bus.emit(event()) == 2
    assert len(told) == 1


def test_r100_after_unsubscribing_nothing_is_told() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    with bus.subscribe(told.append):
        bus.emit(event())
    assert bus.subscriber_count == 0
    assert bus.emit(event()) == 0
    assert len(told) == 1


def test_one_that_was_unsubscribed_while_others_were_told_is_told_no_more() -> None:
    bus, told = VerbBus(), list[str]()
    bus.subscribe(lambda _event: later.unsubscribe())
    later = bus.subscribe(lambda _event: told.append("later"))
    assert bus.emit(event()) == 1
    assert told == []


@pytest.mark.parametrize(
    "filter",
    [
        VerbFilter(phases=("post",)),
        VerbFilter(tools=("Bash",)),
        VerbFilter(sessions=("ses_2",)),
        VerbFilter(agents=("kim",)),
    ],
)
def test_a_filter_lets_through_only_what_it_names(filter: VerbFilter) -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(told.append, filter)
    assert bus.emit(event()) == 0
    wanted = event("ses_2", phase="post", tool="Bash", agent="kim")
    assert bus.emit(wanted) == 1
    assert told == [wanted]


def test_an_event_that_is_repeated_is_told_once() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(told.append)
    for phase in ("post", "pre", "post", "pre"):  # out of order, and each twice
        bus.emit(event(event_id="e1", phase=phase))
    assert [one.phase for one in told] == ["post", "pre"]


def test_events_without_an_id_are_never_taken_for_repeats() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(told.append)
    bus.emit(event())
    bus.emit(event())
    assert len(told) == 2


def test_the_same_event_id_in_two_sessions_is_two_events() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(told.append)
    bus.emit(event("ses_1", event_id="e1"))
    bus.emit(event("ses_2", event_id="e1"))
    assert len(told) == 2


def test_r089_whoever_posts_an_event_does_not_wait_for_a_slow_subscriber() -> None:
    bus, gate = VerbBus(), Gate()
    bus.subscribe(lambda _event: gate.wait())
    assert bus.post(event())
    assert gate.reached.wait(10)  # the subscriber hangs, and we are here
    gate.open()
    bus.wait()


def test_what_nobody_takes_from_the_bus_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.inject.bus.MAX_POSTED", 2)
    bus, gate = VerbBus(), Gate()
    bus.subscribe(lambda _event: gate.wait())
    bus.post(event())
    assert gate.reached.wait(10)
    assert [bus.post(event()) for _ in range(3)] == [True, True, False]
    assert bus.dropped == 1
    gate.open()
    bus.wait()


def test_a_thread_that_cannot_be_started_costs_one_event_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bus = VerbBus()
    told: list[VerbEvent] = []
    bus.subscribe(told.append)
    with monkeypatch.context() as trouble:
        trouble.setattr(threading.Thread, "start", refused)
        assert not bus.post(event())
    assert bus.post(event()) and bus.dropped == 1
    bus.wait()
    assert len(told) == 1
    bus.close()


def test_clear_leaves_nobody() -> None:
    bus = VerbBus()
    bus.subscribe(print)
    bus.clear()
    assert bus.subscriber_count == 0


def test_recent_keys_are_bounded_and_the_oldest_goes_first() -> None:
    recent = Recent(2)
    assert [recent.is_new(key) for key in ("a", "b", "a", "c", "b")] == [True, True, False, True, True]


def test_a_closed_bus_lets_its_thread_go_and_takes_nothing_more() -> None:
    bus, gate, told = VerbBus(), Gate(), list[VerbEvent]()
    bus.subscribe(lambda event: (gate.wait(), told.append(event)))
    for number in range(3):
        assert bus.post(event(event_id=str(number)))
    assert gate.reached.wait(10)  # the first is being told, two wait
    bus.close()
    gate.open()
    bus.wait()
    assert bus._teller and wait_for(lambda: not bus._teller.is_alive())
    assert (len(told), bus.dropped, bus.post(event())) == (1, 2, False)


def test_closing_a_bus_that_nobody_posted_to_is_nothing() -> None:
    bus = VerbBus()
    bus.close()
    bus.close()
    assert not bus.post(event())

"""What a worker remembers between beats: pure."""

from __future__ import annotations

from clew.deliver.pulse import MAX_DEAD, NotReady, Pulse
from clew.model.session import Beat, Delivery


def beat(pulse: Pulse, id: str | None, text: str = "text") -> None:
    inject = Delivery(id, text) if id else None
    pulse.answered(Beat(True, inject=inject), acked=pulse.acked, buried=pulse.buried)


def ignore(text: str) -> None:
    pass


def refuse(text: str) -> None:
    raise OSError


def not_ready(text: str) -> None:
    raise NotReady


def test_a_delivery_is_acknowledged_only_after_the_agent_has_it() -> None:
    pulse = Pulse()
    beat(pulse, "one")
    assert pulse.acked == ()
    pulse.give(ignore)
    assert pulse.acked == ("one",)
    beat(pulse, None)
    assert pulse.acked == ()


def test_a_repeated_delivery_is_acknowledged_again_and_not_given_again() -> None:
    pulse = Pulse()
    heard: list[str] = []
    for _ in range(3):
        beat(pulse, "one")
        pulse.give(heard.append)
    assert heard == ["text"]
    assert pulse.acked == ("one",)


def test_a_repeated_dead_letter_is_reported_again() -> None:
    pulse = Pulse()
    beat(pulse, "one")
    pulse.give(refuse)
    assert pulse.buried == {"one": "OSError"}
    beat(pulse, "one")
    pulse.give(ignore)
    assert pulse.buried == {"one": "OSError"}
    assert pulse.given == []


def test_a_held_delivery_gives_way_to_the_next_and_to_nothing() -> None:
    pulse = Pulse()
    beat(pulse, "one")
    pulse.give(not_ready)
    beat(pulse, "two")
    assert pulse.held and pulse.held.delivery_id == "two"
    beat(pulse, None)
    assert pulse.held is None


def test_a_held_delivery_that_was_revoked_and_comes_back_is_given() -> None:
    pulse = Pulse()
    heard: list[str] = []
    beat(pulse, "one")
    pulse.give(not_ready)
    beat(pulse, None)
    beat(pulse, "one", "as it is now")
    pulse.give(heard.append)
    assert heard == ["as it is now"]
    assert pulse.acked == ("one",)


def test_a_delivery_that_the_agent_has_takes_the_place_of_one_that_was_revoked() -> None:
    pulse = Pulse()
    beat(pulse, "one")
    pulse.give(ignore)
    beat(pulse, "two")
    beat(pulse, "one")
    assert pulse.held is None
    assert pulse.acked == ("one",)


def test_blank_text_is_acknowledged_without_troubling_the_agent() -> None:
    pulse = Pulse()
    beat(pulse, "one", " \n")
    pulse.give(refuse)
    assert pulse.acked == ("one",)


def test_a_broken_agent_does_not_fill_the_memory_with_dead_letters() -> None:
    pulse = Pulse()
    for number in range(MAX_DEAD + 10):
        pulse.answered(Beat(True, inject=Delivery(str(number), "text")), acked=(), buried={})
        pulse.give(refuse)
    assert len(pulse.buried) == MAX_DEAD


def test_neither_a_lost_nor_a_stopped_session_keeps_a_delivery() -> None:
    for answer, ended in ((Beat(False, inject=Delivery("x", "y")), "lost"), (Beat(True, stop=True), "stopped")):
        pulse = Pulse()
        pulse.answered(answer, acked=(), buried={})
        assert (pulse.ended, pulse.held) == (ended, None)

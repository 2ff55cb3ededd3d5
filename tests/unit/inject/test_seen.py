"""What a session was shown, and how it is learnt when the process was not there."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from clew.inject.seen import Seen


def test_r083_what_one_session_has_seen_is_nothing_to_another() -> None:
    seen = Seen()
    seen.add("s1", ["a", "b"])
    assert seen.of("s1") == {"a", "b"}
    assert seen.of("s2") == frozenset()


def test_c11_a_session_met_for_the_first_time_is_seeded_once() -> None:
    asked = list[Hashable]()
    seen = Seen(lambda session: asked.append(session) or ["old"])  # type: ignore[func-returns-value]
    assert seen.of("s1") == {"old"}
    seen.add("s1", ["new"])
    assert seen.of("s1") == {"old", "new"}
    assert asked == ["s1"]


def test_r099_a_forgotten_session_starts_anew() -> None:
    seen = Seen()
    seen.add("s1", ["a"])
    seen.forget("s1")
    assert seen.of("s1") == frozenset()


def test_what_is_added_before_the_first_look_does_not_keep_the_seed_away() -> None:
    seen = Seen(lambda _session: ["old"])
    seen.add("s1", ["new"])
    assert "old" in seen.of("s1")


def test_a_seed_that_fails_leaves_the_session_unmet() -> None:
    fails = [True]

    def seed(_session: Hashable) -> list[str]:
        if fails:
            raise OSError
        return ["old"]

    seen = Seen(seed)
    with pytest.raises(OSError):
        seen.of("s1")
    fails.clear()
    assert seen.of("s1") == {"old"}


def test_so_many_sessions_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.inject.seen.MAX_SESSIONS", 2)
    seen = Seen(lambda _session: [])
    for session in ("s1", "s2", "s3"):
        seen.of(session)
        seen.add(session, ["a"])
    assert [seen.of(session) for session in ("s3", "s1")] == [{"a"}, frozenset()]


def test_what_is_being_said_is_free_again_when_it_failed() -> None:
    seen = Seen()
    with pytest.raises(OSError), seen.saying("s1", ["a"]) as is_free:
        assert is_free
        with seen.saying("s1", ["a", "b"]) as too:
            assert not too
        with seen.saying("s2", ["a"]) as elsewhere:
            assert elsewhere
        raise OSError
    with seen.saying("s1", ["a"]) as again:
        assert again


def test_what_was_said_in_the_meantime_is_not_free() -> None:
    seen = Seen()
    before = seen.of("s1")  # two tools at once: both looked before the first had said it
    with seen.saying("s1", ["a"]) as is_free:
        assert is_free and not before
        seen.add("s1", ["a"])
    with seen.saying("s1", ["a", "b"]) as too:
        assert not too


def test_a_seed_is_read_again_when_it_may_have_changed_and_only_then() -> None:
    stored = [["old"], ["newer"]]
    seen = Seen(lambda _session: stored.pop(0))
    assert seen.of("s1", version=1) == seen.of("s1", version=1) == {"old"}
    assert seen.of("s1", version=2) == {"newer"}
    assert stored == []


def test_what_only_this_process_knows_outlives_a_new_seed() -> None:
    seen = Seen(lambda _session: [])
    seen.of("s1", version=1)
    seen.add("s1", ["spoken"])
    seen.add("s1", ["queued"], stored=True)  # the store knows better whether it still counts
    assert seen.of("s1", version=1) == {"spoken", "queued"}
    assert seen.of("s1", version=2) == {"spoken"}

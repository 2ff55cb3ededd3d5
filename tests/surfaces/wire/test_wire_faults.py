"""Whose fault it is that a verb fails: what cannot be taken is the caller's, what breaks in the verb is ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew import Clew, Identity, InvalidInput
from clew.wire.calls import arguments_of, call
from clew.wire.client import method_named
from clew.wire.verbs import VERBS

ANN = Identity(org="acme", user="ann", roles=("member",))


@pytest.mark.parametrize(
    ("verb", "argument", "value"),
    [
        ("list", "limit", 2**70),
        ("sessions.claim", "provider_session", 2**70),
        ("show", "id", 1),
        ("remember", "metadata", {"n": [2**60]}),
        ("remember", "at", "2026-01-01T00:00:00"),
        ("remember", "content", {"content": "a", "metadata": {"n": 2**60}}),
    ],
)
def test_what_no_verb_can_take_is_refused_before_it_is_asked(
    memory: Clew, verb: str, argument: str, value: Any
) -> None:
    with pytest.raises(InvalidInput) as refused:
        call(memory, verb, {argument: json.dumps(value).encode()}, identity=Identity())
    assert refused.value.code == "ARGUMENT_INVALID" and str(value)[:8] not in refused.value.message


def test_only_whoever_runs_the_store_asks_for_more_than_a_page(memory: Clew) -> None:
    with pytest.raises(InvalidInput) as refused:
        call(memory, "list", {"limit": b"1001"}, identity=ANN)
    assert refused.value.code == "LIMIT_INVALID"
    assert call(memory, "list", {"limit": b"1000"}, identity=ANN) == b"[]"
    assert call(memory, "list", {"limit": b"5000"}, identity=Identity()) == b"[]"


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_a_mistake_in_a_verb_is_not_the_callers(
    memory: Clew, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(self: Clew, id: str, *, identity: Identity | None = None) -> None:
        raise error("secret words")

    monkeypatch.setattr(Clew, "show", broken)
    with pytest.raises(error):
        call(memory, "show", {"id": b'"mem_x"'}, identity=Identity())


def test_a_scope_is_taken_as_said_by_just_the_verbs_that_put_something_there() -> None:
    """The others find a memory by its id, or read."""
    scoped = [verb for verb in VERBS.values() if not verb.is_value and "scope" in _taken(verb.name)]
    looking = {verb.name for verb in scoped if not verb.puts and not verb.reads}
    assert looking == {"edit", "revert", "forget", "learn.judge", "conflicts.resolve", "merges.merge"}
    assert not [verb.name for verb in scoped if verb.puts and verb.reads]


def _taken(name: str) -> Any:
    return arguments_of(VERBS[name], method_named(name))

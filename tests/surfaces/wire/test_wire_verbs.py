"""The table of verbs against the verbs themselves: nothing is missing, nothing is looser than it is here."""

from __future__ import annotations

import inspect
from functools import cached_property
from operator import attrgetter
from typing import Any, get_args, get_origin

import msgspec

from clew import Clew
from clew.model.scope import Scope
from clew.wire.calls import arguments_of
from clew.wire.client import connect, method_named
from clew.wire.codec import OR, decoder
from clew.wire.names import everything, type_of
from clew.wire.verbs import BY_CLIENT, LOCAL, TOPICS, VERBS, WITHOUT_IDENTITY

CALLED = [name for name, verb in VERBS.items() if not verb.is_value]


def verbs_of(owner: Any, prefix: str = "") -> set[str]:
    """The public methods of an object's class, and of its topics."""
    found = set()
    for name in (name for name in dir(type(owner)) if not name.startswith("_")):
        part = inspect.getattr_static(type(owner), name)
        if inspect.isfunction(part) or isinstance(part, staticmethod):
            found.add(prefix + name)
        elif isinstance(part, cached_property) and prefix + name in TOPICS | {"hosts"}:
            found |= verbs_of(getattr(owner, name), f"{prefix}{name}.")
    return found


def test_every_verb_can_be_called_from_afar_or_says_why_not(memory: Clew) -> None:
    told = set(CALLED) | set(LOCAL) | BY_CLIENT
    assert verbs_of(memory) == told, "say in wire/verbs.py what becomes of it"


def test_what_may_be_given_by_place_is_what_the_verb_takes_by_place() -> None:
    for name in CALLED:
        _self, *parameters = inspect.signature(method_named(name)).parameters.values()
        by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert VERBS[name].places.split() == by_place, name
        assert bool(VERBS[name].extra) == any(one.kind is one.VAR_KEYWORD for one in parameters), name


def test_a_remote_verb_has_the_signature_of_the_verb() -> None:
    remote = connect("unix:///nowhere")
    for name in CALLED:
        _self, *parameters = inspect.signature(method_named(name)).parameters.values()
        assert list(inspect.signature(attrgetter(name)(remote)).parameters.values()) == parameters, name


def test_the_answer_is_of_the_type_that_the_verb_returns() -> None:
    for name in CALLED:
        returned, kinds = returned_by(name), [type_of(one) for one in VERBS[name].answer.split(OR)]
        assert set(kinds) == set(get_args(returned)) if len(kinds) > 1 else _alike(kinds[0], returned), name
        assert all(decoder(one) for one in VERBS[name].answer.split(OR)), name


def returned_by(name: str) -> Any:
    method = method_named(name)
    names = {**everything(), **vars(inspect.getmodule(method))}  # type: ignore[arg-type]
    return eval(inspect.get_annotations(method)["return"], names)


def _alike(told: Any, returned: Any) -> bool:
    """The same, save that any sequence is sent as a list."""
    if get_origin(told) is list and get_origin(returned) is not dict:
        return get_args(told) == get_args(returned)
    return told in (returned, type(None)) if returned is None else bool(told == returned)


def test_no_verb_acts_for_somebody_without_being_told_for_whom(memory: Clew) -> None:
    for name in set(CALLED) - WITHOUT_IDENTITY:
        assert "identity" in inspect.signature(attrgetter(name)(memory)).parameters, name
    assert set(VERBS) & WITHOUT_IDENTITY == WITHOUT_IDENTITY


def test_every_argument_can_be_decoded_and_none_is_an_identity() -> None:
    for name in CALLED:
        taken = arguments_of(VERBS[name], method_named(name))
        assert "identity" not in taken and "progress" not in taken, name
        for kind in taken.values():
            assert msgspec.json.Decoder(kind)
            assert Scope not in (kind, *get_args(kind)), name

"""What is of the wrong kind is refused by its name, and not somewhere inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew import Clew, ClewError, Denied, Draft, Filter, Identity, InvalidInput, RecallOptions, Scope, VerbEvent
from clew import open as open_store
from clew.wire.client import method_named
from clew.wire.verbs import VERBS
from toys import open_toy

CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "recall of nothing": (lambda clew: clew.recall(None), "a query is text, not NoneType"),
    "recall of bytes": (lambda clew: clew.recall(b"redis"), "a query is text, not bytes"),
    "planned recall": (lambda clew: clew.recall(7, plan="auto"), "a query is text, not int"),
    "context": (lambda clew: clew.context(7), "a query is text, not int"),
    "xray": (lambda clew: clew.xray(None), "a query is text, not NoneType"),
    "why": (lambda clew: clew.why(None, clew.list()[0].id), "a query is text, not NoneType"),
    "limit of why": (lambda clew: clew.why("x", clew.list()[0].id, limit="3"), "limit is a whole number, not str"),
    "limit": (lambda clew: clew.recall("redis", limit="3"), "limit is a whole number, not str"),
    "half a limit": (lambda clew: clew.recall("redis", limit=2.5), "limit is a whole number, not float"),
    "floor": (lambda clew: clew.recall("redis", floor="high"), "floor is a number, not str"),
    "scope of a recall": (lambda clew: clew.recall("redis", scope="shop"), "a scope is a Scope, not str"),
    "scope of a memory": (lambda clew: clew.remember("x", scope={"project": "p"}), "a scope is a Scope, not dict"),
    "scope of an id": (lambda clew: clew.show("mem_x", scope="shop"), "a scope is a Scope, not str"),
    "part of a scope": (lambda _clew: Scope(project=3), "project is no text but int"),  # type: ignore[arg-type]
    "id": (lambda clew: clew.show(None), "an id is text, not NoneType"),
    "id to forget": (lambda clew: clew.forget(3), "an id is text, not int"),
    "drafts": (lambda clew: list(clew.remember_many(["a text"])), "a draft is a Draft, not str"),
    "fields of drafts": (
        lambda clew: list(clew.remember_many([Draft(content="a text", supersedes=7)])),  # type: ignore[arg-type]
        "supersedes is text, not int",
    ),
    "parents": (lambda clew: clew.remember("a text", parents=(7,)), "parents is a list of text, not tuple"),
    "tags": (lambda clew: clew.remember("a text", tags=7), "tags is a list of text, not int"),
    "options": (lambda clew: clew.recall("redis", options={}), "options is RecallOptions, not dict"),
    "fields of options": (
        lambda clew: clew.recall("redis", options=RecallOptions(types=7)),  # type: ignore[arg-type]
        "types is a list of text, not int",
    ),
    "mode": (lambda clew: clew.recall("redis", mode=None), "mode is text, not NoneType"),
    "node": (lambda clew: clew.graph.neighbors(None), "node is text, not NoneType"),
    "half a node": (lambda clew: clew.graph.neighbors("x", limit=1.5), "limit 1.5 is out of range"),
    "tool": (
        lambda _clew: VerbEvent(session="s", tool=3),  # type: ignore[arg-type]
        "the event cannot be read: tool is no text",
    ),
    "paths of an event": (
        lambda _clew: VerbEvent(session="s", tool="t", paths=3),  # type: ignore[arg-type]
        "the event cannot be read: paths is no list of texts",
    ),
    "query of an event": (
        lambda _clew: VerbEvent(session="s", tool="t", query=3),  # type: ignore[arg-type]
        "the event cannot be read: query is no text",
    ),
    "filter": (lambda _clew: Filter(types=3), "'3' is not a type or layer"),  # type: ignore[arg-type]
    "pattern": (lambda _clew: Filter(pattern=3), "the pattern is not text of at most 1000 characters"),  # type: ignore[arg-type]
    "store": (lambda _clew: open_store(3), "url is text or PathLike, not int"),  # type: ignore[arg-type]
    "name of a store": (lambda _clew: open_store(b"x.db"), "url is text or PathLike, not bytes"),  # type: ignore[arg-type]
    "home": (lambda _clew: open_store(home=3), "home is text or PathLike, not int"),  # type: ignore[arg-type]
    "token": (
        lambda _clew: open_store("http://127.0.0.1:1", token=3),  # type: ignore[arg-type]
        "token is text, not int",
    ),
    "who asks": (lambda clew: clew.list(identity="ann"), "identity is Identity, not str"),
    "nobody": (lambda clew: clew.list(identity=""), "identity is Identity, not str"),
    "no scope": (lambda clew: clew.list(scope={}), "a scope is a Scope, not dict"),
    "user": (lambda _clew: Identity(user=3), "user is no text but int"),  # type: ignore[arg-type]
    "roles": (lambda _clew: Identity(roles=(3,)), "roles are texts"),  # type: ignore[arg-type]
    "a switch": (lambda clew: clew.forget("mem_x", hard="no"), "hard is True or False, not str"),
    "tool calls": (
        lambda clew: clew.sessions.end(clew.sessions.start(project="p").id, tool_calls=[3]),
        "tool_calls is a list of Mapping, not list",
    ),
    "export": (lambda clew: clew.export("all.jsonl"), "an export is written to an open file, not to str"),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with open_toy(tmp_path_factory.mktemp("kinds") / "clew.db") as opened:
        opened.remember("checkout depends on redis")
        yield opened


@pytest.mark.parametrize(("ask", "told"), CALLS.values(), ids=CALLS)
def test_what_is_of_the_wrong_kind_is_refused(memory: Clew, ask: Callable[[Any], object], told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(memory)
    assert refused.value.message == told and refused.value.next


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if not verb.is_value])
def test_no_verb_answers_a_wrong_kind_with_an_error_of_python(memory: Clew, name: str) -> None:
    told = {one: kind for one, kind in method_named(name).__annotations__.items() if one not in ("return", "told")}
    named = {one: "x" for one, kind in told.items() if kind == "str"}
    for argument in told.keys() - {"fields", "changes"}:
        for wrong in (None, 7, b"x", "\ud800", 10**30, object(), [3], {"a": 3}):
            try:
                answer = attrgetter(name)(memory)(**named | {argument: wrong})
                list(answer) if name == "remember_many" else None
            except ClewError as error:
                assert error.next
            except TypeError as error:
                assert "missing" in str(error)


def test_a_part_of_a_role_is_no_role(memory: Clew) -> None:
    with pytest.raises(Denied):
        memory.doctor(identity=Identity(roles="co-owner"))  # type: ignore[arg-type]


def test_numbers_and_lists_of_other_makers_are_taken(memory: Clew) -> None:
    found = memory.recall("redis", types=["note"], include_superseded=np.True_, limit=np.int64(5))
    assert len(found.results) == 1
    assert memory.graph.explore("redis", limit=np.int64(5)).node is not None  # type: ignore[arg-type]


LISTS: list[Callable[[Any], Any]] = [tuple, list, set, iter, lambda one: dict.fromkeys(one).keys()]


@pytest.mark.parametrize("made", LISTS, ids=["tuple", "list", "set", "iterator", "keys"])
def test_whatever_can_be_gone_through_is_a_list(memory: Clew, made: Callable[[Any], Any]) -> None:
    assert len(memory.list(wanted=Filter(types=made(["note"])))) == 1
    assert not memory.recall("redis", types=made(["skill"])).results
    assert Identity(roles=made(["member"])).roles == ("member",)
    for path in ("a.py", Path("a.py")):
        assert VerbEvent(session="s", tool="t", paths=made([path])).paths == ("a.py",)


def test_trouble_elsewhere_is_not_told_of_arguments_that_are_right(memory: Clew) -> None:
    for content, fields in ((Draft(content="a text"), {}), ("a text", {"paths": [Path("a.py")]})):
        with pytest.raises(TypeError, match="'tag'"):
            memory.remember(content, tag=["a"], **fields)


def test_a_refusal_names_what_python_objected_to(memory: Clew) -> None:
    for ask in (lambda: memory.remember("a text", tags=7), lambda: memory.recall("redis", mode=None)):
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert isinstance(refused.value.__cause__, TypeError)

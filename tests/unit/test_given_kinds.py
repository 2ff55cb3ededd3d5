"""What is of the wrong kind is refused by its name, and not somewhere inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew import Clew, InvalidInput, Scope
from toys import open_toy

CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "recall of nothing": (lambda clew: clew.recall(None), "a query is text, not NoneType"),
    "recall of bytes": (lambda clew: clew.recall(b"redis"), "a query is text, not bytes"),
    "planned recall": (lambda clew: clew.recall(7, plan="auto"), "a query is text, not int"),
    "context": (lambda clew: clew.context(7), "a query is text, not int"),
    "xray": (lambda clew: clew.xray(None), "a query is text, not NoneType"),
    "why": (lambda clew: clew.why(None, clew.list()[0].id), "a query is text, not NoneType"),
    "limit of why": (lambda clew: clew.why("x", clew.list()[0].id, limit="3"), "limit 3 is out of range"),
    "limit": (lambda clew: clew.recall("redis", limit="3"), "limit 3 is out of range"),
    "half a limit": (lambda clew: clew.recall("redis", limit=2.5), "limit 2.5 is out of range"),
    "floor": (lambda clew: clew.recall("redis", floor="high"), "the floor is out of range"),
    "scope of a recall": (lambda clew: clew.recall("redis", scope="shop"), "a scope is a Scope, not str"),
    "scope of a memory": (lambda clew: clew.remember("x", scope={"project": "p"}), "a scope is a Scope, not dict"),
    "scope of an id": (lambda clew: clew.show("mem_x", scope="shop"), "a scope is a Scope, not str"),
    "part of a scope": (lambda _clew: Scope(project=3), "project is no text but int"),  # type: ignore[arg-type]
    "id": (lambda clew: clew.show(None), "an id is text, not NoneType"),
    "id to forget": (lambda clew: clew.forget(3), "an id is text, not int"),
    "drafts": (lambda clew: list(clew.remember_many(["a text"])), "a draft is a Draft, not str"),
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

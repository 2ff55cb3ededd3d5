"""Every list refuses to hold fewer than one, or more than can be counted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew import Clew, InvalidInput
from toys import open_toy

LISTS: dict[str, Callable[[Clew, Any], object]] = {
    "list": lambda clew, limit: clew.list(limit=limit),
    "audit": lambda clew, limit: clew.audit.list(limit=limit),
    "quarantine": lambda clew, limit: clew.quarantine.list(limit=limit),
    "conflicts": lambda clew, limit: clew.conflicts.list(limit=limit),
    "suggestions": lambda clew, limit: clew.merges.suggest(limit=limit),
    "merges": lambda clew, limit: clew.merges.list(limit=limit),
    "sessions": lambda clew, limit: clew.sessions.list(limit=limit),
    "dead": lambda clew, limit: clew.queue.dead(limit=limit),
    "jobs": lambda clew, limit: clew.jobs.list(limit=limit),
    "keys": lambda clew, limit: clew.keys.list(limit=limit),
    "changes": lambda clew, limit: clew.graph.changes(0, limit=limit),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with open_toy(tmp_path_factory.mktemp("limits") / "clew.db") as opened:
        opened.remember("checkout depends on redis")
        yield opened


@pytest.mark.parametrize("limit", [0, -1, 10**30], ids=str)
@pytest.mark.parametrize("ask", LISTS.values(), ids=LISTS)
def test_a_limit_that_is_none_is_refused(memory: Clew, ask: Callable[[Clew, Any], object], limit: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(memory, limit)
    assert refused.value.code == "LIMIT_INVALID"


@pytest.mark.parametrize("limit", [True, 1.5, "2", None], ids=str)
@pytest.mark.parametrize("ask", LISTS.values(), ids=LISTS)
def test_a_limit_that_is_no_number_is_not_called_out_of_range(
    memory: Clew, ask: Callable[[Clew, Any], object], limit: Any
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(memory, limit)
    assert refused.value.code == "ARGUMENT_INVALID"
    assert refused.value.message == f"limit is a whole number, not {type(limit).__name__}"


@pytest.mark.parametrize("ask", LISTS.values(), ids=LISTS)
def test_all_may_be_asked_for(memory: Clew, ask: Callable[[Clew, Any], object]) -> None:
    ask(memory, sys.maxsize)

"""Why a memory was found or lost where the graph has a say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def opened(clew_at: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def at(**settings: Any) -> Any:
        return clew_at(tmp_path / "home", **settings)

    return at


def remember_chain(memory: Any) -> tuple[str, str, str]:
    """The graph leads from a question about the first to the second; nothing leads to the third."""
    texts = ("The checkout depends on AuthService", "AuthService depends on Redis", "lunch is at noon")
    first, second, third = (memory.remember(text).id for text in texts)
    return first, second, third


def test_found_only_through_the_graph(opened: Any) -> None:
    memory = opened()
    seed, reached, _far = remember_chain(memory)
    told = memory.why("checkout", reached, plan="graph_mode")
    assert told.found and told.reason == f"found at rank 2, only by the graph, 1 hop from {seed}"
    assert [(entry.source, entry.via) for entry in told.why] == [("graph", seed)]


def test_found_by_its_words_and_the_graph(opened: Any) -> None:
    memory = opened()
    seed, reached, _far = remember_chain(memory)
    told = memory.why("checkout redis", reached, plan="graph_mode")
    assert told.found and told.reason.endswith(f"helped by the graph, 1 hop from {seed}")


@pytest.mark.parametrize("read_model_mb", [0, 64])
def test_nothing_leads_to_it_and_neither_does_the_graph(opened: Any, read_model_mb: int) -> None:
    memory = opened(recall={"read_model_mb": read_model_mb})
    *_chain, far = remember_chain(memory)
    with_graph, without = (memory.why("checkout", far, plan=plan) for plan in ("graph_mode", "full"))
    assert with_graph.reason.endswith("leads to it, and the graph does not reach it either")
    assert without.reason == "no word and no meaning of the query leads to it"


def test_reached_but_below_the_floor(opened: Any) -> None:
    memory = opened()
    seed, reached, _far = remember_chain(memory)
    told = memory.why("checkout", reached, plan="graph_mode", floor=0.4)
    assert told.lost_at == "rank"
    assert told.reason == f"its relevance 0.0 is below the floor; the graph led to it, 1 hop from {seed}"


def test_reached_but_beyond_the_limit(opened: Any) -> None:
    memory = opened()
    seed, reached, _far = remember_chain(memory)
    told = memory.why("checkout", reached, plan="graph_mode", limit=1)
    assert (told.lost_at, told.rank) == ("rank", 2) and "--limit 2" in told.next
    assert told.reason == f"at rank 2, beyond the limit; the graph led to it, 1 hop from {seed}"


@pytest.mark.parametrize("read_model_mb", [0, 64])
def test_reached_in_the_shadow(opened: Any, read_model_mb: int) -> None:
    memory = opened(graph={"shadow": True, "shadow_sample": 1.0}, recall={"read_model_mb": read_model_mb})
    _seed, reached, _far = remember_chain(memory)
    told = memory.why("checkout", reached, plan="graph_mode")
    assert not told.found and told.reason.endswith("the graph does, but it runs in the shadow")


def test_planned_away(opened: Any) -> None:
    memory = opened()
    first, *_rest = remember_chain(memory)
    told = memory.why("ok", first, plan="auto")
    assert (told.lost_at, told.reason) == ("plan", "no_recall: nothing was looked up")


def test_a_minimal_plan_has_a_limit_of_its_own(opened: Any) -> None:
    memory = opened(recall={"minimal_limit": 2})
    ids = [memory.remember(f"gateway note {number}").id for number in range(6)]
    told = memory.why("gateway note", ids[0], plan="minimal")
    assert told.rank == 6 and told.next == "ask for more: --plan full --limit 6"
    assert memory.why("gateway note", ids[0], plan="full", limit=6).found

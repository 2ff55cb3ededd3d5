"""At which stage an expected memory was lost, and what to do about it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from clew import NotFound, Scope
from toys import START, ToldClock

pytestmark = pytest.mark.usefixtures("by_both")


def test_a_memory_that_was_found_tells_its_rank_and_reasons(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    told = memory.why("gateway", saved.id)
    result = memory.recall("gateway").results[0]
    assert told.found and told.lost_at is None and told.rank == 1
    assert (told.relevance, told.why) == (result.relevance, result.why)


def test_lost_in_the_store_because_it_was_forgotten(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    memory.forget(saved.id)
    told = memory.why("gateway", saved.id)
    assert (told.lost_at, told.reason) == ("store", "it was forgotten")
    assert told.next.endswith(f"clew revert {saved.id} 1")


def test_lost_by_scope(memory: Any) -> None:
    saved = memory.remember("the gateway is slow", scope=Scope(project="shop"))
    told = memory.why("gateway", saved.id, scope=Scope(project="bank"))
    assert told.lost_at == "scope" and "--project shop" in told.next


def test_lost_by_the_filter_names_the_condition(memory: Any, clock: ToldClock) -> None:
    old = memory.remember("the gateway is slow")
    new = memory.remember("the gateway is fast", supersedes=old.id)
    ended = memory.remember("gateway freeze", invalid_at=START + timedelta(hours=1))
    later = memory.remember("gateway party", valid_at=START + timedelta(days=9))
    gone = memory.remember("gateway step", layer="working")
    clock.pass_by(days=2)
    told = [memory.why("gateway", saved.id) for saved in (old, ended, later, gone)]
    assert {entry.lost_at for entry in told} == {"filter"}
    assert [entry.reason for entry in told] == ["superseded", "no longer valid", "not valid yet", "expired"]
    assert new.id in told[0].next


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"types": ("rule",)}, "type"), ({"tags": ("x",)}, "filter"), ({"agent": "a"}, "filter")],
)
def test_lost_by_a_filter_that_was_asked_for(memory: Any, options: dict[str, Any], reason: str) -> None:
    saved = memory.remember("the gateway is slow")
    told = memory.why("gateway", saved.id, **options)
    assert (told.lost_at, told.reason) == ("filter", reason)


def test_lost_below_the_floor(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    told = memory.why("gateway lunch menu prices today", saved.id, floor=0.99)
    assert told.lost_at == "rank" and "below the floor" in told.reason


def test_lost_because_nothing_leads_to_it(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    told = memory.why("quux", saved.id, retrieval="lexical")
    assert told.lost_at == "rank" and "a word it contains" in told.next


def test_lost_beyond_the_limit_tells_which_limit_would_do(memory: Any) -> None:
    ids = [memory.remember(f"gateway note {n}").id for n in range(6)]
    first = ids[0]  # the oldest of equals
    told = memory.why("gateway note", first, limit=2, retrieval="lexical")
    assert told.lost_at == "rank" and told.rank == 6 and "--limit 6" in told.next
    assert memory.why("gateway note", first, limit=6, retrieval="lexical").found


@pytest.mark.parametrize(
    ("options", "layer"),
    [({"mode": "working"}, "long_term"), ({"rules": False}, "rule"), ({"mode": "rules_only"}, "working")],
)
def test_lost_because_its_layer_was_not_asked_for(memory: Any, options: dict[str, Any], layer: str) -> None:
    saved = memory.remember("the gateway is slow", layer=layer)
    told = memory.why("gateway", saved.id, **options)
    assert (told.lost_at, told.reason) == ("rank", f"layer {layer} was not asked for")


def test_lost_among_working_memories_of_which_only_three_are_shown(memory: Any) -> None:
    ids = [memory.remember(f"gateway step {n}", layer="working").id for n in range(5)]
    told = memory.why("gateway step", ids[0], retrieval="lexical")
    assert told.lost_at == "rank" and "working" in told.reason and "--limit" not in told.next


def test_an_edited_memory_is_followed_in_its_present_state(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    memory.recall("gateway")
    memory.edit(saved.id, content="the queue is full")
    assert memory.why("queue", saved.id, retrieval="lexical").found
    assert not memory.why("gateway", saved.id, retrieval="lexical").found


def test_an_unknown_memory_is_not_found(memory: Any) -> None:
    with pytest.raises(NotFound):
        memory.why("gateway", "mem_" + "0" * 26)


@pytest.mark.parametrize("read_model_mb", [0, 64])
def test_a_large_scope_tells_the_same_story(clew_at: Any, tmp_path: Any, read_model_mb: int) -> None:
    memory = clew_at(tmp_path / "w", recall={"read_model_mb": read_model_mb})
    old = memory.remember("the gateway is slow")
    memory.remember("the gateway is fast", supersedes=old.id)
    far = memory.remember("lunch")
    assert memory.why("gateway", old.id).reason == "superseded"
    assert not memory.why("gateway", far.id).found


def test_what_is_not_answered_was_brought_in_by_nothing(memory: Any) -> None:
    saved = memory.remember("the gateway is slow")
    told = memory.why("xylophone", saved.id)
    assert not told.found and all(why.source != "boost" for why in told.why)

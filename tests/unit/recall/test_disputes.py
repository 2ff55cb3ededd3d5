"""Conflicts in answers: told once per pair to those who may see both, the surest first; and what was replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from clew.clew import Clew
from clew.model.recalled import InConflict
from clew.model.relation import Finding
from clew.model.scope import Identity, Reach, Scope
from clew.recall import disputed, disputes
from clew.recall.walk import QueryWalk, entries_of
from clew.store.graph_reads import GraphReads
from clew.store.queries import load
from findings import found, relate
from toys import contents

SHOP = Scope(project="shop")
ADA, BOB = Identity(user="ada", roles=("member",)), Identity(user="bob", roles=("member",))


def three(memory: Clew) -> list[str]:
    return [memory.remember(f"the lift is {state}", scope=SHOP).id for state in ("fast", "slow", "broken")]


def pairs(conflicts: object) -> list[tuple[str, str, float]]:
    assert isinstance(conflicts, list | tuple)
    return [(one.memory_a_id, one.memory_b_id, one.confidence) for one in conflicts]


def test_t33_two_answered_memories_that_contradict_each_other_are_one_conflict(memory: Clew) -> None:
    base = memory.remember("login uses tokens", scope=SHOP).id
    linked = memory.remember("login tokens are gone", scope=SHOP).id
    found(memory, linked, base, confidence=0.92, origin="llm", rule="")
    context = memory.context("login", scope=SHOP)
    for conflicts in (context.conflicts, memory.recall("login", scope=SHOP).conflicts):
        assert pairs(conflicts) == [(*sorted((base, linked)), 0.92)]
    assert context.trace["conflict_count"] == 1


def test_i15_once_per_pair_the_surest_first_then_by_ids(memory: Clew) -> None:
    one, two, three_ = sorted(three(memory))
    sure = {(one, two): 0.5, (one, three_): 0.9, (two, three_): 0.5}
    for id in (two, three_):
        others = [(pair[0], value) for pair, value in sure.items() if pair[1] == id]
        relate(memory, id, *(Finding("contradicts", other, value, "rule") for other, value in others))
    found(memory, one, three_, confidence=0.2)  # the same pair from the other side
    recalled = memory.recall("lift", scope=SHOP)
    assert pairs(recalled.conflicts) == [(one, three_, 0.9), (one, two, 0.5), (two, three_, 0.5)]


def test_a_pair_of_which_one_is_not_answered_is_none(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one)
    assert memory.recall("lift", scope=SHOP, limit=1).conflicts == ()
    assert len(memory.recall("lift", scope=SHOP).conflicts) == 1


def test_the_answer_has_the_documented_fields_and_the_next_move(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one, explanation="fast is not slow")
    [told] = memory.recall("lift", scope=SHOP).as_json()["conflicts"]
    id = told["conflict_id"]
    assert told == {
        "memory_a_id": min(one, other), "memory_b_id": max(one, other), "edge_type": "contradicts",
        "confidence": 0.6, "explanation": "fast is not slow", "conflict_id": id,
        "suggestion": "Ask the user which one is current. Then: "
                      f"clew conflicts resolve {id} --keep ID, both or neither",
    }  # fmt: skip


def test_an_edge_that_nobody_noted_is_a_conflict_too(memory: Clew, tmp_path: Path) -> None:
    one, other, _third = three(memory)
    memory.link(one, "contradicts", other)
    connection = apsw.Connection(str(memory.store.path))  # type: ignore[attr-defined]
    connection.execute("DELETE FROM conflicts")
    [told] = memory.recall("lift", scope=SHOP).conflicts
    assert told == InConflict(min(one, other), max(one, other), 1.0)
    assert told.as_json()["suggestion"] == "Ask the user which one is current."


@pytest.mark.parametrize("side", [0, 1])
def test_a_conflict_that_closed_with_an_edit_is_told_no_more_before_any_job_runs(memory: Clew, side: int) -> None:
    pair = three(memory)[:2]
    found(memory, pair[1], pair[0])
    memory.edit(pair[side], content="the lift is painted green")
    assert memory.conflicts.list() == []
    assert memory.recall("lift", scope=SHOP).conflicts == ()
    assert memory.context("lift", scope=SHOP).conflicts == ()


def test_what_a_person_linked_is_told_after_an_edit_too(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one)
    memory.link(one, "contradicts", other)
    memory.edit(one, content="the lift is painted green")
    assert len(memory.recall("lift", scope=SHOP).conflicts) == 1


def test_what_seems_to_replace_another_is_told_as_well(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one, "supersedes")
    [told] = memory.recall("lift", scope=SHOP).conflicts
    assert told.edge_type == "supersedes"


def test_it_is_not_told_to_those_who_may_not_read_both(memory: Clew) -> None:
    shared = memory.remember("We deploy on Mondays").id
    private = memory.remember("We deploy on Fridays", scope=Scope(user="ada"), identity=ADA).id
    memory.link(private, "contradicts", shared, identity=ADA)
    assert len(memory.recall("deploy", scope=Scope(user="ada"), identity=ADA).conflicts) == 1
    assert memory.recall("deploy", scope=Scope(user="bob"), identity=BOB).conflicts in ((), [])


def test_recall_goes_on_when_conflicts_cannot_be_looked_up(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one)
    connection = apsw.Connection(str(memory.store.path))  # type: ignore[attr-defined]
    connection.execute("ALTER TABLE conflicts RENAME TO gone")
    recalled = memory.recall("lift", scope=SHOP)
    assert (len(recalled.results), recalled.conflicts) == (3, ())


def test_what_is_in_dispute_is_looked_up_by_indices(memory: Clew) -> None:
    three(memory)
    connection = apsw.Connection(str(memory.store.path))  # type: ignore[attr-defined]
    steps = connection.execute(f"EXPLAIN QUERY PLAN {load('sqlite')['disputed']}", {"org_id": "local", "limit": 9})
    looks = [step for *_numbers, step in steps if " conflicts" in step or " graph_edges" in step]
    assert len(looks) == 3
    assert all(step.startswith("SEARCH") and "(org_id=?)" in step for step in looks), looks


def test_an_answer_without_anything_in_dispute_is_not_looked_through(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, _third = three(memory)
    memory.remember("the canteen opens at noon", scope=SHOP)
    found(memory, other, one)
    looked = called(monkeypatch, disputes, "_found")
    asked = called(monkeypatch, GraphReads, "disputed")
    for _ in range(3):
        assert len(memory.recall("lift", scope=SHOP).conflicts) == 1
    assert (len(looked), len(asked)) == (3, 1)
    assert memory.recall("canteen", scope=SHOP, limit=1).conflicts == () and len(looked) == 3
    memory.remember("a write of another thing", scope=SHOP)
    assert len(memory.recall("lift", scope=SHOP).conflicts) == 1
    assert (len(looked), len(asked)) == (4, 2)


def called(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[str]:
    """Grows with every call."""
    calls: list[str] = []
    action = getattr(where, name)

    def counting(*args: Any, **named: Any) -> Any:
        calls.append(name)
        return action(*args, **named)

    monkeypatch.setattr(where, name, counting)
    return calls


def test_where_very_much_is_in_dispute_every_answer_is_looked_through(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, _third = three(memory)
    found(memory, other, one)
    monkeypatch.setattr(disputed, "FEW", 1)
    looked = called(monkeypatch, disputes, "_found")
    assert len(memory.recall("lift", scope=SHOP).conflicts) == 1
    memory.recall("lift", scope=SHOP, limit=1)
    assert len(looked) == 2


def test_an_x_ray_shows_the_conflict_in_every_format(memory: Clew) -> None:
    one, other, _third = three(memory)
    found(memory, other, one, explanation="fast is not slow")
    xray = memory.xray("lift", scope=SHOP)
    line = f"{min(one, other)} <-> {max(one, other)} (confidence 0.60): fast is not slow"
    assert all(line in xray.render(format) for format in ("text", "markdown"))
    assert xray.as_json()["conflicts"][0]["memory_a_id"] == min(one, other)
    memory.conflicts.resolve(memory.conflicts.list()[0].conflict.id, "both")
    assert "conflicts" not in memory.xray("lift", scope=SHOP).as_json()


# -- W9: what was replaced -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["key", "told", "decided", "merged"])
def test_w9_what_was_replaced_surfaces_nowhere(memory: Clew, way: str) -> None:
    key = "lift" if way == "key" else None
    old = memory.remember("the lift is fast", tags=("lift",), upsert_key=key, scope=SHOP).id
    told = old if way == "told" else None
    new = memory.remember("the lift is slow", tags=("lift",), upsert_key=key, supersedes=told, scope=SHOP).id
    if way == "decided":
        memory.link(new, "contradicts", old)
        memory.conflicts.resolve(memory.conflicts.list()[0].conflict.id, new)
    if way == "merged":
        memory.merges.merge(new, [old])
    assert old not in [result.memory.id for result in memory.recall("lift fast", scope=SHOP).results]
    assert old not in memory.context("lift slow", scope=SHOP, depth=2).ids
    assert new in memory.context("lift slow", scope=SHOP).ids


def test_w9_what_replaces_another_does_not_lift_it_as_a_neighbour(memory: Clew) -> None:
    old = memory.remember("coffee is drunk black", scope=SHOP).id
    new = memory.remember("milk was bought", scope=SHOP).id
    found(memory, new, old, "supersedes")
    assert [entry.memory.id for entry in memory.context("milk bought", scope=SHOP).added] == []
    assert [entry.memory.id for entry in memory.context("coffee black", scope=SHOP).added] == [new]
    assert contents(memory.recall("milk bought", scope=SHOP, retrieval="lexical")) == ["milk was bought"]


def test_w9_both_walks_follow_a_replacement_from_the_old_to_the_new_only(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path)
    old, new = (clew.remember(text).id for text in ("coffee is drunk black", "milk was bought"))
    found(clew, new, old, "supersedes")
    now, reach = clew.clock.now(), Reach.of(Scope())
    loaded = clew._reader.graphs.load(reach, now)
    with clew.store.read() as tx:
        nodes = QueryWalk(tx, reach, now=now, moment=now).nodes_of([old, new])
        entries = entries_of(tx, reach, nodes.values(), now=now, moment=now)
        ways = {id: entries[nodes[id]] for id in (old, new)}
    for id, expected in ((old, [nodes[new]]), (new, [])):
        assert [entry[0] for entry in ways[id]] == expected
        assert loaded.out(np.array([nodes[id]]), fan_out=None).target.tolist() == expected

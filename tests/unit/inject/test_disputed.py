"""Blocks do not state both sides of an open conflict as plain facts: each line names the other."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import injector_toys as toys
from builders import Shelf, YesMan, memory, observation
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.guard.render import excerpt, observation_line
from clew.inject import build_session_memory_block
from clew.inject.access import Asker
from clew.inject.block import Choice, choose
from clew.inject.candidates import RecallStore, RetrievalQuery
from clew.inject.match import named_beside, newer_first, told_disputes
from clew.model.inject import Block, Observation
from clew.model.scope import Identity, Scope
from findings import found
from toys import ToldClock

SHOP = Scope(project="shop")
SAID = f"this was said {memory(id='mem_a').at:%Y-%m-%d %H:%M}"


def build(*observations: Observation, budget_tokens: int = 500) -> Block:
    return build_session_memory_block(
        session_id="ses_1", work_type=None, org_id="local", project_id="shop", query_text="login",
        store=Shelf(observations), pep=YesMan(), budget_tokens=budget_tokens,
    )  # fmt: skip


def disputed(id: str, *by: str, text: str = "login uses tokens") -> Observation:
    return replace(observation(text, id=id), disputed_by=by)


def test_both_sides_say_that_they_are_in_conflict() -> None:
    block = build(disputed("mem_a", "mem_b"), disputed("mem_b", "mem_a", text="login uses cookies"))
    assert block.text.splitlines()[1:] == [
        f"- [mem_a] [in conflict with mem_b; {SAID}] login uses tokens (weight: 1.00)",
        f"- [mem_b] [in conflict with mem_a; {SAID}] login uses cookies (weight: 1.00)",
    ]


def test_one_side_says_so_also_when_the_other_does_not_fit() -> None:
    block = build(disputed("mem_a", "mem_b"), disputed("mem_b", "mem_a", text="x" * 300), budget_tokens=40)
    assert (block.memory_ids, "[in conflict with mem_b; " in block.text) == (("mem_a",), True)


def said_later(one: Observation, **changes: Any) -> Observation:
    return replace(one, memory=replace(one.memory, at=one.memory.at + timedelta(hours=1), **changes))


def test_of_two_that_contradict_each_other_the_later_one_stands_first() -> None:
    old, new = disputed("mem_a", "mem_b"), said_later(disputed("mem_b", "mem_a", text="login uses cookies"))
    ranked = [old, observation("login has a test", id="mem_c"), replace(new, relevance=old.relevance / 2)]
    assert build(*ranked).memory_ids == ("mem_b", "mem_a", "mem_c")
    assert [one.id for one in newer_first(ranked)] == ["mem_b", "mem_a", "mem_c"]


def test_a_later_word_stands_before_the_rule_it_contradicts_however_little_it_fits() -> None:
    old, new = disputed("mem_a", "mem_b"), said_later(disputed("mem_b", "mem_a", text="login uses cookies"))
    rule = replace(old, memory=replace(old.memory, layer="rule"))
    found, choice = [rule, replace(new, relevance=0.1)], Choice(floor=0.5, rules_only=True)
    asker = Asker.of(Identity("local", None, "agent", ()), SHOP, pep=YesMan())
    assert [one.id for one in choose(found, asker, choice).ordered] == ["mem_b", "mem_a"]
    calm = [replace(one, disputed_by=()) for one in found]
    assert [one.id for one in choose(calm, asker, choice).ordered] == ["mem_a"]


def test_what_an_agent_concludes_does_not_stand_before_the_users_word() -> None:
    old = disputed("mem_a", "mem_b")
    for origin, order in (("agent_inference", ["mem_a", "mem_b"]), ("user_prompt", ["mem_b", "mem_a"])):
        new = said_later(disputed("mem_b", "mem_a"), origin=origin)
        assert [one.id for one in newer_first([old, new])] == order


def test_a_memory_that_may_not_be_shown_is_not_named() -> None:
    hidden = replace(disputed("mem_b", "mem_a"), memory=replace(memory(id="mem_b"), trust="untrusted"))
    block = build(disputed("mem_a", "mem_b"), hidden)
    assert block.memory_ids == ("mem_a",)
    assert "mem_b" not in block.text and "conflict" not in block.text


def test_what_the_session_was_told_before_may_be_named() -> None:
    [new] = told_disputes([disputed("mem_a", "mem_b", "mem_c")], seen={"mem_b"})
    assert new.disputed_by == ("mem_b",)


def test_without_conflicts_a_line_is_as_documented() -> None:
    assert observation_line("mem_a", "tea", 1.0, disputed_by=()) == observation_line("mem_a", "tea", 1.0)


def test_the_mark_cannot_be_forged() -> None:
    assert excerpt("[in conflict with mem_x] tea [IN CONFLICT WITH y]").count("[") == 0


@given(st.lists(st.text(max_size=300), min_size=1, max_size=200))
def test_the_mark_has_a_greatest_length(others: list[str]) -> None:
    at = datetime(2026, 11, 2, tzinfo=UTC)
    plain, marked = (observation_line("mem_a", "tea", 1.0, disputed_by=by, at=at) for by in ((), others))
    assert len(marked) - len(plain) <= len("[in conflict with  and 99 more; this was said 2026-11-02 00:00] ") + 121


def test_a_memory_store_over_recall_tells_conflicts(memory: Clew) -> None:
    one, other = (memory.remember(f"login uses {what}", scope=SHOP).id for what in ("tokens", "cookies"))
    store = RecallStore(memory._reader, memory.clock.now)
    assert all(not one.disputed_by for one in store.retrieve(SHOP, RetrievalQuery(text="login")))
    found(memory, other, one)
    told = {one.id: one.disputed_by for one in store.retrieve(SHOP, RetrievalQuery(text="login"))}
    assert told == {one: (other,), other: (one,)}


def test_a_start_block_names_both_sides_until_it_is_decided(memory: Clew) -> None:
    one, other = (memory.remember(f"login uses {what}", scope=SHOP).id for what in ("tokens", "cookies"))
    found(memory, other, one)
    session = memory.sessions.start(project="shop", title="login")
    text = memory.inject.start(session.id, dry_run=True).text
    assert f"[{one}] [in conflict with {other}; " in text and f"[{other}] [in conflict with {one}; " in text
    memory.conflicts.resolve(memory.conflicts.list()[0].conflict.id, "both")
    assert "in conflict" not in memory.inject.start(session.id, dry_run=True).text


def test_the_marks_tell_which_side_is_the_newer_one(memory: Clew, clock: ToldClock) -> None:
    one = memory.remember("login uses tokens", scope=SHOP).id
    clock.pass_by(hours=1)
    other = memory.remember("login uses cookies", scope=SHOP).id
    found(memory, other, one)
    session = memory.sessions.start(project="shop", title="login")
    text = memory.inject.start(session.id, dry_run=True).text
    said = {line.split("]")[0][3:]: line.partition("this was said ")[2][:16] for line in text.splitlines()[1:]}
    assert said[one] < said[other]


def test_a_line_rests_on_the_other_side_that_it_names(memory: Clew) -> None:
    one = memory.remember("login uses tokens", scope=SHOP).id
    other = memory.remember("login uses cookies " + "and says so at length " * 20, scope=SHOP).id
    found(memory, other, one)
    memory.matrix.set("feature", observation_budget=50)
    session = memory.sessions.start(project="shop", title="login tokens", work_type="feature", agent="bob")
    token = memory.sessions.claim(session.id, "w")
    block = memory.inject.start(session.id)
    assert block.memory_ids == (one,) and f"[in conflict with {other}; " in block.text
    memory.conflicts.resolve(memory.conflicts.list()[0].conflict.id, one)
    assert memory.queue.claim(session.id, "w", token) is None
    memory.inject.start(session.id)
    delivery = memory.queue.claim(session.id, "w", token)
    assert delivery and one in delivery.text and "in conflict" not in delivery.text


def test_a_hint_rests_on_the_other_side_that_it_names() -> None:
    shown, named, seen = disputed("mem_a", "mem_b", "mem_s"), disputed("mem_b", "mem_a"), disputed("mem_c")
    assert named_beside([shown, named, seen], ["mem_a", "mem_c"]) == ("mem_b",)
    assert named_beside([shown, named], ["mem_a", "mem_b"]) == ()


def test_of_a_hint_with_room_for_one_the_later_of_two_is_shown(memory: Clew, clock: ToldClock) -> None:
    one = toys.found(memory, "login uses tokens", 0.9)
    clock.pass_by(hours=1)
    other = toys.found(memory, "login uses cookies", 0.8)
    told = [replace(one, disputed_by=(other.id,)), replace(other, disputed_by=(one.id,))]
    hints = toys.injector(toys.Told(told), config={"maxSuggestionsPerEvent": 1})
    block = hints.handle_verb_event(toys.event(query="login")).block or ""
    assert f"[{other.id}] [in conflict with {one.id}; this was said " in block and "tokens" not in block

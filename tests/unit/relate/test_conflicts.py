"""Conflicts: noted once, closed by themselves, decided by people, undone like any change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.errors import Conflict, Denied, InvalidInput, NotFound
from clew.model.conflict import Dispute
from clew.model.scope import Identity, Scope
from findings import found, relate, stated
from toys import ToldClock, contents
from traces import traces

SHOP = Scope(project="shop")
ADA, BOB = Identity(user="ada", roles=("member",)), Identity(user="bob", roles=("member",))


@pytest.fixture
def pair(memory: Clew) -> tuple[str, str]:
    """The older and the newer one."""
    older = memory.remember("The API listens on port 8080", scope=SHOP).id
    newer = memory.remember("The API listens on port 9090", scope=SHOP).id
    found(memory, newer, older, explanation="another port")
    return older, newer


def only(memory: Clew, *, everything: bool = False) -> Dispute:
    [one] = memory.conflicts.list(everything=everything)
    return one


# -- noting --------------------------------------------------------------------------------------------


def test_a_conflict_names_the_older_memory_first_and_says_why(memory: Clew, pair: tuple[str, str]) -> None:
    one = only(memory)
    assert (one.a.id, one.b.id) == pair
    assert one.conflict.id.startswith("con_") and len(one.conflict.id) == 30
    assert (one.conflict.state, one.conflict.confidence, one.conflict.origin) == ("open", 0.6, "rule")
    assert one.as_json()["explanation"] == "another port"


def test_a_pair_has_one_conflict_whoever_finds_it(memory: Clew, pair: tuple[str, str]) -> None:
    older, newer = pair
    before = only(memory).conflict
    found(memory, newer, older, confidence=0.6)
    found(memory, older, newer, confidence=0.4)
    assert only(memory).conflict == before


def test_a_surer_finding_takes_over_under_the_same_id(memory: Clew, pair: tuple[str, str]) -> None:
    before = only(memory).conflict
    found(memory, pair[1], pair[0], confidence=0.9, origin="llm", rule="")
    assert only(memory).conflict.id == before.id
    assert (only(memory).conflict.confidence, only(memory).conflict.origin) == (0.9, "llm")


def test_a_finding_of_another_kind_takes_the_place_of_one_that_is_gone(memory: Clew, pair: tuple[str, str]) -> None:
    found(memory, pair[1], pair[0], "supersedes", confidence=0.5)
    assert (only(memory).conflict.kind, only(memory).conflict.state) == ("supersedes", "open")


# -- closing by itself -----------------------------------------------------------------------------------


def test_it_closes_when_the_job_no_longer_finds_it(memory: Clew, pair: tuple[str, str]) -> None:
    relate(memory, pair[1])
    assert memory.conflicts.list() == []
    assert only(memory, everything=True).conflict.state == "closed"


@pytest.mark.parametrize("side", [0, 1])
def test_it_closes_when_either_text_is_edited(memory: Clew, pair: tuple[str, str], side: int) -> None:
    memory.edit(pair[side], content="The API listens on a socket")
    assert memory.conflicts.list() == []


def test_an_edit_of_the_tags_leaves_it_open(memory: Clew, pair: tuple[str, str]) -> None:
    memory.edit(pair[0], tags=("api",))
    assert only(memory).conflict.is_open


@pytest.mark.parametrize("side", [0, 1])
def test_it_closes_when_either_is_forgotten_or_replaced(memory: Clew, pair: tuple[str, str], side: int) -> None:
    memory.remember("The API is gone", supersedes=pair[side], scope=SHOP)
    assert memory.conflicts.list() == []
    memory.forget(pair[1 - side])
    assert memory.conflicts.list(everything=True) == []


def test_it_closes_when_one_of_them_expires(memory: Clew, clock: ToldClock) -> None:
    older = memory.remember("The door is open", layer="working").id
    found(memory, memory.remember("The door is shut").id, older)
    assert only(memory).conflict.is_open
    clock.pass_by(hours=25)
    assert memory.conflicts.list(everything=True) == []


def test_what_is_found_again_in_a_new_text_is_open_again(memory: Clew, pair: tuple[str, str]) -> None:
    memory.edit(pair[1], content="The API listens on port 7070")
    found(memory, pair[1], pair[0])
    assert only(memory).conflict.is_open


def test_a_hard_forget_leaves_no_trace_of_what_a_conflict_quoted(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    memory = clew_at(tmp_path)
    older = memory.remember("the zqquokkavk listens on 8080").id
    newer = memory.remember("it listens on 9090").id
    found(memory, newer, older, sentence="zqquokkavk", explanation="zqquokkavk listens elsewhere")
    assert traces(tmp_path, ["zqquokkavk"]) != []
    memory.forget(older, hard=True)
    assert traces(tmp_path, ["zqquokkavk"]) == []
    assert memory.conflicts.list(everything=True) == []


def test_w4_conflicts_of_other_projects_and_users_do_not_crowd_out_ones_own(
    memory: Clew, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the store, which knows places, nor where policies hide what the store would show."""
    monkeypatch.setattr("clew.relate.conflicts.PAGE", 2)
    for number in range(5):
        place = Scope(project="shop", user="ada") if number % 2 else Scope(project="other")
        texts = [memory.remember(f"pump {number} is {state}", scope=place).id for state in ("on", "off")]
        found(memory, texts[1], texts[0], confidence=0.99)
    for number in range(5):
        label = "restricted" if number % 2 else "internal"
        texts = [
            memory.remember(f"tank {number} is {state}", scope=SHOP, classification=label).id
            for state in ("full", "empty")
        ]
        found(memory, texts[1], texts[0], confidence=0.9)
    bot = Identity(agent="bot", roles=())
    seen = memory.conflicts.list(scope=SHOP, identity=bot)
    assert [one.conflict.confidence for one in seen] == [0.9] * 3 + [0.6]
    assert len(memory.conflicts.list(limit=100)) == 11 and len(memory.conflicts.list(limit=4)) == 4


# -- deciding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "kept", "ended"), [("A", 0, 1), ("b", 1, 0)])
def test_the_one_that_is_kept_replaces_the_other(
    memory: Clew, pair: tuple[str, str], keep: str, kept: int, ended: int
) -> None:
    done = memory.conflicts.resolve(only(memory).conflict.id, keep)
    assert (done.kept, done.ended, done.changed) == ((pair[kept],), (pair[ended],), True)
    assert memory.show(pair[ended]).superseded_by == pair[kept]
    assert [result.memory.id for result in memory.recall("API port", scope=SHOP).results] == [pair[kept]]
    assert stated(memory, pair[kept], "lifecycle") == ["supersedes"]
    assert memory.conflicts.list() == []
    assert only(memory, everything=True).conflict.state == "resolved"


def test_either_may_be_named_by_its_id(memory: Clew, pair: tuple[str, str]) -> None:
    assert memory.conflicts.resolve(only(memory).conflict.id, pair[1]).keep == "b"
    assert memory.show(pair[0]).superseded_by == pair[1]


def test_kept_both_are_compatible_as_long_as_their_texts_stay(memory: Clew, pair: tuple[str, str]) -> None:
    id = only(memory).conflict.id
    assert memory.conflicts.resolve(id, "both").ended == ()
    assert memory.recall("API port", scope=SHOP).conflicts == ()
    found(memory, pair[1], pair[0], confidence=0.9)
    assert memory.conflicts.list() == []
    memory.edit(pair[1], content="The API listens on port 7070")
    found(memory, pair[1], pair[0])
    assert only(memory).conflict.id != id


def test_neither_ends_both_now_and_keeps_their_history(
    memory: Clew, pair: tuple[str, str], clock: ToldClock
) -> None:
    before = clock.now()
    done = memory.conflicts.resolve(only(memory).conflict.id, "neither")
    assert set(done.ended) == set(pair)
    assert contents(memory.recall("API port", scope=SHOP)) == []
    assert len(contents(memory.recall("API port", scope=SHOP, as_of=before))) == 2


def test_reverting_what_was_ended_opens_the_conflict_again(memory: Clew, pair: tuple[str, str]) -> None:
    [(id, version)] = memory.conflicts.resolve(only(memory).conflict.id, "B").undo
    memory.revert(id, version)
    assert only(memory).conflict.is_open
    assert memory.conflicts.resolve(only(memory).conflict.id, "A").ended == (pair[1],)


def test_decided_twice_alike_nothing_changes_and_otherwise_it_is_refused(
    memory: Clew, pair: tuple[str, str]
) -> None:
    id = only(memory).conflict.id
    memory.conflicts.resolve(id, "A")
    version = memory.show(pair[1]).version
    assert memory.conflicts.resolve(id, "A").changed is False
    assert memory.show(pair[1]).version == version
    with pytest.raises(Conflict, match="resolved already"):
        memory.conflicts.resolve(id, "B")


def test_both_may_still_be_decided_otherwise(memory: Clew, pair: tuple[str, str]) -> None:
    id = only(memory).conflict.id
    memory.conflicts.resolve(id, "both")
    assert memory.conflicts.resolve(id, "both").changed is False
    assert memory.conflicts.resolve(id, "B").ended == (pair[0],)


def test_what_is_over_cannot_be_decided(memory: Clew, pair: tuple[str, str]) -> None:
    id = only(memory).conflict.id
    relate(memory, pair[1])
    with pytest.raises(Conflict, match="is over"):
        memory.conflicts.resolve(id, "A")


@pytest.mark.parametrize("keep", ["", "c", "mem_", "mem_00000000000000000000000000"])
def test_an_unknown_choice_is_refused(memory: Clew, pair: tuple[str, str], keep: str) -> None:
    with pytest.raises(InvalidInput, match="neither A"):
        memory.conflicts.resolve(only(memory).conflict.id, keep)


def test_a_conflict_is_found_by_the_beginning_of_its_id(memory: Clew, pair: tuple[str, str]) -> None:
    one = only(memory)
    assert memory.conflicts.show(one.conflict.id[:20]) == one
    for id in ("con_", "con_zzzzzzzzzzzz"):
        with pytest.raises(NotFound):
            memory.conflicts.show(id)


def test_a_decision_is_in_the_audit_log_without_any_text(memory: Clew, pair: tuple[str, str]) -> None:
    memory.conflicts.resolve(only(memory).conflict.id, "B")
    [entry] = [entry for entry in memory.audit.list(limit=9) if entry.action == "resolve_conflict"]
    assert (entry.kind, entry.id) == ("conflict", only(memory, everything=True).conflict.id)
    assert "port" not in str(entry.as_json())


def test_neither_a_conflict_nor_its_decision_moves_a_weight(memory: Clew, pair: tuple[str, str]) -> None:
    memory.conflicts.resolve(only(memory).conflict.id, "B")
    assert [(memory.show(id).weight, memory.show(id).confidence) for id in pair] == [(1.0, 1.0)] * 2


# -- who may -----------------------------------------------------------------------------------------------


def test_a_conflict_with_a_private_memory_is_there_for_its_user_alone(memory: Clew) -> None:
    shared = memory.remember("We deploy on Mondays").id
    private = memory.remember("We deploy on Fridays", scope=Scope(user="ada"), identity=ADA).id
    memory.link(private, "contradicts", shared, identity=ADA)
    [one] = memory.conflicts.list(identity=ADA)
    assert memory.conflicts.list(identity=BOB) == []
    with pytest.raises(NotFound):
        memory.conflicts.show(one.conflict.id, identity=BOB)
    with pytest.raises(NotFound):
        memory.conflicts.resolve(one.conflict.id, "both", identity=BOB)


def test_deciding_needs_the_right_to_write_both(memory: Clew, pair: tuple[str, str]) -> None:
    with pytest.raises(Denied):
        memory.conflicts.resolve(only(memory).conflict.id, "A", scope=SHOP, identity=BOB)
    assert only(memory).conflict.is_open


def test_what_all_see_is_not_replaced_by_what_one_user_sees(memory: Clew) -> None:
    shared = memory.remember("We deploy on Mondays").id
    private = memory.remember("We deploy on Fridays", scope=Scope(user="ada")).id
    found(memory, private, shared)
    id = only(memory).conflict.id
    with pytest.raises(Conflict, match="cannot take the place"):
        memory.conflicts.resolve(id, private)
    assert memory.conflicts.resolve(id, shared).ended == (private,)


def test_another_org_has_its_own_conflicts(memory: Clew, pair: tuple[str, str]) -> None:
    stranger = Identity(org="acme")
    assert memory.conflicts.list(identity=stranger) == []
    with pytest.raises(NotFound):
        memory.conflicts.show(only(memory).conflict.id, identity=stranger)


def test_a_project_sees_the_conflicts_of_its_own_memories(memory: Clew, pair: tuple[str, str]) -> None:
    assert len(memory.conflicts.list(scope=SHOP)) == 1
    assert memory.conflicts.list(scope=Scope(project="blog")) == []


# -- by hand -----------------------------------------------------------------------------------------------


def test_linking_two_memories_as_contradicting_opens_one_and_unlinking_closes_it(memory: Clew) -> None:
    one, other = (memory.remember(f"the lift is {state}").id for state in ("fast", "slow"))
    memory.link(other, "contradicts", one)
    assert (only(memory).a.id, only(memory).conflict.origin, only(memory).conflict.confidence) == (one, "user", 1.0)
    memory.unlink(one, "contradicts", other)
    assert memory.conflicts.list(everything=True) == []


def test_what_was_found_besides_is_there_again_after_a_link_is_taken_back(memory: Clew) -> None:
    one, other = (memory.remember(f"The request timeout is {time} seconds.").id for time in (30, 60))
    memory.jobs.run()
    assert only(memory).conflict.origin == "rule"
    memory.link(one, "contradicts", other)
    assert only(memory).conflict.origin == "user"
    memory.unlink(one, "contradicts", other)
    memory.jobs.run()
    assert (only(memory).conflict.origin, only(memory).conflict.state) == ("rule", "open")


def test_what_a_person_linked_outlives_an_edit(memory: Clew) -> None:
    one, other = (memory.remember(f"the lift is {state}").id for state in ("fast", "slow"))
    memory.link(other, "contradicts", one)
    memory.edit(one, content="the lift is very fast")
    assert memory.conflicts.resolve(only(memory).conflict.id, "both").changed
    assert memory.conflicts.list() == []  # decided for the text as it is now
    memory.edit(one, content="the lift is fast again")
    assert only(memory).conflict.is_open


def test_a_person_may_open_again_what_was_kept_as_both(memory: Clew, pair: tuple[str, str]) -> None:
    memory.conflicts.resolve(only(memory).conflict.id, "both")
    memory.link(*(pair[0], "contradicts", pair[1]))
    assert (only(memory).conflict.origin, only(memory).conflict.keep) == ("user", "")
    found(memory, pair[1], pair[0], confidence=1.0)
    assert only(memory).conflict.origin == "user"


def test_a_contradiction_between_things_is_no_conflict_between_memories(memory: Clew) -> None:
    one = memory.remember("Redis is fast").id
    memory.link(one, "contradicts", "service:redis")
    assert memory.conflicts.list(everything=True) == []

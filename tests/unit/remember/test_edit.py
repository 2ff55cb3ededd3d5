"""Change a memory, look at its history, go back."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from clew import Conflict, Draft, Identity, InvalidInput, NotFound, Scope
from toys import START, ToldClock, contents

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
UNKNOWN = "mem_" + "0" * 26


# -- edit ----------------------------------------------------------------------------------------------


def test_an_edit_is_found_by_its_new_words_and_no_longer_by_its_old_ones(memory: Any) -> None:
    saved = memory.remember("We deploy on Fridays")
    memory.edit(saved.id, content="We deploy on Mondays")
    assert contents(memory.recall("mondays", retrieval="lexical")) == ["We deploy on Mondays"]
    assert contents(memory.recall("fridays", retrieval="lexical")) == []


def test_an_edit_moves_the_vector_along(memory: Any) -> None:
    saved = memory.remember("alpha beta")
    memory.edit(saved.id, content="gamma delta")
    [result] = memory.recall("gamma delta", retrieval="semantic").results
    assert result.relevance == 1
    assert contents(memory.recall("alpha beta", retrieval="semantic")) == []


@pytest.mark.parametrize(("field", "value"), [("tags", ("zebra",)), ("title", "Zebra"), ("paths", ("zebra.py",))])
def test_a_memory_is_found_by_labels_it_was_given_later(memory: Any, field: str, value: Any) -> None:
    saved = memory.remember("Ports start at 8000")
    memory.edit(saved.id, **{field: value})
    assert contents(memory.recall("zebra", retrieval="lexical")) == ["Ports start at 8000"]


def test_an_edit_keeps_what_it_does_not_name(memory: Any) -> None:
    scope = Scope(project="p", user="u", agent="a", session="s", namespace="n")
    old = memory.remember("Old text", scope=scope, origin="web", tags=("x",), metadata={"n": 1}).memory
    new = memory.edit(old.id, content="New text")
    kept = ("id", "scope", "origin", "trust", "tags", "metadata", "at", "valid_at", "created_at", "type", "layer")
    assert all(getattr(new, name) == getattr(old, name) for name in kept)
    assert new.version == 2 and new.updated_at > old.updated_at


def test_editing_twice_with_the_same_values_changes_nothing_the_second_time(memory: Any) -> None:
    saved = memory.remember("Old text")
    first = memory.edit(saved.id, content="New text", tags=("x",))
    assert memory.edit(saved.id, content="New text", tags=("x",)) == first
    assert len(memory.history(saved.id)) == 2


@pytest.mark.parametrize("changes", [{"content": "We use poetry"}, {"type": "decision"}, {"layer": "rule"}])
def test_what_a_person_puts_right_is_told_without_doubt(memory: Any, changes: dict[str, str]) -> None:
    heard = Draft(
        content="poetry, is it", type="rule", layer="long_term", metadata={"unsure": True, "captured": "rule"}
    )
    saved = memory.remember(heard)
    by_agent = memory.edit(saved.id, **changes, identity=Identity(agent="claude-code"))
    assert by_agent.metadata["unsure"] is True
    memory.revert(saved.id, 1)
    assert memory.edit(saved.id, tags=("x",)).metadata["unsure"] is True
    assert memory.edit(saved.id, **changes).metadata == {"captured": "rule"}


def test_an_edit_masks_secrets_and_labels_anew(memory: Any) -> None:
    saved = memory.remember("Deploy by hand")
    new = memory.edit(saved.id, content=f"Deploy with {KEY}")
    assert KEY not in new.content and new.classification == "restricted"


def test_an_edit_never_lifts_the_trust(memory: Any) -> None:
    saved = memory.remember("From a page", origin="web")
    assert memory.edit(saved.id, content="From a page, checked").trust == "untrusted"
    with pytest.raises(InvalidInput):
        memory.edit(saved.id, trust="user")


@pytest.mark.parametrize("content", ["", "  ", "<private>x</private>"])
def test_t30_an_edit_to_empty_content_is_refused(memory: Any, content: str) -> None:
    saved = memory.remember("Some text")
    with pytest.raises(InvalidInput) as refused:
        memory.edit(saved.id, content=content)
    assert refused.value.code == "MEMORY_CONTENT_REQUIRED"
    assert memory.show(saved.id).content == "Some text"


@pytest.mark.parametrize("verb", ["show", "edit", "forget", "history", "revert"])
def test_t30_an_unknown_id_is_not_found_by_any_verb(memory: Any, verb: str) -> None:
    arguments: dict[str, Any] = {"edit": {"content": "x"}, "revert": {"version": 1}}.get(verb, {})
    with pytest.raises(NotFound) as refused:
        getattr(memory, verb)(UNKNOWN, **arguments)
    assert refused.value.code == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize("changes", [{}, {"colour": "red"}, {"org": "rival"}, {"trust": "user"}])
def test_only_fields_that_may_change_can_be_edited(memory: Any, changes: dict[str, str]) -> None:
    saved = memory.remember("Some text")
    with pytest.raises(InvalidInput) as refused:
        memory.edit(saved.id, **changes)
    assert refused.value.code == "MEMORY_EDIT_INVALID" and "content" in refused.value.next


def test_an_edit_based_on_an_older_state_is_a_conflict(memory: Any) -> None:
    saved = memory.remember("Some text")
    memory.edit(saved.id, content="First change")
    for content in ("Second change", "First change"):
        with pytest.raises(Conflict) as refused:
            memory.edit(saved.id, content=content, expected_version=1)
        assert refused.value.code == "MEMORY_CHANGED"
    assert memory.edit(saved.id, content="Second change", expected_version=2).version == 3


def test_an_edit_that_says_what_another_memory_says_is_a_conflict(memory: Any) -> None:
    memory.remember("Taken")
    saved = memory.remember("Free")
    with pytest.raises(Conflict) as refused:
        memory.edit(saved.id, content="Taken")
    assert refused.value.code == "MEMORY_DUPLICATE"


def test_an_edit_to_a_key_that_another_memory_holds_is_a_conflict(memory: Any) -> None:
    memory.remember("The port is 8000", upsert_key="port")
    saved = memory.remember("The port is 9000")
    with pytest.raises(Conflict) as refused:
        memory.edit(saved.id, upsert_key="port")
    assert refused.value.code == "MEMORY_KEY_TAKEN"


def test_becoming_a_rule_by_type_makes_it_one_by_layer_and_ends_its_expiry(memory: Any) -> None:
    saved = memory.remember("Never force-push", layer="working")
    rule = memory.edit(saved.id, type="rule")
    assert (rule.layer, rule.expires_at) == ("rule", None)


def test_moving_to_the_working_layer_starts_a_day(memory: Any, clock: ToldClock) -> None:
    saved = memory.remember("In the parser now")
    moved = memory.edit(saved.id, layer="working")
    assert timedelta(hours=23) < moved.expires_at - clock.time < timedelta(hours=25)
    assert memory.edit(saved.id, layer="long_term").expires_at is None


def test_changing_the_type_leaves_an_expiry_that_was_asked_for(memory: Any) -> None:
    soon = START + timedelta(days=1)
    saved = memory.remember("Freeze until Monday", expires_at=soon)
    assert memory.edit(saved.id, type="fact").expires_at == soon


def test_a_memory_may_be_named_by_the_beginning_of_its_id(memory: Any) -> None:
    saved = memory.remember("Some text")
    assert memory.show(saved.id[:20]).id == saved.id
    with pytest.raises(NotFound):
        memory.show(saved.id[:7])


def test_a_beginning_that_fits_several_ids_is_refused(memory: Any) -> None:
    one, other = memory.remember_many(
        [Draft(content="one", id="imported:1"), Draft(content="two", id="imported:2")]
    )
    with pytest.raises(InvalidInput) as refused:
        memory.show("imported:")
    assert refused.value.code == "MEMORY_ID_AMBIGUOUS" and one.id != other.id


# -- history -------------------------------------------------------------------------------------------


def test_history_tells_every_state_and_what_made_it(memory: Any) -> None:
    saved = memory.remember("First")
    memory.edit(saved.id, content="Second")
    memory.remember("Third", supersedes=saved.id)
    memory.forget(saved.id)
    told = [(state.version, state.change, state.memory.content) for state in memory.history(saved.id)]
    assert told == [
        (1, "created", "First"),
        (2, "edited", "Second"),
        (3, "superseded", "Second"),
        (4, "forgotten", "Second"),
    ]


def test_a_state_in_history_is_the_memory_as_it_was(memory: Any) -> None:
    saved = memory.remember("First", tags=("x",), metadata={"n": [1]}, confidence=0.3)
    memory.edit(saved.id, content="Second", tags=(), metadata={})
    assert memory.history(saved.id)[0].memory == saved.memory


def test_history_is_hidden_from_those_who_may_not_see_the_memory(memory: Any) -> None:
    saved = memory.remember("Ann's", scope=Scope(user="ann"))
    with pytest.raises(NotFound):
        memory.history(saved.id, identity=Identity(user="bob", roles=("member",)))


# -- revert --------------------------------------------------------------------------------------------


def test_reverting_makes_an_earlier_state_the_present_one(memory: Any) -> None:
    saved = memory.remember("We deploy on Fridays", tags=("ops",))
    memory.edit(saved.id, content="We deploy on Mondays", tags=())
    back = memory.revert(saved.id, 1)
    assert (back.content, back.tags, back.version) == ("We deploy on Fridays", ("ops",), 3)
    assert contents(memory.recall("fridays", retrieval="lexical")) == ["We deploy on Fridays"]
    assert [state.change for state in memory.history(saved.id)] == ["created", "edited", "reverted"]


def test_reverting_brings_back_what_was_softly_forgotten(memory: Any) -> None:
    saved = memory.remember("We deploy on Fridays")
    memory.forget(saved.id)
    memory.revert(saved.id, 1)
    assert contents(memory.recall("fridays")) == ["We deploy on Fridays"]


def test_reverting_undoes_a_supersession(memory: Any) -> None:
    old = memory.remember("We use MySQL")
    memory.remember("We use PostgreSQL", supersedes=old.id)
    assert memory.revert(old.id, 1).superseded_by is None
    assert sorted(contents(memory.recall("use"))) == ["We use MySQL", "We use PostgreSQL"]


@pytest.mark.parametrize("days", [None, 9])
def test_what_was_replaced_does_not_hold_for_longer_by_an_edit(memory: Any, days: int | None) -> None:
    old = memory.remember("The limit is 3", upsert_key="limit")
    new = memory.remember("The limit is 5", upsert_key="limit")
    with pytest.raises(Conflict) as refused:
        memory.edit(old.id, invalid_at=memory.now() + timedelta(days=days) if days else None)
    assert refused.value.code == "MEMORY_SUPERSEDED" and f"clew history {old.id}" in refused.value.next
    assert contents(memory.recall("limit")) == [new.memory.content]
    assert memory.edit(old.id, invalid_at=old.memory.valid_at).invalid_at == old.memory.valid_at


def test_reverting_to_a_key_that_another_memory_took_over_is_a_conflict(memory: Any) -> None:
    old = memory.remember("The port is 8000", upsert_key="port")
    memory.remember("The port is 9000", upsert_key="port")
    with pytest.raises(Conflict) as refused:
        memory.revert(old.id, 1)
    assert refused.value.code == "MEMORY_KEY_TAKEN"


def test_a_key_is_not_taken_over_by_what_ends_later_either(memory: Any) -> None:
    tomorrow = memory.now() + timedelta(days=1)
    ends = memory.remember("The port is 8000", upsert_key="port", invalid_at=tomorrow)
    memory.remember("The port is 9000", upsert_key="port")
    other = memory.remember("It listens on 7000", invalid_at=tomorrow)
    for refused in (lambda: memory.revert(ends.id, 1), lambda: memory.edit(other.id, upsert_key="port")):
        with pytest.raises(Conflict) as conflict:
            refused()
        assert conflict.value.code == "MEMORY_KEY_TAKEN"


def test_a_key_is_taken_as_long_as_its_holder_does_not_end(memory: Any) -> None:
    memory.remember("The port is 8000", upsert_key="port", invalid_at=memory.now() + timedelta(days=1))
    other = memory.remember("The port is 9000")
    with pytest.raises(Conflict) as refused:
        memory.edit(other.id, upsert_key="port")
    assert refused.value.code == "MEMORY_KEY_TAKEN"
    memory.clock.pass_by(days=2)
    assert memory.edit(other.id, upsert_key="port").upsert_key == "port"


def test_there_is_no_going_back_to_a_state_that_never_was(memory: Any) -> None:
    saved = memory.remember("Some text")
    with pytest.raises(NotFound) as refused:
        memory.revert(saved.id, 7)
    assert refused.value.code == "VERSION_NOT_FOUND"


def test_an_edit_never_lowers_a_stricter_classification(memory: Any) -> None:
    id = memory.remember("the roadmap", classification="restricted").id
    assert memory.edit(id, content="the roadmap of spring").classification == "restricted"


def test_the_owner_lowers_a_label_that_words_have_raised_and_it_stays(memory: Any) -> None:
    id = memory.remember("PII must never be logged").id
    assert memory.show(id).classification == "restricted"
    assert memory.edit(id, classification="internal").classification == "internal"
    assert memory.edit(id, title="Logging").classification == "internal"
    assert memory.edit(id, content="PII must never be logged, anywhere").classification == "internal"
    assert memory.remember("PII must never be logged, anywhere").memory.classification == "internal"


@pytest.mark.parametrize("content", [f"PII: {KEY}", "PII such as 123-45-6789"])
def test_a_lowered_label_is_raised_again_by_what_the_text_then_holds(memory: Any, content: str) -> None:
    id = memory.remember("PII must never be logged").id
    memory.edit(id, classification="internal")
    assert memory.edit(id, content=content).classification == "restricted"
    assert memory.edit(id, classification="internal").classification == "restricted"


def test_words_that_ask_for_more_than_those_before_raise_a_lowered_label(memory: Any) -> None:
    id = memory.remember("the password is printed once", classification="internal").id
    assert memory.edit(id, content="the password and the PII are printed once").classification == "restricted"


def test_an_agent_lowers_no_label(memory: Any) -> None:
    bot = Identity(agent="bot")
    id = memory.remember("the roadmap", classification="restricted").id
    assert memory.edit(id, classification="internal", identity=bot).classification == "restricted"
    said = memory.remember("PCI scope", classification="internal", identity=bot)
    assert said.memory.classification == "restricted"


def test_reverting_never_lowers_a_classification(memory: Any) -> None:
    id = memory.remember("the roadmap").id
    memory.edit(id, classification="restricted")
    assert memory.revert(id, 1).classification == "restricted"


def test_what_was_softly_forgotten_is_said_to_be_and_how_it_comes_back(memory: Any) -> None:
    id = memory.remember("said once").id
    memory.forget(id)
    for ask in (memory.show, memory.forget, partial(memory.edit, content="again")):
        with pytest.raises(NotFound, match=f"{id} was forgotten") as refused:
            ask(id)
        assert refused.value.code == "MEMORY_NOT_FOUND" and f"clew revert {id} N" in refused.value.next
    memory.forget(id, hard=True)
    with pytest.raises(NotFound, match="was not found"):
        memory.show(id)


def test_what_another_forgot_for_themselves_is_not_found(memory: Any) -> None:
    id = memory.remember("of ann alone", scope=Scope(user="ann")).id
    memory.forget(id)
    with pytest.raises(NotFound, match=f"{id} was not found"):
        memory.show(id, identity=Identity(user="bob", roles=("member",)))


def test_too_short_a_beginning_of_an_id_is_said_to_be_that(memory: Any) -> None:
    with pytest.raises(NotFound) as refused:
        memory.show("mem_01")
    assert "at least 8 characters" in refused.value.next

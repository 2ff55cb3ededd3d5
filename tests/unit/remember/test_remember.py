"""The write path on a real store: stored once, masked, traceable, replaced when told."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import Conflict, Draft, Identity, InvalidInput, NotFound, Scope, Unavailable
from clew.model.memory import TYPES, Memory
from toys import START, ToldClock, ToyEmbedder, contents, open_toy

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PROJECT = Scope(project="shop")


@pytest.fixture
def memory(tmp_path: Path, clock: ToldClock) -> Any:
    """Without vectors: words decide alone."""
    with open_toy(tmp_path / "c.db", clock=clock) as opened:
        yield opened


# -- what is stored ------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", TYPES)
def test_every_type_is_stored_and_found(memory: Any, type: str) -> None:
    saved = memory.remember(f"A {type} about gateways", type=type)
    assert memory.show(saved.id).type == type
    assert contents(memory.recall("gateways")) == [f"A {type} about gateways"]


def test_every_field_comes_back_as_it_was_given(memory: Any) -> None:
    parent = memory.remember("parent").id
    scope = Scope(project="p", user="u", agent="a", session="s", namespace="n")
    given: dict[str, Any] = {
        "type": "decision", "layer": "working", "title": "T", "tags": ("x", "y"), "category": "c",
        "paths": ("src/a.py",), "author": "Ann", "thread": "th", "at": START, "origin": "agent", "tool_call": "tc",
        "parents": (parent,), "confidence": 0.5, "weight": 2.0, "upsert_key": "k", "valid_at": START,
        "invalid_at": START + timedelta(days=900), "expires_at": START + timedelta(days=800), "metadata": {"n": 1},
    }  # fmt: skip
    saved = memory.remember("All of it", scope=scope, **given)
    shown = memory.show(saved.id)
    assert shown == saved.memory and shown.scope == scope
    assert {name: getattr(shown, name) for name in given} == given
    assert {field.name for field in fields(Memory)} == set(Memory.__slots__)


def test_fields_given_beside_a_draft_win_over_its_own(memory: Any) -> None:
    saved = memory.remember(Draft(content="Ports start at 8000", type="fact"), tags=("net",), type="decision")
    assert (saved.memory.type, saved.memory.tags) == ("decision", ("net",))


def test_an_answer_is_durable_before_it_is_given(memory: Any, tmp_path: Path) -> None:
    stream = memory.remember_many(Draft(content=f"number {n}") for n in range(700))
    first = next(iter(stream))
    with open_toy(tmp_path / "c.db") as other:
        assert other.show(first.id).content == "number 0"
    assert len(list(stream)) == 699


def test_nothing_happens_before_the_answers_are_asked_for(memory: Any) -> None:
    memory.remember_many([Draft(content="never")])
    assert memory.list() == []


def test_what_is_said_together_is_listed_in_the_order_in_which_it_was_said(memory: Any) -> None:
    said = [f"step {number}" for number in range(20)]
    list(memory.remember_many(Draft(content=text) for text in said))
    assert [one.content for one in memory.list()] == said[::-1]  # the newest first


def test_one_bad_draft_stores_nothing_of_its_batch(memory: Any) -> None:
    with pytest.raises(InvalidInput):
        list(memory.remember_many([Draft(content="good"), Draft(content=" ")]))
    assert memory.list() == []


# -- secrets -------------------------------------------------------------------------------------------


def test_neither_secrets_nor_private_text_reach_the_disk(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder()) as memory:
        saved = memory.remember(
            f"Deploy with {KEY} <private>my rash theory</private> on Friday",
            title=f"the {KEY}", tags=(KEY,), metadata={"key": KEY, "note": "<private>rash theory</private>"},
        )  # fmt: skip
        memory.edit(saved.id, content=f"Now with {KEY} <private>rash theory</private> too")
        memory.recall(f"{KEY} rash theory")
        raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert saved.masked and "on Friday" in saved.memory.content
    assert KEY.encode() not in raw and b"rash theory" not in raw


@pytest.mark.parametrize("name", ["project", "user", "agent", "session", "namespace"])
def test_a_place_whose_name_holds_a_secret_is_refused(memory: Any, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.remember("Ports start at 8000", scope=Scope(**{name: f"x-{KEY}"}))
    assert refused.value.code == "SCOPE_NAME_SECRET" and KEY not in refused.value.message
    assert memory.stats().memories == 0


def test_a_masked_secret_makes_the_memory_restricted(memory: Any) -> None:
    assert memory.remember(f"Deploy with {KEY}").memory.classification == "restricted"


# -- the same again ------------------------------------------------------------------------------------


def test_the_same_text_is_stored_once(memory: Any) -> None:
    first = memory.remember("Ports start at 8000")
    again = memory.remember("  Ports  start\nat 8000 ")
    assert (again.id, again.deduplicated, first.deduplicated) == (first.id, True, False)
    assert len(memory.list()) == 1 and len(memory.history(first.id)) == 1


def test_the_same_text_within_one_batch_is_stored_once(memory: Any) -> None:
    one, other = memory.remember_many([Draft(content="twice"), Draft(content="twice")])
    assert one.id == other.id and other.deduplicated


@pytest.mark.parametrize(
    ("scope", "fields"),
    [
        (Scope(project="other"), {}),
        (Scope(user="ann"), {}),
        (Scope(org="local"), {"type": "fact"}),
    ],
)
def test_the_same_text_elsewhere_or_of_another_type_is_another_memory(
    memory: Any, scope: Scope, fields: Any
) -> None:
    first = memory.remember("Ports start at 8000")
    assert memory.remember("Ports start at 8000", scope=scope, **fields).id != first.id


def test_a_forgotten_text_may_be_remembered_again(memory: Any) -> None:
    first = memory.remember("Ports start at 8000")
    memory.forget(first.id)
    assert not memory.remember("Ports start at 8000").deduplicated


def test_a_first_hand_statement_lifts_the_trust_of_what_a_tool_said(memory: Any) -> None:
    first = memory.remember("Ports start at 8000", origin="web")
    again = memory.remember("Ports start at 8000", origin="user")
    assert (first.memory.trust, again.memory.trust) == ("untrusted", "user")
    assert memory.history(first.id)[-1].change == "confirmed"


def test_a_less_trusted_repetition_changes_nothing(memory: Any) -> None:
    first = memory.remember("Ports start at 8000")
    assert memory.remember("Ports start at 8000", origin="web").memory == first.memory


def test_a_working_memory_that_is_said_again_lives_on(memory: Any, clock: ToldClock) -> None:
    memory.remember("now in the parser", layer="working")
    clock.pass_by(hours=20)
    memory.remember("now in the parser", layer="working")
    clock.pass_by(hours=20)
    assert contents(memory.recall("parser")) == ["now in the parser"]


def test_a_working_memory_stated_for_good_stays_for_good(memory: Any, clock: ToldClock) -> None:
    memory.remember("The parser is hand-written", layer="working")
    again = memory.remember("The parser is hand-written")
    assert again.deduplicated and again.memory.layer == "long_term"
    clock.pass_by(days=30)
    assert contents(memory.recall("parser")) == ["The parser is hand-written"]


def test_a_memory_about_to_expire_that_is_stated_without_an_end_stays(memory: Any, clock: ToldClock) -> None:
    memory.remember("Freeze until Monday", expires_at=START + timedelta(days=1))
    memory.remember("Freeze until Monday")
    clock.pass_by(days=2)
    assert contents(memory.recall("freeze")) == ["Freeze until Monday"]


# -- working memories ----------------------------------------------------------------------------------


def test_an_expired_working_memory_is_never_returned(memory: Any, clock: ToldClock) -> None:
    saved = memory.remember("now in the parser", layer="working")
    clock.pass_by(hours=24)
    assert contents(memory.recall("parser")) == contents(memory.recall("")) == []
    assert memory.list() == []
    with pytest.raises(NotFound):
        memory.show(saved.id)
    with pytest.raises(NotFound):
        memory.edit(saved.id, content="later")


def test_an_expired_text_said_again_is_a_new_memory(memory: Any, clock: ToldClock) -> None:
    first = memory.remember("now in the parser", layer="working")
    clock.pass_by(hours=25)
    again = memory.remember("now in the parser", layer="working")
    assert not again.deduplicated and again.id != first.id


def test_a_user_keeps_the_newest_200_working_memories(memory: Any) -> None:
    ann, bob = Scope(user="ann"), Scope(user="bob")
    drafts = [Draft(content=f"step {n}", layer="working") for n in range(205)]
    saved = list(memory.remember_many(drafts[:100], scope=ann)) + list(
        memory.remember_many(drafts[100:], scope=ann)
    )
    memory.remember("bob's only step", scope=bob, layer="working")
    kept = {entry.id for entry in memory.list(scope=ann, limit=500)}
    assert len(kept) == 200 and {entry.id for entry in saved[100:]} <= kept
    assert len(memory.list(scope=bob)) == 1


# -- supersession --------------------------------------------------------------------------------------


def test_a_new_memory_may_replace_an_old_one(memory: Any) -> None:
    old = memory.remember("We use MySQL")
    new = memory.remember("We use PostgreSQL", supersedes=old.id)
    shown = memory.show(old.id)
    assert new.superseded == old.id
    assert (shown.superseded_by, shown.invalid_at) == (new.id, new.memory.valid_at)
    assert contents(memory.recall("use")) == ["We use PostgreSQL"]


def test_a_replacement_that_begins_later_leaves_the_old_one_valid_until_then(memory: Any, clock: ToldClock) -> None:
    old = memory.remember("We use MySQL")
    memory.remember("We use PostgreSQL", supersedes=old.id, valid_at=START + timedelta(days=10))
    assert contents(memory.recall("use")) == ["We use MySQL"]
    clock.pass_by(days=11)
    assert contents(memory.recall("use")) == ["We use PostgreSQL"]


def test_replacing_what_had_ended_does_not_lengthen_its_validity(memory: Any, clock: ToldClock) -> None:
    old = memory.remember("The freeze is on", invalid_at=START + timedelta(days=1))
    clock.pass_by(days=5)
    memory.remember("The freeze is over", supersedes=old.id)
    assert memory.show(old.id).invalid_at == START + timedelta(days=1)
    assert contents(memory.recall("freeze", as_of=START + timedelta(days=3))) == []


def test_only_what_one_can_see_can_be_replaced(memory: Any) -> None:
    theirs = memory.remember("theirs", scope=Scope(project="other"))
    with pytest.raises(NotFound):
        memory.remember("mine", scope=PROJECT, supersedes=theirs.id)


def test_a_text_that_is_known_still_replaces_what_it_was_told_to(memory: Any) -> None:
    known = memory.remember("We use PostgreSQL")
    old = memory.remember("We use MySQL")
    again = memory.remember("We use PostgreSQL", supersedes=old.id)
    assert (again.id, again.superseded) == (known.id, old.id)
    assert memory.show(old.id).invalid_at > old.memory.valid_at
    assert contents(memory.recall("use")) == ["We use PostgreSQL"]


def test_replacing_twice_with_the_same_text_changes_nothing_the_second_time(memory: Any) -> None:
    old = memory.remember("We use MySQL")
    for _ in range(2):
        memory.remember("We use PostgreSQL", supersedes=old.id)
    assert len(memory.history(old.id)) == 2


def test_tags_and_paths_of_a_text_that_is_known_are_added_to_it(memory: Any) -> None:
    memory.remember("The port is 8000", tags=("net",), paths=("a.py",))
    again = memory.remember("The port is 8000", tags=("deploy", "net"), paths=("b.py",))
    assert again.deduplicated
    assert (again.memory.tags, again.memory.paths) == (("net", "deploy"), ("a.py", "b.py"))
    assert contents(memory.recall("deploy")) == ["The port is 8000"]
    assert contents(memory.recall("port", tags=("deploy",))) == ["The port is 8000"]


@pytest.mark.parametrize("first_ends", [True, False])
def test_a_key_has_one_holder_also_when_one_ends_by_itself(memory: Any, first_ends: bool) -> None:
    ends = {"invalid_at": START + timedelta(days=365)}
    memory.remember("The freeze is on", upsert_key="freeze", **(ends if first_ends else {}))
    last = memory.remember("The freeze is off", upsert_key="freeze", **({} if first_ends else ends))
    assert contents(memory.recall("freeze")) == [last.memory.content]


def test_what_was_planned_to_replace_a_memory_and_is_replaced_before_takes_it_along(memory: Any) -> None:
    memory.remember("The limit is 10", upsert_key="limit")
    memory.remember("The limit is 20", upsert_key="limit", valid_at=START + timedelta(days=365))
    assert contents(memory.recall("limit")) == ["The limit is 10"]
    memory.remember("The limit is 15", upsert_key="limit")
    assert contents(memory.recall("limit")) == ["The limit is 15"]


def test_t52_adding_twice_under_one_upsert_key_leaves_one_live_memory_with_the_new_text(memory: Any) -> None:
    first = memory.remember("The port is 8000", upsert_key="port")
    second = memory.remember("The port is 9000", upsert_key="port")
    assert second.superseded == first.id
    assert [entry.content for entry in memory.list()] == ["The port is 9000"]
    assert contents(memory.recall("port")) == ["The port is 9000"]


@pytest.mark.parametrize("scope", [Scope(project="other"), Scope(user="ann")])
def test_an_upsert_key_counts_within_its_scope_and_type(memory: Any, scope: Scope) -> None:
    memory.remember("The port is 8000", upsert_key="port")
    assert memory.remember("The port is 9000", upsert_key="port", scope=scope).superseded is None
    assert memory.remember("Port 7000 it is", upsert_key="port", type="fact").superseded is None


def test_a_key_given_to_a_known_text_is_that_texts_key_from_then_on(memory: Any) -> None:
    memory.remember("The port is 8000")
    memory.remember("The port is 8000", upsert_key="port")
    memory.remember("The port is 9000", upsert_key="port")
    assert [entry.content for entry in memory.list()] == ["The port is 9000"]


def test_a_key_that_moves_to_a_known_text_leaves_its_old_holder(memory: Any) -> None:
    memory.remember("The port is 8000", upsert_key="port")
    known = memory.remember("The port is 9000")
    moved = memory.remember("The port is 9000", upsert_key="port")
    assert moved.id == known.id
    assert [entry.content for entry in memory.list()] == ["The port is 9000"]


def test_a_memory_may_replace_one_by_id_and_another_by_key(memory: Any) -> None:
    by_key = memory.remember("The port is 8000", upsert_key="port")
    by_id = memory.remember("Ports are chosen by hand")
    saved = memory.remember("Ports are assigned from 9000 on", upsert_key="port", supersedes=by_id.id)
    assert [entry.id for entry in memory.list()] == [saved.id]
    assert memory.show(by_key.id).superseded_by == memory.show(by_id.id).superseded_by == saved.id


# -- derivation ----------------------------------------------------------------------------------------


def test_trust_never_rises_through_any_number_of_derivations(memory: Any) -> None:
    parents = (memory.remember("from the web", origin="web").id, memory.remember("said", origin="user").id)
    for step in range(3):
        derived = memory.remember(f"summary {step}", origin="user", parents=parents).memory
        assert derived.trust == "untrusted"
        parents = (derived.id,)


def test_repeating_a_derived_text_as_a_derivation_does_not_lift_its_trust(memory: Any) -> None:
    low, high = memory.remember("web", origin="web"), memory.remember("said", origin="user")
    memory.remember("both say so", parents=(low.id,))
    assert memory.remember("both say so", parents=(high.id,)).memory.trust == "untrusted"


def test_nothing_is_derived_from_what_one_cannot_see(memory: Any) -> None:
    theirs = memory.remember("theirs", scope=Scope(project="other"))
    with pytest.raises(NotFound):
        memory.remember("mine", scope=PROJECT, parents=(theirs.id,))


# -- ids that are given --------------------------------------------------------------------------------


def test_an_import_keeps_ids_and_run_twice_adds_nothing(memory: Any) -> None:
    drafts = [Draft(content=f"number {n}", id=f"old:{n}") for n in range(3)]
    assert [entry.id for entry in memory.remember_many(drafts)] == ["old:0", "old:1", "old:2"]
    assert all(entry.deduplicated for entry in memory.remember_many(drafts))
    assert len(memory.list()) == 3


def test_a_given_id_that_another_project_holds_is_a_conflict(memory: Any) -> None:
    memory.remember("theirs", id="old:1", scope=Scope(project="other"))
    with pytest.raises(Conflict) as refused:
        memory.remember("mine", id="old:1", scope=PROJECT)
    assert refused.value.code == "MEMORY_ID_TAKEN"


def test_importing_a_forgotten_id_brings_it_back(memory: Any) -> None:
    memory.remember("number one", id="old:1")
    memory.forget("old:1")
    memory.remember("number one", id="old:1")
    assert contents(memory.recall("number")) == ["number one"]
    assert [state.change for state in memory.history("old:1")] == ["created", "forgotten", "restored"]


def test_bringing_back_what_another_memory_now_holds_is_a_conflict(memory: Any) -> None:
    memory.remember("The port is 8000", id="old:1", upsert_key="port")
    memory.forget("old:1")
    memory.remember("The port is 9000", upsert_key="port")
    with pytest.raises(Conflict) as refused:
        memory.remember("The port is 8000", id="old:1")
    assert refused.value.code == "MEMORY_KEY_TAKEN"


# -- vectors are an extra ------------------------------------------------------------------------------


class DownEmbedder(ToyEmbedder):
    def embed(self, texts: Any) -> Any:
        raise Unavailable("the endpoint is down", code="EMBED_DOWN")


def test_a_model_that_is_down_costs_the_vector_and_not_the_memory(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=DownEmbedder()) as memory:
        memory.remember("Ports start at 8000")
        recalled = memory.recall("ports")
    assert contents(recalled) == ["Ports start at 8000"]
    assert recalled.trace.notes["semantic"] == "query_embedding_unavailable"


def test_a_private_memory_cannot_replace_a_shared_one(memory: Any) -> None:
    shared = memory.remember("the port is 5432", scope=PROJECT).id
    with pytest.raises(Conflict) as refused:
        memory.remember("the port is 6432", scope=Scope(project="shop", user="ann"), supersedes=shared)
    assert refused.value.code == "MEMORY_OF_ANOTHER_PLACE"
    assert memory.show(shared).superseded_by is None


def test_a_known_note_stated_as_a_rule_becomes_one(memory: Any) -> None:
    note = memory.remember("never deploy on Fridays").id
    assert memory.remember("never deploy on Fridays", layer="rule").id == note
    assert memory.show(note).layer == "rule"


def test_asking_for_more_trust_than_the_origin_gives_is_in_vain(memory: Any) -> None:
    assert memory.remember("read on a page", origin="web", trust="user").memory.trust == "untrusted"
    assert memory.remember("said by the user", origin="user", trust="tool").memory.trust == "tool"


def test_a_shortened_id_also_finds_what_was_forgotten(memory: Any) -> None:
    id = memory.remember("to be forgotten").id
    memory.forget(id)
    assert [version.change for version in memory.history(id[:20])] == ["created", "forgotten"]


def test_a_given_id_with_another_text_is_a_conflict(memory: Any) -> None:
    memory.remember(Draft(content="one text", id="mem_given"))
    with pytest.raises(Conflict) as refused:
        memory.remember(Draft(content="another text", id="mem_given"))
    assert refused.value.code == "MEMORY_ID_TAKEN" and memory.show("mem_given").content == "one text"


def test_what_was_replaced_already_is_not_replaced_again(memory: Any) -> None:
    first = memory.remember("the port is 1").id
    second = memory.remember("the port is 2", supersedes=first).id
    with pytest.raises(Conflict) as refused:
        memory.remember("the port is 3", supersedes=first)
    assert second in refused.value.next and memory.show(first).superseded_by == second


def test_what_an_agent_says_is_trusted_as_an_agents_word(memory: Any) -> None:
    agent = Identity(agent="builder", roles=("agent",))
    assert memory.remember("the build is green", identity=agent).memory.trust == "agent"


def test_what_an_agent_rewrites_is_no_longer_the_users_word(memory: Any) -> None:
    id = memory.remember("deploy on Mondays").id
    agent = Identity(agent="builder", roles=("owner",))
    assert memory.edit(id, tags=("ops",), identity=agent).trust == "agent"
    other = memory.remember("review on Tuesdays").id
    assert memory.edit(other, confidence=0.5, identity=agent).trust == "user"


def test_batches_before_a_bad_one_are_answered(memory: Any) -> None:
    drafts = [Draft(content=f"note {n}") for n in range(600)] + [Draft(content=" ")]
    answered = []
    with pytest.raises(InvalidInput):
        answered.extend(remembered.id for remembered in memory.remember_many(drafts))
    assert len(answered) == 500


def test_a_model_that_cannot_be_had_costs_vectors_and_nothing_else(tmp_path: Path) -> None:
    with clew.open(tmp_path / "c.db", home=tmp_path, embed={"provider": "minilm"}) as opened:
        opened.remember("the gateway is slow")
        assert contents(opened.recall("gateway")) == ["the gateway is slow"]
        assert opened.recall("gateway").trace.notes["semantic"] == "query_embedding_unavailable"


def test_a_stricter_label_counts_also_for_what_is_known(memory: Any) -> None:
    first = memory.remember("The salary table is in the finance folder")
    again = memory.remember(Draft(content="The salary table is in the finance folder", classification="restricted"))
    assert again.deduplicated and again.memory.classification == "restricted"
    assert memory.show(first.id).classification == "restricted"
    laxer = memory.remember(Draft(content="The salary table is in the finance folder", classification="public"))
    assert laxer.memory.classification == "restricted"


def test_a_label_above_the_default_comes_with_its_reason(memory: Any) -> None:
    assert memory.remember("PCI scope: keep 5432 closed").label_because == "it speaks of pci"
    assert memory.remember("uses tabs").label_because == ""
    assert memory.remember("the roadmap", classification="restricted").label_because == ""
    assert "label_because" not in memory.remember("uses spaces").as_json()


def test_times_are_told_in_utc_whatever_zone_they_were_said_in(memory: Any) -> None:
    zone = timezone(timedelta(hours=2))
    moments = {name: datetime(2030, month, 1, tzinfo=zone) for month, name in enumerate(TIMES, 1)}
    stored = memory.remember(Draft(content="a moment", **moments)).memory
    for name, moment in moments.items():
        told = getattr(stored, name)
        assert told == moment and told.tzinfo is UTC
    assert memory.show(stored.id) == stored


TIMES = ("at", "valid_at", "invalid_at", "expires_at")


def test_what_is_secret_in_one_part_of_a_memory_is_masked_in_the_others(memory: clew.clew.Clew) -> None:
    told = memory.remember(
        "mysql -u root -phunter2x9Q shop fails",
        title="hunter2x9Q is refused",
        tags=("hunter2x9Q", "mysql"),
        paths=("conf/hunter2x9Q.cnf",),
        metadata={"note": ["tried hunter2x9Q", 3], "shop": "root"},
    )
    assert "hunter2x9Q" not in repr(told.memory)
    assert told.memory.tags[1] == "mysql" and told.memory.metadata["note"][1] == 3
    assert told.memory.metadata["shop"] == "root" and told.masked


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d", "\udcff"])
def test_what_no_store_can_keep_as_it_is_is_refused(memory: Any, text: str) -> None:
    for store in (memory.remember, lambda content: list(memory.remember_many([Draft(content=content)]))):
        with pytest.raises(InvalidInput) as refused:
            store(text)
        assert refused.value.code == "INVALID_UTF8" and refused.value.next
    assert memory.list() == []

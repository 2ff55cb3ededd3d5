"""Near-duplicates made one: suggested, merged with lineage, undone exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import Conflict, Denied, InvalidInput, NotFound
from clew.model.memory import Memory
from clew.model.scope import Identity, Scope
from clew.relate.alike import neighbours, plain, same_claim, suggestions
from findings import alike, found, stated
from toys import START, contents

SHOP = Scope(project="shop")
BOB = Identity(user="bob", roles=("member",))


@pytest.fixture
def pair(memory: Clew) -> tuple[str, str]:
    kept = memory.remember("Deploys happen on Mondays", tags=("deploy",), paths=("ci.yml",), scope=SHOP).id
    other = memory.remember("deploys happen on mondays!", tags=("ops", "deploy"), scope=SHOP).id
    return kept, other


def as_it_is(memory: Clew, id: str) -> Memory:
    """Without what every change moves."""
    found = memory.show(id)
    return replace(found, version=0, updated_at=found.created_at)


# -- merging ---------------------------------------------------------------------------------------------


def test_t53_the_others_are_superseded_by_the_one_that_is_kept_and_a_run_says_so(
    memory: Clew, pair: tuple[str, str]
) -> None:
    kept, other = pair
    done = memory.merges.merge(kept, [other])
    assert memory.show(other).superseded_by == kept
    assert stated(memory, kept, "lifecycle") == ["supersedes"]
    [run] = memory.merges.list()
    assert (run.id, run.winner, [id for id, _version in run.losers]) == (done.run, kept, [other])
    assert run.id.startswith("run_")


def test_the_one_that_is_kept_is_found_by_the_tags_and_paths_of_all(memory: Clew, pair: tuple[str, str]) -> None:
    done = memory.merges.merge(pair[0], [pair[1]])
    assert (memory.show(pair[0]).tags, done.added_tags) == (("deploy", "ops"), ("ops",))
    assert contents(memory.recall("ops", scope=SHOP)) == ["Deploys happen on Mondays"]


def test_text_trust_weight_and_parents_stay_its_own(memory: Clew) -> None:
    kept = memory.remember("Deploys happen on Mondays", origin="web").id
    other = memory.remember("deploys happen on mondays", weight=3.0).id
    before = memory.show(kept)
    memory.merges.merge(kept, [other])
    after = memory.show(kept)
    for name in ("content", "trust", "weight", "confidence", "parents", "origin", "classification"):
        assert getattr(after, name) == getattr(before, name)


@pytest.mark.parametrize("label", [{"origin": "web"}, {"classification": "restricted"}])
def test_labels_of_what_is_less_trusted_or_more_confidential_are_not_taken_over(
    memory: Clew, label: dict[str, Any]
) -> None:
    kept = memory.remember("Deploys happen on Mondays").id
    other = memory.remember("deploys happen on mondays", tags=("secret",), **label).id
    assert memory.merges.merge(kept, [other]).added_tags == ()
    assert memory.show(kept).tags == ()


@pytest.mark.parametrize("private", [Scope(project="shop", user="bob"), Scope(user="bob")])
def test_what_one_keeps_to_oneself_lends_no_labels_to_what_others_see_and_is_not_suggested(
    memory: Clew, private: Scope
) -> None:
    wide = SHOP if private.project else Scope()
    shared = memory.remember("Deploys happen on Mondays", scope=wide, identity=BOB).id
    own = memory.remember(
        "deploys happen on mondays", tags=("layoffs",), paths=("hr/plan.md",), scope=private, identity=BOB
    ).id
    assert list(memory.merges.suggest(private, identity=BOB)) == []
    done = memory.merges.merge(shared, [own], identity=BOB)
    assert (done.added_tags, done.added_paths, memory.show(shared).tags) == ((), (), ())
    assert memory.show(own).superseded_by == shared


def test_w18_keys_are_taken_over_without_two_holding_one(memory: Clew) -> None:
    place = Scope(project="shop", user="ada")
    kept = memory.remember("Deploys happen on Mondays", scope=place).id
    others = [
        memory.remember(f"deploys happen on mondays{end}", upsert_key=f"deploy-{end}", scope=place).id
        for end in "!?"
    ]
    memory.merges.merge(kept, others)
    assert memory.show(kept).upsert_key == "deploy-!"
    newer = memory.remember("Deploys happen on Tuesdays", upsert_key="deploy-!", scope=place).id
    assert memory.show(kept).superseded_by == newer


def test_merged_twice_nothing_changes(memory: Clew, pair: tuple[str, str]) -> None:
    first = memory.merges.merge(pair[0], [pair[1]])
    version = memory.show(pair[0]).version
    again = memory.merges.merge(pair[0], [pair[1], pair[1]])
    assert (again.changed, again.run, memory.show(pair[0]).version) == (False, first.run, version)
    assert len(memory.merges.list()) == 1


def test_a_dry_run_changes_nothing(memory: Clew, pair: tuple[str, str]) -> None:
    done = memory.merges.merge(pair[0], [pair[1]], dry_run=True)
    assert (done.merged, done.added_tags, done.run) == ((pair[1],), ("ops",), None)
    assert (memory.show(pair[1]).superseded_by, memory.merges.list()) == (None, [])


def test_what_must_not_be_merged_is_refused(memory: Clew, pair: tuple[str, str]) -> None:
    kept, _other = pair
    rule = memory.remember("Deploys happen on Mondays.", type="rule", scope=SHOP).id
    shared = memory.remember("Deploys happen on Mondays ...").id
    brief = memory.remember("Deploys happen on Mondays now", layer="working", scope=SHOP).id
    for winner, loser, code in (
        (kept, kept, "MERGE_WITH_ITSELF"),
        (kept, rule, "MERGE_LOSES_RULE"),
        (kept, shared, "MEMORY_OF_ANOTHER_PLACE"),
        (brief, kept, "MERGE_LOSES_TIME"),
    ):
        with pytest.raises((Conflict, InvalidInput)) as refused:
            memory.merges.merge(winner, [loser])
        assert refused.value.code == code
    assert memory.merges.list() == []


def test_what_no_longer_holds_is_not_merged(memory: Clew, pair: tuple[str, str]) -> None:
    memory.remember("Deploys happen on Tuesdays", supersedes=pair[1], scope=SHOP)
    with pytest.raises(Conflict, match="no longer holds"):
        memory.merges.merge(*(pair[0], [pair[1]]))


def test_merging_needs_the_right_to_write_all(memory: Clew, pair: tuple[str, str]) -> None:
    own = memory.remember("Deploys happen on Mondays.", scope=SHOP, identity=BOB).id
    with pytest.raises(Denied):
        memory.merges.merge(own, [pair[0]], scope=SHOP, identity=BOB)
    private = memory.remember("Deploys happen", scope=Scope(user="ada")).id
    with pytest.raises(NotFound):
        memory.merges.merge(own, [private], identity=BOB)


# -- undoing ---------------------------------------------------------------------------------------------


def test_undone_everything_is_as_it_was(memory: Clew, pair: tuple[str, str]) -> None:
    third = memory.remember("Deploys  happen on  MONDAYS.", upsert_key="deploy", scope=SHOP).id
    ids = (*pair, third)
    before = [as_it_is(memory, id) for id in ids]
    run = memory.merges.merge(pair[0], [pair[1], third]).run
    assert run and [as_it_is(memory, id) for id in ids] != before
    done = memory.merges.undo(run)
    assert set(done.restored) == {pair[1], third}
    assert [as_it_is(memory, id) for id in ids] == before
    assert stated(memory, pair[0], "lifecycle") == []
    assert len(contents(memory.recall("deploys", scope=SHOP))) == 3
    by_tag = memory.recall("ops", scope=SHOP, retrieval="lexical", graph=False)
    assert contents(by_tag) == ["deploys happen on mondays!"]


def test_undone_twice_nothing_changes(memory: Clew, pair: tuple[str, str]) -> None:
    run = memory.merges.merge(pair[0], [pair[1]]).run or ""
    memory.merges.undo(run[:20])
    assert memory.merges.undo(run).changed is False
    assert memory.merges.list()[0].undone_at is not None


def test_an_edit_meanwhile_stays_and_only_what_the_merge_added_is_taken_back(
    memory: Clew, pair: tuple[str, str]
) -> None:
    run = memory.merges.merge(pair[0], [pair[1]]).run or ""
    memory.edit(pair[0], content="Deploys happen on Mondays at noon", tags=("ops", "mine"))
    assert memory.merges.undo(run).restored == (pair[1],)
    kept = memory.show(pair[0])
    assert (kept.content, kept.tags) == ("Deploys happen on Mondays at noon", ("mine",))


def test_a_key_goes_back_to_its_holder_also_after_an_edit(memory: Clew) -> None:
    kept = memory.remember("Kappa uses the port 9000").id
    other = memory.remember("kappa uses the port 9000!", upsert_key="kappa").id
    run = memory.merges.merge(kept, [other]).run or ""
    memory.edit(kept, tags=("mine",))
    memory.merges.undo(run)
    assert (memory.show(kept).upsert_key, memory.show(other).upsert_key) == (None, "kappa")


def in_a_row(memory: Clew) -> tuple[str, list[str], list[str]]:
    """One that is kept, three others with a tag each, and the runs that merged them one after the other."""
    kept = memory.remember("Deploys happen on Mondays", tags=("a",)).id
    others = [memory.remember(f"deploys happen on mondays{end}", tags=(end,)).id for end in "!?."]
    return kept, others, [memory.merges.merge(kept, [other]).run or "" for other in others]


def test_merges_are_undone_in_reverse_order(memory: Clew) -> None:
    kept, others, runs = in_a_row(memory)
    for run, left in zip(reversed(runs), (("a", "!", "?"), ("a", "!"), ("a",)), strict=True):
        memory.merges.undo(run)
        assert memory.show(kept).tags == left
    assert [memory.show(other).superseded_by for other in others] == [None] * 3


def test_the_run_to_undo_first_is_named_and_that_works(memory: Clew) -> None:
    kept, _others, runs = in_a_row(memory)
    for last in (runs[2], runs[1]):
        with pytest.raises(Conflict, match="merged again since") as refused:
            memory.merges.undo(runs[0])
        assert (refused.value.code, refused.value.next.split()[-1]) == ("MERGE_NOT_LAST", last)
        memory.merges.undo(last)
    memory.merges.undo(runs[0])
    assert memory.show(kept).tags == ("a",)


def test_what_was_merged_further_is_undone_from_the_end(memory: Clew) -> None:
    first, middle, last = (memory.remember(f"Tea is green{end}", tags=(end,)).id for end in "!?.")
    inner = memory.merges.merge(middle, [first]).run or ""
    outer = memory.merges.merge(last, [middle]).run or ""
    with pytest.raises(Conflict) as refused:
        memory.merges.undo(inner)
    assert refused.value.next.endswith(outer)
    memory.merges.undo(outer), memory.merges.undo(inner)
    assert [memory.show(id).tags for id in (first, middle, last)] == [("!",), ("?",), (".",)]


def test_a_merge_that_is_repeated_names_the_run_that_did_it(memory: Clew) -> None:
    kept, others, runs = in_a_row(memory)
    assert [memory.merges.merge(kept, [other]).run for other in others] == runs
    assert memory.merges.merge(kept, others).run is None  # no single one did


def test_a_key_that_somebody_took_meanwhile_is_named_and_nothing_changes(memory: Clew) -> None:
    kept = memory.remember("Kappa uses the port 9000").id
    other = memory.remember("kappa uses the port 9000!", upsert_key="kappa").id
    run = memory.merges.merge(kept, [other]).run or ""
    newer = memory.remember("Kappa has no port", upsert_key="kappa").id
    with pytest.raises(Conflict) as refused:
        memory.merges.undo(run)
    assert refused.value.next.endswith(f"clew forget {newer}") and memory.show(other).superseded_by == kept
    memory.forget(newer)
    assert memory.merges.undo(run).restored == (other,)


def test_what_was_forgotten_meanwhile_stays_forgotten(memory: Clew, pair: tuple[str, str]) -> None:
    third = memory.remember("Deploys happen on MONDAYS.", scope=SHOP).id
    run = memory.merges.merge(pair[0], [pair[1], third]).run or ""
    memory.forget(pair[1], hard=True)
    assert memory.merges.undo(run).as_json() | {"run": ""} == {
        "run": "", "kept": pair[0], "restored": [third], "left": [pair[1]], "changed": True,
    }  # fmt: skip


def test_ids_of_what_was_erased_are_not_listed(memory: Clew, pair: tuple[str, str]) -> None:
    third = memory.remember("Deploys happen on MONDAYS.", scope=SHOP).id
    memory.merges.merge(pair[0], [pair[1], third])
    memory.forget(pair[1], hard=True)
    assert [one.merged for one in memory.merges.list()] == [{third}]
    memory.forget(third, hard=True)
    assert memory.merges.list() == []


def test_a_merge_of_others_is_not_there_to_be_undone(memory: Clew) -> None:
    ids = [memory.remember(text, scope=Scope(user="ada")).id for text in ("Tea is green", "tea is green.")]
    run = memory.merges.merge(ids[0], ids[1:]).run or ""
    for identity in (BOB, Identity(org="acme")):
        assert memory.merges.list(identity=identity) == []
        with pytest.raises(NotFound):
            memory.merges.undo(run, identity=identity)


ANN = Identity(org="acme", user="ann", roles=("member",))
ADMIN = Identity(org="acme", user="eve", roles=("admin",))


def with_a_private_one(memory: Clew) -> tuple[str, str, str]:
    """What all see, what only Ann sees, and the run that merged this into that."""
    shared = memory.remember("Tea is green", scope=Scope("acme"), identity=ANN).id
    private = memory.remember("tea is green.", scope=Scope("acme", user="ann"), identity=ANN).id
    done = memory.merges.merge(shared, [private], scope=Scope("acme", user="ann"), identity=ANN)
    return shared, private, done.run or ""


@pytest.mark.parametrize("forgotten", [False, True])
def test_who_may_not_read_all_of_a_merge_neither_sees_nor_undoes_it(memory: Clew, forgotten: bool) -> None:
    _shared, private, run = with_a_private_one(memory)
    if forgotten:
        memory.forget(private, scope=Scope("acme", user="ann"), identity=ANN)
    assert memory.merges.list(identity=ADMIN) == []
    for id in (run, run[:20]):
        with pytest.raises(NotFound):
            memory.merges.undo(id, identity=ADMIN)
    assert [one.id for one in memory.merges.list(identity=ANN)] == [run]


def test_a_later_merge_that_may_not_be_seen_is_not_named(memory: Clew) -> None:
    shared = memory.remember("Tea is green", scope=Scope("acme"), identity=ANN).id
    other = memory.remember("tea is green!", tags=("a",), scope=Scope("acme"), identity=ANN).id
    run = memory.merges.merge(shared, [other], identity=ANN).run or ""
    private = memory.remember("tea is green.", scope=Scope("acme", user="ann"), identity=ANN).id
    hidden = memory.merges.merge(shared, [private], identity=ANN).run or ""
    with pytest.raises(Conflict) as refused:
        memory.merges.undo(run, identity=ADMIN)
    assert hidden not in f"{refused.value.message} {refused.value.next}"


def test_w4_merges_of_others_do_not_crowd_out_ones_own(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.relate.unmerge.PAGE", 2)
    shared = memory.remember("Milk is white", scope=Scope("acme"), identity=ANN).id
    other = memory.remember("milk is white.", scope=Scope("acme"), identity=ANN).id
    mine = memory.merges.merge(shared, [other], identity=ANN).run
    for _again in range(3):
        memory.merges.undo(with_a_private_one(memory)[2], identity=ANN)
    assert [one.id for one in memory.merges.list(identity=ADMIN, limit=1)] == [mine]


def test_merges_and_what_undoes_them_are_audited(memory: Clew, pair: tuple[str, str]) -> None:
    memory.merges.undo(memory.merges.merge(pair[0], [pair[1]]).run or "")
    actions = [entry.action for entry in memory.audit.list(limit=9)]
    assert actions.count("merge") == actions.count("undo_merge") == 1


# -- suggesting ------------------------------------------------------------------------------------------


def test_the_same_words_are_suggested_with_what_would_be_kept(memory: Clew, pair: tuple[str, str]) -> None:
    memory.remember("Deploys happen on Mondays, says the wiki", category="deploy", scope=SHOP)
    [one] = memory.merges.suggest(SHOP)
    assert (one.keep.id, [other.memory.id for other in one.others]) == (pair[0], [pair[1]])
    assert one.command == f"clew merge {pair[0]} {pair[1]}"


def test_near_memories_are_suggested_from_nine_and_a_half_tenths_on(memory: Clew) -> None:
    one, other, third = (memory.remember(text).id for text in ("we use tabs", "tabs are used", "tabs, we use"))
    alike(memory, one, other, similarity=0.95)
    alike(memory, third, one, similarity=0.949)
    [group] = memory.merges.suggest()
    assert {group.keep.id, *(entry.memory.id for entry in group.others)} == {one, other}


def test_what_is_in_conflict_is_no_duplicate(memory: Clew) -> None:
    one, other = (memory.remember(text).id for text in ("we use tabs", "here we use tabs"))
    alike(memory, other, one, similarity=0.99)
    assert len(memory.merges.suggest()) == 1
    memory.link(one, "contradicts", other)
    assert memory.merges.suggest() == []


def test_nothing_is_suggested_of_what_others_keep_for_themselves(memory: Clew) -> None:
    for user in ("ada", "bob"):
        memory.remember("Tea is green", scope=Scope(user=user))
    assert memory.merges.suggest(identity=BOB) == []
    assert memory.merges.suggest() == []  # neither could stand for the other


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("the time-out is 30 s", "the time-out is 60 s", False),
        ("use python 3.11", "use python 3.12", False),
        ("pushing to main is allowed", "pushing to main is not allowed", False),
        ("it doesn't work", "it works", False),
        ("the cache is used by the export", "the cache is rarely used by the export", False),
        ("Der Export nutzt Redis.", "Der Export nutzt Redis nicht.", False),
        ("Wir verwenden Flags im Frontend.", "Wir verwenden keine Flags im Frontend.", False),
        ("Le service utilise Redis.", "Le service n'utilise jamais Redis.", False),
        ("El servicio usa Redis.", "El servicio nunca usa Redis.", False),
        ("Сервис использует Redis.", "Сервис не использует Redis.", False),
        ("支付服务可以访问数据库", "支付服务不可以访问数据库", False),
        ("Der Export nutzt Redis nicht.", "Der Export nutzt Redis nachts nicht.", True),
        ("port 8080 and port 9090", "port 9090 and port 8080", True),
        ("we deploy on Mondays", "on Mondays we deploy", True),
        ("we deploy on Mondays", "we deploy on Mondays, after the stand-up", True),
        ("enable the cache in production", "disable the cache in production", False),
        ("Alice owns the billing service", "Bob owns the billing service", False),
        ("deploy to staging on Mondays", "deploy to production on Mondays", False),
        ("AuthService depends on Redis", "AuthService depends on SecretVault", False),
        ("AuthService calls OrderService.", "OrderService calls AuthService.", False),
        ("For sessions AuthService depends on Redis.", "AuthService depends on Redis for sessions.", True),
        ("Merge main into develop.", "Merge develop into main.", False),
        ("Run migrations before the deploy.", "Run the deploy before migrations.", False),
        ("Merge the release branch into main.", "Merge main into the release branch.", False),
        ("Alice reviews Bob's PRs.", "Bob reviews Alice's PRs.", False),
        ("Set retries to 3 for reads and 5 for writes.", "Set retries to 5 for reads and 3 for writes.", False),
        ("A blocks B, so do A first.", "B blocks A, so do B first.", False),
        ("You may restart the worker.", "You may restart the worker if the queue is empty.", False),
        ("Deploy from main.", "Deploy from main only on Mondays.", False),
        ("Only admins can delete posts.", "Admins can only delete posts.", False),
        ("Deploy only on Mondays.", "Only deploy on Mondays.", True),
        ("Use Redis and Kafka for events.", "Use Kafka and Redis for events.", True),
        ("Use pnpm for the web app.", "For the web app, use pnpm.", True),
    ],
)
def test_another_number_denial_word_place_or_relation_is_another_claim(one: str, other: str, same: bool) -> None:
    assert same_claim(one, other) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use `uv`, not pip!", "use uv not pip", True),
        ("use C++", "use C", False),
        ("x > 5", "x < 5", False),
        ("read .env", "read env", False),
        ("“Tea” is green…", "TEA is green", True),
    ],
)
def test_words_are_the_same_without_the_signs_of_a_sentence(one: str, other: str, same: bool) -> None:
    assert (plain(one) == plain(other)) is same


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.95, 1)), max_size=20))
def test_a_memory_is_in_one_group_at_most_and_next_to_what_is_kept(pairs: list[tuple[int, int, float]]) -> None:
    memories = {str(number): _memory(number) for number in range(8)}
    near = neighbours(memories, [(str(one), str(other), how) for one, other, how in pairs])
    groups = suggestions(memories, near, may_merge=lambda _winner, _loser: True)
    members = [id for group in groups for id in (group.keep.id, *(one.memory.id for one in group.others))]
    assert len(members) == len(set(members))
    assert all(one.memory.id in near[group.keep.id] for group in groups for one in group.others)


def _memory(number: int) -> Memory:
    blank = dict.fromkeys(Memory.__slots__)
    known = {"id": str(number), "content": f"{'word ' * number}", "layer": "long_term", "weight": 1.0}
    return Memory(**blank | known | {"trust": "user", "confidence": 1.0, "created_at": START})  # type: ignore[arg-type]


def test_a_store_that_is_opened_again_knows_its_merges(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    first = clew_at(tmp_path)
    ids = [first.remember(text).id for text in ("Tea is green", "tea is green.")]
    run = first.merges.merge(ids[0], ids[1:]).run or ""
    assert clew_at(tmp_path).merges.undo(run).restored == (ids[1],)


def test_a_conflict_ends_with_the_merge_that_settles_it(memory: Clew, pair: tuple[str, str]) -> None:
    found(memory, pair[1], pair[0])
    memory.merges.merge(pair[0], [pair[1]])
    assert memory.conflicts.list() == []

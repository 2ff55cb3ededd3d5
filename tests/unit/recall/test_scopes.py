"""Every question has a scope: what lives elsewhere is never part of an answer, on any path."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import Denied, Filter, Identity, NotFound, Scope
from toys import ToyEmbedder, contents, open_toy

SCOPES = st.builds(
    Scope,
    org=st.sampled_from(["local", "acme"]),
    project=st.sampled_from([None, "a", "b"]),
    user=st.sampled_from([None, "x", "y"]),
)


@dataclass(frozen=True)
class Told:
    scope: Scope
    word: str
    type: str


TOLD = st.lists(
    st.builds(Told, SCOPES, st.sampled_from(["gateway", "queue"]), st.sampled_from(["note", "rule", "fact"])),
    min_size=1,
    max_size=14,
    unique=True,
)


def sees(scope: Scope, told: Told) -> bool:
    """The rule of visibility once more, written out by hand."""
    same_org = told.scope.org == scope.org
    return same_org and told.scope.project in (None, scope.project) and told.scope.user in (None, scope.user)


def text_of(told: Told) -> str:
    return f"{told.word} {told.scope.org} {told.scope.project} {told.scope.user} {told.type}"


@given(TOLD, SCOPES, st.sampled_from(["lexical", "semantic", "hybrid"]), st.sampled_from([0, 64]))
@settings(max_examples=40, deadline=None)
def test_answers_are_exactly_what_the_scope_sees(told: list[Told], scope: Scope, retrieval: str, mb: int) -> None:
    asker = Identity(org=scope.org)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_toy(Path(folder) / "c.db", embedder=ToyEmbedder(dim=512), recall={"read_model_mb": mb}) as memory,
    ):
        for entry in told:
            memory.remember(
                text_of(entry), type=entry.type, scope=entry.scope, identity=Identity(org=entry.scope.org)
            )
        query = "gateway" if retrieval != "semantic" else "gateway queue"
        found = contents(memory.recall(query, scope=scope, identity=asker, retrieval=retrieval, limit=100))
        listed = [entry.content for entry in memory.list(scope=scope, identity=asker, limit=100)]
        newest = contents(memory.recall("", scope=scope, identity=asker, limit=100))
    seen = [text_of(entry) for entry in told if sees(scope, entry)]
    hits = [t for t in seen if retrieval == "semantic" or t.startswith("gateway") or t.endswith("rule")]
    assert sorted(listed) == sorted(newest) == sorted(seen)
    if retrieval == "hybrid":
        assert set(hits) <= set(found) <= set(seen)
    else:
        assert sorted(found) == sorted(hits)


@given(TOLD, SCOPES)
@settings(max_examples=15, deadline=None)
def test_an_id_opens_nothing_that_the_scope_does_not_see(told: list[Told], scope: Scope) -> None:
    asker = Identity(org=scope.org)
    with tempfile.TemporaryDirectory() as folder, open_toy(Path(folder) / "c.db") as memory:
        for entry in told:
            writer = Identity(org=entry.scope.org)
            id = memory.remember(text_of(entry), type=entry.type, scope=entry.scope, identity=writer).id
            if sees(scope, entry):
                assert memory.show(id, scope=scope, identity=asker).id == id
                continue
            for verb, more in (("show", {}), ("edit", {"content": "taken"}), ("forget", {}), ("history", {})):
                with pytest.raises(NotFound):
                    getattr(memory, verb)(id, scope=scope, identity=asker, **more)


@pytest.fixture
def shared(memory: Any) -> Any:
    """Global, project and user memories about one thing, and those of others."""
    memory.remember("gateway for all")
    memory.remember("gateway of the shop", scope=Scope(project="shop"))
    memory.remember("gateway of ann", scope=Scope(user="ann"))
    memory.remember("gateway of ann in the shop", scope=Scope(project="shop", user="ann"))
    memory.remember("gateway of the bank", scope=Scope(project="bank"))
    memory.remember("gateway of bob", scope=Scope(user="bob"))
    memory.remember("gateway of bob in the shop", scope=Scope(project="shop", user="bob"))
    memory.remember("gateway of a rival", scope=Scope(org="rival"), identity=Identity(org="rival"))
    return memory


@pytest.mark.parametrize("retrieval", ["lexical", "semantic", "hybrid"])
def test_t38_global_own_project_and_own_user_rows_return_and_others_never_do(shared: Any, retrieval: str) -> None:
    scope = Scope(project="shop", user="ann")
    expected = {"gateway for all", "gateway of the shop", "gateway of ann", "gateway of ann in the shop"}
    assert set(contents(shared.recall("gateway", scope=scope, retrieval=retrieval))) == expected
    assert {entry.content for entry in shared.list(scope=scope)} == expected


def test_t38_without_a_project_or_user_only_global_rows_return(shared: Any) -> None:
    assert contents(shared.recall("gateway")) == ["gateway for all"]


def test_all_projects_still_hides_other_users(shared: Any) -> None:
    listed = {entry.content for entry in shared.list(scope=Scope(user="ann"), all_projects=True)}
    assert "gateway of the bank" in listed and not any("bob" in text or "rival" in text for text in listed)


def test_a_filter_does_not_widen_the_scope(shared: Any) -> None:
    wanted = Filter(pattern="gateway*")
    assert [entry.content for entry in shared.list(wanted)] == ["gateway for all"]
    assert contents(shared.recall("gateway", types=("note",))) == ["gateway for all"]


def test_why_does_not_tell_of_other_users_or_orgs(shared: Any) -> None:
    theirs = [entry.id for entry in shared.list(identity=Identity(org="rival"))]
    theirs += [entry.id for entry in shared.list(scope=Scope(user="bob")) if entry.user == "bob"]
    member = Identity(user="ann", roles=("member",))
    for id in theirs:
        with pytest.raises(NotFound):
            shared.why("gateway", id, scope=Scope(user="ann"), identity=member)


def test_why_tells_the_owner_whose_memory_it_is(shared: Any) -> None:
    bobs = next(entry for entry in shared.list(scope=Scope(user="bob")) if entry.user == "bob")
    told = shared.why("gateway", bobs.id)
    assert told.lost_at == "scope" and "bob" in told.reason


def test_a_member_sees_by_id_only_shared_and_own_memories(shared: Any) -> None:
    bobs = next(entry.id for entry in shared.list(scope=Scope(user="bob")) if entry.user == "bob")
    with pytest.raises(NotFound):
        shared.show(bobs, identity=Identity(user="ann", roles=("member",)))
    assert shared.show(bobs, identity=Identity(user="bob", roles=("member",))).id == bobs


@pytest.mark.parametrize("verb", ["backup", "doctor", "reindex"])
@pytest.mark.parametrize(
    "who", [Identity(org="rival"), Identity(user="ann", roles=("member",))], ids=["org", "member"]
)
def test_what_concerns_the_whole_store_is_for_its_operator(
    shared: Any, tmp_path: Path, verb: str, who: Identity
) -> None:
    given = {"path": tmp_path / "copy.db"} if verb == "backup" else {}
    with pytest.raises(Denied) as refused:
        getattr(shared, verb)(**given, identity=who)
    assert refused.value.code == "OPERATOR_ONLY"
    assert not (tmp_path / "copy.db").exists()

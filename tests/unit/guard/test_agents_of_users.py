"""An agent that acts with the credential of a user or of an owner: what they may, and what was said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew import Denied, Identity, NotFound, Scope
from clew.clew import Clew

SHOP = Scope(project="shop")
OWNER, ROBO = Identity(), Identity(agent="robo")
BOB, BOBS_ROBO = Identity(user="bob", roles=("member",)), Identity(user="bob", agent="robo", roles=("member",))
ANN = Identity(user="ann", roles=("owner",))
RESTRICTED = "gateway: her social security number is on file"
CONFIDENTIAL = "gateway: the annual salary of the on-call engineer is 90,000"
NO_AGENT_READS = """@id("people") forbid (principal is Mem::Agent, action in Mem::Action::"read", resource)
when { resource.classification == "confidential" };"""

WITH_A_USER = pytest.mark.parametrize("robo", [ROBO, BOBS_ROBO], ids=["owner", "member"])


def found(memory: Clew, who: Identity) -> set[str]:
    recalled = memory.recall("gateway", scope=SHOP, identity=who)
    listed = memory.list(scope=SHOP, identity=who)
    assert {result.memory.id for result in recalled.results} == {one.id for one in listed}
    return {one.content for one in listed}


@pytest.fixture
def filled(memory: Clew) -> Clew:
    memory.remember("gateway is red", scope=SHOP, identity=BOB)
    memory.remember(CONFIDENTIAL, scope=SHOP, classification="confidential", identity=BOB)
    memory.remember(RESTRICTED, scope=SHOP, identity=BOB)
    return memory


@WITH_A_USER
def test_an_agent_nobody_described_may_what_its_user_may(filled: Clew, robo: Identity) -> None:
    assert found(filled, robo) == {"gateway is red", CONFIDENTIAL, RESTRICTED}
    assert filled.remember("gateway is blue", scope=SHOP, identity=robo).id


@WITH_A_USER
def test_what_is_above_its_clearance_is_not_there(filled: Clew, robo: Identity) -> None:
    filled.policies.agent("robo", clearance=1)
    [hidden] = [one.id for one in filled.list(scope=SHOP) if one.content == CONFIDENTIAL]
    assert found(filled, robo) == {"gateway is red"}
    with pytest.raises(NotFound):
        filled.show(hidden, identity=robo)
    assert CONFIDENTIAL in found(filled, OWNER) and CONFIDENTIAL in found(filled, BOB)
    filled.policies.agent("robo", clearance=3)
    assert found(filled, robo) == {"gateway is red", CONFIDENTIAL, RESTRICTED}


@WITH_A_USER
def test_the_clearance_that_all_have_takes_nothing_from_an_agent_beside_its_user(
    filled: Clew, robo: Identity
) -> None:
    """Rows of agents hold it whether it was meant or not."""
    filled.policies.agent("robo", suspended=True)
    filled.policies.agent("robo", suspended=False)
    assert found(filled, robo) == {"gateway is red", CONFIDENTIAL, RESTRICTED}
    filled.policies.agent("robo", can_write=False)
    assert found(filled, robo) == {"gateway is red", CONFIDENTIAL, RESTRICTED}
    filled.policies.agent("robo", clearance=1)
    filled.policies.agent("robo", clearance=2)
    filled.policies.load("forbid (principal, action, resource) when { false };", name="nothing")
    assert found(filled, robo) == {"gateway is red", CONFIDENTIAL, RESTRICTED}
    by_itself = Identity(agent="robo", roles=())
    assert found(filled, by_itself) == {"gateway is red", CONFIDENTIAL}


@WITH_A_USER
def test_one_that_may_only_read_changes_nothing(filled: Clew, robo: Identity) -> None:
    [id] = [one.id for one in filled.list(scope=SHOP) if one.content == "gateway is red"]
    filled.policies.agent("robo", can_write=False)
    for refused in (
        lambda: filled.remember("gateway is blue", scope=SHOP, identity=robo),
        lambda: filled.edit(id, content="gateway is blue", identity=robo),
        lambda: filled.forget(id, identity=robo),
        lambda: filled.forget_many(everything=True, scope=SHOP, identity=robo),
        lambda: filled.learn.judge(id, "up", identity=robo),
    ):
        with pytest.raises(Denied):
            refused()
    assert filled.show(id, identity=robo).content == "gateway is red"
    assert filled.edit(id, content="gateway is teal", identity=BOB).version == 2


@WITH_A_USER
def test_a_policy_about_agents_reaches_those_of_users_and_leaves_the_users_alone(
    filled: Clew, robo: Identity
) -> None:
    filled.policies.load(NO_AGENT_READS, name="people")
    assert found(filled, robo) == {"gateway is red", RESTRICTED}
    assert found(filled, BOB) == {"gateway is red", RESTRICTED, CONFIDENTIAL}


def test_policies_about_other_things_take_nothing_from_an_agent_nobody_described(filled: Clew) -> None:
    """Not its user's other projects, private memories, or what an owner's own tools see."""
    filled.remember("gateway of bob", scope=Scope(project="blog", user="bob"), identity=BOB)
    filled.policies.load('forbid (principal, action, resource in Mem::Project::"local/none");', name="other")
    bobs = Scope(project="blog", user="bob")
    assert [one.content for one in filled.list(scope=bobs, identity=BOBS_ROBO)] == ["gateway of bob"]
    assert len(filled.list(all_projects=True, identity=ROBO)) == len(filled.list(all_projects=True, identity=OWNER))
    [private] = filled.list(scope=bobs)
    [gone] = filled.forget(private.id, identity=BOBS_ROBO).ids
    assert filled.revert(gone, 1, identity=BOBS_ROBO).content == "gateway of bob"


def test_what_a_user_may_not_stays_closed_to_their_agent(filled: Clew) -> None:
    filled.policies.agent("robo", clearance=3)
    eve = Identity(user="eve", agent="robo", roles=("member",))
    [id] = [one.id for one in filled.list(scope=SHOP) if one.content == "gateway is red"]
    with pytest.raises(Denied):
        filled.edit(id, content="gateway is blue", identity=eve)


@pytest.mark.parametrize("kept", [{"can_write": False}, {"clearance": 1}, {"suspended": True}], ids=str)
def test_one_from_which_something_is_kept_sets_nothing_and_copies_nothing(
    filled: Clew, tmp_path: Path, kept: dict[str, object]
) -> None:
    """A copy holds what it may not read, and a switch is written where it may not write."""
    copy = tmp_path / "copy.db"
    verbs = (
        lambda: filled.backup(copy, identity=ROBO),
        lambda: filled.last_graph_recall(identity=ROBO),
        lambda: filled.reindex(identity=ROBO),
        lambda: filled.jobs.run(identity=ROBO),
        lambda: filled.graph.decay(dry_run=True, identity=ROBO),
        lambda: filled.transfer.grant("shop", "blog", identity=ROBO),
        lambda: filled.retention.set(9.0, identity=ROBO),
        lambda: filled.orgs.create("acme", identity=ROBO),
        lambda: filled.rollout.set("shadow", identity=ROBO),
        lambda: filled.rollout.set_default("baseline", identity=ROBO),
        lambda: filled.projects.set("shop", "memory", False, identity=ROBO),
        lambda: filled.matrix.set("testing", top_k=3, identity=ROBO),
    )
    filled.policies.agent("robo", **kept)
    for verb in verbs:
        with pytest.raises(Denied):
            verb()
    assert not copy.exists() and filled.projects.show("shop").config.memory_enabled
    filled.policies.agent("robo", can_write=True, clearance=2, suspended=False)
    for verb in verbs:
        verb()
    assert copy.exists()

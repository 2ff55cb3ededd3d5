"""Policies that users add: in force everywhere at once, or refused with the old ones in force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew import Denied, Identity, InvalidInput, NotFound, Scope
from clew.clew import Clew
from clew.guard.engine import MAX_CHARS
from clew.model.access import AccessContext, Resource

CLOSED = '@id("closed") forbid (principal, action, resource in Mem::Project::"local/shop");'
BOT = Identity(agent="bot", roles=())
ROW = Resource("memory", "mem_1", "local", "shop", classification="internal")
WHERE = AccessContext("local", "shop")
ACME = Identity("acme", "olga", roles=("owner",))


def allowed(clew: Clew, who: Identity = BOT, row: Resource = ROW, action: str = "read") -> bool:
    where = AccessContext(who.org, "shop")
    [decision] = clew._pep.decide(who, action, [row], where)
    return decision.allowed


def test_a_loaded_policy_is_in_force_until_it_is_dropped(memory: Clew) -> None:
    assert allowed(memory)
    loaded = memory.policies.load(CLOSED, name="closed")
    assert (loaded.version, loaded.loaded_by) == (1, "owner") and not allowed(memory)
    assert memory._pep.log[-1].decision.policies == ("closed",)
    memory.policies.drop("closed")
    assert allowed(memory)
    assert memory.policies.load(CLOSED, name="closed").version == 3


def test_it_is_in_force_in_other_processes_too(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    one, other = clew_at(tmp_path), clew_at(tmp_path)
    assert allowed(one) and allowed(other)
    one.policies.load(CLOSED, name="closed")
    assert not allowed(one) and not allowed(other)
    other.policies.drop("closed")
    assert allowed(one) and allowed(other)


def test_the_newest_rules_hold_in_the_middle_of_a_snapshot(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    one, other = clew_at(tmp_path), clew_at(tmp_path)
    other.policies.load(CLOSED, name="closed")
    with one.store.read():
        assert not allowed(one) and not one._pep.health


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("permit (principal, action, resource)", 1, "unexpected end of input"),
        ("// a comment; with a semicolon\n\npermit (principal, action, resource) when { 1 };\n\nperm (x);", 5, ""),
        ('\npermit (principal, action, resource) when { resource.colour == "red" };', 2, "colour"),
        ('permit (principal, action == Mem::Action::"raed", resource);', 1, "raed"),
        ("permit (principal == ?principal, action, resource);", 1, "template"),
        ("", 1, "0 policies"), ("// nothing", 1, "0 policies"),
        ('@id("forbid.cross_org") permit (principal, action, resource);', 1, "another policy has this id"),
        ("permit (principal, action, resource);\n" * 101, 1, "101 policies"),
        ("//" + "x" * MAX_CHARS, 1, "characters"),
    ],
)  # fmt: skip
def test_a_bad_policy_is_refused_and_the_old_set_stays(memory: Clew, text: str, line: int, said: str) -> None:
    memory.policies.load(CLOSED, name="mine")
    [problem, *_] = memory.policies.check(text, name="mine")
    assert problem.line == line and said in problem.message
    with pytest.raises(InvalidInput) as refused:
        memory.policies.load(text, name="mine")
    assert refused.value.code == "POLICY_INVALID" and refused.value.details["problems"]
    assert not allowed(memory) and memory.policies.show().added[0][0].text == CLOSED


def test_two_files_cannot_hold_policies_of_the_same_id(memory: Clew) -> None:
    memory.policies.load(CLOSED, name="one")
    assert memory.policies.check(CLOSED, name="one") == []
    [problem] = memory.policies.check(CLOSED, name="two")
    assert problem.policy == "closed"


PERMIT_ALL = "permit (principal, action, resource);"


def test_an_added_permit_widens_within_the_org_and_never_across(memory: Clew) -> None:
    peer = Resource("memory", "mem_2", "local", "blog", classification="internal")
    assert not allowed(memory, row=peer)
    memory.policies.load(PERMIT_ALL, name="open")
    assert allowed(memory, row=peer)
    foreign = Resource("memory", "mem_3", "acme", "shop", classification="public")
    private = Resource("memory", "mem_4", "local", "shop", user="ann", classification="public")
    for action in ("read", "inject", "write", "feedback"):
        assert not allowed(memory, row=foreign, action=action), action
        assert not allowed(memory, row=private, action=action), action


def test_an_added_permit_makes_nobody_an_operator(memory: Clew) -> None:
    memory.policies.load(PERMIT_ALL, name="open", identity=ACME)
    for row in (Resource("matrix", "bug_fix", ""), Resource("org", "local", "local")):
        assert not allowed(memory, who=ACME, row=row, action="operate")
    assert not allowed(memory, who=ACME, row=Resource("org", "local", "local"), action="configure")


def test_an_orgs_policies_are_its_own(memory: Clew) -> None:
    memory.policies.load("forbid (principal, action, resource);", name="shut", identity=ACME)
    assert allowed(memory)
    assert not allowed(memory, who=ACME, row=Resource("memory", "m", "acme", classification="public"))


def test_the_operator_loads_for_all_orgs(memory: Clew) -> None:
    memory.policies.load("forbid (principal, action, resource);", name="shut", org="*")
    assert not allowed(memory)
    assert not allowed(memory, who=ACME, row=Resource("memory", "m", "acme", classification="public"))
    [(policy, ids)] = memory.policies.show(identity=ACME).added
    assert (policy.as_json()["org"], ids) == ("*", ("shut#1",))


def test_nobody_can_lock_everybody_out(memory: Clew) -> None:
    memory.policies.load("forbid (principal, action, resource);", name="shut")
    assert memory.policies.show().added
    memory.policies.drop("shut")
    assert allowed(memory)


@pytest.mark.parametrize(
    ("who", "org", "may"),
    [
        (ACME, None, True), (ACME, "acme", True), (ACME, "local", False), (ACME, "*", False),
        (Identity("acme", "amy", roles=("admin",)), None, True),
        (Identity("acme", "bob", roles=("member",)), None, False),
        (Identity("acme", agent="bot", roles=()), None, False),
        (Identity("ops", "ann", roles=("operator",)), "acme", True),
        (Identity("ops", "ann", roles=("operator",)), "*", True),
        (Identity("*", "eve", roles=("owner",)), None, False),  # an org may be called that
        (Identity(), "acme", True),
    ],
)  # fmt: skip
def test_who_looks_after_policies(memory: Clew, who: Identity, org: str | None, may: bool) -> None:
    calls: list[Any] = [
        lambda: memory.policies.check(CLOSED, name="closed", org=org, identity=who),
        lambda: memory.policies.load(CLOSED, name="closed", org=org, identity=who),
        lambda: memory.policies.show(org=org, identity=who),
        lambda: memory.policies.drop("closed", org=org, identity=who),
    ]
    for call in calls:
        if may:
            call()
            continue
        with pytest.raises(Denied) as refused:
            call()
        assert refused.value.code == "POLICY_DENIED"


@pytest.mark.parametrize("who", [Identity(agent="bot"), Identity(user="ann", agent="bot", roles=("admin",))])
def test_an_agent_changes_no_policies_and_no_rights_whoevers_credential_it_uses(
    memory: Clew, who: Identity
) -> None:
    memory.policies.load(CLOSED, name="closed")
    calls: list[Any] = [
        lambda: memory.policies.load(PERMIT_ALL, name="open", identity=who),
        lambda: memory.policies.drop("closed", identity=who),
        lambda: memory.policies.agent("bot", clearance=3, identity=who),
        lambda: memory.policies.agent("bot", suspended=False, identity=who),
    ]
    for call in calls:
        with pytest.raises(Denied) as refused:
            call()
        assert refused.value.code == "POLICIES_NOT_FOR_AGENTS"
    assert [policy.name for policy, _ids in memory.policies.show(identity=who).added] == ["closed"]
    assert memory.policies.check(PERMIT_ALL, identity=who) == []
    assert memory.policies.agent("bot", identity=who).clearance == 2


def test_loading_and_dropping_are_audited(memory: Clew) -> None:
    memory.policies.load(CLOSED, name="closed", identity=ACME)
    memory.policies.drop("closed", identity=ACME)
    with memory.store.read() as tx:
        entries = list(tx.audit.entries("acme"))
    assert [(entry.action, entry.actor, entry.kind) for entry in entries] == [
        ("policy_load", "user:olga", "policy"),
        ("policy_drop", "user:olga", "policy"),
    ]


def test_what_is_in_force(memory: Clew) -> None:
    before = memory.policies.show()
    memory.policies.load('forbid (principal, action, resource == Mem::Observation::"mem_7");', name="one")
    after = memory.policies.show(shipped=True)
    assert before.is_grouped and not after.is_grouped and before.version != after.version
    assert after.added[0][1] == ("one#1",) and "forbid.cross_org" in after.shipped
    assert "forbid.cross_org" in after.as_json()["shipped_text"] and "shipped_text" not in before.as_json()


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65, "é"])
def test_a_name_is_a_plain_word(memory: Clew, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.policies.load(CLOSED, name=name)
    assert refused.value.code == "POLICY_NAME_INVALID"


def test_dropping_what_is_not_there(memory: Clew) -> None:
    memory.policies.load(CLOSED, name="closed", org="*")
    with pytest.raises(NotFound) as refused:
        memory.policies.drop("closed")
    assert refused.value.code == "POLICY_NOT_FOUND"


def test_the_rights_of_an_agent(memory: Clew) -> None:
    assert memory.policies.agent("bot").as_json() == {"clearance": 2, "suspended": False, "can_write": True}
    memory.policies.agent("bot", clearance=0)
    changed = memory.policies.agent("bot", can_write=False)
    assert changed == memory._rights("local", "bot") and (changed.clearance, changed.can_write) == (0, False)
    assert memory._rights("acme", "bot").clearance == 2
    with pytest.raises(InvalidInput):
        memory.policies.agent("bot", clearance=4)
    with pytest.raises(Denied):
        memory.policies.agent("bot", suspended=True, identity=Identity(user="bob", roles=("member",)))


@pytest.mark.parametrize("change", [{"can_write": "no"}, {"suspended": 0}, {"clearance": True}, {"clearance": 1.0}])
def test_a_right_that_is_no_yes_or_no_and_no_clearance_is_refused(memory: Clew, change: dict[str, Any]) -> None:
    before = memory.policies.agent("bot", can_write=False)
    with pytest.raises(InvalidInput):
        memory.policies.agent("bot", **change)
    assert memory.policies.agent("bot") == before


def test_clearance_decides_what_an_agent_recalls(memory: Clew) -> None:
    memory.remember("gateway password rotation", scope=Scope(project="shop"))
    asked = lambda: memory.recall("gateway", scope=Scope(project="shop"), identity=BOT).results  # noqa: E731
    assert asked()
    memory.policies.agent("bot", clearance=1)
    assert not asked()


def test_the_doctor_finds_a_policy_that_can_no_longer_be_loaded(memory: Clew) -> None:
    def told() -> tuple[bool, str]:
        [check] = [check for check in memory.doctor() if check.name == "policies"]
        return check.ok, check.detail

    memory.policies.load(CLOSED, name="closed", identity=ACME)
    assert told()[0]
    memory.store.write(lambda tx: tx.guarding.put_policy("acme", "closed", "forbid (", by="eve", at=memory.now()))
    ok, detail = told()
    assert not ok and "closed" in detail
    assert memory.policies.check("permit (principal, action, resource);", name="other", identity=ACME) == []
    memory.policies.drop("closed", identity=ACME)
    assert told()[0]

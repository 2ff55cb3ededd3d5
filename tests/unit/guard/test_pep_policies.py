"""Every shipped policy at work: a question it lets through or stops, and one beside it that it does not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from clew.guard.engine import Engine
from clew.guard.pep import Pep
from clew.model.access import ACTIONS, AccessContext, Resource
from clew.model.config import AgentRights
from clew.model.memory import CLASSIFICATIONS
from clew.model.scope import Identity

PEP = Pep()
BOT, BOBS_BOT = Identity("acme", agent="bot", roles=()), Identity("acme", "bob", "bot", ())
BOB = Identity("acme", "bob", roles=("member",))
OWNER, ADMIN = Identity("acme", "olga", roles=("owner",)), Identity("acme", "amy", roles=("admin",))
REVIEWER, OPERATOR = Identity("acme", "rita", roles=("reviewer",)), Identity("acme", "ops", roles=("operator",))
LOCAL = Identity()

SHOP = AccessContext("acme", "shop")
ORG = AccessContext("acme")
FOR_BOB = AccessContext("acme", "shop", user="bob")
ROW = Resource("memory", "mem_1", "acme", "shop", classification="internal")
NO_PROJECT, PEER = replace(ROW, project=None), replace(ROW, project="blog")
BOBS = replace(ROW, user="bob")
BY_BOB = replace(ROW, writer="bob")
FOREIGN = replace(ROW, org="rival")
SHARED = replace(FOREIGN, classification="public", shared_with=("acme",))
QUARANTINED = replace(ROW, quarantined=True)
DELETED = replace(ROW, deleted=True)
SECRET, CONFIDENTIAL = replace(ROW, classification="restricted"), replace(ROW, classification="confidential")
OUR_ORG, THEIR_ORG = Resource("org", "acme", "acme"), Resource("org", "rival", "rival")
OUR_PROJECT, THEIR_PROJECT = Resource("project", "shop", "acme"), Resource("project", "shop", "rival")
MATRIX, THEIR_MATRIX = Resource("matrix", "bug_fix", ""), Resource("matrix", "bug_fix", "rival")
FROM_PEER: dict[str, Any] = {"grants": ("blog",)}


def at(similarity: int) -> AccessContext:
    return AccessContext("acme", "shop", similarity_pct=similarity)


# policy, then who, what, which, where that it decides; then the nearest that it does not; + allowed, - denied
TABLE: list[tuple[str, str, tuple[Any, ...], str, tuple[Any, ...]]] = [
    ("permit.read.same_project", "+", (BOT, "inject", ROW, SHOP), "-", (BOT, "inject", PEER, SHOP)),
    ("permit.read.org_level", "+", (BOT, "inject", NO_PROJECT, SHOP), "-", (BOT, "read", PEER, SHOP)),
    ("permit.read.org_scope", "+", (BOT, "inject", PEER, ORG), "-", (BOT, "inject", FOREIGN, ORG)),
    ("permit.read.cross_org_share", "+", (BOT, "read", SHARED, SHOP),
     "-", (BOT, "read", replace(SHARED, classification="internal"), SHOP)),
    ("permit.read.user", "+", (BOB, "read", PEER, SHOP), "-", (BOB, "read", FOREIGN, SHOP)),
    ("permit.write.agent_same_project", "+", (BOT, "write", ROW, SHOP), "-", (BOT, "write", PEER, SHOP)),
    ("permit.write.agent_same_project", "+", (BOT, "feedback", ROW, SHOP), "-", (BOT, "feedback", PEER, SHOP)),
    ("permit.write.agent_org_level", "+", (BOT, "write", NO_PROJECT, SHOP),
     "-", (BOT, "write", NO_PROJECT, SHOP, AgentRights(can_write=False))),
    ("permit.write.agent_org_level", "+", (BOT, "feedback", NO_PROJECT, SHOP),
     "-", (BOT, "feedback", replace(NO_PROJECT, org="rival"), SHOP)),
    ("permit.own.user", "+", (BOB, "write", BOBS, SHOP), "-", (BOB, "write", ROW, SHOP)),
    ("permit.own.user", "+", (BOB, "delete", BY_BOB, SHOP), "-", (BOB, "delete", replace(ROW, writer="eve"), SHOP)),
    ("permit.own.user", "+", (BOB, "export", BOBS, SHOP), "-", (BOB, "export", replace(BOBS, user="eve"), SHOP)),
    ("permit.feedback.user", "+", (BOB, "feedback", ROW, SHOP), "-", (BOB, "feedback", FOREIGN, SHOP)),
    ("permit.export.shared", "+", (BOB, "export", PEER, SHOP), "-", (BOB, "export", FOREIGN, SHOP)),
    ("permit.admin.user", "+", (ADMIN, "delete", ROW, SHOP), "-", (BOB, "delete", ROW, SHOP)),
    ("permit.admin.user", "+", (OWNER, "write", ROW, SHOP), "-", (REVIEWER, "write", ROW, SHOP)),
    ("permit.review.user", "+", (REVIEWER, "review", QUARANTINED, SHOP), "-", (BOB, "review", QUARANTINED, SHOP)),
    ("permit.review.user", "+", (ADMIN, "review", QUARANTINED, SHOP), "-", (ADMIN, "review", ROW, SHOP)),
    ("permit.transfer.granted", "+", (BOT, "transfer", PEER, at(70), FROM_PEER),
     "-", (BOT, "transfer", PEER, at(69), FROM_PEER)),
    ("permit.transfer.granted", "+", (BOT, "transfer", PEER, at(100), FROM_PEER),
     "-", (BOT, "transfer", PEER, at(100))),
    ("permit.configure.user", "+", (ADMIN, "configure", OUR_PROJECT, ORG),
     "-", (BOB, "configure", OUR_PROJECT, ORG)),
    ("permit.configure.user", "+", (OWNER, "configure", OUR_ORG, ORG), "-", (REVIEWER, "configure", OUR_ORG, ORG)),
    ("permit.operate.operator", "+", (OPERATOR, "operate", MATRIX, ORG), "-", (OWNER, "operate", MATRIX, ORG)),
    ("permit.operate.operator", "+", (LOCAL, "operate", THEIR_MATRIX, AccessContext("local")),
     "-", (ADMIN, "operate", OUR_ORG, ORG)),
    ("forbid.cross_org", "-", (ADMIN, "delete", FOREIGN, SHOP), "+", (ADMIN, "delete", ROW, SHOP)),
    ("forbid.cross_org", "-", (BOT, "read", FOREIGN, SHOP), "+", (BOT, "read", SHARED, SHOP)),
    ("forbid.configure.cross_org", "-", (ADMIN, "configure", THEIR_ORG, ORG),
     "+", (ADMIN, "configure", OUR_ORG, ORG)),
    ("forbid.configure.cross_org", "-", (ADMIN, "configure", THEIR_PROJECT, ORG),
     "+", (ADMIN, "configure", OUR_PROJECT, ORG)),
    ("forbid.context_org_mismatch", "-", (BOT, "read", ROW, AccessContext("rival", "shop")),
     "+", (BOT, "read", ROW, SHOP)),
    ("forbid.suspended", "-", (BOT, "read", ROW, SHOP, AgentRights(suspended=True)), "+", (BOT, "read", ROW, SHOP)),
    ("forbid.suspended", "-", (BOBS_BOT, "write", BOBS, SHOP, AgentRights(suspended=True)),
     "+", (BOBS_BOT, "write", BOBS, SHOP)),
    ("forbid.operate.others", "-", (ADMIN, "operate", MATRIX, ORG), "+", (OPERATOR, "operate", THEIR_MATRIX, ORG)),
    ("forbid.private.agent", "-", (BOT, "inject", BOBS, SHOP), "+", (BOT, "inject", BOBS, FOR_BOB)),
    ("forbid.private.agent", "-", (Identity("acme", "eve", "bot", ()), "inject", BOBS, FOR_BOB),
     "+", (BOBS_BOT, "inject", BOBS, FOR_BOB)),
    ("forbid.private.agent", "-", (BOT, "feedback", BOBS, SHOP), "+", (BOT, "feedback", BOBS, FOR_BOB)),
    ("forbid.private.user", "-", (REVIEWER, "read", BOBS, SHOP), "+", (BOB, "read", BOBS, SHOP)),
    ("forbid.private.user", "-", (ADMIN, "write", BOBS, SHOP), "+", (ADMIN, "delete", BOBS, SHOP)),
    ("forbid.private.user", "-", (REVIEWER, "review", replace(BOBS, quarantined=True), SHOP),
     "+", (OWNER, "review", replace(BOBS, quarantined=True), SHOP)),
    ("forbid.sensitivity_over_clearance", "-", (BOT, "read", SECRET, SHOP), "+", (BOT, "read", CONFIDENTIAL, SHOP)),
    ("forbid.sensitivity_over_clearance", "-", (BOT, "inject", CONFIDENTIAL, SHOP, AgentRights(clearance=1)),
     "+", (BOT, "inject", CONFIDENTIAL, SHOP, AgentRights(clearance=2))),
    ("forbid.write.read_only", "-", (BOT, "write", ROW, SHOP, AgentRights(can_write=False)),
     "+", (BOT, "read", ROW, SHOP, AgentRights(can_write=False))),
    ("forbid.inject.restricted", "-", (BOT, "inject", SECRET, SHOP, AgentRights(clearance=3)),
     "+", (BOT, "read", SECRET, SHOP, AgentRights(clearance=3))),
    ("forbid.quarantined", "-", (OWNER, "read", QUARANTINED, SHOP), "+", (OWNER, "review", QUARANTINED, SHOP)),
    ("forbid.quarantined", "-", (BOT, "inject", QUARANTINED, SHOP), "+", (BOT, "inject", ROW, SHOP)),
    ("forbid.deleted", "-", (BOB, "read", DELETED, SHOP), "+", (BOB, "read", replace(DELETED, writer="bob"), SHOP)),
    ("forbid.deleted", "-", (BOT, "feedback", DELETED, SHOP), "+", (ADMIN, "read", DELETED, SHOP)),
    ("forbid.transfer.classification", "-",
     (BOT, "transfer", replace(PEER, classification="confidential"), at(90), FROM_PEER),
     "+", (BOT, "transfer", replace(PEER, classification="public"), at(90), FROM_PEER)),
]  # fmt: skip


def ask(who: Identity, action: str, row: Resource, where: AccessContext, *more: Any) -> Any:
    options = next((entry for entry in more if isinstance(entry, dict)), {})
    rights = next((entry for entry in more if isinstance(entry, AgentRights)), None)
    [decision] = PEP.decide(who, action, [row], where, rights=rights, **options)
    return decision


@pytest.mark.parametrize(
    ("policy", "expected", "question", "other", "beside"), TABLE, ids=lambda value: str(value)[:34]
)
def test_each_policy_decides_what_it_says_and_nothing_beside(
    policy: str, expected: str, question: tuple[Any, ...], other: str, beside: tuple[Any, ...]
) -> None:
    decided, next_to_it = ask(*question), ask(*beside)
    assert decided.allowed == (expected == "+") and policy in decided.policies
    assert next_to_it.allowed == (other == "+") and policy not in next_to_it.policies


def test_every_shipped_policy_is_in_the_table() -> None:
    assert {policy for policy, *_ in TABLE} == set(Engine().shipped.ids)


@pytest.mark.parametrize(
    ("question", "allowed"),
    [
        ((BOT, "read", ROW, SHOP), True), ((BOT, "inject", ROW, SHOP), True),
        ((BOT, "inject", CONFIDENTIAL, SHOP), True), ((BOT, "inject", SECRET, SHOP), False),
        ((BOT, "inject", QUARANTINED, SHOP), False), ((BOT, "inject", NO_PROJECT, SHOP), True),
        ((BOT, "inject", PEER, SHOP), False), ((BOT, "transfer", PEER, at(70), FROM_PEER), True),
        ((BOT, "transfer", PEER, at(69), FROM_PEER), False), ((BOT, "transfer", PEER, at(70)), False),
        ((BOT, "transfer", replace(PEER, classification="confidential"), at(70), FROM_PEER), False),
        ((BOT, "read", FOREIGN, SHOP), False), ((BOT, "read", SHARED, SHOP), True),
        ((BOT, "inject", SHARED, SHOP), False),
        ((BOT, "read", replace(SHARED, classification="internal"), SHOP), False),
        ((BOT, "write", ROW, SHOP), True), ((BOT, "write", PEER, SHOP), False),
        ((BOT, "read", ROW, SHOP, AgentRights(suspended=True)), False),
        ((BOT, "read", ROW, AccessContext("rival", "shop")), False),
        ((BOT, "read", PEER, ORG), True), ((BOT, "read", FOREIGN, ORG), False),
        ((ADMIN, "delete", ROW, SHOP), True), ((ADMIN, "delete", FOREIGN, SHOP), False),
        ((ADMIN, "configure", OUR_ORG, ORG), True), ((ADMIN, "configure", OUR_PROJECT, ORG), True),
        ((BOB, "configure", OUR_ORG, ORG), False), ((ADMIN, "configure", THEIR_ORG, ORG), False),
    ],
    ids=str,
)  # fmt: skip
def test_the_verified_decisions(question: tuple[Any, ...], allowed: bool) -> None:
    assert ask(*question).allowed is allowed


@pytest.mark.parametrize("kind", ["memory", "node"])
def test_the_owner_may_do_everything_with_every_memory_of_the_own_org(kind: str) -> None:
    """Why the owner is not asked as long as no policies were added: `guard/doors.py`."""
    variants = product(("shop", None), ("bob", "olga", None), ("bob", None), CLASSIFICATIONS, (True, False))
    rows = [
        Resource(kind, f"mem_{number}", "acme", project, user, label, deleted=deleted, writer=writer)
        for number, (project, user, writer, label, deleted) in enumerate(variants)
    ]
    for action, where in product(("read", "write", "delete", "export"), (ORG, SHOP, FOR_BOB)):
        assert all(PEP.decide(OWNER, action, rows, where)), (action, where)
        assert all(PEP.decide(Identity("acme"), action, rows, where)), (action, where)


@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in ("configure", "operate")])
def test_nobody_does_anything_with_a_private_memory_of_another_org(action: str) -> None:
    row = replace(SHARED, user="bob", quarantined=False)
    for who in (BOT, BOBS_BOT, BOB, OWNER, ADMIN, REVIEWER, OPERATOR):
        assert not ask(who, action, row, at(100), FROM_PEER), who


def test_c02_a_shared_row_of_another_org_is_read_and_never_injected() -> None:
    assert ask(BOT, "read", SHARED, SHOP)
    assert ask(BOT, "inject", SHARED, SHOP).reason == "cross_org"


def test_r009_only_operators_operate_the_matrix_and_admins_only_configure() -> None:
    assert ask(OPERATOR, "operate", MATRIX, ORG) and ask(LOCAL, "operate", MATRIX, AccessContext("local"))
    for who in (OWNER, ADMIN, BOB, REVIEWER):
        assert not ask(who, "operate", MATRIX, ORG)
    assert ask(ADMIN, "configure", OUR_PROJECT, ORG)

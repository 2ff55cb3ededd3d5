"""The shipped policies once more, written down in Python: both must say the same of anything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.guard.entities import AGENT_ONLY, USER_ONLY, Principal, principal_of
from clew.guard.pep import Pep
from clew.model.access import ACTIONS, AccessContext, Resource
from clew.model.config import AgentRights
from clew.model.memory import CLASSIFICATIONS
from clew.model.scope import Identity

PEP = Pep()
READS, ADMINS = ("read", "inject"), {"owner", "admin"}

ORGS = st.sampled_from(["local", "local", "local", "acme"])  # most questions are about the own org
PROJECTS = st.sampled_from([None, "a", "b"])
USERS = st.sampled_from([None, "x", "y"])
ROLES = st.sampled_from(["owner", "admin", "operator", "member", "reviewer"])
IDENTITIES = st.builds(
    Identity, ORGS, USERS, st.sampled_from([None, "bot"]), st.lists(ROLES, max_size=2, unique=True).map(tuple)
)
RARELY = st.sampled_from([False, False, False, True])
LABELS = st.sampled_from([*CLASSIFICATIONS, "public", "internal", "odd"])
SHARES = st.sampled_from([(), ("local",), ("acme", "local")])
KINDS = {"configure": ("project", "org"), "operate": ("matrix", "org")}


def rows_for(action: str) -> st.SearchStrategy[list[Resource]]:
    """Mostly what the action is about."""
    kinds = st.sampled_from([*KINDS.get(action, ("memory", "node")) * 4, "memory", "org"])
    ids = st.sampled_from(["local", "acme", "a"])
    row = st.builds(Resource, kinds, ids, ORGS, PROJECTS, USERS, LABELS, RARELY, RARELY, SHARES, USERS)
    return st.lists(row, min_size=8, max_size=8)


QUESTIONS = st.sampled_from(ACTIONS).flatmap(lambda action: st.tuples(st.just(action), rows_for(action)))
CONTEXTS = st.builds(
    AccessContext, ORGS, PROJECTS, st.sampled_from([None, "ses_1"]), USERS, st.sampled_from([0, 69, 70, 100])
)
RIGHTS = st.builds(AgentRights, st.integers(0, 3), RARELY, st.booleans())
GRANTS = st.lists(st.sampled_from(["a", "b"]), unique=True)


def permitted(who: Principal, action: str, row: Resource, where: AccessContext, grants: list[str]) -> bool:
    agent, ours, roles = who.kind == "Agent", row.org == who.org, set(who.roles)
    same_project = where.project is not None and row.project == where.project
    own = who.name != "" and who.name in (row.user, row.writer)
    match action:
        case "read" | "inject":
            shared = action == "read" and who.org in row.shared_with and row.classification == "public"
            return shared or (ours and (not agent or same_project or not row.project or not where.project))
        case "write" | "feedback" if agent:
            return who.rights.can_write and ours and (same_project or not row.project)
        case "feedback":
            return ours
        case "write" | "delete":
            return ours and bool(own or roles & ADMINS)
        case "export":
            return ours and bool(own or roles & ADMINS or not row.user)
        case "review":
            return ours and row.quarantined and bool(roles & (ADMINS | {"reviewer"}))
        case "transfer":
            return row.project in grants and row.org == where.org and where.similarity_pct >= 70
        case "configure":
            in_org = row.id == who.org if row.kind == "org" else ours
            return in_org and bool(roles & (ADMINS | {"operator"}))
    return "operator" in roles


def forbidden(who: Principal, action: str, row: Resource, where: AccessContext) -> bool:
    agent, ours, roles = who.kind == "Agent", row.org == who.org, set(who.roles)
    if where.org != who.org or who.rights.suspended:
        return True
    if action in ("configure", "operate"):
        return False
    own = who.name != "" and who.name in (row.user, row.writer)
    acting_for = where.user or who.user
    theirs = row.user is not None and (not ours or (
        (acting_for != row.user or who.user not in (None, acting_for)) if agent else who.name != row.user
    ))  # fmt: skip
    helps = (
        ours
        and not agent
        and ("owner" in roles or ("admin" in roles and action in ("read", "delete", "export", "review")))
    )
    level = row.sensitivity
    return (
        (not ours and not (action == "read" and who.org in row.shared_with))
        or (theirs and not helps)
        or (agent and action in (*READS, "transfer") and level > who.rights.clearance)
        or (action == "inject" and level == 3)
        or (action in (*READS, "transfer", "feedback") and row.quarantined)
        or (action in (*READS, "transfer", "feedback") and row.deleted
            and not (not agent and action == "read" and ours and (roles & ADMINS or own)))
        or (action == "transfer" and level > 1)
    )  # fmt: skip


def kept_from_agent(identity: Identity, who: Principal, action: str, row: Resource) -> bool:
    """What is said of the agent that acts with a user's credential."""
    if not identity.agent or who.kind == "Agent":
        return False
    reads, writes = action in ("read", "export"), action in ("write", "feedback", "delete")
    return (reads and row.sensitivity > who.rights.clearance) or (writes and not who.rights.can_write)


def fits(who: Principal, action: str, row: Resource, where: AccessContext) -> bool:
    """What the schema says an action is about."""
    right_kind = row.kind in KINDS.get(action, ("memory", "node")) and not (
        who.kind == "Agent" and action in USER_ONLY
    )
    return (
        right_kind
        and not (action in AGENT_ONLY and who.kind != "Agent")
        and (action != "transfer" or bool(where.project))
    )


@settings(max_examples=300, deadline=None)
@given(IDENTITIES, QUESTIONS, CONTEXTS, RIGHTS, GRANTS)
def test_cedar_and_the_reference_agree(
    identity: Identity,
    asked: tuple[str, list[Resource]],
    where: AccessContext,
    rights: AgentRights,
    grants: list[str],
) -> None:
    action, rows = asked
    decisions = PEP.decide(identity, action, rows, where, rights=rights, grants=grants)
    who = principal_of(identity, action, rights)
    for row, decision in zip(rows, decisions, strict=True):
        expected = (
            isinstance(who, Principal)
            and fits(who, action, row, where)
            and permitted(who, action, row, where, grants if where.project else [])
            and not forbidden(who, action, row, where)
            and not kept_from_agent(identity, who, action, row)
        )
        assert decision.allowed == expected, (row, decision)
        assert decision.reason not in ("evaluation_error", "engine_error") and not PEP.health

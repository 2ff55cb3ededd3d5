"""Who asks for what, in Cedar's terms. Pure: values in, JSON for the engine out.

Everything comes from rows and credentials, nothing from what a caller says about a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from clew.model.access import AccessContext, Resource
from clew.model.config import AgentRights
from clew.model.memory import CLASSIFICATIONS
from clew.model.scope import Identity
from clew.values import dataclass

TYPES = {"memory": "Observation", "node": "GraphNode", "project": "Project", "org": "Org", "matrix": "Matrix"}
NAMED_ROWS = ("Mem::Observation", "Mem::GraphNode")  # a policy that names one of these decides by id
AGENT_ONLY = ("inject", "transfer")
USER_ONLY = ("delete", "export", "import", "review", "configure", "operate")
ASKED_OF_AGENT = {"read": "read", "export": "read", "write": "write", "feedback": "feedback", "delete": "write"}
# Whose memory it is, who may bring it back, and who looks after what is held.
DECIDED_OF_USER = frozenset({"forbid.private.agent", "forbid.deleted", "forbid.quarantined"})
POWERS = frozenset({"owner", "admin", "operator"})  # with one of these it acts as a user, even without a name

Ref = dict[str, str]
Entity = tuple[Ref, dict[str, Any], list[Ref]]  # uid, attributes, parents
AttributeClass = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Principal:
    """All that policies can know of who asks."""

    kind: str  # Agent | User
    org: str
    name: str
    user: str | None = None
    roles: tuple[str, ...] = ()
    rights: AgentRights = field(default_factory=AgentRights)

    @property
    def label(self) -> str:
        return f"{self.kind.lower()} {self.name or '(owner)'}"


def principal_of(identity: Identity, action: str, rights: AgentRights) -> Principal | str:
    """The principal, or why there is none: nobody is let in for lack of a name."""
    if not identity.org:
        return "missing_org"
    if action in AGENT_ONLY and not identity.agent:
        return "missing_agent"
    if acts_as_agent(identity, action):
        return Principal("Agent", identity.org, identity.agent or "", identity.user, rights=rights)
    if not identity.user and not POWERS & set(identity.roles):
        return "missing_principal"
    roles = set(identity.roles)
    if identity.org == "local" and "owner" in roles:
        roles.add("operator")  # as `Identity.check_operator` has it
    return Principal("User", identity.org, identity.user or "", roles=tuple(sorted(roles)), rights=rights)


def agent_beside(principal: Principal, identity: Identity, *, has_added: bool) -> Principal | None:
    """The agent that acts with a user's credential, where policies may keep something from it. The default
    clearance is no word about it."""
    rights = principal.rights
    if not identity.agent or principal.kind == "Agent" or not (has_added or rights.narrow):
        return None
    known = replace(rights, clearance=rights.beside_a_user)
    return Principal("Agent", identity.org, identity.agent, identity.user, rights=known)


def acts_as_agent(identity: Identity, action: str) -> bool:
    """An agent that uses its user's credential reads and writes as that user; into a prompt it goes as an agent."""
    if not identity.agent:
        return False
    return action in AGENT_ONLY or not (identity.user or POWERS & set(identity.roles))


def class_of(resource: Resource, *, by_id: bool) -> AttributeClass:
    """Two rows of one class differ in nothing that policies can see, so one decision serves both."""
    attributes = (
        resource.kind, resource.org, resource.project, resource.user, resource.writer, resource.classification,
        resource.quarantined, resource.deleted, resource.shared_with,
    )  # fmt: skip
    keeps_id = by_id or resource.kind not in ("memory", "node")
    return (*attributes, resource.id) if keeps_id else attributes


# -- uids ------------------------------------------------------------------------------------------


def reference(type_: str, *names: str) -> Ref:
    """A uid. An org's name is escaped before its members', so that no two pairs make the same id."""
    if len(names) == 1:
        return {"type": f"Mem::{type_}", "id": names[0]}
    org, name = names
    return {"type": f"Mem::{type_}", "id": f"{org.replace('%', '%25').replace('/', '%2F')}/{name}"}


def resource_reference(resource: Resource, *, stand_in: str | None = None) -> Ref:
    """`stand_in` takes the place of the id where a row stands for its class."""
    if resource.kind == "org":
        return reference("Org", resource.id)
    if resource.kind == "project":
        return reference("Project", resource.org, resource.id)
    return reference(TYPES[resource.kind], stand_in or resource.id)


# -- one question ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """One principal, one action, one context; each resource is a request of its own."""

    principal: Principal
    action: str
    context: AccessContext
    grants: tuple[str, ...] = ()  # the projects from which the context's project may take

    def requests(self, references: Iterable[Ref]) -> list[dict[str, Any]]:
        context = json.dumps(self._context())
        action = {"type": "Mem::Action", "id": self.action}
        return [
            {"principal": self._principal(), "action": action, "resource": resource, "context": context}
            for resource in references
        ]

    def entities(self, resources: Sequence[tuple[Ref, Resource]]) -> str:
        """As JSON: who asks, where, and every row, each once."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for uid, attributes, parents in self._described(resources):
            found.setdefault((uid["type"], uid["id"]), {"uid": uid, "attrs": attributes, "parents": parents})
        return json.dumps(list(found.values()))

    def _described(self, resources: Sequence[tuple[Ref, Resource]]) -> Iterable[Entity]:
        context = self.context
        yield self._principal(), self._principal_attributes(), [reference("Org", self.principal.org)]
        if context.project:
            yield _project(context.org, context.project, self.grants)
        if context.session:
            yield self._session(context.session)
        for uid, resource in resources:
            if resource.kind in ("memory", "node"):
                yield uid, _attributes(resource), _parents(resource)
                if resource.project:
                    yield _project(resource.org, resource.project)
            elif resource.kind == "project":
                yield _project(resource.org, resource.id)
            elif resource.kind == "org":
                yield uid, {}, []
            else:
                yield uid, {"org": _ref("Org", resource.org)} if resource.org else {}, []

    def _principal(self) -> Ref:
        return reference(self.principal.kind, self.principal.org, self.principal.name)

    def _principal_attributes(self) -> dict[str, Any]:
        principal, rights = self.principal, self.principal.rights
        common = {"org": _ref("Org", principal.org), "suspended": rights.suspended}
        if principal.kind == "User":
            return common | {"roles": list(principal.roles)}
        user = {"user": _ref("User", principal.org, principal.user)} if principal.user else {}
        return common | user | {"clearance": rights.clearance, "canWrite": rights.can_write}

    def _session(self, session: str) -> Entity:
        org, project = self.context.org, self.context.project
        attributes = {"org": _ref("Org", org)} | ({"project": _ref("Project", org, project)} if project else {})
        parents = [reference("Project", org, project)] if project else []
        return reference("Session", org, session), attributes, parents

    def _context(self) -> Mapping[str, Any]:
        context = self.context
        user = context.user or self.principal.user
        members = {"project": ("Project", context.project), "session": ("Session", context.session),
                   "user": ("User", user)}  # fmt: skip
        given = {name: _ref(type_, context.org, value) for name, (type_, value) in members.items() if value}
        transfer = {"similarityPct": context.similarity_pct} if self.action == "transfer" else {}
        return {"org": _ref("Org", context.org), **given, **transfer}


def _ref(type_: str, *names: str) -> dict[str, Ref]:
    return {"__entity": reference(type_, *names)}


def _project(org: str, project: str, grants: Iterable[str] = ()) -> Entity:
    attributes = {"org": _ref("Org", org), "transferFrom": [_ref("Project", org, source) for source in grants]}
    return reference("Project", org, project), attributes, [reference("Org", org)]


def _parents(resource: Resource) -> list[Ref]:
    if resource.project:
        return [reference("Project", resource.org, resource.project)]
    return [reference("Org", resource.org)]


def _attributes(resource: Resource) -> dict[str, Any]:
    """A label nobody knows is the strictest one (FC-4)."""
    org, known = resource.org, resource.classification in CLASSIFICATIONS
    optional = {"project": ("Project", resource.project), "privateTo": ("User", resource.user),
                "writtenBy": ("User", resource.writer)}  # fmt: skip
    return {
        "org": _ref("Org", org),
        **{name: _ref(type_, org, value) for name, (type_, value) in optional.items() if value},
        "classification": resource.classification if known else "restricted",
        "sensitivity": resource.sensitivity,
        "quarantined": resource.quarantined,
        "deleted": resource.deleted,
        "sharedWithOrgs": [_ref("Org", other) for other in resource.shared_with],
    }

"""Who looks after an org: what verbs about the whole of it ask before they do anything.

A role is needed, and the policies decide as well: a suspended agent has no powers, whatever its roles. One from
which anything is kept that its user may changes nothing here, and takes nothing that holds the whole store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import Denied
from clew.model.access import AccessContext, Resource
from clew.model.scope import Identity, Scope

if TYPE_CHECKING:
    from clew.clew import Clew

_CHANGES = frozenset(("owner", "admin"))
_LISTS = _CHANGES | {"operator"}
_PEOPLE = _LISTS | {"member"}


def administrator(clew: Clew, identity: Identity | None, what: str) -> Identity:
    """For changes: an owner or admin who may configure the org."""
    return in_full(clew, _checked(clew, identity or Identity(), what, _CHANGES), what)


def operator(clew: Clew, identity: Identity | None, what: str) -> Identity:
    """For what concerns the whole store: whoever runs it."""
    identity = identity or Identity()
    identity.check_operator()
    return in_full(clew, identity, what)


def in_full(clew: Clew, identity: Identity, what: str) -> Identity:
    """Refuse an agent that may less than its user: settings and copies go beyond single memories."""
    if identity.agent and clew._rights(identity.org, identity.agent).narrow:
        raise Denied(
            f"agent '{identity.agent}' may not {what}: something is kept from it",
            code="NOT_FOR_NARROW_AGENTS",
            next=f"ask an owner or admin of the org; see what it may: clew policy agent {identity.agent}",
        )
    return identity


def caretaker(clew: Clew, identity: Identity | None, what: str) -> Identity:
    """For looking: an owner, admin or operator."""
    return _checked(clew, identity or Identity(), what, _LISTS)


def is_caretaker(clew: Clew, identity: Identity) -> bool:
    return not _LISTS.isdisjoint(identity.roles) and _may_configure(clew, identity)


def person(clew: Clew, identity: Identity | None, project: str, what: str) -> Identity:
    """Someone who may write in the project and is not just an agent, which could make it look like another."""
    identity = identity or Identity()
    if _PEOPLE.isdisjoint(identity.roles):
        raise Denied(f"'{identity.name}' may not {what}", code="MEMBER_ONLY", next="ask a member of the org")
    clew._doors.door(identity, Scope(org=identity.org, project=project)).check_place()
    return identity


def _checked(clew: Clew, identity: Identity, what: str, roles: frozenset[str]) -> Identity:
    if roles.isdisjoint(identity.roles) or not _may_configure(clew, identity):
        raise Denied(
            f"'{identity.name}' may not {what}", code="ADMIN_ONLY", next="ask an owner or admin of the org"
        )
    return identity


def _may_configure(clew: Clew, identity: Identity) -> bool:
    pep = clew._doors.door(identity, None).pep
    if pep is None:  # the owner's door stands open
        return True
    org = Resource("org", identity.org, identity.org)
    return all(one.allowed for one in pep.decide(identity, "configure", [org], AccessContext(identity.org)))

"""Which org a piece of work belongs to. Pure: a credential and what is stored of its user in, a decision out.

In: who asks, what the store knows of that user, the project, and the org if one was named. Out: the org, with the
reason. Nothing here gives a right: to choose from are the credential's own org and those in which its user is a
member, and whoever enters one has there what the membership says, or less. Precedence as in memories_sh.md 9.

    a named org            it must match the credential; the project says nothing then
    credential of an org   stays there, also when its user is a member elsewhere: the org gave it, not the user
    mode auto, a project   mapping of its owner > org whose slug is the owner > personal
    mode auto, no project  like active_workspace
    active_workspace       the active org > personal
"""

from __future__ import annotations

import re
from dataclasses import replace

from clew.errors import InvalidInput, NotFound
from clew.model.org import AUTO, LOCAL, PERSONAL_PREFIX, Routed, Routing
from clew.model.scope import Identity

EXPLICIT, CREDENTIAL, MAPPING, SLUG, ACTIVE, PERSONAL = (
    "explicit", "credential", "mapping", "slug", "active_workspace", "personal",
)  # fmt: skip
# Host, then owner and the rest. A port is possible with a scheme only; without one a colon begins the path.
_GITHUB = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://(?:[^/@]*@)?github\.com(?::\d*)?/|(?:[^/@:]*@)?github\.com[/:])(.*)", re.ASCII | re.I
)
_OWNER = re.compile(r"[a-z0-9][a-z0-9-]{0,38}", re.ASCII | re.I)  # as GitHub has them


def route(identity: Identity, routing: Routing, *, project: str | None = None, org: str | None = None) -> Routed:
    """INVARIANT: the org that comes out is the identity's own or one of `routing.memberships`."""
    if org is not None:
        return _named(identity, routing, org)
    if not is_personal(identity):
        return Routed(identity.org, CREDENTIAL, "the credential belongs to this org")
    if routing.mode != AUTO or not project or not project.strip():
        return _active(identity, routing)
    owner = owner_of(project)
    if owner is None:
        return _personal(identity, "the project names no owner on github.com")
    return _by_owner(identity, routing, owner)


def acting(identity: Identity, routed: Routed) -> Identity:
    """The identity in the org it was routed to: the role of the membership, if the credential is worth as much."""
    if routed.org == identity.org:
        return identity
    carries = routed.role is not None and not {"owner", routed.role}.isdisjoint(identity.roles)
    return replace(identity, org=routed.org, roles=(routed.role,) if carries and routed.role else ())


def is_personal(identity: Identity) -> bool:
    """Whether a credential is a person's own, which may follow its memberships.

    On one machine the personal org is `local`. A credential there without a user is the owner's only if it says
    so: an agent that has no roles does not inherit the owner's memberships.
    """
    if identity.org == LOCAL:
        return identity.user is not None or "owner" in identity.roles
    return identity.user is not None and identity.org == personal_org(identity.user)


def personal_org(user: str) -> str:
    return f"{PERSONAL_PREFIX}{user}"


def owner_of(project: str) -> str | None:
    """The owner of a repository on github.com, in lower case; None for every other project."""
    found = _GITHUB.fullmatch(project.strip().removesuffix(".git"))
    parts = [part for part in found[1].split("/") if part] if found else []
    return parts[0].lower() if len(parts) >= 2 and _OWNER.fullmatch(parts[0]) else None


def owner_named(text: str) -> str:
    """An owner as people write it: acme, @acme, or the address of its page or of a repository."""
    given = text.strip().removeprefix("@")
    found = _GITHUB.fullmatch(given)
    owner = found[1].strip("/").split("/")[0] if found else given
    if not _OWNER.fullmatch(owner):
        raise InvalidInput(
            f"'{text[:60]}' is no owner on github.com",
            code="OWNER_INVALID",
            next="give its name, such as acme: letters, digits and hyphens, at most 39",
        )
    return owner.lower()


def slug_named(text: str) -> str:
    """A slug has the form of an owner, in lower case, or it would lead nowhere. `local` is an org of its own."""
    if not _OWNER.fullmatch(text) or text != text.lower() or text == LOCAL:
        raise InvalidInput(
            f"'{text[:60]}' is {'reserved' if text == LOCAL else 'no slug'}",
            code="ORG_SLUG_INVALID",
            next="give --slug: lower-case letters, digits and hyphens, at most 39",
        )
    return text


def slug_of(name: str) -> str:
    return slug_named(re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:39])


def _named(identity: Identity, routing: Routing, org: str) -> Routed:
    if org == identity.org:
        return Routed(org, EXPLICIT, "it was named, and the credential is for it")
    found = routing.member_of(org) if is_personal(identity) else None
    if found is None:
        raise NotFound(
            f"org '{org}' was not found",
            code="ORG_NOT_FOUND",
            next=f"use a credential of that org, or the org '{identity.org}'",
        )
    return Routed(org, EXPLICIT, "it was named, and the user is a member of it", found.role)


def _by_owner(identity: Identity, routing: Routing, owner: str) -> Routed:
    passed: tuple[str, ...] = ()
    target = routing.mapped(owner)
    mapped = routing.member_of(target)
    if mapped is not None:
        return Routed(mapped.org, MAPPING, f"the owner '{owner}' is mapped to it", mapped.role)
    if target is not None:
        passed = (f"the owner '{owner}' is mapped to '{target}', but the user is in no such org",)
    named = routing.member_by_slug(owner)
    if named is not None:
        return Routed(named.org, SLUG, f"its slug is the owner '{owner}'", named.role, passed)
    return _personal(identity, f"the user is in no org for the owner '{owner}'", passed)


def _active(identity: Identity, routing: Routing) -> Routed:
    if routing.active is None:
        return _personal(identity, "no other org is active")
    found = routing.member_of(routing.active)
    if found is None:
        return _personal(identity, f"'{routing.active}' is active, but the user is in no such org")
    return Routed(found.org, ACTIVE, "it is the active org", found.role)


def _personal(identity: Identity, words: str, passed: tuple[str, ...] = ()) -> Routed:
    return Routed(identity.org, PERSONAL, words, passed=passed)

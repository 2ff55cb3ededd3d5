"""Orgs, what they have and who is in them: `clew.orgs`. Every change is audited.

A user of None is the owner of this machine's `local`. Operators create orgs, so nobody can take a slug in order to
draw in the work of others; owners and admins look after the members.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import replace

from clew.errors import Conflict, Denied, InvalidInput, NotFound
from clew.guard import routing as routes
from clew.model.access import Resource
from clew.model.config import OrgFeatures
from clew.model.kinds import checked
from clew.model.org import LOCAL, PERSONAL_PREFIX, ROLES, Member, Membership, Org, Routed
from clew.model.scope import Identity, Scope
from clew.ports import Tx
from clew.remember import key_names
from clew.verbs.keys import revoke_beyond
from clew.verbs.routing import Routes, is_operator, not_found


@checked
class Orgs(Routes):
    """What an org has, its members, and the way to it."""

    __slots__ = ()

    def list(self, *, identity: Identity | None = None) -> list[str]:
        """Every org here for whoever runs the store; for others their own, and those they are members of."""
        identity = identity or Identity()
        with self._clew.store.read() as tx:
            found = tx.config.orgs() if is_operator(identity) else [one.org for one in _memberships(tx, identity)]
        return sorted({identity.org, *found})

    def features(
        self,
        org: str | None = None,
        *,
        kg_enabled: bool | None = None,
        feedback_weighting: bool | None = None,
        identity: Identity | None = None,
    ) -> OrgFeatures:
        """What an org has; with values, change it. The plan (kg) is the operator's, the weighting its admins'."""
        identity = identity or Identity()
        named = self._org_named(org, identity)
        resource = Resource("org", named, named)
        for name, on in (("kg", kg_enabled), ("feedback weighting", feedback_weighting)):
            if on is not None and not isinstance(on, bool):
                raise InvalidInput(f"{name} is on or off", code="SWITCH_INVALID", next="say on or off")
        changes: dict[str, bool] = {}
        if kg_enabled is not None:
            self._check(identity, "operate", resource)
            changes["kg_enabled"] = kg_enabled
        if feedback_weighting is not None:
            self._check(identity, "configure" if named == identity.org else "operate", resource)
            changes["feedback_weighting_disabled"] = not feedback_weighting
        if changes:
            return self._clew.store.write(lambda tx: self._changed(tx, resource, changes, identity))
        with self._clew.store.read() as tx:
            return tx.config.features(named)

    def _changed(self, tx: Tx, resource: Resource, changes: Mapping[str, bool], identity: Identity) -> OrgFeatures:
        before = tx.config.features(resource.id)
        after = replace(before, **changes)
        if after != before:
            tx.config.put_features(resource.id, after, by=identity.actor, at=self._clew.now())
            old = {name: getattr(before, name) for name in changes}
            self._note(tx, resource.id, identity, resource, old, changes)
        return after

    # -- orgs and members ------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        *,
        slug: str | None = None,
        id: str | None = None,
        owner: str | None = None,
        identity: Identity | None = None,
    ) -> Org:
        """A new org, or a name for one that has memories already: then give its `id`. For operators.

        Whoever creates it owns it, unless an `owner` is named.
        """
        identity = identity or Identity()
        slug = routes.slug_of(Scope(org=name).org) if slug is None else routes.slug_named(slug)
        org = Org(_org_id(id or slug), slug, name, self._clew.now(), identity.actor)
        key_names.check_place(Scope(org=name, user=owner))
        resource = Resource("org", org.id, org.id)
        self._check(identity, "operate", resource)
        first = Member(_first_owner(owner, identity), "owner")

        def change(tx: Tx) -> Org:
            _check_new(tx, org)
            tx.orgs.insert(org)
            tx.orgs.put_member(org.id, first)
            self._note(tx, org.id, identity, resource, {}, {"slug": slug, "member": first.user, "role": "owner"})
            return org

        return self._clew.store.write(change)

    def members(self, org: str, *, identity: Identity | None = None) -> tuple[Member, ...]:
        """Who is in an org. For its owners and admins."""
        found, _actor = self._looked_after(org, identity or Identity())
        with self._clew.store.read() as tx:
            return tuple(tx.orgs.members(found.id))

    def add_member(
        self, org: str, user: str | None, role: str = "member", *, identity: Identity | None = None
    ) -> Member:
        """Add a member, or give one another role. Owners are made by owners."""
        if role not in ROLES:
            raise InvalidInput(
                f"there is no role '{role[:40]}'", code="ROLE_INVALID", next=f"choose one of {', '.join(ROLES)}"
            )
        self._put_role(org, user, role, identity or Identity())
        return Member(user, role)

    def remove_member(self, org: str, user: str | None, *, identity: Identity | None = None) -> None:
        """Routing leads them there no more, and their keys end, also those of one who is no member. The last owner
        stays."""
        self._put_role(org, user, None, identity or Identity())

    def _put_role(self, name: str, user: str | None, role: str | None, identity: Identity) -> None:
        org, actor = self._looked_after(name, identity)
        member = Scope(org=org.id, user=user)  # refuses what is no name
        if role is not None:
            key_names.check_place(member)

        def change(tx: Tx) -> None:
            before = tx.orgs.role(org.id, user)
            if before == role is not None:
                return
            _check_owners(tx, org.id, actor, before, role)
            ended = revoke_beyond(tx, org.id, user, role, actor, at=self._clew.now()) if user else []
            if role is not None:
                tx.orgs.put_member(org.id, Member(user, role))
            elif before is not None:
                tx.orgs.drop_member(org.id, user)
            elif not ended:
                raise _no_member(user)
            resource = Resource("org", org.id, org.id)
            after: dict[str, object] = {"role": role} | ({"revoked": ended} if ended else {})
            self._note(tx, org.id, actor, resource, {"member": user, "role": before}, after)

        self._clew.store.write(change)

    def _looked_after(self, name: str, identity: Identity) -> tuple[Org, Identity]:
        """The org, and who acts in it. To those who are not in it, it is not there."""
        with self._clew.store.read() as tx:
            org = tx.orgs.find(name)
            role = tx.orgs.role(org.id, identity.user) if org and routes.is_personal(identity) else None
        if org is None and name == identity.org:
            raise _without_members(name)
        if org is None or not (identity.org == org.id or role or is_operator(identity)):
            raise not_found(name)
        resource = Resource("org", org.id, org.id)
        if org.id != identity.org and is_operator(identity):
            self._check(identity, "operate", resource)
            return org, identity
        actor = routes.acting(identity, Routed(org.id, routes.EXPLICIT, "", role))
        self._check(actor, "configure", resource)
        return org, actor


def _without_members(org: str) -> NotFound:
    """One's own org, which is there without ever having been created."""
    is_personal = org == LOCAL or org.startswith(PERSONAL_PREFIX)
    named = "NAME" if is_personal else f"NAME --id {org}"
    return NotFound(
        f"org '{org}' has no members{', it is your own' if is_personal else ''}",
        code="ORG_WITHOUT_MEMBERS",
        next=f"make an org that others can join: clew org create {named}",
    )


def _memberships(tx: Tx, identity: Identity) -> tuple[Membership, ...]:
    return tx.orgs.routing(identity.user).memberships if routes.is_personal(identity) else ()


def _org_id(id: str) -> str:
    """Refuses what could be taken for another org: a personal one, or one that differs in case or spaces only."""
    plain = "".join(unicodedata.normalize("NFKC", id).lower().split())
    is_personal = plain == LOCAL or plain.startswith(PERSONAL_PREFIX)
    if is_personal or plain != id:
        why = "is kept for personal orgs" if is_personal else "is no id of an org"
        raise InvalidInput(
            f"'{id[:120]}' {why}",
            code="ORG_ID_INVALID",
            next=f"choose another --slug or --id: lower-case, without spaces, not {LOCAL} or {PERSONAL_PREFIX}...",
        )
    return Scope(org=id).org


def _first_owner(owner: str | None, identity: Identity) -> str | None:
    if owner is None and identity.user is None and not routes.is_personal(identity):
        raise InvalidInput("nobody is named who owns it", code="ORG_OWNER_REQUIRED", next="name an owner")
    return Scope(user=owner).user if owner is not None else identity.user


def _check_new(tx: Tx, org: Org) -> None:
    """An id must not be another org's slug either, or a name would lead to two."""
    for name in (org.id, org.slug):
        if tx.orgs.find(name):
            raise Conflict(f"there is an org '{name}' already", code="ORG_EXISTS", next="choose another --slug")


def _no_member(user: str | None) -> NotFound:
    """Nor is there a key of theirs: who left, or never was in, may have been given one."""
    return NotFound(
        f"'{user or 'the local owner'}' is no member", code="MEMBER_NOT_FOUND", next="see: clew org members ORG"
    )


def _check_owners(tx: Tx, org: str, actor: Identity, before: str | None, after: str | None) -> None:
    """Owners are made and unmade by owners, or an admin could take the org over; and one stays."""
    if "owner" in (before, after) and not (is_operator(actor) or "owner" in actor.roles):
        raise Denied(f"'{actor.name}' may not make or unmake owners", code="OWNER_ONLY", next="ask an owner")
    if before == "owner" and tx.orgs.owners(org) == 1:
        raise Conflict(
            f"org '{org}' would have no owner", code="LAST_OWNER", next="make somebody else an owner first"
        )

"""Which org a user's work belongs to: the part of `clew.orgs` for users themselves. Every change is audited.

A user chooses among the orgs in which it is a member; operators may look and choose for any user. A user of None is
the owner of this machine's `local`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from clew.errors import Conflict, Denied, InvalidInput, NotFound
from clew.guard import routing as routes
from clew.model.access import Resource
from clew.model.kinds import checked
from clew.model.org import ACTIVE_WORKSPACE, MAX_MAPPINGS, MODES, Membership, Routed, Routing
from clew.model.scope import Identity, Scope
from clew.ports import Tx
from clew.verbs.config import ConfigVerbs


@checked
class Routes(ConfigVerbs):
    """The way to an org."""

    __slots__ = ()

    def route(
        self,
        project: str | None = None,
        *,
        org: str | None = None,
        user: str | None = None,
        identity: Identity | None = None,
    ) -> Routed:
        """Which org work on a project belongs to, and why. Operators may ask for any user's own credential."""
        person = _person(identity or Identity(), user)
        return routes.route(person, self._routing(person), project=project, org=org)

    def enter(
        self, project: str | None = None, *, org: str | None = None, identity: Identity | None = None
    ) -> Identity:
        """The identity in the org that its work belongs to: what calls about this project are made with."""
        identity = identity or Identity()
        return routes.acting(identity, self.route(project, org=org, identity=identity))

    def routing(self, *, user: str | None = None, identity: Identity | None = None) -> Routing:
        """What decides about a user's work: mode, active org, mappings, memberships."""
        return self._routing(_person(identity or Identity(), user))

    def use(
        self,
        org: str | None = None,
        *,
        mode: str = ACTIVE_WORKSPACE,
        user: str | None = None,
        identity: Identity | None = None,
    ) -> Routing:
        """Choose the active org and how work is routed. The personal org is one to choose as well."""
        if mode not in MODES:
            raise InvalidInput(
                f"there is no mode '{mode[:40]}'", code="ROUTING_MODE_INVALID", next=f"one of {', '.join(MODES)}"
            )

        asker = identity or Identity()

        def change(tx: Tx, person: Identity) -> None:
            known = tx.orgs.routing(person.user)
            active = known.active
            if org is not None:
                active = None if org == person.org else _member(tx, known, org, person, asker).org
            tx.orgs.put_routing(person.user, mode=mode, active=active)

        return self._choose(change, user, asker)

    def map(self, owner: str, org: str, *, user: str | None = None, identity: Identity | None = None) -> Routing:
        """Work on the repositories of an owner belongs to this org, whatever its slug."""
        named, asker = routes.owner_named(owner), identity or Identity()

        def change(tx: Tx, person: Identity) -> None:
            before = tx.orgs.routing(person.user)
            if before.mapped(named) is None and len(before.mappings) >= MAX_MAPPINGS:
                raise Conflict(
                    f"{MAX_MAPPINGS} owners are mapped already",
                    code="OWNER_MAPPINGS_FULL",
                    next="take one back: clew org map OWNER --remove",
                )
            tx.orgs.map(person.user, named, _member(tx, before, org, person, asker).org)

        return self._choose(change, user, asker)

    def unmap(self, owner: str, *, user: str | None = None, identity: Identity | None = None) -> Routing:
        named = routes.owner_named(owner)

        def change(tx: Tx, person: Identity) -> None:
            if not tx.orgs.unmap(person.user, named):
                raise NotFound(
                    f"the owner '{named}' is not mapped",
                    code="OWNER_NOT_MAPPED",
                    next="see which are: clew org map",
                )

        return self._choose(change, user, identity or Identity())

    def _routing(self, person: Identity) -> Routing:
        """Of a credential that no person owns nothing is known, so it stays where it is."""
        if not routes.is_personal(person):
            return Routing()
        with self._clew.store.read() as tx:
            return tx.orgs.routing(person.user)

    def _choose(self, change: Callable[[Tx, Identity], None], user: str | None, identity: Identity) -> Routing:
        """Change a user's routing, and note in the user's own org what became of it."""
        person = _person(identity, user)
        resource = Resource("org", person.org, person.org)
        if not routes.is_personal(person):
            raise Denied(
                f"the credential belongs to the org '{person.org}', whose work stays there",
                code="PERSONAL_ONLY",
                next="use your own credential",
            )
        self._check(identity, "configure" if person is identity else "operate", resource)

        def run(tx: Tx) -> Routing:
            before = tx.orgs.routing(person.user)
            change(tx, person)
            after = tx.orgs.routing(person.user)
            if after != before:
                self._note(tx, person.org, identity, Resource("routing", person.user or "", person.org),
                           *_differences(before, after))  # fmt: skip
            return after

        return self._clew.store.write(run)


def _person(identity: Identity, user: str | None) -> Identity:
    """Whose routing it is: the caller's, or for operators that of a user's own credential."""
    if user is None or user == identity.user:
        return identity
    identity.check_operator()
    return Identity(Scope(org=routes.personal_org(user), user=user).org, user)


def _member(tx: Tx, routing: Routing, name: str, person: Identity, asker: Identity) -> Membership:
    """The person's. Whoever runs the store sees every org, and is told that it is there."""
    found = routing.member_of(name) or routing.member_by_slug(name)
    if found is None and is_operator(asker) and (org := tx.orgs.find(name)):
        who = person.user or "the owner of this machine"
        raise Denied(
            f"{who} is no member of org '{org.id}'",
            code="MEMBERS_ONLY",
            next=f"add them first: clew org members {org.id} --add {shlex.quote(person.user or '')}",
        )
    if found is None:
        raise not_found(name)
    return found


def not_found(name: str) -> NotFound:
    """The same for an org that is not there and for one the user is not in."""
    return NotFound(
        f"org '{name[:120]}' was not found",
        code="ORG_NOT_FOUND",
        next="see yours: clew org list; its owner adds members, the operator creates orgs: clew org create",
    )


def is_operator(identity: Identity) -> bool:
    try:
        identity.check_operator()
    except Denied:
        return False
    return True


def _differences(before: Routing, after: Routing) -> tuple[dict[str, Any], dict[str, Any]]:
    """What changed, as the audit log keeps it."""
    old, new = before.as_json(), after.as_json()
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return {name: old.get(name) for name in names}, {name: new.get(name) for name in names}

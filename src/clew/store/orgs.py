"""Orgs, their members, and which owner of repositories belongs to which org. Rows to values and back.

A user is None for the owner of this machine's `local`, and '' in the rows.
"""

from __future__ import annotations

from clew.model.org import Member, Membership, Org, Routing
from clew.model.times import from_micros, to_micros
from clew.store.session import Row, Session


class OrgTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str) -> Org | None:
        """By id or slug. No org has another's id for a slug."""
        row = self._session.one("org_named", name=name)
        return _org(row) if row else None

    def insert(self, org: Org) -> None:
        self._session.run(
            "org_insert",
            org_id=org.id,
            slug=org.slug,
            name=org.name,
            created_at=to_micros(org.created_at),
            created_by=org.created_by,
        )

    # -- members -------------------------------------------------------------------------------------

    def members(self, org: str) -> list[Member]:
        return [Member(user or None, role) for user, role in self._session.all("org_members_list", org_id=org)]

    def role(self, org: str, user: str | None) -> str | None:
        role = self._session.value("org_member_role", org_id=org, user_id=user or "")
        return None if role is None else str(role)

    def put_member(self, org: str, member: Member) -> None:
        self._session.run("org_member_put", org_id=org, user_id=member.user or "", role=member.role)

    def drop_member(self, org: str, user: str | None) -> None:
        self._session.run("org_member_drop", org_id=org, user_id=user or "")

    def owners(self, org: str) -> int:
        return int(self._session.value("org_owners_count", org_id=org))

    # -- routing -------------------------------------------------------------------------------------

    def routing(self, user: str | None) -> Routing:
        key = user or ""
        mode, active = self._session.one("org_routing", user_id=key) or (Routing().mode, "")
        mappings = [(owner, org) for owner, org in self._session.all("org_mappings", user_id=key)]
        members = [Membership(*row) for row in self._session.all("org_memberships", user_id=key)]
        return Routing(mode, active or None, tuple(mappings), tuple(members))

    def put_routing(self, user: str | None, *, mode: str, active: str | None) -> None:
        self._session.run("org_routing_put", user_id=user or "", mode=mode, active_org=active or "")

    def map(self, user: str | None, owner: str, org: str) -> None:
        self._session.run("org_mapping_put", user_id=user or "", owner=owner, mapped_org=org)

    def unmap(self, user: str | None, owner: str) -> bool:
        """False when it was not mapped."""
        return self._session.run("org_mapping_drop", user_id=user or "", owner=owner) > 0


def _org(row: Row) -> Org:
    id, slug, name, created_at, created_by = row
    return Org(id, slug, name, from_micros(created_at), created_by)

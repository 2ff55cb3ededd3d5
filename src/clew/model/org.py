"""Orgs, who is in them, and which of them a piece of work belongs to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clew.model.times import to_rfc3339
from clew.values import dataclass

ROLES = ("owner", "admin", "member", "reviewer")
AUTO, ACTIVE_WORKSPACE = "auto", "active_workspace"
MODES = (AUTO, ACTIVE_WORKSPACE)
LOCAL, PERSONAL_PREFIX = "local", "user:"
MAX_MAPPINGS = 50  # per user, as documented (memories_sh.md 9)


@dataclass(frozen=True, slots=True)
class Org:
    """The slug is what leads to it from the owner of a repository."""

    id: str
    slug: str
    name: str
    created_at: datetime
    created_by: str

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("id", "slug", "name", "created_by")}
        return told | {"created_at": to_rfc3339(self.created_at)}


@dataclass(frozen=True, slots=True)
class Member:
    """Without a user: the owner of this machine's `local`."""

    user: str | None
    role: str

    def as_json(self) -> dict[str, Any]:
        return ({} if self.user is None else {"user": self.user}) | {"role": self.role}


@dataclass(frozen=True, slots=True)
class Membership:
    """An org that is there, and what one user is in it."""

    org: str
    slug: str
    role: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Routing:
    """All that decides where a user's work belongs. Only memberships open an org; the rest chooses among them."""

    mode: str = AUTO
    active: str | None = None  # None: the personal one
    mappings: tuple[tuple[str, str], ...] = ()  # owner of repositories -> org
    memberships: tuple[Membership, ...] = ()

    def mapped(self, owner: str) -> str | None:
        return dict(self.mappings).get(owner)

    def member_of(self, org: str | None) -> Membership | None:
        return next((one for one in self.memberships if one.org == org), None)

    def member_by_slug(self, slug: str) -> Membership | None:
        return next((one for one in self.memberships if one.slug == slug), None)

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"mode": self.mode} | ({"active": self.active} if self.active else {})
        mappings = [{"owner": owner, "org": org} for owner, org in self.mappings]
        return told | {"mappings": mappings, "member_of": [one.as_json() for one in self.memberships]}


@dataclass(frozen=True, slots=True)
class Routed:
    """Where work belongs: the reason as a code and in words, what was passed over, and the role there."""

    org: str
    reason: str
    words: str
    role: str | None = None  # None where the credential itself says what it may
    passed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"org": self.org, "reason": self.reason, "words": self.words}
        return told | ({"role": self.role} if self.role else {}) | {"passed": list(self.passed)}

"""A key of the API: who may ask over the network, as whom, and until when."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from clew.model.scope import Identity
from clew.model.times import to_rfc3339
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Without its secret, which is shown once, when the key is made."""

    id: str
    org: str
    name: str
    user: str | None
    agent: str | None
    roles: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    @property
    def identity(self) -> Identity:
        return Identity(org=self.org, user=self.user, agent=self.agent, roles=self.roles, key=self.name)

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def as_json(self) -> dict[str, Any]:
        fields = ((name, getattr(self, name)) for name in self.__slots__)
        plain = ((name, to_rfc3339(one) if isinstance(one, datetime) else one) for name, one in fields)
        return {name: list(one) if isinstance(one, tuple) else one for name, one in plain if one is not None}


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made, with the token that nobody can show again. A user who is no member of the org is
    told of: nobody would come across the key when they leave."""

    key: ApiKey
    token: str = field(repr=False)
    is_of_member: bool = True

    def as_json(self) -> dict[str, Any]:
        told = {} if self.is_of_member else {"is_of_member": False}
        return self.key.as_json() | {"token": self.token} | told

"""Keys of the API over HTTP. A token is answered once, when its key is made.

Making a key takes no Idempotency-Key: the answer would have to be kept, and the token with it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.model.key import ApiKey
from clew.surfaces.http.route import Call, Page, Route
from clew.surfaces.http.shapes.common import ABSENT, AnyOrg, Id, Maybe, Name, Shape, When, next_page

KeyRole = Literal["owner", "admin", "member", "reviewer", "operator"]


class KeysOfOrg(Page, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another org than that of the credential is for operators."""

    org: Name | None = None


class KeyWanted(Shape, frozen=True, kw_only=True):
    """Without roles, the key of a user is a member's; that of an agent has none. Without an end, it has none."""

    name: Annotated[str, Meta(min_length=1, max_length=120)]
    org: Name | None = None
    user: Name | None = None
    agent: Name | None = None
    roles: Annotated[tuple[KeyRole, ...], Meta(max_length=5)] = ()
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None


class KeyShown(Shape, frozen=True, kw_only=True):
    id: Id
    org: str
    name: str
    roles: list[str]
    created_at: When
    created_by: str
    user: str | Maybe = ABSENT
    agent: str | Maybe = ABSENT
    expires_at: When | Maybe = ABSENT
    revoked_at: When | Maybe = ABSENT
    last_used_at: When | Maybe = ABSENT


class KeyMade(KeyShown, frozen=True, kw_only=True):
    """`token` is not shown again. `is_of_member` is there, and false, where its user is no member of the org."""

    token: str
    is_of_member: bool | Maybe = ABSENT


class KeysShown(Shape, frozen=True, kw_only=True):
    keys: list[KeyShown]
    next_cursor: Id | Maybe = ABSENT


def list_keys(call: Call) -> Any:
    asked: KeysOfOrg = call.query
    found = call.clew.keys.list(org=asked.org, limit=asked.limit + 1, cursor=asked.cursor, identity=call.identity)
    return {
        "keys": [one.as_json() for one in found[: asked.limit]],
        **next_page(found, asked.limit, _id),
    }


def _id(key: ApiKey) -> str:
    return key.id


def create(call: Call) -> Any:
    wanted: KeyWanted = call.body
    made = call.clew.keys.create(
        wanted.name,
        org=wanted.org,
        user=wanted.user,
        agent=wanted.agent,
        roles=wanted.roles,
        expires=wanted.expires_at,
        identity=call.identity,
    )
    return made.as_json()


def revoke(call: Call) -> Any:
    return call.clew.keys.revoke(call.path["id"], org=call.query.org, identity=call.identity).as_json()


ROUTES = (
    Route(
        "GET", "/v1/keys", "keys.list", "The keys of an org, without their tokens.", list_keys, KeysShown,
        query=KeysOfOrg, also=(403, 404),
    ),
    Route(
        "POST", "/v1/keys", "keys.create", "Make a key; its token is answered once.", create, KeyMade,
        body=KeyWanted, status=201, also=(403, 404),
    ),
    Route(
        "DELETE", "/v1/keys/{id}", "keys.revoke", "End a key, at once.", revoke, KeyShown,
        query=AnyOrg, also=(403, 404),
    ),
)  # fmt: skip

"""The verbs about keys of the API: `clew.keys.create(...)`. Making and revoking is audited.

A key acts in one org, as a user, an agent or an office such as admin. Owners and admins make keys for their org and
operators for any; nobody makes one that may do more than its maker, and agents make none. The token is told once:
the store keeps its hash. A key ends when it expires or is revoked, and with the next request that is so everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from clew.errors import ClewError, Denied, InvalidInput, NotFound
from clew.guard import routing as routes
from clew.model.access import Resource
from clew.model.ids import check_cursor, new_id
from clew.model.key import ApiKey, NewKey
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.org import LOCAL, ROLES
from clew.model.scope import Identity, Scope
from clew.model.times import to_micros, zoned
from clew.remember import key_names
from clew.verbs import powers
from clew.verbs.config import ConfigVerbs
from clew.verbs.routing import is_operator, not_found

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.ports import Tx

OPERATOR = "operator"
KEY_ROLES = (*ROLES, OPERATOR)
_ADMINS = frozenset(("owner", "admin"))
POWERS = _ADMINS | {OPERATOR}  # one of these is somebody, also without a name
MAX_NAME = 120
MAX_TOKEN = 200  # what is longer is none of ours, and not worth hashing
MAX_PAGE = 1_000
USE_NOTED_EVERY = timedelta(minutes=1)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


@checked
class Keys(ConfigVerbs):
    """Who may ask over the network."""

    __slots__ = ("_noted",)

    def __init__(self, clew: Clew) -> None:
        super().__init__(clew)
        self._noted: dict[str, datetime] = {}

    def create(
        self,
        name: str,
        *,
        org: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        roles: Sequence[str] = (),
        expires: datetime | None = None,
        identity: Identity | None = None,
    ) -> NewKey:
        """A new key; its token is told here and never again. Without roles, a user's key is a member's."""
        who = identity or Identity()
        place = self._managed(org, who, user)
        now = self._clew.now()
        id = new_id("key", at_ms=to_micros(now) // 1000)
        roles = tuple(dict.fromkeys(roles)) or (("member",) if user and not agent else ())
        key = ApiKey(id, place, name.strip(), user, agent, roles, now, who.actor, expires)
        _check_key(key, now)
        _check_rights(key, who)
        token = _new_token(id)

        def put(tx: Tx) -> None:
            tx.keys.insert(key, _hash(token))
            told = {name: value for name, value in key.as_json().items() if name in _AUDITED}
            self._note(tx, place, who, Resource("key", id, place), {}, told)

        self._clew.store.write(put)
        return NewKey(key, token, is_of_member=self._is_of_member(key))

    def _is_of_member(self, key: ApiKey) -> bool:
        """Whether whoever looks after the org's members comes across its user. An org of one's own has none."""
        with self._clew.store.read() as tx:
            has_members = key.user is not None and tx.orgs.find(key.org) is not None
            return not has_members or tx.orgs.role(key.org, key.user) is not None

    def list(
        self,
        *,
        org: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        identity: Identity | None = None,
    ) -> list[ApiKey]:
        """The keys of an org, oldest first, also those that ended. `cursor` is the last id of the page before."""
        who = identity or Identity()
        place = self._managed(org, who, None, looking=True)
        check_limit(limit)
        if cursor:
            check_cursor(cursor, "key")
        with self._clew.store.read() as tx:
            return tx.keys.page(place, limit=min(limit, MAX_PAGE), after=cursor or "")

    def revoke(self, id: str, *, org: str | None = None, identity: Identity | None = None) -> ApiKey:
        """End a key. Once more changes nothing."""
        who = identity or Identity()
        place = self._managed(org, who, None)
        now = self._clew.now()

        def end(tx: Tx) -> ApiKey:
            key = tx.keys.find(place, id)
            if key is None:
                raise NotFound(f"key '{id[:80]}' was not found", code="KEY_NOT_FOUND", next="see: clew key list")
            _check_roles(key, who, "revoke")
            if tx.keys.revoke(place, id, at=now):
                self._note(tx, place, who, Resource("key", id, place), {}, {"revoked": True})
            return tx.keys.find(place, id) or key

        return self._clew.store.write(end)

    def authenticate(self, token: str) -> Identity | None:
        """Whom a token stands for; None for one that is unknown, expired or revoked. The same work for each."""
        hash = _hash(token[:MAX_TOKEN])
        with self._clew.store.read() as tx:
            key = tx.keys.by_hash(hash)
        now = self._clew.now()
        if key is None or len(token) > MAX_TOKEN or not key.is_valid(now):
            return None
        self._note_use(key, now)
        return key.identity

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        """At most once a minute, behind the answer. A store that cannot be written still lets its users in."""
        last = self._noted.get(key.id) or key.last_used_at
        if last is not None and now - last < USE_NOTED_EVERY:
            return
        self._noted[key.id] = now
        with suppress(ClewError):
            self._clew.store.submit(
                lambda tx: tx.keys.note_use(key.org, key.id, at=now), durable=False, org=key.org
            )

    def _managed(self, org: str | None, who: Identity, user: str | None, *, looking: bool = False) -> str:
        """The id of the org whose keys are meant, for those who look after it. To others it is not there."""
        if who.agent:
            raise Denied(
                f"agent '{who.agent}' may not manage keys",
                code="KEYS_NOT_FOR_AGENTS",
                next="ask an owner or admin of the org",
            )
        named = who.org if org is None else org
        if named == who.org and not (is_operator(who) and _ADMINS.isdisjoint(who.roles)):
            check = powers.caretaker if looking else powers.administrator
            return check(self._clew, who, "manage keys of the org").org
        if not is_operator(who):
            raise not_found(named)
        self._check(who, "operate", Resource("org", named, named))
        return self._existing(named, user)

    def _existing(self, name: str, user: str | None) -> str:
        """The personal org of a user is there as soon as its user is named; another has been created before."""
        org = Scope(org=name).org
        if org == LOCAL or (user is not None and org == routes.personal_org(user)):
            return org
        with self._clew.store.read() as tx:
            found = tx.orgs.find(org)
            if found is None and org not in tx.config.orgs():
                raise not_found(org)
        return found.id if found else org


_AUDITED = ("user", "agent", "roles", "expires_at")


def _new_token(id: str) -> str:
    """The id in it tells which key it is; what follows is 256 random bits."""
    from secrets import token_urlsafe

    return f"clew_{id.removeprefix('key_')}_{token_urlsafe(32)}"


def _hash(token: str) -> bytes:
    """Of random bits a plain hash is enough: there is nothing to guess, so nothing to slow down."""
    return sha256(token.encode("utf-8", "replace")).digest()


def _check_key(key: ApiKey, now: datetime) -> None:
    if not key.name or len(key.name) > MAX_NAME or _CONTROL.search(key.name):
        raise InvalidInput(
            f"the name of a key must be one line of at most {MAX_NAME} characters",
            code="KEY_NAME_INVALID",
            next="name it after what uses it, such as ci",
        )
    key_names.refuse_secret(key.name, "key", code="KEY_NAME_SECRET")
    key_names.check_place(Scope(org=key.org, user=key.user, agent=key.agent))
    for role in key.roles:
        if role not in KEY_ROLES:
            raise InvalidInput(
                f"there is no role '{role[:40]}'", code="ROLE_INVALID", next=f"choose from {', '.join(KEY_ROLES)}"
            )
    _check_principal(key)
    if key.expires_at is not None:
        _check_end(key.expires_at, now)


def _check_principal(key: ApiKey) -> None:
    if key.agent and key.roles:
        raise InvalidInput(
            "the key of an agent has no roles", code="KEY_OF_AGENT", next="leave out the roles, or the agent"
        )
    if not (key.agent or key.user or POWERS.intersection(key.roles)):
        raise InvalidInput(
            "the key would be nobody's", code="KEY_OF_NOBODY", next="name a user, an agent, or a role such as admin"
        )


def _check_end(expires: datetime, now: datetime) -> None:
    zoned("expires", expires)
    if expires <= now:
        raise InvalidInput(
            "the key would have expired already", code="KEY_EXPIRED", next="choose a time that is still to come"
        )


def _check_rights(key: ApiKey, who: Identity) -> None:
    """No key may do more than its maker: not by its roles, and not as another user, whose private memories only an
    owner may see."""
    _check_roles(key, who, "make")
    if key.user in (None, who.user) or is_operator(who) or "owner" in who.roles:
        return
    raise Denied(
        f"'{who.name}' may not make keys for '{key.user}'", code="USER_DENIED", next="ask an owner of the org"
    )


def _check_roles(key: ApiKey, who: Identity, what: str) -> None:
    missing = sorted(set(key.roles) - _within(who))
    if missing:
        raise Denied(
            f"'{who.name}' may not {what} a key with the role {missing[0]}",
            code="ROLE_ESCALATION",
            next="ask an owner of the org, or the operator of this Clew for an operator's key",
        )


def _within(who: Identity) -> frozenset[str]:
    """The roles that do not go beyond those of an identity. As with members, operators make owners."""
    return frozenset(KEY_ROLES) if is_operator(who) else frozenset().union(*map(within_role, who.roles))


def within_role(role: str | None) -> frozenset[str]:
    """The roles whose rights a role has."""
    match role:
        case "owner":
            return frozenset(ROLES)
        case "admin":
            return frozenset(ROLES) - {"owner"}
        case _:
            return frozenset((role,) if role else ())


def revoke_beyond(tx: Tx, org: str, user: str, role: str | None, actor: Identity, *, at: datetime) -> list[str]:
    """End the keys of a user that go beyond the role it now has in an org: all of them once it has none."""
    beyond = [
        key for key in tx.keys.of_user(org, user) if role is None or not within_role(role).issuperset(key.roles)
    ]
    is_member = tx.orgs.role(org, user) is not None  # then it was looked at already who may unmake whom
    for key in beyond:
        if not is_member:
            _check_roles(key, actor, "revoke")
        tx.keys.revoke(org, key.id, at=at)
    return [key.id for key in beyond]

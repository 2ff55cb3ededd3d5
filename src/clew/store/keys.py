"""Keys of the API, and answers kept for repeated requests. Rows to values and back."""

from __future__ import annotations

import json
from datetime import datetime

from clew.model.kept import Kept, KeptKey
from clew.model.key import ApiKey
from clew.model.times import from_micros, to_micros
from clew.store.session import Row, Session


class KeyTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def insert(self, key: ApiKey, hash: bytes) -> None:
        self._session.run(
            "key_insert",
            org_id=key.org,
            id=key.id,
            hash=hash,
            name=key.name,
            user_id=key.user or "",
            agent=key.agent or "",
            roles=json.dumps(key.roles),
            created_at=to_micros(key.created_at),
            created_by=key.created_by,
            expires_at=key.expires_at and to_micros(key.expires_at),
        )

    def by_hash(self, hash: bytes) -> ApiKey | None:
        """Also one that is not valid any more: whoever asks looks at that."""
        row = self._session.one("key_by_hash", hash=hash)
        return _key(row) if row else None

    def find(self, org: str, id: str) -> ApiKey | None:
        row = self._session.one("key_by_id", org_id=org, id=id)
        return _key(row) if row else None

    def page(self, org: str, *, limit: int, after: str = "") -> list[ApiKey]:
        return [_key(row) for row in self._session.all("keys_page", org_id=org, after=after, limit=limit)]

    def of_user(self, org: str, user: str) -> list[ApiKey]:
        """Those that act as a user and were not revoked."""
        return [_key(row) for row in self._session.all("keys_of_user", org_id=org, user_id=user)]

    def revoke(self, org: str, id: str, *, at: datetime) -> bool:
        """False when there is no such key, or it was revoked before."""
        return self._session.run("key_revoke", org_id=org, id=id, at=to_micros(at)) > 0

    def note_use(self, org: str, id: str, *, at: datetime) -> None:
        self._session.run("key_used", org_id=org, id=id, at=to_micros(at))


def _key(row: Row) -> ApiKey:
    org, id, name, user, agent, roles, created_at, created_by, *times = row
    expires_at, revoked_at, last_used_at = (None if one is None else from_micros(one) for one in times)
    return ApiKey(
        id,
        org,
        name,
        user or None,
        agent or None,
        tuple(json.loads(roles)),
        from_micros(created_at),
        created_by,
        expires_at,
        revoked_at,
        last_used_at,
    )


class ReplayTable:
    """Answers to requests that named an idempotency key. Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: KeptKey) -> Kept | None:
        row = self._session.one("replay_get", **_named(key))
        if row is None:
            return None
        request, status, headers, answer, at = row
        return Kept(bytes(request), from_micros(at), status, json.loads(headers), bytes(answer))

    def begin(self, key: KeptKey, kept: Kept) -> None:
        """Also instead of one that was begun before."""
        self._session.run("replay_begin", **_named(key), request=kept.request, created_at=to_micros(kept.at))

    def finish(self, key: KeptKey, kept: Kept) -> None:
        """Nothing happens when somebody else has begun it anew."""
        self._session.run(
            "replay_finish",
            **_named(key),
            created_at=to_micros(kept.at),
            status=kept.status,
            headers=json.dumps(dict(kept.headers)),
            answer=kept.answer,
        )

    def drop(self, key: KeptKey, kept: Kept) -> None:
        self._session.run("replay_drop", **_named(key), created_at=to_micros(kept.at))

    def drop_org(self, org: str) -> None:
        """Answers may quote what is forgotten for good."""
        self._session.run("replays_drop_org", org_id=org)

    def sweep(self, org: str, *, before: datetime) -> int:
        return self._session.run("replays_sweep", org_id=org, before=to_micros(before))


def _named(key: KeptKey) -> dict[str, str]:
    return {"org_id": key.org, "principal": key.principal, "key": key.key}

"""Bookkeeping beside the memories: the change log, the audit log, leases and facts about the store."""

from __future__ import annotations

from datetime import datetime

from clew.errors import Conflict
from clew.model.change import Change
from clew.model.times import to_micros
from clew.store.sqlite import Session

CHANGES_KEPT = 100_000  # a read model further behind than this is rebuilt instead


class ChangeLog:
    """Ids only, in commit order per org, written in the transaction of the change itself."""

    __slots__ = ("_noted", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._noted: dict[str, list[tuple[str, str, str, str]]] = {}

    def note(self, org: str, project: str | None, kind: str, id: str, op: str) -> None:
        self._noted.setdefault(org, []).append((project or "", kind, id, op))

    def flush(self) -> None:
        """Write what was noted; one counter step per org keeps bulk imports cheap."""
        for org, noted in self._noted.items():
            last = self._session.value("counter_next", org_id=org, name="change", step=len(noted))
            first = last - len(noted) + 1
            self._session.many(
                "change_insert",
                [(org, seq, project, kind, id, op) for seq, (project, kind, id, op) in enumerate(noted, first)],
            )
            if last // CHANGES_KEPT != (first - 1) // CHANGES_KEPT:
                self._session.run("change_prune", org_id=org, upto=last - CHANGES_KEPT)
        self._noted.clear()

    def last(self, org: str) -> int:
        return int(self._session.value("counter_get", org_id=org, name="change") or 0)

    def since(self, org: str, seq: int, limit: int) -> list[Change] | None:
        """What came after `seq`; None when that far back is no longer kept, when it is more than `limit`, or
        when `seq` is of another life of this store, before an older copy took its place."""
        oldest = self._session.value("change_oldest", org_id=org)
        if seq > self.last(org) or (oldest is not None and oldest > seq + 1):
            return None
        rows = self._session.all("change_since", org_id=org, seq=seq, limit=limit + 1)
        return [Change(*row) for row in rows] if len(rows) <= limit else None


class Audit:
    """Who did what to which memory."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, org: str, *, at: datetime, actor: str, action: str, id: str, content_hash: str = "") -> None:
        self._session.run(
            "audit_insert",
            org_id=org,
            seq=self._session.value("counter_next", org_id=org, name="audit", step=1),
            at=to_micros(at),
            actor=actor,
            action=action,
            memory_id=id,
            content_hash=content_hash,
        )


class Meta:
    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        value: str | None = self._session.value("meta_get", key=key)
        return value

    def put(self, key: str, value: str) -> None:
        self._session.run("meta_put", key=key, value=value)


class Leases:
    """One holder at a time. Tokens of an org strictly increase, so whoever comes later can be told apart,
    and a stale token is refused inside the transaction that would have used it."""

    __slots__ = ("_now", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._now = int(session.value("clock"))  # the database's clock, shared by every process

    def claim(self, org: str, key: str, *, holder: str, ttl_s: float) -> int | None:
        """A fresh token, or None while another holder's lease runs."""
        lease = self._session.one("lease_get", org_id=org, key=key)
        if lease and lease[2] > self._now and lease[0] != holder:
            return None
        token = int(self._session.value("counter_next", org_id=org, name="lease", step=1))
        self._session.run(
            "lease_put",
            org_id=org,
            key=key,
            holder=holder,
            token=token,
            expires_at=self._now + int(ttl_s * 1e6),
            attempts=(lease[3] if lease else 0) + 1,
        )
        return token

    def renew(self, org: str, key: str, token: int, *, ttl_s: float) -> None:
        self._check(org, key, token)
        self._session.run("lease_extend", org_id=org, key=key, token=token, expires_at=self._now + int(ttl_s * 1e6))

    def finish(self, org: str, key: str, token: int) -> None:
        self._check(org, key, token)
        self._session.run("lease_drop", org_id=org, key=key, token=token)

    def fail(self, org: str, key: str, token: int, reason: str) -> int:
        """Give the key back and keep the reason; returns how often it was tried."""
        attempts = self._check(org, key, token)
        self._session.run("lease_fail", org_id=org, key=key, token=token, reason=reason)
        return attempts

    def _check(self, org: str, key: str, token: int) -> int:
        lease = self._session.one("lease_get", org_id=org, key=key)
        if lease is None or lease[1] != token or lease[2] <= self._now:
            raise Conflict(
                f"the lease on '{key}' is no longer held with token {token}",
                code="LEASE_LOST",
                next="claim it again",
            )
        return int(lease[3])

"""Grants, fingerprints and weights between projects; retention policies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from clew.model.govern import Grant, RetentionPolicy, StoredFingerprint
from clew.model.memory import Memory
from clew.model.times import from_micros, to_micros
from clew.store.memories import from_row
from clew.store.session import Row, Session


class TransferTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- grants --------------------------------------------------------------------------------------

    def grant(self, org: str, source: str, dest: str, *, by: str, now: datetime) -> bool:
        """False when it was in force before."""
        values = {"source": source, "dest": dest, "granted_by": by, "granted_at": to_micros(now)}
        return self._session.run("grant_put", org_id=org, **values) > 0

    def revoke(self, org: str, source: str, dest: str, *, now: datetime) -> bool:
        """False when there was none in force."""
        return self._session.run("grant_revoke", org_id=org, source=source, dest=dest, now=to_micros(now)) > 0

    def grants(self, org: str) -> list[Grant]:
        return [_grant(row) for row in self._session.all("grants_all", org_id=org)]

    def grants_into(self, org: str, dest: str) -> list[Grant]:
        """Those in force."""
        return [_grant(row) for row in self._session.all("grants_into", org_id=org, dest=dest)]

    # -- fingerprints --------------------------------------------------------------------------------

    def put_fingerprint(self, org: str, found: StoredFingerprint) -> None:
        self._session.run(
            "fingerprint_put",
            org_id=org,
            project_id=found.project,
            components=json.dumps(sorted(found.components)),
            manifest_hash=found.manifest_hash,
            updated_at=to_micros(found.updated_at),
        )

    def fingerprint(self, org: str, project: str) -> StoredFingerprint | None:
        row = self._session.one("fingerprint_get", org_id=org, project_id=project)
        if row is None:
            return None
        return StoredFingerprint(row[0], frozenset(json.loads(row[1])), row[2], from_micros(row[3]))

    # -- weights in the other project ------------------------------------------------------------------

    def weights(self, org: str, dest: str, ids: Iterable[str]) -> dict[str, float]:
        """Of those that an outcome there has moved."""
        found = {id: self._session.value("transferred_weight", org_id=org, dest=dest, memory_id=id) for id in ids}
        return {id: float(weight) for id, weight in found.items() if weight is not None}

    def retired(self, org: str, dest: str, ids: Iterable[str], *, below: float, samples: int) -> set[str]:
        """Those that outcomes there have put below a weight often enough, whatever they weigh at home."""
        asked = {"org_id": org, "dest": dest, "below": below, "samples": samples}
        return {id for id in ids if self._session.one("transferred_retired", memory_id=id, **asked)}

    def drop_weights(self, org: str, id: str, *, source: str) -> None:
        """Of a memory of this project, wherever it was shown."""
        self._session.run("transferred_weights_drop", org_id=org, memory_id=id, source=source)

    # -- retention -------------------------------------------------------------------------------------

    def put_retention(self, org: str, policy: RetentionPolicy, *, now: datetime) -> None:
        self._session.run(
            "retention_put",
            org_id=org,
            id=policy.id,
            project_id=policy.project or "",
            classification=policy.classification or "",
            type=policy.type or "",
            ttl_days=policy.ttl_days,
            action=policy.action,
            created_by=policy.created_by,
            created_at=to_micros(now),
        )

    def drop_retention(self, org: str, id: str) -> bool:
        return self._session.run("retention_drop", org_id=org, id=id) > 0

    def retention(self, org: str) -> list[RetentionPolicy]:
        return [_policy(row) for row in self._session.all("retention_list", org_id=org)]

    def orgs_with_retention(self, *, after: str = "", limit: int = 1) -> list[str]:
        """In the order of their names."""
        return [org for (org,) in self._session.all("retention_orgs", after=after, limit=limit)]

    def page(self, org: str, *, after: str, limit: int) -> Sequence[Memory]:
        """Memories in the order of their ids, forgotten ones included."""
        return [from_row(row) for row in self._session.all("retention_page", org_id=org, after=after, limit=limit)]


def _grant(row: Row) -> Grant:
    source, dest, by, at, revoked = row
    return Grant(source, dest, by, from_micros(at), None if revoked is None else from_micros(revoked))


def _policy(row: Row) -> RetentionPolicy:
    id, ttl_days, action, project, classification, type_, by, at = row
    named = (project or None, classification or None, type_ or None)
    return RetentionPolicy(id, ttl_days, action, *named, created_by=by, created_at=from_micros(at))

"""Bookkeeping beside the memories: the change log, the audit log, leases and facts about the store."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict
from clew.lazy import LazyModule
from clew.model.change import Change
from clew.model.facts import ANALYSER, COPY_STATE, PURGE_PENDING
from clew.model.times import FIRST, Micros, to_micros
from clew.store.session import Row, Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.model import audit as sealing
    from clew.model.audit import AuditEntry, AuditHead
else:
    sealing = LazyModule("clew.model.audit")  # a recall does without

CHANGES_KEPT = 100_000  # a read model further behind than this is rebuilt instead
_CHAINED = "audit_chained_from"
_NO_END = 2**62


class ChangeLog:
    """Ids only, in commit order per org, written in the transaction of the change itself."""

    __slots__ = ("_noted", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._noted: dict[str, list[tuple[str, str, str, str]]] = {}

    def note(self, org: str, project: str | None, kind: str, id: str, op: str) -> None:
        self._noted.setdefault(org, []).append((project or "", kind, id, op))

    def expect(self, org: str) -> None:
        """What was noted so far is all there is, as far as one can tell. If not, some numbers are left out."""
        if noted := self._noted.get(org):
            self._session.expect("counter_next", org_id=org, name="change", step=len(noted))

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
        found = self.page(org, seq, limit=limit + 1)
        return found if found is not None and len(found) <= limit else None

    def page(self, org: str, seq: int, *, limit: int) -> list[Change] | None:
        """The first of what came after `seq`, however much that is; otherwise None as in `since`."""
        oldest = self._session.value("change_oldest", org_id=org)
        if seq > self.last(org) or (oldest is not None and oldest > seq + 1):
            return None
        return [Change(*row) for row in self._session.all("change_since", org_id=org, seq=seq, limit=limit)]


class Audit:
    """Who did what to which memory. Each entry seals the one before it: `model/audit.py` says how."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(
        self,
        org: str,
        *,
        at: datetime,
        actor: str,
        action: str,
        id: str,
        content_hash: str = "",
        kind: str = "memory",
        decision: str = "",
        policy_ids: Sequence[str] = (),
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Ids, hashes and settings go in, never the text of a memory."""
        asked = {"org_id": org, "name": "audit", "step": 1}
        [(seq,)], head = self._session.together([("counter_next", asked), ("audit_head", {"org_id": org})])
        policies = sealing.canonical(list(policy_ids)) if policy_ids else "[]"
        about = sealing.canonical(dict(detail)) if detail else "{}"
        row = (org, seq, to_micros(at), actor, action, kind, id, content_hash, decision, policies, about)
        entry = sealing.AuditEntry(*row, prev_hash=self._last(org, seq, head))
        self._session.many("audit_insert", [(*row, entry.prev_hash, sealing.seal(entry))])

    def head(self, org: str) -> AuditHead | None:
        found = self._session.one("audit_head", org_id=org)
        return sealing.AuditHead(*found) if found else None

    def count(self, org: str) -> int:
        """How many entries there should be."""
        return int(self._session.value("counter_get", org_id=org, name="audit") or 0)

    def chained_from(self, org: str) -> int | None:
        """The first entry with a hash; None while there is none."""
        found = self._session.value("meta_get_of_org", org_id=org, fact=_CHAINED)
        return int(found) if found else None

    def entries(self, org: str, *, after: int = 0, page: int = 1_000) -> Iterator[AuditEntry]:
        """Oldest first, read piece by piece."""
        while rows := self._session.all("audit_page", org_id=org, after=after, limit=page):
            yield from (sealing.AuditEntry(*row) for row in rows)
            after = rows[-1][1]

    def latest(
        self, org: str, *, limit: int, since: datetime | None = None, action: str = "", before: int | None = None
    ) -> list[AuditEntry]:
        """Newest first."""
        rows = self._session.all(
            "audit_latest",
            org_id=org,
            before=_NO_END if before is None else before,
            since=to_micros(since) if since else FIRST,
            action=action,
            limit=limit,
        )
        return [sealing.AuditEntry(*row) for row in rows]

    def orgs(self) -> list[str]:
        return [org for (org,) in self._session.all("audit_orgs")]

    def _last(self, org: str, seq: int, head: Sequence[Row]) -> str:
        """The hash of the entry before; what the first one carries stands for all from before the chain."""
        if head and (last := sealing.AuditHead(*head[0])).hash:
            return last.hash
        self._session.run("meta_put_of_org", org_id=org, fact=_CHAINED, value=str(seq))
        return sealing.digest_of(self.entries(org))


class Meta:
    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        value: str | None = self._session.value("meta_get", key=key)
        return value

    def at_opening(self) -> dict[str, str]:
        keys = {"analyser": ANALYSER, "purge_pending": PURGE_PENDING, "copy_state": COPY_STATE}
        return dict(self._session.all("meta_at_opening", **keys))

    def expect(self, *keys: str) -> None:
        """These will be asked for."""
        for key in keys:
            self._session.expect("meta_get", key=key)

    def put(self, key: str, value: str) -> None:
        self._session.run("meta_put", key=key, value=value)

    def counters(self, orgs: Sequence[str], name: str) -> list[int]:
        found = self._session.together([("counter_get", {"org_id": org, "name": name}) for org in orgs])
        return [int(rows[0][0] or 0) if rows else 0 for rows in found]


class Leases:
    """One holder at a time. Tokens of an org strictly increase, so whoever comes later can be told apart,
    and a stale token is refused inside the transaction that would have used it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _now(self) -> Micros:
        """The database's clock, shared by every process."""
        return Micros(self._session.value("clock"))

    def expect(self, org: str, key: str) -> None:
        """It will be renewed."""
        self._session.expect("clock")
        self._session.expect("lease_get", org_id=org, key=key)

    def claim(self, org: str, key: str, *, holder: str, ttl_s: float) -> int | None:
        """A fresh token, or None while another holder's lease runs."""
        lease = self._session.one("lease_get", org_id=org, key=key)
        if lease and lease[2] > self._now and lease[0] != holder:
            return None
        token = int(self._session.value("lease_token_next", org_id=org))
        self._session.run(
            "lease_put",
            org_id=org,
            key=key,
            holder=holder,
            token=token,
            expires_at=self._now.after(ttl_s),
            attempts=(lease[3] if lease else 0) + 1,
        )
        return token

    def renew(self, org: str, key: str, token: int, *, ttl_s: float) -> None:
        self._check(org, key, token)
        self._session.put("lease_extend", org_id=org, key=key, token=token, expires_at=self._now.after(ttl_s))

    def finish(self, org: str, key: str, token: int) -> None:
        self._check(org, key, token)
        self._session.run("lease_drop", org_id=org, key=key, token=token)

    def fail(self, org: str, key: str, token: int, reason: str) -> int:
        """Give the key back and keep the reason; returns how often it was tried."""
        attempts = self._check(org, key, token)
        self._session.run("lease_fail", org_id=org, key=key, token=token, reason=reason, expires_at=FIRST)
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

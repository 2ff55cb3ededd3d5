"""Added policies, what is known of agents, and the quarantine."""

from __future__ import annotations

import json
from datetime import datetime

from clew.model.access import AddedPolicy, Resource
from clew.model.config import AgentRights
from clew.model.facts import POLICY_DROPPED_AT
from clew.model.memory import Memory
from clew.model.quarantine import Quarantined
from clew.model.scope import Reach
from clew.model.times import from_micros, to_micros
from clew.store.memories import from_row, reach_values, to_row
from clew.store.session import Row, Session


class GuardTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows(self, reach: Reach) -> list[tuple[int, Resource]]:
        """What policies see of every memory within a reach, with its row."""
        return [
            (row, Resource("memory", id, reach.org, project or None, user or None, label, writer=author or None))
            for row, id, project, user, label, author in self._session.all("guarded_rows", **reach_values(reach))
        ]

    def hidden_rows(self, reach: Reach) -> list[int]:
        """Those within a reach whose label is not among its labels."""
        return [row for (row,) in self._session.all("hidden_rows", **reach_values(reach))]

    # -- policies and agents -----------------------------------------------------------------------

    def policy_version(self, org: str) -> tuple[int, int]:
        """Moves with every change to what an org has beside the shipped policies."""
        for_all, for_org = self._session.all("policy_version", org_id=org)[0]
        return int(for_all), int(for_org)

    def policies(self, org: str) -> list[AddedPolicy]:
        """Of the org, and of all orgs."""
        rows = self._session.all("policies_of", org_id=org)
        return [AddedPolicy(row[0], row[1], row[2], row[3], row[4], from_micros(row[5])) for row in rows]

    def policy_orgs(self) -> list[str]:
        return [org for (org,) in self._session.all("policy_orgs")]

    def put_policy(self, org: str, name: str, text: str, *, by: str, at: datetime) -> AddedPolicy:
        policy = AddedPolicy(org, name, text, self._next_version(org), by, at)
        self._session.run(
            "policy_put",
            org_id=org,
            name=name,
            text=text,
            version=policy.version,
            loaded_by=by,
            loaded_at=to_micros(at),
        )
        return policy

    def drop_policy(self, org: str, name: str, *, at: datetime) -> bool:
        """Whether there was one."""
        dropped = self._session.run("policy_drop", org_id=org, name=name) > 0
        if dropped:
            self._next_version(org)
            self._note_drop(org, str(int(to_micros(at))))
        return dropped

    def _note_drop(self, org: str, at: str) -> None:
        """Of a policy that is gone nothing else tells when it went."""
        if org:
            self._session.run("meta_put_of_org", org_id=org, fact=POLICY_DROPPED_AT, value=at)
        else:
            self._session.run("meta_put", key=POLICY_DROPPED_AT, value=at)

    def _next_version(self, org: str) -> int:
        return int(self._session.value("counter_next", org_id=org, name="policies", step=1))

    def rights(self, org: str, agent: str) -> AgentRights:
        """An agent nobody spoke of has the defaults."""
        row = self._session.one("agent_get", org_id=org, agent=agent)
        return AgentRights(int(row[0]), bool(row[1]), bool(row[2])) if row else AgentRights()

    def put_rights(self, org: str, agent: str, rights: AgentRights, *, by: str, at: datetime) -> None:
        self._session.run(
            "agent_put",
            org_id=org,
            agent=agent,
            clearance=rights.clearance,
            suspended=rights.suspended,
            can_write=rights.can_write,
            by=by,
            at=to_micros(at),
        )

    # -- quarantine --------------------------------------------------------------------------------

    def quarantine(
        self, memory: Memory, reasons: tuple[str, ...], *, at: datetime, expires_at: datetime
    ) -> Quarantined | None:
        """None when it is kept now; the one that is there if the same text was kept before."""
        place = _place(memory)
        added = self._session.run(
            "quarantine_put",
            **place,
            id=memory.id,
            reasons=json.dumps(reasons),
            state=json.dumps(list(to_row(memory).values()), ensure_ascii=False),
            at=to_micros(at),
            expires_at=to_micros(expires_at),
        )
        if added:
            return None
        row = self._session.one("quarantine_same", **place)
        return _quarantined(row) if row else self.quarantined(memory.org, memory.id, at)

    def quarantined(self, org: str, id: str, now: datetime) -> Quarantined | None:
        row = self._session.one("quarantine_get", org_id=org, id=id, now=to_micros(now))
        return _quarantined(row) if row else None

    def quarantine_page(
        self, org: str, *, now: datetime, limit: int, project: str | None = None, cursor: str | None = None
    ) -> list[Quarantined]:
        rows = self._session.all(
            "quarantine_page", org_id=org, now=to_micros(now), limit=limit, project_id=project, cursor=cursor
        )
        return [_quarantined(row) for row in rows]

    def has_expired_quarantine(self, org: str, now: datetime) -> bool:
        return bool(self._session.value("quarantine_has_expired", org_id=org, now=to_micros(now)))

    def drop_quarantined(self, org: str, id: str) -> bool:
        """Whether there was one."""
        return self._session.run("quarantine_drop", org_id=org, id=id) > 0

    def forget_quarantined(self, memory: Memory) -> None:
        """What says the same in the same place."""
        self._session.run("quarantine_forget", **_place(memory))

    def expire_quarantine(self, org: str, now: datetime) -> int:
        return self._session.run("quarantine_expire", org_id=org, now=to_micros(now))


def _place(memory: Memory) -> dict[str, str]:
    """Where a text is kept apart once."""
    names = {"project_id": memory.project or "", "user_id": memory.user or ""}
    return {"org_id": memory.org, **names, "content_hash": memory.content_hash}


def _quarantined(row: Row) -> Quarantined:
    reasons, state, at, expires_at = row
    memory = from_row(json.loads(state))
    return Quarantined(memory, tuple(json.loads(reasons)), from_micros(at), from_micros(expires_at))

"""The table of sessions. The lock of a session is a lease, in `ledger`. No decisions are made here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from clew.model.scope import Reach
from clew.model.session import AgentSession, Lock
from clew.model.times import LAST, Micros, from_micros, to_micros
from clew.store.session import Row, Session

_TEXT = ("project", "user", "agent", "work_type", "issue", "issue_id", "title", "description")
_COLUMN = {"project": "project_id", "user": "user_id"}


class SessionTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def insert(self, session: AgentSession) -> None:
        texts = {_COLUMN.get(name, name): getattr(session, name) or "" for name in _TEXT}
        created_at = to_micros(session.created_at)
        self._session.run("session_insert", org_id=session.org, id=session.id, created_at=created_at, **texts)

    def get(self, reach: Reach, id: str) -> AgentSession | None:
        row = self._session.one("session_by_id", org_id=reach.org, id=id)
        session = _from_row(row) if row else None
        return session if session and reach.sees(session.project, session.user) else None

    def find(
        self,
        reach: Reach,
        *,
        project: str | None,
        state: str | None,
        limit: int,
        agent: str | None = None,
        page: int = 500,
    ) -> list[AgentSession]:
        """Newest first. None: any."""
        found: list[AgentSession] = []
        wanted: dict[str, Any] = {"org_id": reach.org, "state": state, "limit": page}
        query = "session_list"
        if project is not None:
            wanted, query = wanted | {"project_id": project}, "session_list_project"
        before = {"before": LAST, "before_id": ""}
        while len(found) < limit and (rows := self._session.all(query, **wanted, **before)):
            sessions = [_from_row(row) for row in rows]
            seen = (session for session in sessions if reach.sees(session.project, session.user))
            found += [session for session in seen if agent in (None, session.agent)]
            before = {"before": to_micros(sessions[-1].created_at), "before_id": sessions[-1].id}
        return found[:limit]

    def claim(self, session: AgentSession, *, worker: str, token: int, provider: str, now: datetime) -> None:
        self._session.run(
            "session_claim",
            org_id=session.org,
            id=session.id,
            worker_id=worker,
            fencing_token=token,
            provider_session=provider,
            now=to_micros(now),
        )

    def move(self, session: AgentSession, state: str, *, outcome: str | None, ended_at: datetime | None) -> bool:
        """False when the session is no longer in the state it was seen in."""
        ended = to_micros(ended_at) if ended_at else None
        key = {"org_id": session.org, "id": session.id, "old": session.state}
        return self._session.run("session_move", **key, state=state, outcome=outcome or "", ended_at=ended) == 1

    def ask_stop(self, session: AgentSession) -> None:
        self._session.run("session_ask_stop", org_id=session.org, id=session.id)

    def words(self, org: str, project: str | None, user: str | None) -> list[tuple[str, str]]:
        """Whatever is kept of what was said in sessions of one place, each with its session; facts are JSON."""
        place = {"org_id": org, "project_id": project or "", "user_id": user or ""}
        found: list[tuple[str, str]] = self._session.all("session_words", **place)
        return found

    def forget_texts(self, org: str, id: str) -> int:
        """Title and description."""
        return self._session.run("session_texts_forget", org_id=org, id=id)

    def is_locked(self, session: AgentSession) -> bool:
        """Whether any worker holds it, by the database's clock."""
        key = {"org_id": session.org, "id": session.id}
        return self._session.one("session_lock", **key, worker="", token=0) is not None

    def is_held(self, lock: Lock) -> bool:
        key = {"org_id": lock.reach.org, "id": lock.session}
        return bool(self._session.value("session_lock", **key, worker=lock.worker, token=lock.token))

    def unlock(self, session: AgentSession) -> None:
        self._session.run("session_unlock", org_id=session.org, id=session.id)

    def abandoned(self, org: str, *, silent: timedelta, now: datetime, limit: int) -> list[AgentSession]:
        """Those of which no worker was heard for so long, by the database's clock; the oldest first."""
        ran_out = Micros(self._session.value("clock")).after(-silent.total_seconds())
        before = {"lock_before": ran_out, "claimed_before": to_micros(now - silent)}
        rows = self._session.all("sessions_abandoned", org_id=org, **before, limit=limit)
        return [_from_row(row) for row in rows]

    def drop(self, org: str, *, before: datetime, limit: int) -> int:
        """So many at most of those that were over before a moment, with their queues and how they went. One whose
        log is still there stays, and so does one that a session of a host may go back to."""
        keys = self._session.all("tidy_sessions", org_id=org, before=to_micros(before), limit=limit)
        for query in ("tidy_session_injects_drop", "tidy_session_told_drop", "tidy_session_drop"):
            self._session.many(query, keys)
        return len(keys)


def _from_row(row: Row) -> AgentSession:
    values: dict[str, Any] = dict(zip(AgentSession.__slots__, row, strict=True))
    for name in (*_TEXT, "worker", "provider_session", "outcome"):
        values[name] = values[name] or None
    for name in ("created_at", "claimed_at", "ended_at"):
        values[name] = None if values[name] is None else from_micros(values[name])
    values["stop_requested"] = bool(values["stop_requested"])
    return AgentSession(**values)

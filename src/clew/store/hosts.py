"""Sessions and events of hosts. Rows to values and back; no decisions are made here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from clew.model.host import HookEvent, HookFired, HostSession, StoredFact
from clew.model.scope import Identity
from clew.model.session import AgentSession
from clew.model.times import from_micros, to_micros
from clew.store.session import Row, Session

_OPTIONAL = ("agent_id", "source", "project", "user", "branch", "printed", "printed_event", "printed_kind")
_TIMES = ("created_at", "updated_at", "printed_at", "ended_at")
_COLUMN = {"project": "project_id", "user": "user_id"}


class HostTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- events ------------------------------------------------------------------------------------

    def add(self, who: Identity, event: HookEvent, *, fingerprint: str, at: datetime) -> bool:
        """Keep an event, without what it says. False when it is known already."""
        return (
            self._session.run(
                "host_event_add",
                **_key(who.org, event),
                event_id=event.event_id,
                event=event.event,
                kind=event.kind,
                fingerprint=fingerprint,
                user_id=who.user or "",
                teller=who.agent or "",
                roles=" ".join(who.roles),
                at=to_micros(at),
            )
            == 1
        )

    def place(
        self, org: str, event_id: str, session: AgentSession | None, *, facts: str, ends: Iterable[str] = ()
    ) -> None:
        """What the event says, and to which session of ours it belongs. Waits for capture if there is anything."""
        self._session.run(
            "host_event_place",
            org_id=org,
            event_id=event_id,
            session_id=session.id if session else "",
            project_id=(session.project or "") if session else "",
            facts=facts,
            ends=(ended := " ".join(ends)),
            state="new" if facts or ended else "done",
        )

    def last_at(self, org: str, event: HookEvent) -> datetime | None:
        """When the last event of the same session of a host came."""
        key = {"org_id": org, "host": event.host, "host_session": event.host_session}
        found = self._session.value("host_event_last", **key)
        return None if found is None else from_micros(found)

    def is_repeated(self, org: str, event: HookEvent, *, fingerprint: str, since: datetime) -> bool:
        key = _key(org, event) | {"event_id": event.event_id, "fingerprint": fingerprint}
        return self._session.one("host_event_repeated", **key, since=to_micros(since)) is not None

    def unprint(self, org: str, event: HookEvent) -> None:
        """The answer to an event was never printed: what it brought is not there."""
        self._session.run("host_event_unprint", org_id=org, event_id=event.event_id)
        self._session.run("host_session_unprinted", **_key(org, event), event_id=event.event_id)

    def is_unprinted(self, org: str, event_id: str) -> bool:
        return bool(self._session.value("host_event_unprinted", org_id=org, event_id=event_id))

    # -- facts -------------------------------------------------------------------------------------

    def waiting_orgs(self, *, limit: int) -> list[str]:
        """Those with events that nobody has looked at, the one that waits longest first."""
        return [org for (org,) in self._session.all("host_events_orgs", limit=limit)]

    def waiting(self, org: str, *, limit: int) -> list[StoredFact]:
        """Oldest first."""
        return [_fact(row) for row in self._session.all("host_events_waiting", org_id=org, limit=limit)]

    def facts(self, org: str, host: str, host_session: str, *, until: datetime, limit: int) -> list[StoredFact]:
        """The last so many up to a moment, oldest first."""
        key = {"org_id": org, "host": host, "host_session": host_session}
        rows = self._session.all("host_event_facts", **key, until=to_micros(until), limit=limit)
        return [_fact(row) for row in reversed(rows)]

    def captured(self, org: str, facts: Mapping[str, str]) -> None:
        """Events that were looked at, by id, with what is kept of each for those that follow."""
        for event_id, text in facts.items():
            self._session.run("host_event_captured", org_id=org, event_id=event_id, facts=text)

    def forget_facts(self, org: str, session: str) -> int:
        """No fact stays of a session of ours, looked at or not."""
        return self._session.run("host_facts_forget", org_id=org, session_id=session)

    def tidy(self, org: str, *, facts_before: datetime, events_before: datetime) -> int:
        """Facts and then events go when nothing needs them any more. The last fact of a session stays as long as
        its event: it carries what the session has read and is about."""
        cleared = self._session.run("host_facts_clear", org_id=org, before=to_micros(facts_before))
        return cleared + self._session.run("host_events_drop", org_id=org, before=to_micros(events_before))

    def drop_sessions(self, org: str, *, before: datetime, limit: int) -> int:
        """So many at most of those that ended before a moment; one that is heard of again is a new one."""
        keys = self._session.all("tidy_host_sessions", org_id=org, before=to_micros(before), limit=limit)
        for query in ("tidy_past_drop", "tidy_host_session_drop"):
            self._session.many(query, keys)
        return len(keys)

    # -- hooks -------------------------------------------------------------------------------------

    def note_fired(self, org: str, host: str, event: str, *, at: datetime) -> None:
        self._session.run("host_hook_fired", org_id=org, host=host, event=event, at=to_micros(at))

    def has_fired(self, org: str, host: str, event: str, *, since: datetime) -> bool:
        key = {"org_id": org, "host": host, "event": event}
        return self._session.one("host_hook_has_fired", **key, since=to_micros(since)) is not None

    def fired(self, org: str) -> list[HookFired]:
        rows = self._session.all("host_hooks_fired", org_id=org)
        return [HookFired(host, event, count, from_micros(a), from_micros(b)) for host, event, count, a, b in rows]

    # -- sessions ----------------------------------------------------------------------------------

    def session(self, org: str, host: str, host_session: str, agent_id: str | None = None) -> HostSession | None:
        key = {"org_id": org, "host": host, "host_session": host_session, "agent_id": agent_id or ""}
        row = self._session.one("host_session_get", **key)
        return _host_session(row) if row else None

    def agents(self, org: str, host: str, host_session: str) -> list[HostSession]:
        """Subagents that have not ended."""
        rows = self._session.all("host_session_agents", org_id=org, host=host, host_session=host_session)
        return [_host_session(row) for row in rows]

    def idle(self, org: str, *, before: datetime, limit: int) -> list[HostSession]:
        """Those that have not ended and of which nothing was heard since."""
        rows = self._session.all("host_sessions_idle", org_id=org, before=to_micros(before), limit=limit)
        return [_host_session(row) for row in rows]

    def put(self, org: str, session: HostSession) -> None:
        values: dict[str, Any] = {name: getattr(session, name) for name in HostSession.__slots__}
        values |= {name: values[name] or "" for name in _OPTIONAL}
        values |= {name: to_micros(values[name]) if values[name] else None for name in _TIMES}
        self._session.run(
            "host_session_put", org_id=org, **{_COLUMN.get(name, name): v for name, v in values.items()}
        )

    def note_past(self, org: str, session: HostSession) -> None:
        self._session.run(
            "host_past_add",
            **_key(org, session),
            session_id=session.session_id,
            source=session.source or "",
            opened_at=to_micros(session.created_at),
        )

    def past(self, org: str, session: HostSession) -> list[tuple[str, str]]:
        """(our session, how it began), oldest first."""
        return [(id, source) for id, source in self._session.all("host_past", **_key(org, session))]

    def printed(self, who: Identity, event_id: str, *, at: datetime) -> None:
        """The answer to an event of theirs was printed. Told twice, the first time counts."""
        self._session.run(
            "host_session_printed", org_id=who.org, user_id=who.user or "", event_id=event_id, at=to_micros(at)
        )

    def describe(self, org: str, session: AgentSession) -> None:
        """Work type, issue and title of a session that had no title so far."""
        self._session.run(
            "host_session_work",
            org_id=org,
            id=session.id,
            work_type=session.work_type or "",
            issue=session.issue or "",
            title=session.title or "",
        )


def _key(org: str, of: HookEvent | HostSession) -> dict[str, str]:
    return {"org_id": org, "host": of.host, "host_session": of.host_session, "agent_id": of.agent_id or ""}


def _host_session(row: Row) -> HostSession:
    values: dict[str, Any] = dict(zip(HostSession.__slots__, row, strict=True))
    values |= {name: values[name] or None for name in _OPTIONAL}
    values |= {name: None if values[name] is None else from_micros(values[name]) for name in _TIMES}
    return HostSession(**values)


def _fact(row: Row) -> StoredFact:
    values: dict[str, Any] = dict(zip(StoredFact.__slots__, row, strict=True))
    values |= {name: values[name] or None for name in ("agent_id", "session", "project", "user", "teller")}
    values |= {name: tuple(values[name].split()) for name in ("ends", "roles")}
    return StoredFact(**values | {"at": from_micros(values["at"])})

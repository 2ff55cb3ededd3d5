"""What was shown to whom: the injection log, the ranks behind it, session summaries. Rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clew.model.ids import new_id
from clew.model.inject import Considered, ContextInjectionLog, EdgeKey
from clew.model.replay import Recorded
from clew.model.scope import Reach
from clew.model.session import AgentSession
from clew.model.start import SessionSummary
from clew.model.times import LAST, from_micros, to_micros
from clew.store.memories import seen_by
from clew.store.session import Row, Session, listed

_LOG = tuple(name for name in ContextInjectionLog.__slots__ if name not in ("id", "timestamp"))
_COLUMN = {"agent_id": "agent"}
_OPTIONAL = frozenset(("project_id", "agent_id", "event_id", "work_type", "delivery_id"))
_SUMMARY = tuple(name for name in SessionSummary.__slots__ if name != "created_at")
_SUMMARY_COLUMN = {"org": "org_id", "session": "session_id", "project": "project_id", "user": "user_id"}
_SUMMARY_OPTIONAL = frozenset(("project", "user", "agent", "work_type", "issue", "outcome"))
_LISTS = frozenset(
    ("observation_ids", "denied_ids", "session_summary_ids", "graph_node_ids", "files", "errors", "open_items")
)


class InjectionTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- the log -----------------------------------------------------------------------------------

    def put(self, log: ContextInjectionLog, *, at: datetime) -> str:
        """The id of the new row."""
        id = log.id or new_id("log", at_ms=int(at.timestamp() * 1000))
        values = {_COLUMN.get(name, name): _stored(name, getattr(log, name)) for name in _LOG}
        self._session.run("injection_insert", id=id, **values, created_at=to_micros(log.timestamp or at))
        return id

    def of_session(self, org: str, session: str, *, limit: int = 1_000) -> list[ContextInjectionLog]:
        """The newest so many, in the order in which they happened."""
        rows = self._session.all("injections_of_session", org_id=org, session_id=session, limit=limit)
        return [_log(row) for row in reversed(rows)]

    def last(self, org: str, session: str, *, phase: str = "start") -> ContextInjectionLog | None:
        row = self._session.one("injection_last", org_id=org, session_id=session, phase=phase)
        return _log(row) if row else None

    def shown(self, org: str, session: str) -> set[str]:
        """The memories that a session was shown or is going to be, whichever process pushed them. What was taken
        back before it was said does not count."""
        key = {"org_id": org, "session_id": session}
        logged = [ids for ids, _edges in self._session.all("injection_shown", **key)]
        queued = [ids for (ids,) in self._session.all("injection_queued", **key)]
        return {id for ids in logged + queued for id in json.loads(ids)}

    def shown_edges(self, org: str, session: str) -> set[EdgeKey]:
        rows = self._session.all("injection_shown", org_id=org, session_id=session)
        return {key for _ids, edges in rows for key in _read("graph_edge_keys", edges, _OPTIONAL)}

    def taken_back(self, org: str, session: str) -> Row:
        """Another value whenever something that was pushed no longer counts as shown, or counts again."""
        return self._session.all("injections_taken_back", org_id=org, session_id=session)[0]

    def said(self, org: str, session: str, ids: Sequence[str], *, beside: str) -> set[str]:
        """Which of these memories are in a text of the session's queue other than `beside`."""
        key = {"org_id": org, "session_id": session}
        rows = self._session.all("injection_said", **key, ids=listed(ids), text=beside)
        return {id for (id,) in rows}

    def is_there(self, org: str, id: str) -> bool:
        return self._session.one("injection_is_there", org_id=org, id=id) is not None

    def has_event(self, log: ContextInjectionLog, delivery: str) -> bool:
        """Whether there is a row about this delivery that names the event of `log`."""
        key = {"org_id": log.org_id, "session_id": log.session_id, "event_id": log.event_id or ""}
        return (
            bool(log.event_id) and self._session.one("injection_of_event", **key, delivery_id=delivery) is not None
        )

    def recorded(
        self, org: str, *, since: datetime, project: str | None = None, after: Recorded | None = None, limit: int
    ) -> list[Recorded]:
        """What was asked for sessions since then, the newest first; `after` is the last of the page before."""
        place = {"before": to_micros(after.at) if after else LAST, "before_id": after.id if after else ""}
        asked = {"org_id": org, "since": to_micros(since), "project_id": project or "", "limit": limit}
        return [_recorded(row) for row in self._session.all("replay_recorded", **asked, **place)]

    def tidy(self, org: str, *, quiet_before: datetime, before: datetime, limit: int) -> int:
        """Looks that found nothing, and everything of sessions that are over, with their ranks; so many of each at
        most. How a session went that is not of our making goes with its log: nothing else knows of it."""
        quiet = self._session.all("tidy_quiet_looks", org_id=org, before=to_micros(quiet_before), limit=limit)
        old = self._session.all("tidy_old_looks", org_id=org, before=to_micros(before), limit=limit)
        self._session.many("tidy_told_drop", old)
        keys = list(dict.fromkeys((*quiet, *old)))
        for query in ("tidy_ranks_drop", "tidy_look_drop"):
            self._session.many(query, keys)
        return len(keys)

    # -- ranks -------------------------------------------------------------------------------------

    def put_ranks(
        self, log: ContextInjectionLog, found: Iterable[Considered], *, weighting_enabled: bool, at: datetime
    ) -> None:
        """One row per candidate of the retrieval that the log row `log.id` is about."""
        rows = []
        for one in found:
            ranked = one.ranked
            scores = ranked.relevance_score, ranked.feedback_weight, ranked.weighted_score
            ranks = ranked.unweighted_rank, ranked.weighted_rank
            place = log.org_id, log.id, ranked.id, log.session_id, log.project_id or ""
            rows.append((*place, *scores, *ranks, one.injected, one.explored, weighting_enabled, to_micros(at)))
        self._session.many("rank_insert", rows)

    # -- summaries ---------------------------------------------------------------------------------

    def put_summary(self, summary: SessionSummary, *, at: datetime) -> None:
        """A session has one; its id stays when it is written again."""
        values = {_SUMMARY_COLUMN.get(name, name): _stored(name, getattr(summary, name)) for name in _SUMMARY}
        self._session.run("summary_put", **values, created_at=to_micros(summary.created_at or at))

    def forget_queries(self, org: str, project: str | None) -> int:
        """What was asked for in a project, or in all of them, is no longer in the log; what was shown still is."""
        return self._session.run("log_queries_forget", org_id=org, project_id=project or "")

    def forget_summary(self, org: str, session: str) -> int:
        return self._session.run("summary_forget", org_id=org, session_id=session)

    def summary(self, org: str, session: str) -> SessionSummary | None:
        row = self._session.one("summary_of_session", org_id=org, session_id=session)
        return _summary(row) if row else None

    def summaries(self, session: AgentSession, *, issue: str | None = None, limit: int) -> list[SessionSummary]:
        """Of other sessions in the session's place, newest first: about an issue, or of the whole project."""
        asked: dict[str, Any] = {"org_id": session.org, "project_id": session.project or "", "limit": limit}
        asked |= {"user_id": session.user or "", "session_id": session.id}
        name, about = ("summaries_of_issue", {"issue": issue}) if issue else ("summaries_newest", {})
        return [_summary(row) for row in self._session.all(name, **asked, **about)]

    # -- through which memories a node may be shown --------------------------------------------------

    def memories_at_nodes(
        self, reach: Reach, nodes: Sequence[str], *, now: datetime, per_node: int
    ) -> dict[str, list[str]]:
        """Node ids to the ids of the newest memories that hang on them and may be seen."""
        spelled = {node.replace("-", ""): node for node in nodes}
        asked = seen_by(reach, now) | {"nodes": listed(list(spelled)), "per_node": per_node}
        found: dict[str, list[str]] = {node: [] for node in nodes}
        for node, ids in self._session.all("memories_at_nodes", **asked):
            found[spelled[node]] = list(dict.fromkeys(json.loads(ids)))  # it may hang on the node in two roles
        return found


def _stored(name: str, value: Any) -> Any:
    if name == "graph_edge_keys":
        return json.dumps([key.as_json() for key in value])
    if name in _LISTS:
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value


def _log(row: Row) -> ContextInjectionLog:
    *values, id, at = row
    fields = {name: _read(name, value, _OPTIONAL) for name, value in zip(_LOG, values, strict=True)}
    fields["delivered"] = bool(fields["delivered"])
    return replace(ContextInjectionLog(**fields), id=id, timestamp=from_micros(at))


def _recorded(row: Row) -> Recorded:
    id, at, session, project, user, work_type, phase, query, shown, delivered, outcome, considered = row
    return Recorded(
        id=id, at=from_micros(at), session=session, project=project or None, user=user or None,
        work_type=work_type or None, phase=phase, query=query, shown=tuple(json.loads(shown)),
        delivered=bool(delivered), outcome=outcome, considered=considered,
    )  # fmt: skip


def _summary(row: Row) -> SessionSummary:
    *values, at = row
    fields = {name: _read(name, value, _SUMMARY_OPTIONAL) for name, value in zip(_SUMMARY, values, strict=True)}
    return SessionSummary(**fields, created_at=from_micros(at))


def _read(name: str, value: Any, optional: frozenset[str]) -> Any:
    if name == "graph_edge_keys":
        return tuple(
            EdgeKey(key["sourceId"], key["targetId"], key["relationshipName"]) for key in json.loads(value)
        )
    if name in _LISTS:
        return tuple(json.loads(value))
    return None if name in optional and value == "" else value

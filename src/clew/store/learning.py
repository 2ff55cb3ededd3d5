"""Weights and what moved them: ledger, history, diagnostics. Rows to values and back; no decisions here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from clew.model.graph import edge_id, uuid_text
from clew.model.learning import Diagnostics, Entry, Shown, Target, WeightChange
from clew.model.times import from_micros, to_micros
from clew.store.session import Row, Session, listed

EdgeName = tuple[str, str, str]  # source, target, relation
_NO_END = 2**62


class LearningTable:
    """Bound to one transaction and, in each call, to one org."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- what was shown ----------------------------------------------------------------------------

    def shown(self, org: str, session: str) -> list[Shown]:
        rows = self._session.all("shown_to", org_id=org, session_id=session)
        return [
            Shown(
                project,
                tuple(json.loads(observations)),
                tuple(json.loads(summaries)),
                tuple(json.loads(nodes)),
                tuple(_edge_name(edge) for edge in json.loads(edges)),
                bool(delivered),
            )
            for project, observations, summaries, nodes, edges, delivered in rows
        ]

    # -- weights -----------------------------------------------------------------------------------

    def memory(self, org: str, id: str) -> Target | None:
        return _target("memory", id, self._session.one("weight_of_memory", org_id=org, key=id))

    def summary(self, org: str, id: str) -> Target | None:
        return _target("summary", id, self._session.one("weight_of_summary", org_id=org, key=id))

    def transferred(self, org: str, id: str, *, project: str, multiplier: float) -> Target | None:
        """A memory of another project that was granted to this one; it has a weight of its own here."""
        asked = {"org_id": org, "key": id, "project_id": project, "multiplier": multiplier}
        return _target("transferred", f"{id}@{project}", self._session.one("weight_of_transferred", **asked))

    def node(self, org: str, id: str) -> Target | None:
        raw = _raw(id)
        row = self._session.one("weight_of_node", org_id=org, id=raw) if raw else None
        return _target("node", id, row)

    def edge(self, org: str, name: EdgeName, *, project: str) -> Target | None:
        source, target, relation = _raw(name[0]), _raw(name[1]), name[2]
        if not source or not target:
            return None
        ends = {"source": source, "target": target, "edge_type": relation}
        row = self._session.one("weight_of_edge", org_id=org, project_id=project, **ends)
        key = uuid_text(edge_id(org, row[1], source, target, relation)) if row else ""
        return _target("edge", key, row)

    def put_weight(self, org: str, target: Target, weight: float, *, now: datetime) -> bool:
        """False when the weight is no longer what the target says."""
        values: dict[str, Any] = {"org_id": org, "place": target.place, "weight": weight, "previous": target.weight}
        if target.kind == "transferred":
            values |= {"project_id": target.project, "now": to_micros(now)}
        return self._session.run(_PUT[target.kind], **values) == 1

    def edge_ends(self, org: str, row: int) -> tuple[int, ...]:
        """The rows of the nodes that an edge connects."""
        return tuple(self._session.one("edge_ends", org_id=org, row=row) or ())

    # -- the ledger --------------------------------------------------------------------------------

    def counted(self, org: str, session: str) -> dict[tuple[str, str], str]:
        """(kind, key) of every target for which the session counts already, with the outcome that counts."""
        rows = self._session.all("ledger_of_session", org_id=org, session_id=session)
        return {(kind, key): outcome for kind, key, outcome in rows}

    def ledger(
        self, org: str, target: Target, *, since: datetime | None = None, seq: int = 0, page: int = 256
    ) -> list[Entry]:
        """In its order; with `since` only what is not older, and in any case everything from `seq` on: a memory
        that is shown in every session has a long ledger, of which an outcome needs the end."""
        found: list[Entry] = []
        key = {"org_id": org, "kind": target.kind, "key": target.key, "limit": page}
        while rows := self._session.all("ledger_of_target", **key, before=found[-1].seq if found else _NO_END):
            entries = [_entry(row) for row in rows]
            wanted = [one for one in entries if since is None or one.at >= since or (seq and one.seq >= seq)]
            found += wanted
            if len(wanted) < len(entries) or len(rows) < page:
                break
        return found[::-1]

    def entry(self, org: str, target: Target, session: str) -> Entry | None:
        key = {"org_id": org, "kind": target.kind, "key": target.key, "session_id": session}
        row = self._session.one("ledger_entry", **key)
        return _entry(row) if row else None

    def last_seq(self, org: str, target: Target) -> int:
        return int(self._session.value("ledger_last", org_id=org, kind=target.kind, key=target.key))

    def put_entries(self, org: str, target: Target, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._session.run(
                "ledger_put", org_id=org, kind=target.kind, key=target.key, session_id=entry.session,
                outcome=entry.outcome, alpha=entry.alpha, signal=entry.signal, at=to_micros(entry.at),
                seq=entry.seq, misleading=entry.misleading, previous=entry.previous, weight=entry.weight,
            )  # fmt: skip

    def note_change(self, org: str, change: WeightChange) -> None:
        seq = self._session.value("counter_next", org_id=org, name="weight_history", step=1)
        self._session.run(
            "history_insert", org_id=org, seq=seq, kind=change.kind, key=change.key, session_id=change.session,
            project_id=change.project, outcome=change.outcome, previous=change.previous, weight=change.weight,
            alpha=change.alpha, at=to_micros(change.at),
        )  # fmt: skip

    def history(self, org: str, kind: str, key: str) -> list[WeightChange]:
        rows = self._session.all("history_of", org_id=org, kind=kind, key=key)
        return [WeightChange(*_with_time(row)) for row in rows]

    def tidy(self, org: str, *, before: datetime, limit: int) -> int:
        """So many changes at most from before a moment; weights and ledger have what they came to."""
        keys = self._session.all("tidy_weights", org_id=org, before=to_micros(before), limit=limit)
        self._session.many("tidy_weight_drop", keys)
        return len(keys)

    def samples(self, org: str, ids: Sequence[str]) -> dict[str, int]:
        """How many outcomes and verdicts stand behind the weight of each memory."""
        return dict(self._session.all("samples_of", org_id=org, ids=listed(list(ids))))

    def verdict(self, org: str, id: str) -> str | None:
        """What was said last about a memory itself: up, outdated or wrong."""
        row = self._session.one("replay_verdict", org_id=org, key=id)
        return str(row[0]) if row else None

    def retired(self, org: str, ids: Sequence[str], *, below: float, samples: int) -> set[str]:
        """Those that are no longer injected; a recall still finds them, and praise brings them back."""
        asked = {"ids": listed(list(ids)), "below": below, "samples": samples}
        return {id for (id,) in self._session.all("retired", org_id=org, **asked)}

    # -- diagnostics -------------------------------------------------------------------------------

    def put_diagnostics(self, org: str, found: Diagnostics, *, now: datetime) -> None:
        values = {field.name: _plain(getattr(found, field.name)) for field in fields(found)}
        self._session.run("diagnostics_put", org_id=org, created_at=to_micros(now), **values)

    def forget_diagnostics(self, org: str, session: str) -> int:
        """Its texts; the numbers stay."""
        return self._session.run("diagnostics_forget", org_id=org, session_id=session)

    def diagnostics(self, org: str, session: str) -> Diagnostics | None:
        row = self._session.one("diagnostics_of", org_id=org, session_id=session)
        if row is None:
            return None
        found = dict(zip((field.name for field in fields(Diagnostics)), row, strict=True))
        lists = {name: json.loads(found[name]) for name in _LISTS}
        lists["graph_edge_keys"] = [_edge_name(edge) for edge in lists["graph_edge_keys"]]
        return Diagnostics(**found | {name: tuple(value) for name, value in lists.items()})

    def put_outcome(self, org: str, session: str, outcome: str) -> bool:
        """In the session and in what it left behind for the next. False when there is no such session."""
        told = {"org_id": org, "session_id": session, "outcome": outcome}
        self._session.run("summary_outcome_put", **told)
        return self._session.run("session_outcome_put", **told) == 1

    # -- for analytics -----------------------------------------------------------------------------

    def ab_rows(self, org: str, *, since: datetime, until: datetime, project: str | None = None) -> list[Row]:
        """(retrieval, memory, rank by relevance, rank by weight, injected, explored, weights decided)"""
        return self._session.all("ab_rows", **_window(org, since, until, project))

    def outcomes(self, org: str, *, since: datetime, until: datetime, project: str | None = None) -> list[Row]:
        """(work type, outcome, tokens that reached the agent) of each session whose outcome is known."""
        return self._session.all("outcomes_with_tokens", **_window(org, since, until, project))

    def injection_counts(
        self, org: str, *, since: datetime, until: datetime, project: str | None = None
    ) -> tuple[int, int, int]:
        """(live memories, those in some block, those in a block that reached an agent)"""
        window = _window(org, since, until, project)
        alive = {name: value for name, value in window.items() if name != "since"}
        [(matched, injected)] = self._session.all("memories_shown", **window)
        return int(self._session.value("memories_alive", **alive)), int(matched), int(injected)

    def top(
        self, org: str, *, since: datetime, until: datetime, project: str | None = None, limit: int = 10
    ) -> list[Row]:
        """(memory, sessions, accepted, failed, weight), the most shown first."""
        return self._session.all("top_memories", **_window(org, since, until, project), limit=limit)


_PUT = {
    "memory": "weight_put_memory",
    "transferred": "weight_put_transferred",
    "summary": "weight_put_summary",
    "node": "weight_put_node",
    "edge": "weight_put_edge",
}
_LISTS = (
    "observation_ids", "graph_node_ids", "graph_edge_keys", "tool_calls", "files_modified", "errors", "helpful_ids",
    "misleading_ids",
)  # fmt: skip


def _target(kind: str, key: str, row: Row | None) -> Target | None:
    return Target(kind, key, *row) if row else None


def _entry(row: Row) -> Entry:
    session, outcome, alpha, signal, at, seq, misleading, previous, weight = row
    return Entry(session, outcome, alpha, signal, from_micros(at), seq, bool(misleading), previous, weight)


def _with_time(row: Row) -> tuple[Any, ...]:
    return *row[:-1], from_micros(row[-1])


def _edge_name(edge: dict[str, str]) -> EdgeName:
    return edge["sourceId"], edge["targetId"], edge["relationshipName"]


def _raw(id: str) -> bytes | None:
    """The sixteen bytes of a UUID; None for what is none."""
    text = id.replace("-", "")
    try:
        return bytes.fromhex(text) if len(text) == 32 else None
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    names = ("sourceId", "targetId", "relationshipName")
    return json.dumps([dict(zip(names, one, strict=True)) if isinstance(one, tuple) else one for one in value])


def _window(org: str, since: datetime, until: datetime, project: str | None) -> dict[str, Any]:
    return {"org_id": org, "since": to_micros(since), "until": to_micros(until), "project_id": project or ""}

"""The queue of injects: rows to values and back. What is delivered when is decided in `deliver`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from clew.model.facts import TAKEN_BACK_AT
from clew.model.scope import Reach
from clew.model.session import Delivery, Head, Inject, InjectDraft, Lock, ReceiptTarget
from clew.model.times import Micros, from_micros, to_micros
from clew.store.session import Row, Session, listed

_TIMES = ("enqueued_at", "first_delivered_at", "last_delivered_at", "ended_at")


class InjectTable:
    """Bound to one transaction. Every claim and every acknowledgement is one look and one change."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- putting in --------------------------------------------------------------------------------

    def room(self, org: str, session: str, *, since: datetime) -> Row | None:
        """(state, project, user, agent, how many wait, what speaks since against it) of a session."""
        moment = to_micros(since)
        return self._session.one("inject_room", org_id=org, session_id=session, since=moment, moment=int(moment))

    def insert(self, org: str, id: str, draft: InjectDraft, *, content_hash: str, now: datetime) -> Inject | None:
        """None when the session has this text already, and it was not cancelled."""
        row = self._session.one(
            "inject_insert",
            org_id=org,
            id=id,
            session_id=draft.session,
            agent=draft.agent or "",
            kind=draft.kind,
            phase=draft.phase,
            text=draft.text,
            content_hash=content_hash,
            observation_ids=json.dumps(draft.observation_ids, ensure_ascii=False),
            node_ids=json.dumps(draft.node_ids, ensure_ascii=False),
            source_ids=json.dumps(_sources(draft), ensure_ascii=False),
            enqueued_at=to_micros(now),
        )
        return _from_row(row) if row else None

    def make_room(self, org: str, session: str, content_hash: str) -> None:
        """For a text that was acknowledged, or handed out and then cancelled, to be put in once more."""
        self._session.run("inject_make_room", org_id=org, session_id=session, content_hash=content_hash)

    def expect_same(self, org: str, session: str, content_hash: str) -> None:
        """It will be asked for."""
        self._session.expect("inject_by_hash", org_id=org, session_id=session, content_hash=content_hash)

    def same(self, org: str, session: str, content_hash: str) -> Inject | None:
        """The inject that keeps this text from being put in again."""
        key = {"org_id": org, "session_id": session}
        row = self._session.one("inject_by_hash", **key, content_hash=content_hash)
        return _from_row(row) if row else None

    # -- handing out -------------------------------------------------------------------------------

    def head(self, lock: Lock) -> Head | None:
        """What is next, and whether the asker still holds the session; None: no such session."""
        row = self._session.one(
            "inject_head", org_id=lock.reach.org, session_id=lock.session, worker=lock.worker, token=lock.token
        )
        return Head(*row) if row else None

    def take(self, lock: Lock, *, most: int, now: datetime) -> Delivery | None:
        """Hand out what is next where nothing speaks against it; the transaction ends with it. None: there is
        nothing, or it takes a closer look."""
        rows = self._session.finish("inject_take", **_shown(lock), most=most, now=to_micros(now))
        return Delivery(*rows[0]) if rows else None

    def hand_out(self, org: str, seq: int, *, token: int, now: datetime, is_sure: bool = False) -> bool:
        """False when it was taken off the queue meanwhile. `is_sure`: nobody can have done so."""
        return self._changed("inject_hand_out", is_sure, org_id=org, seq=seq, token=token, now=to_micros(now))

    def close(self, org: str, seq: int, state: str, *, reason: str, now: datetime) -> None:
        told = {"state": state, "reason": reason, "now": to_micros(now)}
        self._session.run("inject_close", org_id=org, seq=seq, **told)

    def cancel(self, org: str, delivery_id: str, *, reason: str, now: datetime) -> None:
        self._session.run("inject_cancel", org_id=org, id=delivery_id, reason=reason, now=to_micros(now))

    def are_sources_gone(self, org: str, ids: str, *, since: int, now: datetime) -> bool:
        """Whether one of a JSON list of memories was forgotten, put into quarantine, replaced, restricted or
        changed since that microsecond, or no longer holds."""
        times = {"since": Micros(since), "now": to_micros(now)}
        wanted = listed(json.loads(ids))
        return bool(self._session.value("inject_sources_gone", org_id=org, ids=wanted, **times))

    # -- acknowledging -----------------------------------------------------------------------------

    def expect_receipt(self, lock: Lock, delivery_id: str) -> None:
        """It will be asked for, before this delivery changes."""
        self._session.expect("inject_receipt_target", **_of_delivery(lock, delivery_id))

    def receipt_target(self, lock: Lock, delivery_id: str) -> ReceiptTarget | None:
        """None: no such session."""
        row = self._session.one("inject_receipt_target", **_of_delivery(lock, delivery_id))
        return ReceiptTarget(*row) if row else None

    def confirm(self, lock: Lock, delivery_id: str, *, receipt: str, now: datetime) -> bool:
        """Acknowledge what is in flight, for the worker that holds its session; the transaction ends with it.
        False: it takes a closer look."""
        told = {"delivery_id": delivery_id, "receipt": receipt, "now": to_micros(now)}
        return bool(self._session.finish("inject_confirm", **_shown(lock), **told))

    def ack(self, org: str, seq: int, *, token: int, receipt: str, now: datetime, is_sure: bool = False) -> bool:
        """False when it was given up meanwhile. `is_sure`: nobody can have done so."""
        told = {"token": token, "receipt": receipt, "now": to_micros(now)}
        return self._changed("inject_ack", is_sure, org_id=org, seq=seq, **told)

    def _changed(self, query: str, is_sure: bool, **values: Any) -> bool:
        """What is sure to change something need not be waited for."""
        if not is_sure:
            return self._session.run(query, **values) > 0
        self._session.put(query, **values)
        return True

    # -- as a whole --------------------------------------------------------------------------------

    def of_session(self, org: str, session: str, *, state: str | None = None) -> list[Inject]:
        rows = self._session.all("inject_list", org_id=org, session_id=session, state=state)
        return [_from_row(row) for row in rows]

    def dead(self, reach: Reach, *, limit: int, agent: str | None = None) -> list[Inject]:
        """Of sessions whose user is within reach; of one agent's, if it is named."""
        users = {"every_user": reach.users is None, "users": listed(list(reach.users or ()))}
        rows = self._session.all("inject_dead_list", org_id=reach.org, **users, agent=agent or "", limit=limit)
        return [_from_row(row) for row in rows]

    def cancel_waiting(self, org: str, session: str, *, reason: str, now: datetime) -> int:
        key = {"org_id": org, "session_id": session}
        return self._session.run("injects_cancel_waiting", **key, reason=reason, now=to_micros(now))

    def revoke(self, org: str, *, agent: str = "", project: str = "", reason: str, now: datetime) -> int:
        """Cancel what memory would say in sessions that go on: all, or those of an agent, or in a project."""
        whose = {"agent": agent, "project_id": project}
        return self._session.run("injects_revoke", org_id=org, **whose, reason=reason, now=to_micros(now))

    def take_back(self, org: str, one: str, other: str, *, now: datetime) -> int:
        """Cancel what states a fact between these nodes, or a conflict between these memories, in sessions that go
        on; and note when, for what is rendered meanwhile."""
        moment = to_micros(now)
        self._session.run("meta_put_of_org", org_id=org, fact=TAKEN_BACK_AT, value=str(int(moment)))
        return self._session.run("injects_take_back", org_id=org, one=one, other=other, now=moment)

    def reopen(self, org: str, session: str) -> int:
        """Acknowledged start blocks wait once more, but for those that were revoked since."""
        return self._session.run("injects_reopen", org_id=org, session_id=session)

    def give_up(self, org: str, *, before: datetime, reason: str, now: datetime) -> int:
        """Close what is still in flight in sessions that ended before then."""
        times = {"before": to_micros(before), "now": to_micros(now)}
        return self._session.run("injects_give_up", org_id=org, reason=reason, **times)

    def erase_memories(self, org: str, ids: Sequence[str], *, now: datetime) -> int:
        """No text that rests on one of these memories stays; what was not acknowledged yet is cancelled."""
        return self._session.run("injects_forget", org_id=org, ids=listed(ids), now=to_micros(now))

    def unsourced(self, org: str, project: str | None, user: str | None) -> list[tuple[str, str]]:
        """Texts for sessions of one place that name no memory they rest on, with their ids."""
        place = {"org_id": org, "project_id": project or "", "user_id": user or ""}
        found: list[tuple[str, str]] = self._session.all("injects_unsourced", **place)
        return found

    def erase(self, org: str, id: str, *, now: datetime) -> None:
        """Its text goes; what was not acknowledged yet is cancelled."""
        self._session.run("inject_forget", org_id=org, id=id, now=to_micros(now))


def _of_delivery(lock: Lock, delivery_id: str) -> dict[str, Any]:
    shown = {"session_id": lock.session, "worker": lock.worker, "token": lock.token}
    return {"org_id": lock.reach.org, "delivery_id": delivery_id} | shown


def _shown(lock: Lock) -> dict[str, Any]:
    """What a worker shows, as queries name it."""
    reach = lock.reach
    return {
        "org_id": reach.org,
        "session_id": lock.session,
        "worker": lock.worker,
        "token": lock.token,
        "projects": None if reach.projects is None else listed(reach.projects),
        "users": None if reach.users is None else listed(reach.users),
    }


def _sources(draft: InjectDraft) -> list[str]:
    return list(dict.fromkeys((*draft.observation_ids, *draft.source_ids)))


def _from_row(row: Row) -> Inject:
    values: dict[str, Any] = dict(zip(Inject.__slots__, row, strict=True))
    for name in ("agent", "receipt", "reason"):
        values[name] = values[name] or None
    for name in ("observation_ids", "node_ids", "source_ids"):
        values[name] = tuple(json.loads(values[name]))
    for name in _TIMES:
        values[name] = None if values[name] is None else from_micros(values[name])
    return Inject(**values)

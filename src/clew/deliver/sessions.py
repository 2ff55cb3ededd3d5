"""A session from its start to its end: created with its work item, claimed by a worker, kept by beats, ended.

In: what the work is; a worker that shows its lock. Out: the session as it is now, a token, a beat's answer.
Everything here is durable when it returns, except a beat that acknowledges nothing: a lock that is forgotten in a
power cut has run out when the power is back. The lock is the lease `session:<id>`, by the database's clock; each
grant has a larger token, and a worker with a smaller one is refused in the transaction. Claiming again is allowed
to whoever holds the lock, under a new token: a worker that was restarted fences out what is left of itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from clew.deliver import queue
from clew.deliver.states import DeliverPolicy, check_move, is_new_epoch
from clew.errors import Conflict, InvalidInput
from clew.model.ids import new_id
from clew.model.scope import Reach, Scope, is_encodable
from clew.model.session import ENDED, OUTCOMES, AgentSession, Beat, Lock
from clew.model.times import to_micros
from clew.ports import Tx
from clew.remember import key_names
from clew.remember.redact import redact
from clew.values import dataclass

MAX_NAME = 200
MAX_TITLE = 500
MAX_DESCRIPTION = 4_000  # only its first line is ever a query; the rest tells people what the session was about
MAX_GIVEN = 200_000  # masking looks at all of a text before it is cut


@dataclass(frozen=True, slots=True)
class WorkItem:
    """What a session is about, as the tracker says: kept here, so that nobody has to ask the tracker again."""

    work_type: str | None = None
    issue: str | None = None
    issue_id: str | None = None
    title: str | None = None
    description: str | None = None


def new_session(scope: Scope, item: WorkItem, *, agent: str | None, now: datetime) -> AgentSession:
    """A session that waits for a worker, with every text masked."""
    key_names.check_place(scope)
    return AgentSession(
        id=new_id("ses", at_ms=to_micros(now) // 1000),
        org=scope.org,
        project=scope.project,
        user=scope.user,
        agent=name_of("agent", agent),
        work_type=name_of("work type", item.work_type),
        issue=name_of("issue", item.issue),
        issue_id=name_of("issue id", item.issue_id),
        title=_text_of("title", item.title, MAX_TITLE),
        description=_text_of("description", item.description, MAX_DESCRIPTION),
        state="queued",
        worker=None,
        provider_session=None,
        fencing_token=0,
        stop_requested=False,
        outcome=None,
        created_at=now,
        claimed_at=None,
        ended_at=None,
    )


def must_get(tx: Tx, reach: Reach, id: str) -> AgentSession:
    session = tx.sessions.get(reach, id)
    if session is None:
        raise queue.session_not_found(id)
    return session


def claim(
    tx: Tx,
    id: str,
    *,
    worker: str,
    provider: str | None = None,
    reach: Reach,
    policy: DeliverPolicy,
    now: datetime,
) -> int:
    """Give the session to a worker and return its fencing token. A Conflict while another worker holds it."""
    session = must_get(tx, reach, id)
    check_move(session, "running")
    token = tx.leases.claim(session.org, lock_key(id), holder=worker, ttl_s=policy.lease_s)
    if token is None:
        raise Conflict(
            f"session {id} is held by another worker",
            code="SESSION_LOCKED",
            next=f"try again when its lock has run out, after {policy.lease_s:g} s at most",
        )
    known = provider or session.provider_session or ""
    tx.sessions.claim(session, worker=worker, token=token, provider=known, now=now)
    if policy.redeliver_on_new_epoch and is_new_epoch(session, provider):
        tx.injects.reopen(session.org, id)
    return token


def refresh(
    tx: Tx,
    lock: Lock,
    *,
    acked: Collection[str] = (),
    dead: Mapping[str, str] | None = None,
    held: str | None = None,
    take: bool = True,
    policy: DeliverPolicy,
    now: datetime,
) -> Beat:
    """One beat: keep the lock, take in what became of deliveries, hand out at most one inject. Whether the worker
    holds the lock is decided once: a beat that refreshed has taken in everything it was told."""
    dead = dead or {}
    tx.leases.expect(lock.reach.org, lock_key(lock.session))
    for delivery_id in {*acked, *dead}:
        tx.injects.expect_receipt(lock, delivery_id)
    head = queue.head_of(tx, lock)
    if not head.is_holder:
        return Beat(refreshed=False)
    try:
        tx.leases.renew(lock.reach.org, lock_key(lock.session), lock.token, ttl_s=policy.lease_s)
    except Conflict:  # it has run out this very moment
        return Beat(refreshed=False)
    for delivery_id in acked:
        queue.acknowledge(tx, lock, delivery_id, is_renewed=True, policy=policy, now=now)
    for delivery_id, reason in dead.items():
        queue.dead_letter(tx, lock, delivery_id, reason=reason, is_renewed=True, now=now)
    if head.stop_requested:
        return Beat(refreshed=True, stop=True)
    if not take or (head.seq is None and not acked and not dead):
        return Beat(refreshed=True)
    claim = queue.claim if held is None else partial(queue.claim_next, held=held)
    return Beat(refreshed=True, inject=claim(tx, lock, policy=policy, now=now))


def finalize(tx: Tx, lock: Lock) -> AgentSession:
    """The agent is done; its worker still puts things in order. Nothing is injected any more."""
    return _move(tx, must_hold(tx, lock), "finalizing")


def end(
    tx: Tx,
    id: str,
    *,
    state: str,
    outcome: str | None,
    lock: Lock | None,
    reach: Reach,
    policy: DeliverPolicy,
    now: datetime,
) -> AgentSession:
    """The session is over: nobody holds it, what waited is cancelled, what is in flight may still be acknowledged
    for a while. Without a lock it is someone else than the worker who ends it."""
    session = must_hold(tx, lock) if lock else must_get(tx, reach, id)
    if state == "completed" and session.state == "running":
        session = _move(tx, session, "finalizing")
    ended = _move(tx, session, state, outcome=outcome, ended_at=now)
    _let_go(tx, ended, policy=policy, now=now)
    return ended


def stop(tx: Tx, id: str, *, reach: Reach, policy: DeliverPolicy, now: datetime) -> AgentSession:
    """Ask the worker to stop, which its next beat tells it. A session that nobody holds is stopped at once."""
    session = must_get(tx, reach, id)
    check_move(session, "stopped")
    if session.state == "running" and tx.sessions.is_locked(session):
        tx.sessions.ask_stop(session)
        return replace(session, stop_requested=True)
    stopped = _move(tx, session, "stopped", ended_at=now)
    _let_go(tx, stopped, policy=policy, now=now)
    return stopped


def fail_abandoned(
    tx: Tx, org: str, *, silent: timedelta, policy: DeliverPolicy, now: datetime, limit: int = 100
) -> int:
    """Fail what workers that died have left behind, without an outcome. A session whose lock has run out may be
    claimed again before that; nothing else ever ends it."""
    abandoned = tx.sessions.abandoned(org, silent=silent, now=now, limit=limit)
    for session in abandoned:
        ended = _move(tx, session, "failed", ended_at=now)
        _let_go(tx, ended, policy=policy, now=now)
        tx.audit.note(org, at=now, actor="clew", action="abandon", kind="session", id=session.id)
    return len(abandoned)


def must_hold(tx: Tx, lock: Lock) -> AgentSession:
    """The session, for the worker that holds it. A Conflict for any other."""
    session = must_get(tx, lock.reach, lock.session)
    if session.has_ended or tx.sessions.is_held(lock):
        return session
    raise Conflict(
        f"worker '{lock.worker}' no longer holds session {lock.session}",
        code="LEASE_LOST",
        next="claim it again, or leave it to the worker that has it now",
    )


def check_ending(state: str, outcome: str | None) -> None:
    for name, value, known in (("end of a session", state, tuple(sorted(ENDED))), ("outcome", outcome, OUTCOMES)):
        if value is not None and value not in known:
            message = f"'{value}' is no {name}"
            raise InvalidInput(message, code="SESSION_END_INVALID", next=f"one of {', '.join(known)}")


def lock_key(id: str) -> str:
    if not is_encodable(id):
        raise queue.session_not_found(id)
    return f"session:{id}"


def name_of(field: str, value: str | None) -> str | None:
    """One line that names something, or None."""
    if value is None or value == "":
        return None
    if not value.strip() or len(value) > MAX_NAME or not is_encodable(value) or not value.isprintable():
        raise InvalidInput(
            f"the {field} must be one line of at most {MAX_NAME} characters",
            code="SESSION_FIELD_INVALID",
            next=f"shorten the {field}",
        )
    return redact(value).text or None


def _text_of(field: str, value: str | None, limit: int) -> str | None:
    if value is not None and (len(value) > MAX_GIVEN or not is_encodable(value)):
        raise InvalidInput(
            f"the {field} must be Unicode text of at most {MAX_GIVEN:,} characters",
            code="SESSION_FIELD_INVALID",
            next=f"shorten the {field}",
        )
    return redact(value).text.strip()[:limit] or None if value else None


def _move(
    tx: Tx, session: AgentSession, state: str, *, outcome: str | None = None, ended_at: datetime | None = None
) -> AgentSession:
    check_move(session, state)
    outcome = outcome or session.outcome  # what was told before stands until something else is told
    if not tx.sessions.move(session, state, outcome=outcome, ended_at=ended_at):
        raise Conflict(f"session {session.id} has just changed", code="SESSION_CHANGED", next="look at it again")
    return replace(session, state=state, outcome=outcome, ended_at=ended_at)


def _let_go(tx: Tx, session: AgentSession, *, policy: DeliverPolicy, now: datetime) -> None:
    tx.sessions.unlock(session)
    tx.injects.cancel_waiting(session.org, session.id, reason=queue.SESSION_ENDED, now=now)
    too_late = now - timedelta(seconds=policy.late_ack_s)
    tx.injects.give_up(session.org, before=too_late, reason=queue.NEVER_ACKNOWLEDGED, now=now)

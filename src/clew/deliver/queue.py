"""The durable queue of a session: put in, hand out one at a time, acknowledge.

In: a text for an agent; a worker that shows its lock. Out: the inject, the delivery, whether it counted.
An inject is durable when `put` returns, and acknowledged for good when `acknowledge` does; handing out is not made
durable, since what is lost of it is handed out again. Putting the same text in twice leaves one inject; asking
twice gives the same delivery; acknowledging twice is acknowledging once. Whoever no longer holds the lock gets
nothing and acknowledges nothing: it is looked at in the transaction that would have acted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from clew.deliver.states import DeliverPolicy, raised, why_dead
from clew.errors import Denied, InvalidInput, NotFound
from clew.lazy import LazyModule
from clew.model.ids import new_id
from clew.model.scope import Reach, is_text
from clew.model.session import (
    ENDED,
    KINDS,
    PHASES,
    RECEIPTS,
    Delivery,
    Enqueued,
    Head,
    Inject,
    InjectDraft,
    Lock,
    refused,
)
from clew.model.times import to_micros
from clew.ports import Tx
from clew.remember.redact import redact

if TYPE_CHECKING:
    from clew.guard import quarantine, render
else:
    quarantine, render = LazyModule("clew.guard.quarantine"), LazyModule("clew.guard.render")

MAX_REASON = 200
_OWN_ID = re.compile(r"[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SWITCHED_OFF, SOURCE_GONE, SUSPENDED = "injection_switched_off", "source_gone", "agent_suspended"
RIGHTS_CHANGED, TAKEN_BACK = "rights_changed", "taken_back"
SESSION_ENDED, NEVER_ACKNOWLEDGED = "session_ended", "never_acknowledged"
QUEUE_FULL, TEXT_TOO_LONG, GIVEN_UP = "queue_full", "text_too_long", "given_up_before"


def prepared(draft: InjectDraft, *, trust: str = "user") -> InjectDraft:
    """As it may be stored: checked and masked. `trust` is that of whoever says it; ids of our own that the renderer
    named need no second look."""
    if trust != "user":
        draft = _said_by_agent(draft)
    for name, value, known in (("kind", draft.kind, KINDS), ("phase", draft.phase, PHASES)):
        if value not in known:
            message = f"'{value}' is no {name} of an inject"
            raise InvalidInput(message, code="INJECT_INVALID", next=f"one of {', '.join(known)}")
    if not is_text(draft.text):
        message = "the text of the inject is not valid Unicode"
        raise InvalidInput(message, code="INVALID_UTF8", next="convert the text to UTF-8 first")
    if not all(map(is_text, (draft.agent or "", *draft.observation_ids, *draft.node_ids, *draft.source_ids))):
        message = "the agent and the ids of an inject must be text"
        raise InvalidInput(message, code="INJECT_INVALID", next="give them as text")
    text = redact(draft.text).text
    if trust != "user":  # last: in what is broken, masking would find nothing
        text = render.said_lines(text)
    if not text.strip():
        raise InvalidInput(
            "an inject needs a text", code="INJECT_EMPTY", next="leave it out: nothing is to be said"
        )
    return _with_masked_names(replace(draft, text=text))


def _with_masked_names(draft: InjectDraft) -> InjectDraft:
    """Whom it is for and what it rests on is told by whoever puts it in."""
    return replace(
        draft,
        agent=redact(draft.agent or "").text or None,
        observation_ids=_masked(draft.observation_ids, is_rendered=draft.is_rendered),
        node_ids=_masked(draft.node_ids, is_rendered=draft.is_rendered),
        source_ids=_masked(draft.source_ids, is_rendered=draft.is_rendered),
    )


def _masked(ids: tuple[str, ...], *, is_rendered: bool) -> tuple[str, ...]:
    """Imported memories keep the ids that others gave them, so those are looked at in any case."""
    return tuple(id if is_rendered and _OWN_ID.fullmatch(id) else redact(id).text for id in ids)


def _said_by_agent(draft: InjectDraft) -> InjectDraft:
    """An agent does not speak as the user, says nothing invisible, and nothing that looks like an attack."""
    if draft.kind == "user":
        raise Denied(
            "an agent may not speak as the user",
            code="INJECT_KIND_DENIED",
            next="leave the kind out, or have the user say it",
        )
    quarantine.refuse_suspicious((draft.text,), "the text of the inject")
    return replace(draft, text=render.visible(draft.text))


def put(
    tx: Tx, draft: InjectDraft, *, reach: Reach, policy: DeliverPolicy, now: datetime, again: bool = False
) -> Enqueued:
    """Put a prepared text at the end of its session's queue. The same text is there once, whoever puts it in.
    `again`: one that the agent has, or may have, is delivered once more, since something else was said in between.
    It is another delivery then: a worker gives none twice that it knows.

    What memory would say is left unsaid when there is no room for it, with a reason; what a user says is refused.
    """
    content_hash = sha256(draft.text.encode()).hexdigest()
    tx.injects.expect_same(reach.org, draft.session, content_hash)
    room = tx.injects.room(reach.org, draft.session, since=now)
    if room is None or not reach.sees(room[1], room[2]):
        raise session_not_found(draft.session)
    known = tx.injects.same(reach.org, draft.session, content_hash)
    waiting = room[4]
    if known and is_outdated(tx, known, now):  # it would be taken off when it is asked for
        tx.injects.cancel(reach.org, known.delivery_id, reason=SOURCE_GONE, now=now)
        waiting -= known.state == "pending"
        known = None
    if known and known.state == "dead":
        return Enqueued(reason=GIVEN_UP)
    if known and not (again and known.state == "acked"):
        return Enqueued(known=known)
    reason = _why_not(draft, state=room[0], waiting=waiting, policy=policy)
    if not reason and draft.is_rendered and room[5]:  # while it was rendered
        reason = RIGHTS_CHANGED if room[5] == 1 else TAKEN_BACK
    if not reason and _is_source_gone(tx, draft, reach.org, now):
        reason = SOURCE_GONE
    if reason and draft.kind == "user":
        raise refused(draft.session, reason)
    if reason:
        return Enqueued(reason=reason)
    draft = draft if draft.agent else replace(draft, agent=room[3] or None)
    if again:
        tx.injects.make_room(reach.org, draft.session, content_hash)
    id = new_id("inj", at_ms=to_micros(now) // 1000)
    inject = tx.injects.insert(reach.org, id, draft, content_hash=content_hash, now=now)
    return Enqueued(inject, known=None if inject else tx.injects.same(reach.org, draft.session, content_hash))


def _is_source_gone(tx: Tx, draft: InjectDraft, org: str, now: datetime) -> bool:
    """Whether a memory or summary behind a block was forgotten while it was rendered, or may no longer be told:
    what is erased for good is not to be written down again."""
    ids = list(dict.fromkeys((*draft.observation_ids, *draft.source_ids)))
    if draft.kind == "user" or not ids:
        return False
    own = ("mem_", "sum_")  # of these the query below knows; others came by an import
    brought = [id for id in ids if not id.startswith(own)]
    if draft.is_rendered and brought and len(tx.memories.taken_ids(org, brought)) < len(brought):
        return True
    return tx.injects.are_sources_gone(org, json.dumps(ids), since=to_micros(now), now=now)


def is_outdated(tx: Tx, inject: Inject, now: datetime) -> bool:
    """Whether something it rests on was changed since it was put in, so that it will not be handed out."""
    if inject.kind == "user" or inject.state not in ("pending", "delivered") or not inject.source_ids:
        return False
    since = to_micros(inject.enqueued_at)
    return tx.injects.are_sources_gone(inject.org, json.dumps(inject.source_ids), since=since, now=now)


def claim(tx: Tx, lock: Lock, *, policy: DeliverPolicy, now: datetime) -> Delivery | None:
    """As `claim_next`, at the end of a transaction: what nothing speaks against is handed out at one look."""
    return tx.injects.take(lock, most=policy.max_attempts, now=now) or claim_next(tx, lock, policy=policy, now=now)


def claim_next(
    tx: Tx, lock: Lock, *, policy: DeliverPolicy, now: datetime, held: str | None = None
) -> Delivery | None:
    """The inject in flight once more, else the oldest that waits. None when there is nothing to say, when the lock
    is lost, and when the session is to stop. What the worker says it has `held` since is no further attempt: a turn
    may last."""
    while True:
        head = head_of(tx, lock)
        if not head.is_holder or head.state != "running" or head.stop_requested or head.seq is None:
            return None
        is_held = head.delivery_id == held and head.attempts > 0  # not one that was put in anew since
        if _closed(tx, head, head.seq, lock.reach.org, policy=None if is_held else policy, now=now):
            continue
        if not is_held:  # writers of a running session come one after another: nobody takes it off meanwhile
            tx.injects.hand_out(lock.reach.org, head.seq, token=lock.token, now=now, is_sure=True)
        return Delivery(head.delivery_id, head.text, head.kind, head.attempts + (not is_held))


def revoke(tx: Tx, org: str, *, agent: str = "", project: str = "", now: datetime) -> None:
    """Rights have changed in this transaction: what memory would say under the old ones is not handed out. For all
    orgs where none is named. The next start of a session makes its block under the new ones."""
    for each in [org] if org else tx.config.orgs():
        tx.injects.revoke(each, agent=agent, project=project, reason=RIGHTS_CHANGED, now=now)


def confirm(tx: Tx, lock: Lock, delivery_id: str, *, receipt: str, policy: DeliverPolicy, now: datetime) -> bool:
    """As `acknowledge`, at the end of a transaction: what is in flight is acknowledged at one look."""
    return tx.injects.confirm(lock, delivery_id, receipt=receipt, now=now) or acknowledge(
        tx, lock, delivery_id, receipt=receipt, policy=policy, now=now
    )


def acknowledge(
    tx: Tx,
    lock: Lock,
    delivery_id: str,
    *,
    receipt: str = "consumed",
    is_renewed: bool = False,
    policy: DeliverPolicy,
    now: datetime,
) -> bool:
    """Whether the delivery counts as acknowledged. Not for someone else's, nor for one that was given up.
    `is_renewed`: this transaction has found the lock held, and renewed it; the clock is not asked again."""
    target = tx.injects.receipt_target(lock, delivery_id)
    if target is None or not lock.reach.sees(target.project, target.user):
        raise session_not_found(lock.session)
    was_last = (target.worker, target.fencing_token) == (lock.worker, lock.token)
    is_holder = is_renewed or target.is_holder
    if target.seq is None or not (is_holder or (was_last and target.ended_at is not None)):
        return False
    if target.state == "acked":
        if better := raised(target.receipt, receipt):
            tx.injects.ack(lock.reach.org, target.seq, token=lock.token, receipt=better, now=now)
        return True
    if target.state != "delivered" or _is_too_late(target.ended_at, policy, now):
        return False
    better = raised(target.receipt, receipt) or target.receipt
    is_sure = target.ended_at is None  # of one that has ended, the end of another may give it up meanwhile
    return tx.injects.ack(lock.reach.org, target.seq, token=lock.token, receipt=better, now=now, is_sure=is_sure)


def dead_letter(
    tx: Tx, lock: Lock, delivery_id: str, *, reason: str, is_renewed: bool = False, now: datetime
) -> bool:
    """A worker that cannot hand a delivery to its agent says so; the next one is no longer held up."""
    target = tx.injects.receipt_target(lock, delivery_id)
    is_holder = target is not None and (is_renewed or target.is_holder)
    if target is None or target.seq is None or not is_holder or target.state != "delivered":
        return False
    told = " ".join(redact(reason).text.split())[:MAX_REASON]
    tx.injects.close(lock.reach.org, target.seq, "dead", reason=told or "no reason given", now=now)
    return True


def head_of(tx: Tx, lock: Lock) -> Head:
    head = tx.injects.head(lock)
    if head is None or not lock.reach.sees(head.project, head.user):
        raise session_not_found(lock.session)
    return head


def check_receipt(receipt: str) -> None:
    if receipt not in RECEIPTS[1:]:
        raise InvalidInput(
            f"'{receipt}' does not acknowledge anything",
            code="RECEIPT_INVALID",
            next=f"one of {', '.join(RECEIPTS[1:])}; that it was printed is known",
        )


def check_told(deliveries: Collection[str], reasons: Collection[str] = ()) -> None:
    """Refuse what cannot be the id of a delivery, or the reason to give one up."""
    if not all(map(is_text, (*deliveries, *reasons))):
        message = "the id of a delivery and the reason to give one up must be text"
        raise InvalidInput(message, code="DELIVERY_INVALID", next="give the id that was handed out, and a reason")


def session_not_found(id: str) -> NotFound:
    message = f"session '{id.encode('utf-8', 'replace').decode()}' was not found"
    return NotFound(message, code="SESSION_NOT_FOUND", next="list them: clew session list")


def _closed(tx: Tx, head: Head, seq: int, org: str, *, policy: DeliverPolicy | None, now: datetime) -> bool:
    """Whether the head of the queue was taken off it instead of being handed out: what was allowed when it was put
    in may have been revoked since (rensei.md 2.10). One source that is gone or changed is enough, also where a fact
    has another witness: the next start of the session computes its block anew and puts that in."""
    if reason := _why_cancelled(tx, head, org, now):
        tx.injects.close(org, seq, "cancelled", reason=reason, now=now)
    elif policy and (reason := why_dead(head, policy)):
        tx.injects.close(org, seq, "dead", reason=reason, now=now)
    else:
        return False
    return True


def _why_cancelled(tx: Tx, head: Head, org: str, now: datetime) -> str | None:
    if head.kind == "memory" and not head.is_enabled:
        return SWITCHED_OFF
    if head.kind == "memory" and head.is_suspended:
        return SUSPENDED
    if head.kind == "user" or head.source_ids == "[]":
        return None
    gone = tx.injects.are_sources_gone(org, head.source_ids, since=head.enqueued_at, now=now)
    return SOURCE_GONE if gone else None


def _is_too_late(ended_at: int | None, policy: DeliverPolicy, now: datetime) -> bool:
    return ended_at is not None and to_micros(now) > ended_at + policy.late_ack_s * 1e6


def _why_not(draft: InjectDraft, *, state: str, waiting: int, policy: DeliverPolicy) -> str | None:
    if state in ENDED:
        return SESSION_ENDED
    if len(draft.text.encode()) > policy.max_text_bytes:
        return TEXT_TOO_LONG
    return QUEUE_FULL if waiting >= policy.max_pending else None

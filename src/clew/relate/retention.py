"""How long memories are kept: policies of an org, applied once a day (rensei.md 2.11).

In: a store and a time. Out: what was forgotten. Without a policy everything is kept. Of the policies that cover a
memory the most specific one counts, and no other. Softly forgotten, a memory can still be brought back for 30 days;
then, as long as a policy covers it, it is erased like after a hard forget. Done in portions and durable portion by
portion; run twice, the second run finds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from clew.errors import InvalidInput, NotFound
from clew.model.facts import RETENTION_AT, RETENTION_SO_FAR
from clew.model.govern import RetentionPolicy
from clew.model.memory import CLASSIFICATIONS, TYPES, Memory
from clew.model.times import from_micros, to_micros
from clew.ports import Store, Tx
from clew.remember.forget import finish_pending, forget
from clew.values import dataclass

GRACE = timedelta(days=30)  # rensei.md 2.11: between a soft and a hard end
CADENCE = timedelta(days=1)
PAGE = 500  # memories looked at in one portion, some 10 ms
MAX_DAYS = 36_500.0
ACTIONS = ("soft", "hard")


@dataclass(frozen=True, slots=True)
class Verdict:
    memory: Memory
    policy: RetentionPolicy
    hard: bool


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """How many memories of an org were looked at, hidden and erased."""

    looked_at: int = 0
    soft: tuple[str, ...] = ()
    hard: tuple[str, ...] = ()
    dry_run: bool = False
    log: str = ""  # of what was erased: erased | pending

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "looked_at": self.looked_at,
            "forgotten": len(self.soft),
            "erased": len(self.hard),
        }
        answer |= {"forgotten_ids": list(self.soft), "erased_ids": list(self.hard), "dry_run": self.dry_run}
        return answer | ({"log": self.log} if self.log else {})


# -- thinking ----------------------------------------------------------------------------------------


def new_policy(
    *,
    ttl_days: float,
    action: str = "soft",
    project: str | None = None,
    classification: str | None = None,
    type: str | None = None,
    created_by: str = "",
) -> RetentionPolicy:
    """Two policies about the same memories are one: its id says what it is about."""
    _check(ttl_days, action, classification, type)
    about = json.dumps([project or "", classification or "", type or ""])
    id = f"ret_{sha256(about.encode()).hexdigest()[:12]}"
    return RetentionPolicy(id, float(ttl_days), action, project, classification, type, created_by)


def _check(ttl_days: float, action: str, classification: str | None, type_: str | None) -> None:
    checks = (
        (
            isinstance(ttl_days, (int, float)) and 0 < ttl_days <= MAX_DAYS,
            f"{ttl_days!s:.40} is no number of days",
            "give more than 0 and at most 36500",
        ),
        (action in ACTIONS, f"'{action[:40]}' is no way to end", f"choose one of {', '.join(ACTIONS)}"),
        (
            classification is None or classification in CLASSIFICATIONS,
            f"'{(classification or '')[:40]}' is no classification",
            f"choose one of {', '.join(CLASSIFICATIONS)}",
        ),
        (
            type_ is None or type_ in TYPES,
            f"'{(type_ or '')[:40]}' is no type of memory",
            f"choose one of {', '.join(TYPES)}",
        ),
    )
    for is_fine, message, move in checks:
        if not is_fine:
            raise InvalidInput(message, code="RETENTION_INVALID", next=move)


def policy_for(memory: Memory, policies: Sequence[RetentionPolicy]) -> RetentionPolicy | None:
    """The one that says most about it; of two that say as much, first the one with the project, then the label."""
    covering = [policy for policy in policies if policy.covers(memory)]
    return max(covering, key=_specificity, default=None)


def _specificity(policy: RetentionPolicy) -> tuple[int, bool, bool]:
    named = [policy.project is not None, policy.classification is not None, policy.type is not None]
    return sum(named), named[0], named[1]


def verdict_on(memory: Memory, policies: Sequence[RetentionPolicy], now: datetime) -> Verdict | None:
    """None: it stays as it is."""
    policy = policy_for(memory, policies)
    if policy is None:
        return None
    has_ended = memory.created_at + policy.ttl <= now
    if memory.deleted_at is None:
        return Verdict(memory, policy, policy.action == "hard") if has_ended else None
    is_due = memory.deleted_at + GRACE <= now or (has_ended and policy.action == "hard")
    return Verdict(memory, policy, True) if is_due else None


# -- telling -----------------------------------------------------------------------------------------


def run(store: Store, org: str, now: datetime, *, dry_run: bool = False) -> RetentionReport:
    """All of one org at once."""
    with store.read() as tx:
        policies = tx.transfers.retention(org)
    soft: list[str] = []
    hard: list[str] = []
    looked_at = 0
    for page in _pages(store, org) if policies else ():
        looked_at += len(page)
        verdicts = _verdicts(page, policies, now)
        changed = set() if dry_run else _carry_out(store, verdicts, now)
        for verdict in verdicts:
            if verdict.memory.id not in changed:
                (hard if verdict.hard else soft).append(verdict.memory.id)
    log = "" if dry_run or not hard else "erased" if finish_pending(store) else "pending"
    return RetentionReport(looked_at, tuple(soft), tuple(hard), dry_run, log)


def set_policy(tx: Tx, org: str, policy: RetentionPolicy, *, now: datetime) -> None:
    """From the next write on it is applied."""
    tx.transfers.put_retention(org, policy, now=now)
    _note(tx, so_far="", at=from_micros(0))
    about = {"ttl_days": policy.ttl_days, "ends": policy.action, "project": policy.project}
    about |= {"classification": policy.classification, "type": policy.type}
    note = partial(tx.audit.note, org, at=now, actor=policy.created_by, kind="retention", id=policy.id)
    note(action="set_retention", detail=about)


def drop_policy(tx: Tx, org: str, id: str, *, actor: str, now: datetime) -> None:
    if not tx.transfers.drop_retention(org, id):
        raise NotFound(
            f"no retention policy {id[:60]}",
            code="RETENTION_NOT_FOUND",
            next="look for its id: clew retention list",
        )
    tx.audit.note(org, at=now, actor=actor, action="drop_retention", kind="retention", id=id)


def due(tx: Tx, now: datetime) -> bool:
    """Whether a pass should begin or go on: one look-up, as after each write. Where no policy was ever set there is
    nothing to find. A pass in the future, by a clock that was wrong, does not count."""
    last = tx.meta.get(RETENTION_AT)
    return last is not None and not timedelta(0) <= now - from_micros(int(last)) < CADENCE


def run_some(store: Store, now: datetime, *, limit: int = PAGE) -> bool:
    """One portion of a pass over all orgs that have policies; whether more is left."""
    with store.read() as tx:
        org, after = _place(tx)
        policies = tx.transfers.retention(org) if org else []
        page = tx.transfers.page(org, after=after, limit=limit) if policies else ()
        is_through = len(page) < limit  # what is written from now on is the next pass's
        is_last = is_through and not tx.transfers.orgs_with_retention(after=org, limit=1)
    _carry_out(store, _verdicts(page, policies, now), now)
    if not org or is_last:
        finish_pending(store)
        store.write(partial(_note, so_far="", at=now), durable=False)
        return False
    place = json.dumps([org, None if is_through else page[-1].id])
    store.write(partial(_note, so_far=place, at=None), durable=False)
    return True


def _pages(store: Store, org: str) -> Iterator[Sequence[Memory]]:
    after = ""
    while True:
        with store.read() as tx:
            page = tx.transfers.page(org, after=after, limit=PAGE)
        if not page:
            return
        yield page
        after = page[-1].id


def _verdicts(page: Sequence[Memory], policies: Sequence[RetentionPolicy], now: datetime) -> list[Verdict]:
    return [verdict for memory in page if (verdict := verdict_on(memory, policies, now))]


def _carry_out(store: Store, verdicts: Sequence[Verdict], now: datetime) -> set[str]:
    """By way of forget, once per policy: the audit log then names the policy as the one who did it. Ids of what was
    changed since it was judged, which the next pass judges anew."""
    changed: set[str] = set()
    for policy_id, hard in sorted({(verdict.policy.id, verdict.hard) for verdict in verdicts}):
        chosen = [one.memory for one in verdicts if (one.policy.id, one.hard) == (policy_id, hard)]
        begin = partial(forget, store, chosen, hard=hard, now=now, actor=f"retention:{policy_id}")
        changed.update(begin(purge=False, keep_changed=True).changed)
    return changed


def _place(tx: Tx) -> tuple[str, str]:
    """The org that is next, '' for none, and the memory after which to go on."""
    text = tx.meta.get(RETENTION_SO_FAR)
    org, after = json.loads(text) if text else ("", None)
    if after is not None:
        return org, after
    following = tx.transfers.orgs_with_retention(after=org, limit=1)
    return (following[0], "") if following else ("", "")


def _note(tx: Tx, *, so_far: str, at: datetime | None) -> None:
    tx.meta.put(RETENTION_SO_FAR, so_far)
    if at is not None:
        tx.meta.put(RETENTION_AT, str(to_micros(at)))

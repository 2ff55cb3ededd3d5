"""What an outcome teaches: the weights of all that a session was shown move, once per session and target.

In: a session and how it came out. Out: what moved, or the reason why nothing did. Durable when it returns; said
twice, it counts once; corrected, it is as if the right outcome had been said from the start. Never raises.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

from clew.errors import Conflict
from clew.learn.diagnostics import refreshed
from clew.learn.replay import looks_back, played, said
from clew.model.learning import VERDICTS, Entry, FeedbackReport, Shown, Target, WeightChange
from clew.model.session import OUTCOMES
from clew.ports import Store, Tx
from clew.values import dataclass

SCALED = 0.25  # of what was never delivered, if it counts at all but not fully: rensei.md C-10

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedbackPolicy:
    """The numbers of rensei.md 2.3, C-10 and C-17, as the settings give them."""

    alpha_success: float = 0.1
    alpha_failure: float = 0.15
    alpha_graph: float = 0.1
    rework_score: float = 0.0
    graph_rework_score: float = 0.5
    undelivered: str = "full"
    transfer_multiplier: float = 0.5

    def says(self, outcome: str, kind: str, *, delivered: bool) -> tuple[float, float] | None:
        """(alpha, signal) of an outcome for a kind of target; None when it says nothing."""
        if not delivered and self.undelivered == "off":
            return None
        of_graph = kind in ("node", "edge")
        rework = self.graph_rework_score if of_graph else self.rework_score
        signal = {"accepted": 1.0, "rework": rework, "rejected": 0.0}[outcome]
        alpha = self.alpha_success if outcome == "accepted" else self.alpha_failure
        alpha = self.alpha_graph if of_graph else alpha
        return alpha if delivered or self.undelivered == "full" else alpha * SCALED, signal


class _Policy(Protocol):
    @property
    def policy(self) -> FeedbackPolicy: ...


class Open(Protocol):
    """What is needed of an open Clew."""

    @property
    def store(self) -> Store: ...
    @property
    def learn(self) -> _Policy: ...
    def now(self) -> datetime: ...


def apply_feedback(clew: Open, *, org_id: str, session_id: str, outcome: str) -> FeedbackReport:
    """The documented entry, for whoever resolves the outcome of a session."""
    service = GraphFeedbackService(clew.store, clew.learn.policy)
    return service.apply_feedback(org_id=org_id, session_id=session_id, outcome=outcome, now=clew.now())


class GraphFeedbackService:
    """Feedback on one store with one policy."""

    __slots__ = ("_policy", "_store")

    def __init__(self, store: Store, policy: FeedbackPolicy | None = None) -> None:
        self._store = store
        self._policy = policy or FeedbackPolicy()

    def apply_feedback(self, *, org_id: str, session_id: str, outcome: str, now: datetime) -> FeedbackReport:
        """Never raises: an outcome that cannot be learnt from must not fail the session it belongs to."""
        nothing = partial(FeedbackReport, session_id, outcome)
        if outcome not in OUTCOMES:
            log.warning("an outcome that is none of %s was ignored", ", ".join(OUTCOMES))
            return nothing(reason="unknown_outcome")
        if not org_id or not session_id:
            return nothing(reason="no_org" if session_id else "no_session")
        try:
            learn = partial(
                learn_from, org=org_id, session=session_id, outcome=outcome, policy=self._policy, now=now
            )
            return self._store.write(learn)
        except Exception as error:  # the documented promise; the name says enough, the text may hold content
            log.warning("an outcome was not learnt from: %s", type(error).__name__)
            return nothing(reason="error")


def learn_from(
    tx: Tx, *, org: str, session: str, outcome: str, policy: FeedbackPolicy, now: datetime
) -> FeedbackReport:
    """Everything the session was shown, in one transaction."""
    shown = tx.learning.shown(org, session)
    found = refreshed(tx, org, session, outcome, now=now, shown=shown)
    if not shown:
        return FeedbackReport(session, outcome, reason="no_log" if found else "unknown_session")
    counted = tx.learning.counted(org, session)
    moved: Counter[str] = Counter()
    for target, delivered in targets(tx, org, shown, policy):
        if counted.get((target.kind, target.key)) == outcome:
            moved["unchanged"] += 1
        elif says := policy.says(outcome, target.kind, delivered=delivered):
            put(tx, org, target, Entry(session, outcome, *says, now), now=now)
            moved[target.kind] += 1
    return FeedbackReport(
        session,
        outcome,
        memories=moved["memory"] + moved["transferred"],
        nodes=moved["node"],
        edges=moved["edge"],
        summaries=moved["summary"],
        unchanged=moved["unchanged"],
        reason="" if moved else "no_target",
    )


def judge(tx: Tx, *, org: str, memory: str, verdict: str, user: str, now: datetime) -> bool:
    """What a person says about one memory; each counts once for each person. False when it was said before."""
    target = tx.learning.memory(org, memory)
    session = f"user:{user}:{verdict}"
    if target is None or ("memory", target.key) in tx.learning.counted(org, session):
        return False
    signal, alpha = VERDICTS[verdict]
    put(tx, org, target, Entry(session, verdict, alpha, signal, now), now=now)
    return True


def targets(tx: Tx, org: str, shown: Sequence[Shown], policy: FeedbackPolicy) -> Iterator[tuple[Target, bool]]:
    """Each weight once, and whether the agent got to see what it belongs to. What is gone by now is left out."""
    project = next((row.project for row in shown if row.project), "")
    table = tx.learning
    finders: tuple[tuple[str, Callable[..., Target | None]], ...] = (
        ("observation_ids", partial(_memory, tx, org, project=project, multiplier=policy.transfer_multiplier)),
        ("session_summary_ids", partial(table.summary, org)),
        ("graph_node_ids", partial(table.node, org)),
        ("graph_edge_keys", partial(table.edge, org, project=project)),
    )
    for column, find in finders:
        for id, delivered in _delivered(shown, column).items():
            if target := find(id):
                yield target, delivered


def _memory(tx: Tx, org: str, id: str, *, project: str, multiplier: float) -> Target | None:
    """One that another project granted has a weight of its own here: its home does not pay for it."""
    own = tx.learning.memory(org, id)
    if own is None or own.project in ("", project):
        return own
    return tx.learning.transferred(org, id, project=project, multiplier=multiplier) or own


def _delivered(shown: Iterable[Shown], column: str) -> Mapping[str, bool]:
    """The ids of all rows in their order; in several rows, one delivery is enough."""
    found: dict[str, bool] = {}
    for row in shown:
        for id in getattr(row, column):
            found[id] = found.get(id, False) or row.delivered
    return found


def put(tx: Tx, org: str, target: Target, entry: Entry, *, now: datetime) -> None:
    """Write an entry into the ledger of a target and let its weight follow. One that the session has there already
    is corrected in its place, and what came after it is played again."""
    old, table = tx.learning.entry(org, target, entry.session), tx.learning
    before = table.ledger(org, target, since=looks_back(old.at if old else now), seq=old.seq if old else 0)
    if old is None:
        entry = replace(entry, seq=table.last_seq(org, target) + 1, previous=target.weight)
    else:
        entry = replace(entry, at=old.at, seq=old.seq, previous=old.previous, weight=old.weight)
    place = before.index(old) if old else len(before)
    after = played([*before[:place], entry, *before[place + 1 :]], kind=target.kind, since=place)
    table.put_entries(org, target, after[place:])
    is_set_since = old is not None and before[-1].weight != target.weight
    if not is_set_since:  # otherwise a person has set the weight after all of these, and that stands
        _move(tx, org, target, after[-1].weight, entry=after[place], now=now)


def _move(tx: Tx, org: str, target: Target, weight: float, *, entry: Entry, now: datetime) -> None:
    if not tx.learning.put_weight(org, target, weight, now=now):
        raise Conflict(
            f"the weight of {target.kind} {target.key} was changed by someone else",
            code="WEIGHT_CHANGED",
            next="give the feedback again",
        )
    told = target.kind, target.key, entry.session, target.project, entry.outcome
    tx.learning.note_change(org, WeightChange(*told, target.weight, weight, said(entry)[0], now))
    _note(tx, org, target)


def _note(tx: Tx, org: str, target: Target) -> None:
    """For read models: which memory, or which nodes, to read again."""
    match target.kind:
        case "memory":
            tx.changes.note(org, target.project, "memory", target.key, "put")
        case "node":
            tx.changes.note(org, target.project, "node", str(target.place), "put")
        case "edge":
            for row in tx.learning.edge_ends(org, int(target.place)):
                tx.changes.note(org, target.project, "node", str(row), "put")

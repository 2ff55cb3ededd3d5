"""The verbs of learning: `clew.learn.feedback(...)` and the analytics over the logs."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import Denied, InvalidInput, NotFound
from clew.lazy import LazyModule
from clew.model.access import AccessContext, Resource
from clew.model.kinds import checked
from clew.model.learning import VERDICTS, FeedbackReport, Learnt
from clew.model.scope import AcrossProjects, Identity, Reach, Scope
from clew.model.session import OUTCOMES, SessionReport
from clew.model.times import earlier, zoned

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.learn import analytics, diagnostics, pareto
    from clew.learn import feedback as feeding
    from clew.learn.feedback import FeedbackPolicy
    from clew.model.learning import Diagnostics
    from clew.model.memory import Memory
    from clew.model.reports import FeedbackImpact, Pareto
    from clew.model.session import AgentSession
    from clew.ports import Tx
    from clew.remember import edit
else:
    analytics, diagnostics, feeding, pareto = (
        LazyModule(f"clew.learn.{name}") for name in ("analytics", "diagnostics", "feedback", "pareto")
    )
    edit = LazyModule("clew.remember.edit")

WINDOW = timedelta(days=7)
_LOOK_AFTER = frozenset(("owner", "admin", "operator"))


@checked
class Learning:
    """What outcomes teach."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    @property
    def policy(self) -> FeedbackPolicy:
        learn = self._clew.settings.learn
        return feeding.FeedbackPolicy(**{name: getattr(learn, name) for name in feeding.FeedbackPolicy.__slots__})

    # -- saying how it went ------------------------------------------------------------------------

    def feedback(self, session_id: str, outcome: str, *, identity: Identity | None = None) -> FeedbackReport:
        """Say how a session came out, or correct it; what it was shown is learnt from."""
        if outcome not in OUTCOMES:
            raise InvalidInput(
                f"'{outcome[:40]}' is no outcome", code="OUTCOME_UNKNOWN", next=f"say one of: {', '.join(OUTCOMES)}"
            )
        identity = identity or Identity()
        session = self._must_teach(session_id, identity)
        return self._clew.store.write(
            partial(self._told, session=session, outcome=outcome, actor=identity.actor, now=self._clew.now())
        )

    def _must_teach(self, session_id: str, identity: Identity) -> AgentSession:
        """Who may steer a session may tell its outcome, unless a policy lets nobody like them teach there."""
        may = self._clew.sessions.rights(identity)
        with self._clew.store.read() as tx:
            session = may.must_see(tx, session_id)
        pep = self._clew._doors.door(identity, None).pep
        if pep is None:
            return session
        place = Resource("memory", "new", session.org, session.project, classification="internal")
        context = AccessContext(session.org, session.project, user=identity.user)
        if not all(decision.allowed for decision in pep.decide(identity, "feedback", [place], context)):
            raise Denied(
                f"'{identity.name}' may not tell how session {session.id} came out",
                code="FEEDBACK_DENIED",
                next="ask an owner or admin of the org",
            )
        return session

    def _told(self, tx: Tx, *, session: AgentSession, outcome: str, actor: str, now: datetime) -> FeedbackReport:
        tx.learning.put_outcome(session.org, session.id, outcome)
        self._note(tx, session, outcome, actor=actor, now=now)
        return self._learn(tx, session, outcome, now)

    def _note(self, tx: Tx, session: AgentSession, outcome: str, *, actor: str, now: datetime) -> None:
        tx.audit.note(
            session.org, at=now, actor=actor, action="feedback", id=session.id, kind="session",
            detail={"outcome": outcome},
        )  # fmt: skip

    def _learn(self, tx: Tx, session: AgentSession, outcome: str, now: datetime) -> FeedbackReport:
        learn = partial(feeding.learn_from, tx, org=session.org, session=session.id)
        return learn(outcome=outcome, policy=self.policy, now=now)

    def judge(
        self,
        memory_id: str,
        verdict: str,
        *,
        corrected_by: str | None = None,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> tuple[Learnt, bool]:
        """Say yourself what a memory is worth: up, outdated or wrong. The same said twice counts once; the second
        value tells whether it counted. `corrected_by` names the memory that is right instead."""
        if verdict not in VERDICTS:
            raise InvalidInput(
                f"'{verdict[:40]}' says nothing about a memory",
                code="VERDICT_UNKNOWN",
                next=f"say one of: {', '.join(VERDICTS)}",
            )
        identity = self._clew.sessions.active(identity)
        with self._clew.store.read() as tx:
            reach, door = self._clew._reach_of_id(scope, identity), self._clew._doors.door(identity, scope)
            memory = edit.must_get(tx, reach, memory_id, may=door.asked)
            right = edit.must_get(tx, reach, corrected_by, may=door.asked) if corrected_by is not None else None
        place = scope
        if scope is None or isinstance(scope, AcrossProjects):
            place = Scope(org=memory.org, project=memory.project, user=scope.user if scope else identity.user)
        self._clew._doors.door(identity, place).must("feedback", memory, asked=memory_id)
        if right is not None:
            self._clew.link(right.id, "supersedes", memory.id, scope=scope, identity=identity)
        judge = partial(self._judged, memory=memory, verdict=verdict, by=identity, now=self._clew.now())
        counted = self._clew.store.write(judge)
        return self.show(memory.id, scope=scope, identity=identity), counted

    def _judged(self, tx: Tx, *, memory: Memory, verdict: str, by: Identity, now: datetime) -> bool:
        judge = partial(feeding.judge, tx, org=memory.org, memory=memory.id, verdict=verdict)
        counted = judge(user=by.name, now=now)
        if counted:
            tx.audit.note(
                memory.org, at=now, actor=by.actor, action="feedback", id=memory.id,
                content_hash=memory.content_hash, detail={"verdict": verdict},
            )  # fmt: skip
        return counted

    def _at_end(self, tx: Tx, session: AgentSession, outcome: str, now: datetime) -> None:
        """Learn in the transaction that ends the session, so that no crash comes between the two. It ends whatever
        becomes of this; what it reports is kept later, and teaches the same once more, which counts once."""
        try:
            with tx.savepoint():
                self._learn(tx, session, outcome, now)
        except Exception as error:
            if not tx.is_open:
                raise  # a full disk made the engine undo everything, the end too
            _warn(error)

    def on_session_end(self, session: AgentSession, report: SessionReport | None = None) -> FeedbackReport | None:
        """Keep how a session went and learn from its outcome, if there is one. An extra: it never raises."""
        try:
            return self._clew.store.write(partial(self._ended, session=session, report=report or SessionReport()))
        except Exception as error:  # the session ends whatever becomes of this
            _warn(error)
            return None

    def _ended(self, tx: Tx, *, session: AgentSession, report: SessionReport) -> FeedbackReport | None:
        known = tx.sessions.get(Reach.everything(session.org), session.id)
        outcome = (known and known.outcome) or session.outcome or ""  # it may have been corrected since the end
        now = self._clew.now()
        diagnostics.put_diagnostics(
            tx, session.org, session.id, outcome, report, project=session.project or "", now=now
        )
        return self._learn(tx, session, outcome, now) if outcome else None

    # -- looking at it -----------------------------------------------------------------------------

    def show(self, memory_id: str, *, scope: Scope | None = None, identity: Identity | None = None) -> Learnt:
        """How the weight of a memory came about."""
        memory, learn = self._clew.show(memory_id, scope=scope, identity=identity), self._clew.settings.learn
        with self._clew.store.read() as tx:
            table, org = tx.learning, memory.org
            retired = table.retired(org, [memory.id], below=learn.retire_below, samples=learn.retire_samples)
            return Learnt(
                id=memory.id,
                weight=memory.weight,
                samples=table.samples(org, [memory.id])[memory.id],
                retired=bool(retired),
                history=tuple(table.history(org, "memory", memory.id)),
            )

    def diagnostics(self, session_id: str, *, identity: Identity | None = None) -> Diagnostics:
        """How a session went."""
        may = self._clew.sessions.rights(identity)
        with self._clew.store.read() as tx:
            session = may.must_read(tx, session_id)
            found = tx.learning.diagnostics(session.org, session.id)
        if found is None:
            raise NotFound(
                f"nothing is known yet about how session {session.id} went",
                code="SESSION_NOT_ENDED",
                next=f"it is {session.state}; look again when it has ended",
            )
        return found

    def impact(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        identity: Identity | None = None,
    ) -> FeedbackImpact:
        """What weights change in what is injected, over a week unless told otherwise."""
        org, first, last = self._window(since, until, identity)
        with self._clew.store.read() as tx:
            return analytics.feedback_impact(tx, org, first, last, project)

    def pareto(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        identity: Identity | None = None,
    ) -> Pareto:
        """What context costs and what it brings, by work type, over a week unless told otherwise."""
        org, first, last = self._window(since, until, identity)
        with self._clew.store.read() as tx:
            return pareto.context_budget_pareto(tx, org, first, last, project)

    def _window(
        self, since: datetime | None, until: datetime | None, identity: Identity | None
    ) -> tuple[str, datetime, datetime]:
        """Numbers over a whole org are for those who look after it."""
        identity = self._clew.sessions.active(identity)
        if not _LOOK_AFTER.intersection(identity.roles):
            raise Denied(
                "reports tell about the whole org and are for those who look after it",
                code="REPORT_DENIED",
                next=f"ask someone with one of the roles: {', '.join(sorted(_LOOK_AFTER))}",
            )
        last = zoned("until", until) or self._clew.now()
        first = zoned("since", since) or earlier(last, WINDOW)
        if first >= last:
            raise InvalidInput(
                "the window ends before it begins", code="WINDOW_INVALID", next="give an earlier --since"
            )
        return identity.org, first, last


def _warn(error: Exception) -> None:
    """By its kind alone: the text of an error may quote a memory."""
    logging.getLogger(__name__).warning("a session was not learnt from: %s", type(error).__name__)

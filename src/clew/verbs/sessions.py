"""The verbs about sessions and their queue: `clew.sessions.claim(...)`, `clew.queue.ack(...)`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.lazy import LazyModule, made_once
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.scope import Identity, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from clew.clew import Clew
    from clew.deliver import queue as queueing
    from clew.deliver import report as reporting
    from clew.deliver import rights as granting
    from clew.deliver import sessions as steps
    from clew.deliver import states
    from clew.model import session as values
    from clew.model.session import AgentSession, Beat, Delivery, Enqueued, Inject, SessionReport
    from clew.ports import Tx
else:
    queueing, reporting, granting, states, steps = (
        LazyModule(f"clew.deliver.{name}") for name in ("queue", "report", "rights", "states", "sessions")
    )
    values = LazyModule("clew.model.session")

_OWNER = Identity()
_UNNAMED = "agent"
_TOKENS = range(1 << 63)  # as many as a store can count


class _Verbs:
    """What both groups need to know of who asks."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    @made_once
    def policy(self) -> states.DeliverPolicy:
        deliver = self._clew.settings.deliver
        names = states.DeliverPolicy.__slots__
        return states.DeliverPolicy(**{name: getattr(deliver, name) for name in names})

    def rights(self, identity: Identity | None) -> granting.SessionRights:
        """What it may do with sessions; a suspended agent is refused at once."""
        return granting.rights_of(self.active(identity))

    def active(self, identity: Identity | None) -> Identity:
        """Who asks, unless that is an agent which was suspended."""
        who = identity or _OWNER
        if who.agent and self._clew._rights(who.org, who.agent).suspended:
            raise granting.suspended(who)
        return who


@checked
class Sessions(_Verbs):
    """One agent run each: started, claimed, kept alive by beats, ended."""

    def start(
        self,
        *,
        project: str | None = None,
        work_type: str | None = None,
        issue: str | None = None,
        title: str | None = None,
        description: str | None = None,
        issue_id: str | None = None,
        agent: str | None = _UNNAMED,
        user: str | None = None,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> AgentSession:
        """A new session with its work item, which waits for a worker. `agent` None: a stage without one."""
        scope = self._clew._scope(scope, identity)
        scope = replace(scope, project=project or scope.project, user=user or scope.user)
        agent = self._starts_as(agent, scope, self.active(identity))
        item = steps.WorkItem(work_type, issue, issue_id, title, description)
        session = steps.new_session(scope, item, agent=agent, now=self._clew.now())
        self._clew.store.write(lambda tx: tx.sessions.insert(session), lock=steps.lock_key(session.id))
        return session

    def _starts_as(self, agent: str | None, scope: Scope, who: Identity) -> str | None:
        who.check(scope)
        may = granting.rights_of(who)
        if may.agent:
            self._clew._doors.door(who, scope).check_place()
        return may.agent_named(agent, default=_UNNAMED)

    def claim(
        self, id: str, worker: str, *, provider_session: str | None = None, identity: Identity | None = None
    ) -> int:
        """Make `worker` the holder of the session; returns its fencing token."""
        may = self.rights(identity)
        provider = steps.name_of("provider session", provider_session)
        claim = partial(steps.claim, id=id, worker=_worker(worker), reach=may.reach, provider=provider)
        step = may.guarded(partial(claim, policy=self.policy, now=self._clew.now()), id)
        return self._clew.store.write(step, lock=steps.lock_key(id))

    def refresh(
        self,
        id: str,
        worker: str,
        token: int,
        *,
        acked: Collection[str] | str = (),
        dead: Mapping[str, str] | None = None,
        held: str | None = None,
        take: bool = True,
        identity: Identity | None = None,
    ) -> Beat:
        """One beat of the worker that holds the session: see `Beat`. `held`: a delivery that waits for the end of a
        turn, which is no further attempt. `take`: False for a last beat, which brings nothing more."""
        may = self.rights(identity)
        lock = _lock(may, id, worker, token)
        acked = [acked] if isinstance(acked, str) else acked
        queueing.check_told([*acked, *(dead or {})], (dead or {}).values())
        beat = partial(steps.refresh, lock=lock, acked=acked, dead=dead, held=held, take=take)
        beat = partial(beat, policy=self.policy, now=self._clew.now())
        is_durable = bool(acked or dead)
        return self._clew.store.write(may.guarded(beat, id), durable=is_durable, lock=steps.lock_key(id))

    def finalize(self, id: str, worker: str, token: int, *, identity: Identity | None = None) -> AgentSession:
        """The agent is done, its worker not yet."""
        may = self.rights(identity)
        lock = _lock(may, id, worker, token)
        finalize = may.guarded(partial(steps.finalize, lock=lock), id)
        return may.shown(self._clew.store.write(finalize, lock=steps.lock_key(id)))

    def end(
        self,
        id: str,
        outcome: str | None = None,
        *,
        state: str = "completed",
        worker: str | None = None,
        token: int | None = None,
        summary: str | None = None,
        tool_calls: Iterable[Mapping[str, Any]] = (),
        files_modified: Iterable[str] = (),
        errors: Iterable[Mapping[str, Any]] = (),
        identity: Identity | None = None,
    ) -> AgentSession:
        """The session is over. Without an outcome nothing is learnt until someone says one. Saying it here takes
        the same right as saying it later, and is audited as well."""
        may, who, now = self.rights(identity), identity or _OWNER, self._clew.now()
        steps.check_ending(state, outcome)
        if outcome is not None:
            self._clew.learn._must_teach(id, who)
        report = reporting.session_report(summary, tool_calls, files_modified, errors)
        lock = None if worker is None else _lock(may, id, worker, token or 0)
        end = partial(steps.end, id=id, state=state, outcome=outcome, lock=lock, reach=may.reach)
        end = partial(self._ended, end=partial(end, policy=self.policy, now=now), outcome=outcome, who=who, now=now)
        # An outcome moves weights of the whole org.
        session = self._clew.store.write(may.guarded(end, id), lock=steps.lock_key(id) if outcome is None else "")
        self._look_back(session, report)
        return may.shown(session)

    def _ended(
        self, tx: Tx, *, end: Callable[[Tx], AgentSession], outcome: str | None, who: Identity, now: datetime
    ) -> AgentSession:
        session = end(tx)
        if outcome is not None:
            self._clew.learn._note(tx, session, outcome, actor=who.actor, now=now)
            self._clew.learn._at_end(tx, session, outcome, now)
        return session

    def _look_back(self, session: AgentSession, report: SessionReport) -> None:
        """Its summary, what it teaches and what is cleared up: extras, without which it has ended all the same."""
        for name, extra in (("summary", self._clew.inject), ("feedback", self._clew.learn)):
            reporting.attempt(name, lambda extra=extra: extra.on_session_end(session, report))  # type: ignore[misc]
        reporting.attempt("tidy", self._clew.hosts._tidy)  # where no daemon runs, nobody else would

    def stop(self, id: str, *, identity: Identity | None = None) -> AgentSession:
        """Ask its worker to stop; a session that nobody holds is stopped at once."""
        may = self.rights(identity)
        stop = partial(steps.stop, id=id, reach=may.reach, policy=self.policy, now=self._clew.now())
        session = self._clew.store.write(may.guarded(stop, id), lock=steps.lock_key(id))
        if session.has_ended:
            self._look_back(session, values.SessionReport())
        return may.shown(session)

    def show(self, id: str, *, identity: Identity | None = None) -> AgentSession:
        may = self.rights(identity)
        with self._clew.store.read() as tx:
            return may.shown(may.must_see(tx, id))

    def list(
        self,
        *,
        project: str | None = None,
        state: str | None = None,
        limit: int = 20,
        identity: Identity | None = None,
    ) -> Sequence[AgentSession]:
        """Newest first."""
        check_limit(limit)
        may = self.rights(identity)
        with self._clew.store.read() as tx:
            found = tx.sessions.find(may.reach, project=project, state=state, limit=limit, agent=may.agent)
        return [may.shown(session) for session in found]


@checked
class Queue(_Verbs):
    """What waits to be handed to the agent of a session."""

    def enqueue(self, session: str, text: str, *, identity: Identity | None = None, **fields: Any) -> Inject | None:
        """Put a text at the end of the queue; None when it is there already, or when there is no room for it.
        `offer` tells which. Fields: those of `InjectDraft`."""
        return self.offer(values.InjectDraft(session, text, **fields), identity=identity).inject

    def offer(self, draft: values.InjectDraft, *, identity: Identity | None = None) -> Enqueued:
        """Put a text at the end of the queue, and hear what became of it. Only a user speaks as the user."""
        may, trust = self.rights(identity), (identity or _OWNER).trust
        put = partial(queueing.put, draft=queueing.prepared(draft, trust=trust), reach=may.reach)
        put = partial(put, policy=self.policy, now=self._clew.now())
        step = may.guarded(put, draft.session, text=True)
        return self._clew.store.write(step, lock=steps.lock_key(draft.session))

    def claim(self, session: str, worker: str, token: int, *, identity: Identity | None = None) -> Delivery | None:
        """What is next for the agent: the same until it is acknowledged. None for whoever lost the session."""
        may = self.rights(identity)
        lock = _lock(may, session, worker, token)
        claim = partial(queueing.claim, lock=lock, policy=self.policy, now=self._clew.now())
        step = may.guarded(claim, session)
        return self._clew.store.write(step, durable=False, savepoint=False, lock=steps.lock_key(session))

    def ack(
        self,
        session: str,
        delivery: str,
        worker: str,
        token: int,
        *,
        receipt: str = "consumed",
        identity: Identity | None = None,
    ) -> bool:
        """The agent has it; whether that counted."""
        queueing.check_receipt(receipt)
        queueing.check_told([delivery])
        may = self.rights(identity)
        lock = _lock(may, session, worker, token)
        ack = partial(queueing.confirm, delivery_id=delivery, receipt=receipt, policy=self.policy)
        ack = partial(ack, lock=lock, now=self._clew.now())
        return self._clew.store.write(may.guarded(ack, session), savepoint=False, lock=steps.lock_key(session))

    def list(self, session: str, *, state: str | None = None, identity: Identity | None = None) -> Sequence[Inject]:
        """First in first."""
        may = self.rights(identity)
        with self._clew.store.read() as tx:
            hides = not may.reads(may.must_see(tx, session))
            found = tx.injects.of_session(may.reach.org, session, state=state)
        return [replace(inject, text=granting.PRIVATE) for inject in found] if hides else found

    def dead(self, *, limit: int = 20, identity: Identity | None = None) -> Sequence[Inject]:
        """What was given up in the org, with its reason, newest first."""
        check_limit(limit)
        may = self.rights(identity)
        with self._clew.store.read() as tx:
            dead = tx.injects.dead(may.reach, limit=limit, agent=may.agent)
            found = [(inject, tx.sessions.get(may.reach, inject.session)) for inject in dead]
        return [
            inject if may.reads(session) else replace(inject, text=granting.PRIVATE)
            for inject, session in found
            if session
        ]


def _lock(may: granting.SessionRights, session: str, worker: str, token: int) -> values.Lock:
    """What a worker shows, under the name that its claim was kept under."""
    if not isinstance(token, int) or token not in _TOKENS:  # a range is searched number by number for anything else
        raise InvalidInput("this is no token of a claim", code="TOKEN_INVALID", next="give the one it returned")
    return values.Lock(may.reach, session, _worker(worker), token)


@lru_cache(maxsize=1_024)  # every beat of every worker asks
def _worker(name: str) -> str:
    """As it is kept: masked, since it is shown to everybody who sees the session."""
    worker = steps.name_of("worker", name)
    if worker is None:
        raise InvalidInput("a worker needs a name", code="WORKER_INVALID", next="name it: --worker NAME")
    return worker

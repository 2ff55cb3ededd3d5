"""The verbs about sessions and their queue: `clew.sessions.claim(...)`, `clew.queue.ack(...)`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.lazy import LazyModule
from clew.model.scope import Identity, Reach, Scope

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.deliver import queue as queueing
    from clew.deliver import report as reporting
    from clew.deliver import sessions as steps
    from clew.deliver import states
    from clew.model import session as values
    from clew.model.session import AgentSession, Beat, Delivery, Enqueued, Inject, Lock, SessionReport
else:
    queueing, reporting, states, steps = (
        LazyModule(f"clew.deliver.{name}") for name in ("queue", "report", "states", "sessions")
    )
    values = LazyModule("clew.model.session")

_SEES_ALL = frozenset(("owner", "admin", "operator"))  # who runs workers serves the sessions of every user


_OWNER = Identity()


@lru_cache(maxsize=1_024)  # every beat of every worker asks
def _reach_of(identity: Identity) -> Reach:
    if _SEES_ALL.intersection(identity.roles):
        return Reach.everything(identity.org)
    return Reach.across_projects(Scope(org=identity.org, user=identity.user))


class _Verbs:
    """What both groups need to know of who asks."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    @cached_property
    def policy(self) -> states.DeliverPolicy:
        deliver = self._clew.settings.deliver
        names = states.DeliverPolicy.__slots__
        return states.DeliverPolicy(**{name: getattr(deliver, name) for name in names})

    @staticmethod
    def _reach(identity: Identity | None) -> Reach:
        return _reach_of(identity or _OWNER)

    def _lock(self, session: str, worker: str, token: int, identity: Identity | None) -> Lock:
        return values.Lock(self._reach(identity), session, worker, token)


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
        agent: str | None = "agent",
        user: str | None = None,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> AgentSession:
        """A new session with its work item, which waits for a worker. `agent` None: a stage without one."""
        scope = self._clew._scope(scope, identity)
        scope = replace(scope, project=project or scope.project, user=user or scope.user)
        (identity or Identity()).check(scope)
        item = steps.WorkItem(work_type, issue, issue_id, title, description)
        session = steps.new_session(scope, item, agent=agent, now=self._clew.now())
        self._clew.store.write(lambda tx: tx.sessions.insert(session))
        return session

    def claim(
        self, id: str, worker: str, *, provider_session: str | None = None, identity: Identity | None = None
    ) -> int:
        """Make `worker` the holder of the session; returns its fencing token."""
        claim = partial(steps.claim, id=id, worker=_worker(worker), reach=self._reach(identity))
        provider = steps.name_of("provider session", provider_session)
        now = self._clew.now()
        return self._clew.store.write(partial(claim, provider=provider, policy=self.policy, now=now))

    def refresh(
        self,
        id: str,
        worker: str,
        token: int,
        *,
        acked: Collection[str] | str = (),
        dead: Mapping[str, str] | None = None,
        identity: Identity | None = None,
    ) -> Beat:
        """One beat of the worker that holds the session: see `Beat`."""
        lock = self._lock(id, worker, token, identity)
        acked = [acked] if isinstance(acked, str) else acked
        beat = partial(steps.refresh, lock=lock, acked=acked, dead=dead, policy=self.policy, now=self._clew.now())
        return self._clew.store.write(beat, durable=bool(acked or dead))

    def finalize(self, id: str, worker: str, token: int, *, identity: Identity | None = None) -> AgentSession:
        """The agent is done, its worker not yet."""
        lock = self._lock(id, worker, token, identity)
        return self._clew.store.write(partial(steps.finalize, lock=lock))

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
        """The session is over. Without an outcome nothing is learnt until someone says one."""
        steps.check_ending(state, outcome)
        report = reporting.session_report(summary, tool_calls, files_modified, errors)
        lock = None if worker is None else self._lock(id, worker, token or 0, identity)
        end = partial(steps.end, id=id, state=state, outcome=outcome, lock=lock, reach=self._reach(identity))
        session = self._clew.store.write(partial(end, policy=self.policy, now=self._clew.now()))
        self._look_back(session, report)
        return session

    def _look_back(self, session: AgentSession, report: SessionReport) -> None:
        """Its summary and what it teaches: extras, without which it has ended all the same."""
        for name, extra in (("summary", self._clew.inject), ("feedback", self._clew.learn)):
            reporting.attempt(name, lambda extra=extra: extra.on_session_end(session, report))  # type: ignore[misc]

    def stop(self, id: str, *, identity: Identity | None = None) -> AgentSession:
        """Ask its worker to stop; a session that nobody holds is stopped at once."""
        stop = partial(steps.stop, id=id, reach=self._reach(identity), policy=self.policy)
        session = self._clew.store.write(partial(stop, now=self._clew.now()))
        if session.has_ended:
            self._look_back(session, values.SessionReport())
        return session

    def show(self, id: str, *, identity: Identity | None = None) -> AgentSession:
        with self._clew.store.read() as tx:
            return steps.must_get(tx, self._reach(identity), id)

    def list(
        self,
        *,
        project: str | None = None,
        state: str | None = None,
        limit: int = 20,
        identity: Identity | None = None,
    ) -> Sequence[AgentSession]:
        """Newest first."""
        with self._clew.store.read() as tx:
            return tx.sessions.find(self._reach(identity), project=project, state=state, limit=limit)


class Queue(_Verbs):
    """What waits to be handed to the agent of a session."""

    def enqueue(self, session: str, text: str, *, identity: Identity | None = None, **fields: Any) -> Inject | None:
        """Put a text at the end of the queue; None when it is there already, or when there is no room for it.
        `offer` tells which. Fields: those of `InjectDraft`."""
        return self.offer(values.InjectDraft(session, text, **fields), identity=identity).inject

    def offer(self, draft: values.InjectDraft, *, identity: Identity | None = None) -> Enqueued:
        """Put a text at the end of the queue, and hear what became of it."""
        put = partial(queueing.put, draft=queueing.prepared(draft), reach=self._reach(identity))
        return self._clew.store.write(partial(put, policy=self.policy, now=self._clew.now()))

    def claim(self, session: str, worker: str, token: int, *, identity: Identity | None = None) -> Delivery | None:
        """What is next for the agent: the same until it is acknowledged. None for whoever lost the session."""
        lock = self._lock(session, worker, token, identity)
        claim = partial(queueing.claim_next, lock=lock, policy=self.policy, now=self._clew.now())
        return self._clew.store.write(claim, durable=False, savepoint=False)

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
        ack = partial(queueing.acknowledge, delivery_id=delivery, receipt=receipt, policy=self.policy)
        lock = self._lock(session, worker, token, identity)
        return self._clew.store.write(partial(ack, lock=lock, now=self._clew.now()), savepoint=False)

    def list(self, session: str, *, state: str | None = None, identity: Identity | None = None) -> Sequence[Inject]:
        """First in first."""
        with self._clew.store.read() as tx:
            return queueing.of_session(tx, self._reach(identity), session, state=state)

    def dead(self, *, limit: int = 20, identity: Identity | None = None) -> Sequence[Inject]:
        """What was given up in the org, with its reason, newest first."""
        reach = self._reach(identity)
        with self._clew.store.read() as tx:
            return [
                inject
                for inject in tx.injects.dead(reach.org, limit=limit)
                if tx.sessions.get(reach, inject.session)
            ]


def _worker(name: str) -> str:
    worker = steps.name_of("worker", name)
    if worker is None:
        raise InvalidInput("a worker needs a name", code="WORKER_INVALID", next="name it: --worker NAME")
    return worker

"""The injector's surroundings in production: sessions and switches in the store, the durable queue, the log.

A block and its log row are one transaction of the writer, and durable. What was not pushed is logged behind the
answer, in a transaction of its own: the writer has it before the caller has the answer, so closing the store writes
it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from clew.deliver import queue
from clew.deliver.sessions import must_get
from clew.deliver.states import DeliverPolicy
from clew.inject.access import Decider
from clew.inject.config import InSessionConfig
from clew.inject.deadline import Late, Ticket
from clew.inject.gates import delivery_gate, first_closed, graph_gate, memory_gate, work_type_gate
from clew.inject.log import write_log
from clew.inject.match import Matched, Situation
from clew.inject.surroundings import Asked, asker_for
from clew.inject.switches import Switched, Switches
from clew.model.config import GateDecision
from clew.model.inject import ContextInjectionLog, InjectionResult, VerbEvent
from clew.model.scope import Identity, Reach, Scope
from clew.model.session import AgentSession, InjectDraft
from clew.ports import Store, Tx
from clew.remember.redact import redact

MAX_LOGGED_CHARS = 500  # of what was asked

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InStore:
    """`graph` is what the settings of this installation say about the graph."""

    store: Store
    switches: Switches
    now: Callable[[], datetime]
    pep: Decider
    reach: Callable[[Identity | None], Reach]
    policy: DeliverPolicy
    config: InSessionConfig
    graph: GateDecision
    weighting: bool = True
    ranking: str = "weight"

    # -- before ------------------------------------------------------------------------------------

    def situation(self, event: VerbEvent, identity: Identity | None, /) -> Situation:
        with self.store.read() as tx:
            session = must_get(tx, self.reach(identity), event.session)
        work_type = session.work_type or self.config.work_type
        switched = self.switches.of(session.org, session.project, work_type)
        scope = Scope(session.org, session.project, session.user, session.agent, session.id)
        return Situation(
            scope=scope,
            asker=asker_for(scope, event, self.pep, deadline_s=self.config.latency_ms / 1_000),
            budget_tokens=self.config.budget_tokens or switched.recall.observation_budget,
            work_type=work_type,
            skip=_why_skipped(session, switched),
            pushes=delivery_gate(switched.project).is_open,
            weighting=self.weighting and not switched.features.feedback_weighting_disabled,
            ranking=self.ranking,
            graph_status=self._graph_status(switched, work_type),
        )

    def _graph_status(self, switched: Switched, work_type: str) -> str:
        stored = graph_gate(switched.project, switched.features)
        return first_closed((self.graph, stored, work_type_gate(switched.recall, work_type))).reason

    def shown(self, session: Hashable, /) -> Iterable[str]:
        assert isinstance(session, tuple)
        org, id = session
        with self.store.read() as tx:
            queued = (memory for inject in tx.injects.of_session(org, id) for memory in inject.observation_ids)
            return {*tx.injections.shown(org, id), *queued}

    # -- handing over ------------------------------------------------------------------------------

    def push(self, asked: Asked, situation: Situation, ticket: Ticket, /) -> InjectionResult:
        """What is not committed in time does not count; if it is committed after all, the queue's unique key makes
        saying it again harmless."""
        matched = asked.matched
        draft = queue.prepared(
            InjectDraft(
                asked.event.session, matched.text, agent=situation.scope.agent,
                observation_ids=matched.memory_ids, node_ids=matched.graph.node_ids,
            )
        )  # fmt: skip
        log = _log_of(asked.event, situation, matched)
        put = partial(self._put, asked, draft=draft, log=log, weighting=situation.weighting)
        return _committed(self.store.submit(partial(put, ticket=ticket)), ticket)

    def _put(
        self,
        asked: Asked,
        tx: Tx,
        *,
        draft: InjectDraft,
        log: ContextInjectionLog,
        weighting: bool,
        ticket: Ticket,
    ) -> InjectionResult:
        """In the writer's transaction. Whoever is late already puts nothing in."""
        ticket.check()
        matched, now = asked.matched, self.now()
        put = queue.put(tx, draft, reach=Reach.everything(log.org_id), policy=self.policy, now=now)
        inject = put.inject or put.known
        result = InjectionResult(
            "queued" if inject else "suppressed",
            draft.text,
            matched.tokens,
            matched.memory_ids,
            matched.triplets,
            delivery_id=inject.delivery_id if inject else None,
            deduplicated=put.deduplicated,
            ms=asked.ms,
            reason=put.reason,
            skipped=matched.skipped,
        )
        if inject:  # what found no room is noted like everything else that was not pushed
            _write(tx, log, matched, result, weighting=weighting, now=now)
        return result

    # -- noting ------------------------------------------------------------------------------------

    def note(self, asked: Asked, result: InjectionResult, /) -> None:
        if result.delivery_id:
            return
        event, situation, matched = asked.event, asked.situation, asked.matched
        if situation:
            log = _log_of(event, situation, matched)
        else:  # too late before anything was known of the session
            org = self.reach(asked.identity).org
            log = ContextInjectionLog(
                session_id=event.session, org_id=org, phase="in_session", event_id=event.event_id
            )
        weighting = situation.weighting if situation else self.weighting
        note = partial(_note, log=log, matched=matched, result=result, weighting=weighting, now=self.now())
        self.store.submit(note, durable=False).add_done_callback(_tell_failure)


def _why_skipped(session: AgentSession, switched: Switched) -> str | None:
    """R-087: only a session that a worker runs, with an agent in it."""
    if session.state != "running":
        return "not_running"
    if not session.agent:
        return "no_agent"
    gate = memory_gate(switched.project)
    return None if gate else gate.reason


def _log_of(event: VerbEvent, situation: Situation, matched: Matched) -> ContextInjectionLog:
    scope, graph = situation.scope, matched.graph
    asked = "\n".join(question.text for question in matched.questions)
    return ContextInjectionLog(
        session_id=event.session,
        org_id=scope.org,
        project_id=scope.project,
        agent_id=scope.agent,
        phase="in_session",
        event_id=event.event_id,
        work_type=situation.work_type,
        budget_tokens=situation.budget_tokens,
        graph_budget_tokens=situation.budget_tokens - matched.observation_tokens if graph.triplets else 0,
        actual_tokens=matched.tokens,
        actual_observation_tokens=matched.observation_tokens,
        actual_graph_tokens=graph.actual_tokens,
        observation_ids=matched.memory_ids,
        graph_node_ids=graph.node_ids,
        graph_edge_keys=graph.edge_keys,
        query_text=redact(asked[:MAX_LOGGED_CHARS]).text,
        graph_status=graph.status,
    )


def _committed(future: Future[InjectionResult], ticket: Ticket) -> InjectionResult:
    try:
        return future.result(timeout=ticket.remaining_s)
    except (TimeoutError, CancelledError):
        future.cancel()
        raise Late from None


def _note(
    tx: Tx,
    *,
    log: ContextInjectionLog,
    matched: Matched,
    result: InjectionResult,
    weighting: bool,
    now: datetime,
) -> None:
    """Of a session that is there: one too many or too late may be about none."""
    if tx.sessions.get(Reach.everything(log.org_id), log.session_id):
        _write(tx, log, matched, result, weighting=weighting, now=now)


def _write(
    tx: Tx, log: ContextInjectionLog, matched: Matched, result: InjectionResult, *, weighting: bool, now: datetime
) -> None:
    delivered = result.outcome in ("injected", "queued")
    row = replace(
        log, outcome=result.outcome, delivered=delivered, delivery_id=result.delivery_id, ms=round(result.ms, 3)
    )
    write_log(tx, row, matched.candidates, weighting_enabled=weighting, now=now)


def _tell_failure(future: Future[None]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:  # told, and nobody's turn fails for it
        _log.warning("an injection was not logged: %s", type(error).__name__)
